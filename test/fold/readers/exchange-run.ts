/** A run of exchanges, and what a fold over what they mean gives. */
import type { RunEvent } from '../../../src/core/event.js'
import { GENESIS } from '../../../src/core/hash.js'
import type { Message } from '../../../src/fold/message.js'
import { messages } from '../../../src/fold/messages.js'
import { exchanges } from '../../../src/fold/readers/exchange.js'

export interface Sent {
  readonly url: string
  readonly request: unknown
  readonly status?: number
  readonly reply?: unknown
  readonly end?: string
  readonly headers?: readonly (readonly [string, string])[]
}

export function rawEvent(seq: number, type: string, data: unknown): RunEvent {
  return { seq, time: 1_000 + seq, type, data, hash: GENESIS }
}

const bytes = (value: unknown): Uint8Array =>
  value instanceof Uint8Array
    ? value
    : new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))

/** An `http/exchange` as the recorder writes it. */
export function exchange(seq: number, sent: Sent): RunEvent {
  const { url, request, status = 200, reply, end = 'complete', headers = [] } = sent
  const body = reply === undefined ? new Uint8Array() : bytes(reply)
  return rawEvent(seq, 'http/exchange', {
    request: { method: 'POST', url, headers: [], form: 'decoded', body: bytes(request) },
    response: { status, statusText: '', headers, form: 'wire', body },
    end,
  })
}

export interface Read {
  readonly events: RunEvent[]
  readonly view: readonly Message[]
}

/** All that the reader derives, and the messages that a model sees in the end. */
export function readRun(raw: readonly RunEvent[]): Read {
  let state = exchanges.init()
  let seen = messages.init()
  const events: RunEvent[] = []
  for (const event of raw) {
    const before = JSON.stringify(state)
    const read = exchanges.read(state, event)
    if (JSON.stringify(state) !== before) throw new Error('the reader changed its state in place')
    // A state comes back from a snapshot at any time.
    state = JSON.parse(JSON.stringify(read.state)) as typeof state
    const derived = read.events.map(
      ({ line, type, data }) => ({ ...event, line, type, data }) as RunEvent,
    )
    events.push(...derived)
    const mine = event.type === 'http/exchange' ? derived : [event]
    for (const one of mine) seen = messages.apply(seen, one)
  }
  return { events, view: messages.view?.(seen) ?? [] }
}
