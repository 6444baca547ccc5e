/**
 * A reply that comes as a stream, put together: the same message as if it had come whole.
 */
import type { ReadProvider } from './provider-view.js'
import { AnthropicStream } from './stream-anthropic.js'
import type { StreamAssembly } from './stream-assembly.js'
import { GeminiStream } from './stream-gemini.js'
import { ChatStream } from './stream-openai-chat.js'
import { ResponsesStream } from './stream-openai-responses.js'

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
