/**
 * A JavaScript value as JSON text, exactly, or not at all.
 * What JSON cannot carry is either written under a codec tag (see `CODEC_TAGS`) or refused with its
 * path; nothing is dropped, rounded or replaced in silence. Iterative: depth costs memory, not
 * stack.
 * @see docs/format.md#values
 */
import { DaglogError } from './errors.js'
import { VALUE_HOIST_BYTES_MIN } from './limits.js'
import { pointerStep } from './pointer.js'

/** What stands at a tagged pointer in the JSON text, and what it means. */
export const CODEC_TAGS = {
  undefined: 'null stands for undefined',
  nan: 'null stands for NaN',
  inf: 'null stands for Infinity',
  '-inf': 'null stands for -Infinity',
  bigint: 'a string of decimal digits',
  date: 'an RFC 3339 string, or null for an invalid date',
  bytes: 'base64 of the bytes',
} as const
export type CodecTag = keyof typeof CODEC_TAGS

/** [JSON pointer, tag] */
export type Tagging = readonly [pointer: string, tag: CodecTag]

export interface EncodedValue {
  /** JSON text; always well-formed UTF-16, since lone surrogates are written as escapes. */
  readonly text: string
  readonly tags: readonly Tagging[]
}

/**
 * From this depth on, containers at depths that are powers of two are checked for cycles; a cycle
 * gets to all of them.
 */
const CYCLE_CHECK_DEPTH = 64

interface Open {
  readonly container: object
  /** Keys still to write; undefined for an array. */
  readonly keys: string[] | undefined
  readonly length: number
  next: number
}

/** How members of objects are ordered: as they are, or by UTF-16 units (RFC 8785). */
export type KeyOrder = 'insertion' | 'sorted'

/** Takes a very long string or byte array out of the text, which then has `null` in its place. */
export type Hoist = (pointer: string, value: string | Uint8Array) => boolean

export interface EncodeOptions {
  readonly order?: KeyOrder
  /** Asked about each string and byte array; true where it was taken. */
  readonly hoist?: Hoist
}

/**
 * Encode `value`; `at` is the pointer of its place, used in tags and errors.
 * @throws VALUE_UNSUPPORTED naming the pointer of what cannot be kept.
 */
export function encodeValue(
  value: unknown,
  at = '',
  { order = 'insertion', hoist }: EncodeOptions = {},
): EncodedValue {
  const tags: Tagging[] = []
  const stack: Open[] = []
  let text = ''
  let current: unknown = value
  for (;;) {
    const taken = hoist !== undefined && isHoistable(current) && hoist(pathOf(stack, at), current)
    const scalar = taken ? 'null' : scalarText(current, tags, stack, at)
    if (scalar === undefined) {
      const open = openContainer(current as object, stack, at, order)
      text += open.keys === undefined ? '[' : '{'
      stack.push(open)
    } else {
      text += scalar
    }
    // Close what is complete, then step to the next member.
    for (;;) {
      const top = stack.at(-1)
      if (top === undefined) return { text, tags }
      if (top.next < top.length) {
        if (top.next > 0) text += ','
        if (top.keys === undefined) {
          current = (top.container as unknown[])[top.next]
        } else {
          const key = top.keys[top.next] as string
          text += `${JSON.stringify(key)}:`
          current = (top.container as Record<string, unknown>)[key]
        }
        top.next += 1
        break
      }
      text += top.keys === undefined ? ']' : '}'
      stack.pop()
    }
  }
}

/** Cheap to say no: only what may be long enough gets a pointer. */
function isHoistable(value: unknown): value is string | Uint8Array {
  if (typeof value === 'string') return value.length * 3 >= VALUE_HOIST_BYTES_MIN
  return value instanceof Uint8Array && value.byteLength >= VALUE_HOIST_BYTES_MIN
}

/** The text of anything that is no plain container, or undefined for a container. */
function scalarText(
  value: unknown,
  tags: Tagging[],
  stack: Open[],
  at: string,
): string | undefined {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : String(value)
      tags.push([pathOf(stack, at), Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'])
      return 'null'
    case 'bigint':
      tags.push([pathOf(stack, at), 'bigint'])
      return `"${value}"`
    case 'undefined': {
      const top = stack.at(-1)
      if (
        top?.keys === undefined &&
        top !== undefined &&
        !Object.hasOwn(top.container, top.next - 1)
      ) {
        throw unsupported(pathOf(stack, at), 'a hole in an array')
      }
      tags.push([pathOf(stack, at), 'undefined'])
      return 'null'
    }
    case 'object':
      break
    default:
      throw unsupported(pathOf(stack, at), `a ${typeof value}`)
  }
  if (value === null) return 'null'
  if (value instanceof Date && isPlainDate(value)) {
    tags.push([pathOf(stack, at), 'date'])
    return Number.isNaN(value.getTime()) ? 'null' : `"${value.toISOString()}"`
  }
  if (isBytes(value)) {
    tags.push([pathOf(stack, at), 'bytes'])
    return `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}"`
  }
  return undefined
}

/** A subclass, or one with members of its own, would come back as something else. */
function isPlainDate(date: Date): boolean {
  return Object.getPrototypeOf(date) === Date.prototype && Object.keys(date).length === 0
}

function isBytes(value: object): value is Uint8Array {
  if (!(value instanceof Uint8Array)) return false
  const proto = Object.getPrototypeOf(value)
  return proto === Uint8Array.prototype || proto === Buffer.prototype
}

function openContainer(container: object, stack: Open[], at: string, order: KeyOrder): Open {
  const depth = stack.length
  if (depth >= CYCLE_CHECK_DEPTH && (depth & (depth - 1)) === 0) refuseCycle(container, stack, at)
  if (
    Object.getOwnPropertySymbols(container).some((s) =>
      Object.prototype.propertyIsEnumerable.call(container, s),
    )
  ) {
    throw unsupported(pathOf(stack, at), 'an object with symbol keys')
  }
  if (Array.isArray(container)) {
    // Array.prototype is itself an array, in every realm; the prototype of a subclass is not.
    if (!Array.isArray(Object.getPrototypeOf(container))) {
      throw unsupported(pathOf(stack, at), 'an instance of a subclass of Array')
    }
    if (Object.keys(container).length > container.length) {
      throw unsupported(pathOf(stack, at), 'an array with named properties')
    }
    return { container, keys: undefined, length: container.length, next: 0 }
  }
  const proto = Object.getPrototypeOf(container)
  // An object of another realm (vm, worker) has another Object.prototype, whose own prototype is
  // null.
  if (proto !== null && proto !== Object.prototype && Object.getPrototypeOf(proto) !== null) {
    throw unsupported(pathOf(stack, at), `an instance of ${proto.constructor?.name || 'a class'}`)
  }
  if (proto !== null && !Object.hasOwn(proto, 'hasOwnProperty')) {
    throw unsupported(pathOf(stack, at), 'an object with a prototype of its own')
  }
  const keys = Object.keys(container)
  if (order === 'sorted') keys.sort()
  return { container, keys, length: keys.length, next: 0 }
}

function refuseCycle(container: object, stack: Open[], at: string): void {
  if (!stack.some((open) => open.container === container)) return
  const seen = new Set<object>()
  const repeat = stack.findIndex((open) => seen.size === seen.add(open.container).size)
  const path = pathOf(repeat < 0 ? stack : stack.slice(0, repeat), at)
  throw unsupported(path, 'a cycle (a value that contains itself)')
}

function pathOf(stack: readonly Open[], at: string): string {
  let path = at
  for (const { keys, next } of stack)
    path += pointerStep(keys === undefined ? next - 1 : (keys[next - 1] as string))
  return path
}

function unsupported(pointer: string, what: string): DaglogError {
  return new DaglogError(
    'VALUE_UNSUPPORTED',
    `cannot record ${what} at ${pointer || 'the top'}; try: convert it to plain JSON, text or bytes first`,
    { pointer, what },
  )
}
