/**
 * Small rollouts as Codex writes them, and reading them without a store.
 */
import type { Part } from '../../../src/core/content.js'
import type { RunEvent } from '../../../src/core/event.js'
import { GENESIS } from '../../../src/core/hash.js'
import { importReader } from '../../../src/fold/import-reader.js'
import { codex } from '../../../src/fold/readers/codex.js'
import { type Message, messages } from '../../../src/index.js'

export const START = Date.parse('2026-05-01T10:00:00.000Z')

export type Line = Record<string, unknown>

/** A line; `at` in seconds after the session began. */
export function line(type: string, payload: object, at = 0, more: object = {}): Line {
  return { timestamp: new Date(START + at * 1000).toISOString(), type, payload, ...more }
}

export function meta(more: object = {}, at = 0): Line {
  const timestamp = new Date(START + at * 1000).toISOString()
  return line('session_meta', { id: 'own', timestamp, cwd: '/work', ...more }, at)
}

export const item = (payload: object, at = 0): Line => line('response_item', payload, at)
export const told = (type: string, more: object = {}, at = 0): Line =>
  line('event_msg', { type, ...more }, at)

export function said(role: string, text: string, at = 0): Line {
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  return item({ type: 'message', role, content: [{ type, text }] }, at)
}

export const call = (id: string, name = 'exec_command', args = '{}'): Line =>
  item({ type: 'function_call', name, arguments: args, call_id: id })
export const result = (id: string, output: unknown = 'done'): Line =>
  item({ type: 'function_call_output', call_id: id, output })

/** Tokens as Codex counts them: input (of it cached), output (of it reasoning). */
export function vector([input, cached, output, reasoning]: readonly number[]): object {
  return {
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    reasoning_output_tokens: reasoning,
    total_tokens: (input ?? 0) + (output ?? 0),
  }
}

export function count(total: readonly number[], last: readonly number[], at = 0): Line {
  const info = { total_token_usage: vector(total), last_token_usage: vector(last) }
  return told('token_count', { info }, at)
}

export function rawEvent(seq: number, type: string, data: unknown): RunEvent {
  return { seq, time: 7, type, data: data as never, hash: GENESIS }
}

export function bytesOf(lines: readonly Line[]): Buffer {
  return Buffer.from(lines.map((one) => `${JSON.stringify(one)}\n`).join(''))
}

/** Raw events and what the reader finds, as a run gives them: `lines` in batches of `batch`. */
export function sessionOf(lines: readonly Line[], batch = Number.POSITIVE_INFINITY): RunEvent[] {
  const raw = [rawEvent(1, 'import/source', { format: 'codex' })]
  for (let at = 0, from = 0; at < lines.length; ) {
    const some = lines.slice(at, at + batch)
    const bytes = bytesOf(some)
    raw.push(rawEvent(raw.length + 1, 'import/lines', { from, lines: some.length, bytes }))
    at += some.length
    from += bytes.length
  }
  return readAll(raw)
}

export function readAll(raw: readonly RunEvent[]): RunEvent[] {
  const reader = importReader(codex)
  let state = reader.init()
  return raw.flatMap((event) => {
    // As it comes back from a snapshot.
    const read = reader.read(JSON.parse(JSON.stringify(state)), event)
    state = read.state
    return read.events.map((one) => ({ ...event, ...one }) as RunEvent)
  })
}

export function ofType(events: readonly RunEvent[], ...types: string[]): RunEvent[] {
  return events.filter(({ type }) => types.includes(type))
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at data of any shape.
export const dataOf = (events: readonly RunEvent[], ...types: string[]): any[] =>
  ofType(events, ...types).map(({ data }) => data)

/** What the model sees in the end. */
export function viewOf(events: readonly RunEvent[]): readonly Message[] {
  const state = events.reduce((state, event) => messages.apply(state, event), messages.init())
  return messages.view?.(state) as readonly Message[]
}

/** The same as words: role and text. */
export function wordsOf(events: readonly RunEvent[]): string[] {
  return viewOf(events).map(({ role, content }) => {
    const parts: readonly Part[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const words = parts.map((part) =>
      part.type === 'text'
        ? part.text
        : part.type === 'tool_use'
          ? `${part.name}()`
          : part.type === 'tool_result'
            ? `= ${typeof part.content === 'string' ? part.content : part.content.length}`
            : `<${part.type}>`,
    )
    return `${role}: ${words.join(' ')}`
  })
}
