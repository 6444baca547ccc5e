/**
 * The records in raw lines of a transcript, and what is wrong with them.
 * Knows JSON Lines as programs and crashes really leave them: byte order marks, CRLF, holes of
 * zeros, torn and fused records, values printed over several lines. Knows no format. The bytes are
 * the truth; what is read of them may be approximate, and says so.
 * @see docs/import.md#reading
 */
import { isUtf8 } from 'node:buffer'
import type { SessionFault } from '../core/event-map.js'
import { escaped, type LineFault, recordsIn } from './import-repair.js'
import type { Derived } from './reader.js'

export type { LineFault }

/**
 * A record, or (with `fault`) what is wrong with a place; where a record was found in it, that
 * follows.
 */
export interface LineItem {
  /** The line that it begins on, counted from 0 in these bytes. */
  readonly line: number
  /** How many lines it covers. */
  readonly lines: number
  /** Its bytes, from the start of these bytes; the line end is not in it. */
  readonly from: number
  readonly to: number
  /** The JSON value, where there is no fault. */
  readonly value?: unknown
  /**
   * What of the value may differ from what the bytes say: numbers beyond doubles, replaced
   * characters.
   */
  readonly approximate?: 'numbers' | 'utf8'
  readonly fault?: LineFault
}

const LF = 0x0a
const CR = 0x0d

/**
 * Numbers that a double may not hold; also matches inside strings, where it only makes us say too
 * much.
 */
const LONG_NUMBER = /[:,[]\s*-?[\d.]{16,}/

/** Items in order of their place. Blank lines are none. */
export function* readLines(bytes: Uint8Array): Generator<LineItem> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const clean = isUtf8(buffer)
  let line = 0
  let at = 0
  while (at < buffer.length) {
    const found = buffer.indexOf(LF, at)
    const end = found < 0 ? buffer.length : found
    const next = found < 0 ? end : found + 1
    const [from, to] = trimmed(buffer, at, end)
    if (from < to) {
      const approximate = clean || isUtf8(buffer.subarray(from, to)) ? undefined : 'utf8'
      if (approximate !== undefined) yield { line, lines: 1, from, to, fault: 'not-utf8' }
      const text = buffer.toString('utf8', from, to)
      const value = parsed(text)
      if (value !== undefined) {
        yield { line, lines: 1, from, to, value, ...marks(text, approximate) }
      } else {
        const taken = yield* repaired(buffer, { line, from, to, approximate })
        if (taken > next) {
          // Whatever stands behind a value that is printed over lines is read as a line of its own.
          line += count(buffer, at, taken) - 1
          at = taken
          continue
        }
      }
    }
    line += 1
    at = next
  }
}

/** Where a line has its record: without byte order mark, blanks and CR. */
function trimmed(buffer: Buffer, at: number, end: number): readonly [number, number] {
  let from = at
  let to = end
  if (buffer[from] === 0xef && buffer[from + 1] === 0xbb && buffer[from + 2] === 0xbf) from += 3
  while (to > from && isBlank(buffer[to - 1])) to -= 1
  while (from < to && isBlank(buffer[from])) from += 1
  return [from, to]
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === CR
}

function count(buffer: Buffer, from: number, to: number): number {
  let lines = 0
  for (let at = buffer.indexOf(LF, from); at >= 0 && at < to; at = buffer.indexOf(LF, at + 1))
    lines += 1
  return to > from && buffer[to - 1] !== LF ? lines + 1 : lines
}

function marks(text: string, approximate: LineItem['approximate']): Pick<LineItem, 'approximate'> {
  if (approximate !== undefined) return { approximate }
  return LONG_NUMBER.test(text) ? { approximate: 'numbers' } : {}
}

/** The value of a text that is JSON. No JSON text has the value undefined. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface BadLine {
  readonly line: number
  readonly from: number
  readonly to: number
  readonly approximate: LineItem['approximate']
}

/**
 * What can be read of a line that is no JSON.
 * @returns How far it was looked at: behind the end of this line where a value goes on beyond it.
 */
function* repaired(buffer: Buffer, bad: BadLine): Generator<LineItem, number> {
  const { line, approximate } = bad
  let end = bad.to
  for (const found of recordsIn(buffer, bad.from, bad.to)) {
    const { from, to } = found
    end = Math.max(end, to)
    const lines = to <= bad.to ? 1 : count(buffer, from, to)
    if (found.fault !== undefined) {
      yield { line, lines, from, to, fault: found.fault }
    } else {
      const text = buffer.toString('utf8', from, to)
      const value = parsed(text) ?? parsed(escaped(text))
      const exact = found.exact ? marks(text, approximate) : { approximate: 'numbers' as const }
      yield { line, lines, from, to, value, ...exact }
    }
  }
  return end
}

/** What an `import/lines` event holds, as far as it makes sense: anybody may have written it. */
export function linesOf(data: unknown): {
  readonly from: number
  readonly items: Iterable<LineItem>
} {
  const { from, bytes } = (data ?? {}) as { from?: unknown; bytes?: unknown }
  return {
    from: typeof from === 'number' ? from : 0,
    items: bytes instanceof Uint8Array ? readLines(bytes) : [],
  }
}

const WORDS: Readonly<Record<LineFault, string>> = {
  torn: 'begins like a record and does not end',
  fused: 'several records share a line',
  zeros: 'a hole of zeros, as a crash leaves it',
  'not-utf8': 'no UTF-8; characters were replaced for reading',
  'not-json': 'no JSON',
}

/** A fault as readers derive it. `base`: where the bytes begin in the source. */
export function faultEvent(item: LineItem, base: number): Derived {
  const fault = item.fault ?? 'not-json'
  const from = base + item.from
  const to = base + item.to
  const text = `bytes ${from} to ${to}: ${WORDS[fault]}`
  const data: SessionFault = { fault, text, from, to }
  return { line: item.line, type: 'session/fault', data }
}
