/**
 * Canonical JSON text (RFC 8785) of bytes that say they are JSON, where it can carry them exactly.
 * Knows nothing of keys; what cannot be carried is told apart, never approximated.
 */
import { isUtf8 } from 'node:buffer'
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'

/**
 * Undefined where the bytes are no JSON, or some that canonical JSON would change: a key that is
 * there twice, a number that no double is, -0, a lone surrogate, bytes that are no UTF-8.
 */
export function jsonOf(bytes: Uint8Array): { readonly value: unknown } | undefined {
  if (!isUtf8(bytes)) return undefined
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined // No JSON: whoever asks goes by the bytes.
  }
  return isExact(text) ? { value } : undefined
}

/**
 * Of a value that JSON was parsed to.
 * @returns The text, or undefined where the value has what JSON cannot carry.
 */
export function canonicalText(value: unknown): string | undefined {
  try {
    return textOf(value, 0)
  } catch (error) {
    if (error instanceof DaglogError) return undefined
    throw error
  }
}

type Members = Readonly<Record<string, unknown>>

/** Deeper down the stack might not do: there the encoder goes on, which needs none. */
const RECURSION_DEPTH_MAX = 64

function textOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'boolean' || value === null) return String(value)
  if (depth === RECURSION_DEPTH_MAX || typeof value !== 'object') return encodedText(value)
  return Array.isArray(value) ? listText(value, depth) : membersText(value as Members, depth)
}

function listText(list: readonly unknown[], depth: number): string | undefined {
  let out = ''
  for (const element of list) {
    const text = textOf(element, depth + 1)
    if (text === undefined) return undefined
    out += out === '' ? text : `,${text}`
  }
  return `[${out}]`
}

function membersText(members: Members, depth: number): string | undefined {
  let out = ''
  for (const key of Object.keys(members).sort()) {
    const text = textOf(members[key], depth + 1)
    if (text === undefined) return undefined
    out += `${out === '' ? '' : ','}${JSON.stringify(key)}:${text}`
  }
  return `{${out}}`
}

function encodedText(value: unknown): string | undefined {
  const { text, tags } = encodeValue(value, '', { order: 'sorted' })
  return tags.length === 0 ? text : undefined
}

const NUMBER = /-?\d[\d.eE+-]*/y
const SURROGATE = /\\u[dD][89a-fA-F]|[\ud800-\udfff]/

/** Whether text that is JSON says nothing that a parsed value does not. */
function isExact(text: string): boolean {
  const keys: (Set<string> | undefined)[] = []
  const surrogates = SURROGATE.test(text)
  let string = ''
  for (let at = 0; at < text.length; at += 1) {
    const first = text[at] as string
    if (first === '"') {
      const end = stringEnd(text, at)
      string = text.slice(at, end)
      if (surrogates && SURROGATE.test(string) && !(JSON.parse(string) as string).isWellFormed())
        return false
      at = end - 1
    } else if (first === '{') keys.push(new Set())
    else if (first === '[') keys.push(undefined)
    else if (first === '}' || first === ']') keys.pop()
    else if (first === ':') {
      const name = string.includes('\\') ? (JSON.parse(string) as string) : string.slice(1, -1)
      const known = keys.at(-1) as Set<string>
      if (known.has(name)) return false
      known.add(name)
    } else if (first === '-' || (first >= '0' && first <= '9')) {
      NUMBER.lastIndex = at
      const token = (NUMBER.exec(text) as RegExpExecArray)[0]
      if (!isDouble(token)) return false
      at += token.length - 1
    }
  }
  return true
}

/**
 * Behind the string that begins at `from`; found by its quotes, since a pattern would remember
 * each character.
 */
function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); ; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
}

/** Whether a number is written with no more digits than a double of it has, and is not -0. */
function isDouble(token: string): boolean {
  if (token.length < 16 && /^-?[1-9]\d*$/.test(token)) return true
  const value = Number(token)
  if (!Number.isFinite(value) || Object.is(value, -0)) return false
  return digitsOf(token) === digitsOf(String(value))
}

/** Digits without leading and trailing zeros, and the power of ten behind them. */
function digitsOf(token: string): string {
  const [, mantissa = '', exponent = '0'] = /^-?([\d.]+)(?:[eE]([+-]?\d+))?$/.exec(token) ?? []
  const point = mantissa.indexOf('.')
  const digits = mantissa.replace('.', '')
  const shift = point < 0 ? 0 : mantissa.length - point - 1
  const short = digits.replace(/0+$/, '')
  const power = Number(exponent) - shift + digits.length - short.length
  const leading = short.replace(/^0+/, '')
  return leading === '' ? '0' : `${leading}e${power}`
}
