/**
 * Whether a value is still what it was when it was encoded: a walk over its fields that copies and
 * hashes nothing. Strings are told by identity first, so a long one costs nothing.
 */
import { types } from 'node:util'

/** What a container held. Undefined fields count; order counts. */
export interface Shadow {
  readonly prototype: unknown
  /** Undefined for an array. */
  readonly keys: readonly string[] | undefined
  /** A primitive, or the shadow of a container. */
  readonly values: readonly unknown[]
}

class ShadowOf implements Shadow {
  constructor(
    readonly prototype: unknown,
    readonly keys: readonly string[] | undefined,
    readonly values: readonly unknown[],
  ) {}
}

/** Fields of messages that repeat the others: only what is not among those is looked at. */
const REPEATED = 'lc_kwargs'
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
    return new ShadowOf(prototype, undefined, values)
  }
  if (isOpaque(value)) return undefined
  const keys: string[] = []
  for (const key in value) {
    keys.push(key)
    const member = (value as Record<string, unknown>)[key]
    const kept = key === REPEATED && isObject(member) ? unrepeated(member, value) : member
    if (!push(values, kept, depth)) return undefined
  }
  return new ShadowOf(prototype, keys, values)
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
    if (!Array.isArray(value) || list.length !== values.length) return false
    for (let i = 0; i < values.length; i += 1) if (!isSame(list[i], values[i])) return false
    return true
  }
  let at = 0
  for (const key in value) {
    if (keys[at] !== key) return false
    const member = (value as Record<string, unknown>)[key]
    const kept = key === REPEATED && isObject(member) ? unrepeated(member, value) : member
    if (!isSame(kept, values[at])) return false
    at += 1
  }
  return at === keys.length
}

function isSame(member: unknown, kept: unknown): boolean {
  if (kept instanceof ShadowOf) return isObject(member) && isUnchanged(member, kept)
  return Object.is(member, kept)
}

/** The keys that say how an object was made, and the values that are nowhere else. */
function unrepeated(given: object, owner: object): unknown {
  const kept: unknown[] = []
  for (const key in given) {
    kept.push(key)
    if (!(key in owner)) kept.push((given as Record<string, unknown>)[key])
  }
  return kept
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
