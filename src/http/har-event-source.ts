/**
 * Event streams as Chrome writes them into a HAR, and back.
 * A view: the exact bytes are in the text of the content. They are made of the messages only where
 * a HAR has no text, as Chrome's own have not.
 */
import { Buffer } from 'node:buffer'
import { fieldsOf, listOf, textOf } from '../fold/provider/shape.js'
import { SseParser } from '../fold/provider/sse.js'
import type { HarEventSourceMessage } from './har-log.js'

/** A piece of a body, and when it came, in ms since 1970. */
export interface TimedPiece {
  readonly bytes: Uint8Array
  readonly at: number
}

/** What `EventSource` calls an event without a name. */
const UNNAMED = 'message'

/** The events of a stream, each with the time at which its last byte came. */
export function eventSourceMessages(pieces: Iterable<TimedPiece>): HarEventSourceMessage[] {
  const parser = new SseParser()
  const messages: HarEventSourceMessage[] = []
  for (const { bytes, at } of pieces) {
    for (const { event, id, data } of parser.push(bytes)) {
      messages.push({ time: at / 1000, eventName: event ?? UNNAMED, eventId: id ?? '', data })
    }
  }
  return messages
}

/** A stream that says these messages; undefined where one of them cannot be said in one. */
export function eventStreamOf(messages: unknown): Uint8Array | undefined {
  let text = ''
  for (const message of listOf(messages)) {
    const { eventName, eventId, data } = fieldsOf(message)
    const said = textOf(data)
    const names = [textOf(eventName) ?? '', textOf(eventId) ?? '']
    if (said === undefined || names.some((name) => /[\r\n\0]/.test(name))) return undefined
    const [name, id] = names as [string, string]
    if (name !== '' && name !== UNNAMED) text += `event: ${name}\n`
    if (id !== '') text += `id: ${id}\n`
    for (const line of said.split(/\r\n|\r|\n/)) text += `data: ${line}\n`
    text += '\n'
  }
  return Buffer.from(text, 'utf8')
}
