/**
 * Scalars of a tree: which are bare primitives, which are boxed, and the bytes of those that are.
 * Besides JSON's there are undefined, -0, NaN, the infinities, integers of any size, dates and
 * bytes.
 */
import { Buffer } from 'node:buffer'
import { decodeText, encodeText } from './tree-bytes.js'
import {
  BoxNode,
  type BoxType,
  type BoxValue,
  isNode,
  KIND,
  type Slot,
  TREE_INLINE_BYTES_MAX,
} from './tree-node.js'

/** Longest content that fits a parent, in bytes: the rest is its tag and its length. */
const CONTENT_INLINE_BYTES_MAX = TREE_INLINE_BYTES_MAX - 3
/** An integer below this has its content well inside the parent. */
const BIGINT_SMALL = 2n ** 64n

/** Whether a content of `length` bytes is an object of its own. */
export function isLong(type: BoxType, length: number): boolean {
  return type !== 'date' && length > CONTENT_INLINE_BYTES_MAX
}

/** The slot for a text. */
export function textSlot(text: string): Slot {
  if (text.length * 3 <= CONTENT_INLINE_BYTES_MAX) return text
  const length = Buffer.byteLength(text) // A lone surrogate counts three, as in our encoding.
  return isLong('text', length) ? new BoxNode('text', text, length) : text
}

/** The slot for an integer of any size. */
export function bigintSlot(value: bigint): Slot {
  if (value < BIGINT_SMALL && value > -BIGINT_SMALL) return value
  const length = bigintContent(value).length
  return isLong('bigint', length) ? new BoxNode('bigint', value, length) : value
}

/** The slot for bytes, which are copied. */
export function bytesSlot(bytes: Uint8Array): Slot {
  return new BoxNode('bytes', Uint8Array.from(bytes), bytes.length)
}

export function dateSlot(date: Date): Slot {
  return new BoxNode('date', date.getTime(), 8)
}

/** A boxed value as a caller gets it: dates and bytes are new copies. */
export function unbox(box: BoxNode): string | Uint8Array | bigint | Date {
  const value = heldIn(box)
  if (typeof value === 'number') return new Date(value)
  return typeof value === 'object' ? Uint8Array.from(value) : value
}

/** The content of a box that is not a date: what its hash is over where it is long. */
export function contentOf(box: BoxNode): Uint8Array {
  const value = heldIn(box)
  if (typeof value === 'string') return encodeText(value)
  return typeof value === 'object' ? value : bigintContent(BigInt(value))
}

/** The value whose content `bytes` is (not copied), or undefined where there is none. */
export function valueOfContent(type: BoxType, bytes: Uint8Array): BoxValue | undefined {
  if (type === 'bytes') return bytes
  return type === 'text' ? decodeText(bytes) : bigintOf(bytes)
}

/** Whether two slots are the same without a look inside containers. */
export function sameSlot(a: Slot, b: Slot): boolean {
  if (Object.is(a, b)) return true
  if (!isNode(a) || !isNode(b)) return false
  if (a.kind !== KIND.box || b.kind !== KIND.box) {
    // One and the same object, loaded twice or not yet.
    return a.kind !== KIND.box && b.kind !== KIND.box && a.hash !== undefined && a.hash === b.hash
  }
  if (a.type !== b.type || a.length !== b.length) return false
  if (a.hash !== undefined && b.hash !== undefined) return a.hash === b.hash
  const left = heldIn(a)
  const right = heldIn(b)
  if (typeof left !== 'object' || typeof right !== 'object') return Object.is(left, right)
  return Buffer.compare(left, right) === 0
}

/** Sign (1 for negative), then the magnitude, big-endian and without leading zeros. */
export function bigintContent(value: bigint): Buffer {
  const digits = value === 0n ? '' : (value < 0n ? -value : value).toString(16)
  const hex = digits.length % 2 === 0 ? digits : `0${digits}`
  return Buffer.from((value < 0n ? '01' : '00') + hex, 'hex')
}

function bigintOf(bytes: Uint8Array): bigint | undefined {
  const sign = bytes[0]
  if (sign === undefined || sign > 1) return undefined
  if (bytes.length === 1) return sign === 0 ? 0n : undefined
  if (bytes[1] === 0) return undefined
  const digits = Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1).toString('hex')
  const magnitude = BigInt(`0x${digits}`)
  return sign === 1 ? -magnitude : magnitude
}

function heldIn(box: BoxNode): BoxValue {
  return box.value ?? box.home!.content(box)
}
