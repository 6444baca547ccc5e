/**
 * Server-sent events from bytes, however they are split: the `text/event-stream` of the HTML
 * standard.
 * Knows lines and fields; what the data says is somebody else's business.
 */
import { Buffer } from 'node:buffer'

export interface SseEvent {
  /** The event's name; undefined where none was given. */
  readonly event?: string
  /** Its `data` lines, joined by newlines. */
  readonly data: string
  readonly id?: string
}

const LF = 0x0a
const CR = 0x0d
const BOM = '\uFEFF'

/** Takes bytes as they come, gives whole events. */
export class SseParser {
  /** The pieces of a line that has not ended. */
  #line: Uint8Array[] = []
  #afterCr = false
  #atStart = true
  #event: string | undefined
  #id: string | undefined
  #data: string[] = []

  /** The events that end in these bytes. */
  push(bytes: Uint8Array): SseEvent[] {
    const events: SseEvent[] = []
    let start = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      const wasCr = this.#afterCr
      this.#afterCr = byte === CR
      if (byte !== LF && byte !== CR) continue
      // The second half of a CR LF ends no second line.
      if (byte === LF && wasCr) {
        start = at + 1
        continue
      }
      this.#line.push(bytes.subarray(start, at))
      start = at + 1
      const event = this.#endLine()
      if (event !== undefined) events.push(event)
    }
    // Copied: the caller may use its buffer again.
    if (start < bytes.length) this.#line.push(bytes.slice(start))
    return events
  }

  /**
   * What was begun and never ended by an empty line. By the standard it is no event, and no SDK
   * shows it; undefined where nothing is left.
   */
  unfinished(): SseEvent | undefined {
    if (this.#line.length > 0) this.#field(this.#takeLine())
    return this.#dispatch()
  }

  #takeLine(): string {
    const line = Buffer.concat(this.#line).toString('utf8')
    this.#line = []
    const first = this.#atStart
    this.#atStart = false
    return first && line.startsWith(BOM) ? line.slice(1) : line
  }

  #endLine(): SseEvent | undefined {
    const line = this.#takeLine()
    if (line === '') return this.#dispatch()
    this.#field(line)
    return undefined
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    if (colon === 0) return // A comment.
    const name = colon < 0 ? line : line.slice(0, colon)
    const rest = colon < 0 ? '' : line.slice(colon + 1)
    const value = rest.startsWith(' ') ? rest.slice(1) : rest
    if (name === 'data') this.#data.push(value)
    else if (name === 'event') this.#event = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
  }

  #dispatch(): SseEvent | undefined {
    const [data, event, id] = [this.#data, this.#event, this.#id]
    this.#data = []
    this.#event = undefined
    if (data.length === 0) return undefined
    return {
      data: data.join('\n'),
      ...(event === undefined || event === '' ? {} : { event }),
      ...(id === undefined ? {} : { id }),
    }
  }
}

/** All whole events of a body. */
export function sseEvents(body: Uint8Array): SseEvent[] {
  return new SseParser().push(body)
}

/** What the APIs end a stream with; it is no event of it. */
const DONE = '[DONE]'

/**
 * What an SDK would hand out for each event: the data as JSON; the text itself where it is none.
 */
export function streamEvents(events: readonly SseEvent[]): unknown[] {
  return events.flatMap(({ data }) => {
    if (data.startsWith(DONE)) return []
    try {
      return [JSON.parse(data) as unknown]
    } catch {
      return [data]
    }
  })
}
