/**
 * Records as Claude Code writes them, made up.
 */
import type { RunEvent } from '../../../src/core/event.js'
import type { Derived } from '../../../src/fold/reader.js'
import { claudeCode } from '../../../src/fold/readers/claude-code.js'

type Json = Record<string, unknown>

export const SESSION = '11111111-2222-4333-8444-555555555555'

let drawn = 0

/** An id that nothing else here has. */
export function unique(prefix: string): string {
  drawn += 1
  return `${prefix}${String(drawn).padStart(6, '0')}`
}

function base(more: Json): Json {
  return {
    parentUuid: null,
    isSidechain: false,
    userType: 'external',
    cwd: '/home/dev/app',
    sessionId: SESSION,
    version: '2.1.34',
    gitBranch: 'main',
    uuid: unique('u'),
    timestamp: '2026-02-03T04:05:06.000Z',
    ...more,
  }
}

export function user(content: unknown, more: Json = {}): Json {
  return base({ type: 'user', message: { role: 'user', content }, ...more })
}

export function result(id: string, content: unknown = 'ok', more: Json = {}): Json {
  return user([{ type: 'tool_result', tool_use_id: id, content }], more)
}

export function assistant(id: string, blocks: unknown, more: Json = {}, message: Json = {}): Json {
  return base({
    type: 'assistant',
    requestId: `req_${id}`,
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: blocks,
      stop_reason: null,
      ...message,
    },
    ...more,
  })
}

export function text(words: string): Json {
  return { type: 'text', text: words }
}

export function toolUse(id: string, name = 'Bash', input: Json = { command: 'ls' }): Json {
  return { type: 'tool_use', id, name, input }
}

export function system(subtype: string, more: Json = {}): Json {
  return base({ type: 'system', subtype, ...more })
}

export function other(type: string, more: Json = {}): Json {
  return base({ type, ...more })
}

export function linesOf(records: readonly unknown[]): Buffer {
  return Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
}

export function eventOf(bytes: Uint8Array, seq = 2, from = 0): RunEvent {
  return { seq, time: 0, type: 'import/lines', data: { from, lines: 0, bytes } } as never
}

/** What is derived of records, in one raw event or in one for each. */
export function derived(records: readonly unknown[], { split = false } = {}): Derived[] {
  const raw = split
    ? records.map((record, at) => eventOf(linesOf([record]), at + 2))
    : [eventOf(linesOf(records))]
  const found: Derived[] = []
  let state = claudeCode.init()
  for (const event of raw) {
    const read = claudeCode.read(JSON.parse(JSON.stringify(state)), event)
    state = read.state
    found.push(...read.events)
  }
  return found
}

export function ofType(events: readonly Derived[], type: string): Json[] {
  return events.filter((event) => event.type === type).map(({ data }) => data as Json)
}
