/**
 * A reply that comes in pieces: the contract of those who put it together. Types only.
 */
import type { AssistantMessage } from '../../core/event-map.js'

/** A reply on its way. */
export interface StreamAssembly {
  /**
   * Take an event as the SDK hands it out, or the JSON of a server-sent event's data.
   * Never throws and never changes the event: what it does not know is kept as a part `other`.
   * @returns What belongs into `assistant/chunk`: text as a string, whatever else adds to the
   * message as it came; undefined where the event adds nothing to what the message says.
   */
  push(event: unknown): readonly unknown[] | undefined
  /**
   * The message so far: `interrupted` unless the stream has ended as it should. May be called
   * again.
   */
  finish(): AssistantMessage
}
