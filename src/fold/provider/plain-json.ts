/**
 * A value as it can be sent: well-formed text, nothing that JSON has no form for.
 * The same reference comes back where nothing is to do, for the value and for each member.
 */
import { base64Of } from './neutral.js'
import type { Address, Lint } from './view.js'

interface Found {
  surrogates: number
  others: number
}

/**
 * `value` without lone surrogates (each becomes U+FFFD) and without values that JSON cannot carry.
 */
export function plainJson<T>(value: T, at: Address, lint: Lint): T {
  const found: Found = { surrogates: 0, others: 0 }
  const plain = plainOf(value, found)
  if (found.surrogates > 0) {
    lint.add(at, 'surrogate', `lone surrogates in ${counted(found.surrogates, 'string')}`)
  }
  if (found.others > 0) lint.add(at, 'not-json', counted(found.others, 'value'))
  return plain as T
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

function plainOf(value: unknown, found: Found): unknown {
  switch (typeof value) {
    case 'string':
      return wellFormed(value, found)
    case 'number':
      return Number.isFinite(value) ? value : replaced(null, found)
    case 'bigint':
      return replaced(String(value), found)
    case 'object':
      return value === null ? null : plainObject(value, found)
    default:
      return value
  }
}

function wellFormed(text: string, found: Found): string {
  if (text.isWellFormed()) return text
  found.surrogates += 1
  return text.toWellFormed()
}

function replaced(value: unknown, found: Found): unknown {
  found.others += 1
  return value
}

function plainObject(value: object, found: Found): unknown {
  if (Array.isArray(value)) return plainList(value, found)
  if (value instanceof Date) {
    return replaced(Number.isNaN(value.getTime()) ? null : value.toISOString(), found)
  }
  if (value instanceof Uint8Array) return replaced(base64Of(value), found)
  let changed = false
  const members = Object.entries(value).map(([name, member]) => {
    const plain = plainOf(member, found)
    const key = wellFormed(name, found)
    changed ||= plain !== member || key !== name
    return [key, plain] as const
  })
  return changed ? Object.fromEntries(members) : value
}

function plainList(list: readonly unknown[], found: Found): unknown {
  const plain = list.map((item) => plainOf(item, found))
  return plain.some((item, index) => !Object.is(item, list[index])) ? plain : list
}
