/**
 * A reply that comes as a stream, put together: the same message as if it had come whole.
 */
import type { AssistantMessage } from '../../core/event-map.js'
import type { ReadProvider } from './provider-view.js'
import { AnthropicStream } from './stream-anthropic.js'
import { GeminiStream } from './stream-gemini.js'
import { ChatStream } from './stream-openai-chat.js'
import { ResponsesStream } from './stream-openai-responses.js'

/** A reply on its way. */
export interface StreamAssembly {
  /**
   * Take an event as the SDK hands it out, or the JSON of a server-sent event's data.
   * Never throws and never changes the event: what it does not know is kept as a part `other`.
   * @returns What belongs into `assistant/chunk`: text as a string, whatever else adds to the message
   *   as it came; undefined where the event adds nothing to what the message says.
   */
  push(event: unknown): readonly unknown[] | undefined
  /** The message so far: `interrupted` unless the stream has ended as it should. May be called again. */
  finish(): AssistantMessage
}

export function assembleStream(provider: ReadProvider): StreamAssembly {
  switch (provider) {
    case 'anthropic':
      return new AnthropicStream()
    case 'openai':
      return new ChatStream()
    case 'openai-responses':
      return new ResponsesStream()
    case 'gemini':
      return new GeminiStream()
  }
}
