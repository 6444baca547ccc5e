/**
 * Whether a value is still what it was when it was encoded: a walk over its fields that copies and
 * hashes nothing. Strings are told by identity first, so a long one costs nothing.
 * Runs for each message of a history at each step, so it is written for speed.
 */
import { types } from 'node:util'

/** What a container held: primitives, or the shadows of containers. Order counts. */
export class Shadow {
  constructor(
    readonly prototype: unknown,
    /** Undefined for an array. */
    readonly keys: readonly string[] | undefined,
    readonly values: readonly unknown[],
  ) {}
}

/** What a message was made of. It repeats the fields: only what is not among those is looked at. */
const MADE_OF = 'lc_kwargs'
const DEPTH_MAX = 64

/**
 * The shadow of a container; undefined where it holds what cannot be told by its fields, such as a
 * map or bytes.
 */
export function shadowOf(value: object, depth = 0): Shadow | undefined {
  if (depth > DEPTH_MAX) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  const values: unknown[] = []
  if (Array.isArray(value)) {
    for (const member of value) if (!push(values, member, depth)) return undefined
    return new Shadow(prototype, undefined, values)
  }
  if (isOpaque(value)) return undefined
  const keys: string[] = []
  for (const key in value) {
    keys.push(key)
    const member = (value as Record<string, unknown>)[key]
    if (key === MADE_OF) {
      const made = madeOf(member, value)
      if (made === undefined) return undefined
      values.push(made)
    } else if (!push(values, member, depth)) return undefined
  }
  return new Shadow(prototype, keys, values)
}

function push(values: unknown[], member: unknown, depth: number): boolean {
  const kept = isObject(member) ? shadowOf(member, depth + 1) : member
  if (kept === undefined && member !== undefined) return false
  values.push(kept)
  return true
}

export function isUnchanged(value: object, shadow: Shadow): boolean {
  if (Object.getPrototypeOf(value) !== shadow.prototype) return false
  const { keys, values } = shadow
  if (keys === undefined) {
    const list = value as readonly unknown[]
    if (list.length !== values.length) return false
    for (let i = 0; i < values.length; i += 1) {
      const member = list[i]
      if (!isSame(member, values[i])) return false
    }
    return true
  }
  let at = 0
  for (const key in value) {
    if (keys[at] !== key) return false
    const member = (value as Record<string, unknown>)[key]
    const kept = values[at]
    at += 1
    const isKept =
      key === MADE_OF ? hasKeys(member, kept as readonly string[]) : isSame(member, kept)
    if (!isKept) return false
  }
  return at === keys.length
}

function isSame(member: unknown, kept: unknown): boolean {
  // `Object.is` costs more, and only zeros and NaN need it.
  if (member === kept) return member !== 0 || Object.is(member, kept)
  if (kept instanceof Shadow) return isObject(member) && isUnchanged(member, kept)
  return Object.is(member, kept)
}

/** Its keys; undefined where the value of one of them is nowhere else. */
function madeOf(given: unknown, owner: object): readonly string[] | undefined {
  if (!isObject(given)) return undefined
  const keys: string[] = []
  for (const key in given) {
    if (!(key in owner)) return undefined
    keys.push(key)
  }
  return keys
}

/** The fields are looked at by themselves, so one that went from there was noticed. */
function hasKeys(given: unknown, keys: readonly string[]): boolean {
  if (!isObject(given)) return false
  let at = 0
  for (const key in given) {
    if (keys[at] !== key) return false
    at += 1
  }
  return at === keys.length
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether there is more to it than its fields. */
function isOpaque(value: object): boolean {
  return (
    types.isDate(value) ||
    types.isMap(value) ||
    types.isSet(value) ||
    types.isRegExp(value) ||
    types.isNativeError(value) ||
    types.isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value) ||
    value instanceof URL
  )
}
