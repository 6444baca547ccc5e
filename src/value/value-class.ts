/**
 * Numbers for values: equal values have equal numbers, so that comparing them again costs nothing.
 * What is equal is what daglog records alike: the order of keys does not matter; -0 is not 0, NaN
 * is NaN, a date is no text.
 */
import { sha256 } from '../core/hash.js'

/** Whether `value` has members: an array or a plain object. */
export function isContainer(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    !(value instanceof Date) &&
    !(value instanceof Uint8Array)
  )
}

/** Whether two values that have no members are equal. */
export function isSameScalar(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  if (left instanceof Date && right instanceof Date) {
    return Object.is(left.getTime(), right.getTime())
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return left.length === right.length && bufferOf(left).equals(right)
  }
  return false
}

/** Whether two values are equal. Iterative; copies nothing. They must not contain themselves. */
export function isSameValue(left: unknown, right: unknown): boolean {
  const work: unknown[] = [left, right]
  while (work.length > 0) {
    const b = work.pop()
    const a = work.pop()
    if (Object.is(a, b)) continue
    if (!isContainer(a) || !isContainer(b)) {
      if (!isSameScalar(a, b)) return false
    } else if (!pushMembers(a, b, work)) return false
  }
  return true
}

/** Push the members of both containers, two by two; false where they cannot be equal. */
function pushMembers(a: object, b: object, work: unknown[]): boolean {
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    // The first member is to be compared first, so it is pushed last.
    for (let at = a.length - 1; at >= 0; at--) work.push(a[at], b[at])
    return true
  }
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return false
    work.push((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
  }
  return true
}

interface Open {
  readonly container: object
  /** Undefined for an array. */
  readonly keys: readonly string[] | undefined
  readonly length: number
  next: number
  /** The numbers of the members so far. */
  text: string
}

export class ValueClasses {
  readonly #scalars = new Map<unknown, number>()
  readonly #texts = new Map<string, number>()
  readonly #containers = new Map<object, number>()
  #next = 0

  /** The number of a value; each container is walked once. Iterative. */
  of(value: unknown): number {
    const first = this.#known(value)
    if (first !== undefined) return first
    const stack = [open(value as object)]
    for (;;) {
      const top = stack.at(-1)!
      if (top.next === top.length) {
        const number = this.#numberOf(
          this.#texts,
          `${top.keys === undefined ? '[' : '{'}${top.text}`,
        )
        this.#containers.set(top.container, number)
        stack.pop()
        if (stack.length === 0) return number
        continue
      }
      const at = top.keys === undefined ? top.next : top.keys[top.next]!
      const member = (top.container as Record<string | number, unknown>)[at]
      const number = this.#known(member)
      if (number === undefined) {
        // Once it is numbered, this member is looked up again.
        stack.push(open(member as object))
        continue
      }
      const key = typeof at === 'number' ? '' : `${this.#numberOf(this.#scalars, at)}:`
      top.text += `${key}${number},`
      top.next += 1
    }
  }

  /** The number of a scalar, or of a container that was seen before. */
  #known(value: unknown): number | undefined {
    if (isContainer(value)) return this.#containers.get(value)
    if (Object.is(value, -0)) return this.#numberOf(this.#texts, '-0')
    if (value instanceof Date) return this.#numberOf(this.#texts, `date ${value.getTime()}`)
    if (value instanceof Uint8Array) return this.#numberOf(this.#texts, `bytes ${sha256(value)}`)
    return this.#numberOf(this.#scalars, value)
  }

  #numberOf<K>(numbers: Map<K, number>, key: K): number {
    let number = numbers.get(key)
    if (number === undefined) {
      number = this.#next++
      numbers.set(key, number)
    }
    return number
  }
}

function open(container: object): Open {
  if (Array.isArray(container)) {
    return { container, keys: undefined, length: container.length, next: 0, text: '' }
  }
  const keys = Object.keys(container).sort()
  return { container, keys, length: keys.length, next: 0, text: '' }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
