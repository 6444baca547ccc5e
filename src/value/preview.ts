/**
 * One line about a value, for people.
 * Recorded content is untrusted text: nothing in a line can move a cursor, change a colour, end the
 * line or turn the direction of writing.
 */
import { encodeValue } from '../core/encode.js'
import { isContainer } from './value-class.js'

/** Longest line unless told otherwise, in UTF-16 units. */
export const PREVIEW_LENGTH_MAX = 80

export interface Preview {
  readonly line: string
  /** Size of the value, in bytes: of a text as UTF-8, of bytes as they are, of the rest as JSON. */
  readonly bytes: number
}

/**
 * What a value looks like: texts in quotes, bytes in hex, the rest as JSON; `…` where it is cut.
 */
export function previewOf(value: unknown, lengthMax = PREVIEW_LENGTH_MAX): Preview {
  if (typeof value === 'string') {
    // One more than fits, so that what is cut shows as cut.
    const start = JSON.stringify(value.slice(0, lengthMax + 1))
    return { line: printable(start, lengthMax), bytes: Buffer.byteLength(value) }
  }
  if (value instanceof Uint8Array) {
    const start = Buffer.from(value.subarray(0, lengthMax)).toString('hex')
    return { line: printable(`0x${start}`, lengthMax), bytes: value.length }
  }
  const { text } = encodeValue(value)
  return { line: printable(scalarLine(value) ?? text, lengthMax), bytes: Buffer.byteLength(text) }
}

/** Scalars that JSON cannot carry, as JavaScript writes them. */
function scalarLine(value: unknown): string | undefined {
  if (isContainer(value)) return undefined
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? String(value) : value.toISOString()
  return Object.is(value, -0) ? '-0' : String(value)
}

/** Text as one line that is safe to print, cut to `lengthMax` UTF-16 units. */
export function printable(text: string, lengthMax = Number.POSITIVE_INFINITY): string {
  let line = ''
  /** How much of the line may stay where a `…` follows. */
  let kept = 0
  for (const point of text) {
    line += UNPRINTABLE.test(point) ? escapeOf(point) : point
    if (line.length > lengthMax) return `${line.slice(0, kept)}…`
    if (line.length < lengthMax) kept = line.length
  }
  return line
}

/** Control and format characters, separators of lines, private use, lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u
const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeOf(point: string): string {
  const code = point.codePointAt(0) as number
  const hex = code.toString(16)
  return SHORT_ESCAPES[point] ?? (code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`)
}
