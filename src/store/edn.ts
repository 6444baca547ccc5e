/**
 * Events as EDN, for readers of the Clojure family.
 * Exact: what EDN has no form for is tagged, nothing is rounded or replaced. One event, one line.
 * @see https://github.com/edn-format/edn
 */
import type { RunEvent } from '../core/event.js'
import { isContainer } from '../value/value-class.js'
import type { EventsOptions } from './event-reader.js'
import type { RunView } from './run-view.js'

/**
 * Tags for what EDN cannot say. Any reader keeps an unknown tag with its value; `##NaN` is no EDN,
 * and readers that do not know it take the next value for its own.
 */
const TAGS = {
  undefined: '#daglog/undefined nil',
  number: '#daglog/number',
  bytes: '#daglog/bytes',
  /** A date that `#inst` cannot carry: an invalid one (nil), or a year that has not four digits. */
  date: '#daglog/date',
  /** A string with lone surrogates, as the JSON text of it: UTF-8 cannot carry them. */
  string: '#daglog/json-string',
} as const

/** A container, and how far it is written. */
interface Open {
  readonly container: object
  /** Undefined for an array. */
  readonly keys: readonly string[] | undefined
  readonly length: number
  next: number
}

/**
 * The EDN text of a value: maps with keyword keys where the key is a plain identifier and strings
 * where not, vectors, `#inst`, `1N`. On one line. Iterative: depth costs memory, not stack.
 */
export function ednOf(value: unknown): string {
  const stack: Open[] = []
  let text = ''
  let current = value
  for (;;) {
    if (isContainer(current)) {
      const opened = openContainer(current)
      text += opened.keys === undefined ? '[' : '{'
      stack.push(opened)
    } else {
      text += scalarEdn(current)
    }
    // Close what is complete, then step to the next member.
    for (;;) {
      const top = stack.at(-1)
      if (top === undefined) return text
      if (top.next < top.length) {
        const at = top.keys === undefined ? top.next : top.keys[top.next]!
        if (top.next > 0) text += typeof at === 'number' ? ' ' : ', '
        if (typeof at === 'string') text += `${keyEdn(at)} `
        current = (top.container as Record<string | number, unknown>)[at]
        top.next += 1
        break
      }
      text += top.keys === undefined ? ']' : '}'
      stack.pop()
    }
  }
}

function openContainer(container: object): Open {
  if (Array.isArray(container)) {
    return { container, keys: undefined, length: container.length, next: 0 }
  }
  const keys = Object.keys(container)
  return { container, keys, length: keys.length, next: 0 }
}

const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]*$/

function keyEdn(key: string): string {
  return IDENTIFIER.test(key) ? `:${key}` : stringEdn(key)
}

function scalarEdn(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return stringEdn(value)
    case 'number':
      return numberEdn(value)
    case 'bigint':
      return `${value}N`
    case 'boolean':
      return String(value)
    case 'undefined':
      return TAGS.undefined
  }
  if (value instanceof Date) return dateEdn(value)
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value
    return `${TAGS.bytes} "${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`
  }
  return 'nil'
}

/** An EDN integer has 64 bits and no -0, so what is no safe integer is written as a float. */
function numberEdn(value: number): string {
  if (!Number.isFinite(value)) return `${TAGS.number} "${value}"`
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return Number.isInteger(value) && !Number.isSafeInteger(value) && !text.includes('e')
    ? `${text}.0`
    : text
}

/** `#inst` is RFC 3339: years of four digits. */
const INST = /^\d{4}-/

function dateEdn(value: Date): string {
  if (Number.isNaN(value.getTime())) return `${TAGS.date} nil`
  const text = value.toISOString()
  return `${INST.test(text) ? '#inst' : TAGS.date} "${text}"`
}

function stringEdn(value: string): string {
  return value.isWellFormed() ? quote(value) : `${TAGS.string} ${quote(JSON.stringify(value))}`
}

/** What must not stand in a line as it is: quotes, backslashes, controls, separators of lines. */
const UNSAFE = /["\\\u0000-\u001f\u007f-\u009f\u2028\u2029]/g
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

function quote(value: string): string {
  const text = value.replace(
    UNSAFE,
    (unit) => SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `"${text}"`
}

/**
 * The events of a run, one map a line, without the newline: `{:seq 3, :time 1790000000000, :type
 * "tool/result", :data {...}, :hash "..."}`; `:redacted true` in place of `:data` where the body
 * was redacted, `:refs` where values were left out of line.
 * @throws OBJECT_MISSING, OBJECT_CORRUPT at an event whose values cannot be loaded.
 */
export async function* ednEvents(
  view: Pick<RunView, 'events'>,
  options: EventsOptions = {},
): AsyncGenerator<string, void> {
  for await (const event of view.events(options)) yield ednOf(membersOf(event))
}

/**
 * Every member of the event: `data` may well be undefined and is said then, unless it was redacted.
 */
function membersOf(event: RunEvent): Record<string, unknown> {
  if (event.redacted !== true) return { ...event }
  const { data: _, ...rest } = event
  return rest
}
