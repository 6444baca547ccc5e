/**
 * Bytes in and out: varints, floats, hashes and text, each with exactly one encoding.
 * Knows nothing of nodes.
 * @see docs/format.md#trees
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { DaglogError } from '../core/errors.js'
import { HASH_HEX_LENGTH, type Hash } from '../core/hash.js'

const HASH_BYTES = HASH_HEX_LENGTH / 2
const VARINT_BYTES_MAX = 8
/** Text up to this many UTF-16 units has its length in one byte, whatever the units are. */
const TEXT_UNITS_SHORT = 42
/** Below this, a loop over the units beats the call into native code. */
const TEXT_UNITS_LOOPED = 24

/** A growing buffer that is used again and again. */
export class ByteWriter {
  buffer = Buffer.allocUnsafeSlow(4096)
  at = 0

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    if (this.at + count <= this.buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.at + count, this.buffer.length * 2))
    this.buffer.copy(grown, 0, 0, this.at)
    this.buffer = grown
  }

  byte(value: number): void {
    this.reserve(1)
    this.buffer[this.at++] = value
  }

  /** LEB128, shortest form; `value` is an integer from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.reserve(VARINT_BYTES_MAX)
    let rest = value
    while (rest > 0x7f) {
      this.buffer[this.at++] = (rest & 0x7f) | 0x80
      rest = Math.floor(rest / 128)
    }
    this.buffer[this.at++] = rest
  }

  /** Big-endian binary64; every NaN is written the same. */
  float(value: number): void {
    this.reserve(8)
    if (Number.isNaN(value)) {
      this.buffer.writeUInt32BE(0x7ff80000, this.at)
      this.buffer.writeUInt32BE(0, this.at + 4)
    } else this.buffer.writeDoubleBE(value, this.at)
    this.at += 8
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.buffer.set(bytes, this.at)
    this.at += bytes.length
  }

  hash(hash: Hash): void {
    this.reserve(HASH_BYTES)
    this.at += this.buffer.write(hash, this.at, HASH_BYTES, 'hex')
  }

  /** Length in bytes, then the bytes of `encodeText`. */
  text(text: string): void {
    this.reserve(VARINT_BYTES_MAX + text.length * 3)
    if (text.length <= TEXT_UNITS_LOOPED && this.#ascii(text)) return
    if (!isWellFormed(text)) {
      const bytes = encodeText(text)
      this.varint(bytes.length)
      this.raw(bytes)
    } else if (text.length <= TEXT_UNITS_SHORT) {
      const count = this.buffer.write(text, this.at + 1)
      this.buffer[this.at] = count
      this.at += count + 1
    } else {
      this.varint(Buffer.byteLength(text))
      this.at += this.buffer.write(text, this.at)
    }
  }

  #ascii(text: string): boolean {
    const { buffer, at } = this
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0x7f) return false
      buffer[at + 1 + i] = unit
    }
    buffer[at] = text.length
    this.at += text.length + 1
    return true
  }

  /** What was written since `fromByte`; valid until the next write. */
  view(fromByte = 0): Buffer {
    return this.buffer.subarray(fromByte, this.at)
  }
}

/** Whose bytes are read, for messages. */
export interface ByteOrigin {
  readonly hash: Hash
  /** Who refers to them. */
  readonly referrer: string
}

/**
 * Reads what ByteWriter wrote. Throws OBJECT_CORRUPT on anything that it would not have written.
 */
export class ByteReader {
  at = 0
  /** Nothing at or past this byte is read. */
  end: number

  constructor(
    readonly bytes: Uint8Array,
    readonly origin: ByteOrigin,
  ) {
    this.end = bytes.length
  }

  fail(what: string): never {
    throw corrupt(this.origin, `byte ${this.at}: ${what}`)
  }

  #take(count: number): number {
    const at = this.at
    if (count > this.end - at) this.fail('it is cut short')
    this.at = at + count
    return at
  }

  byte(): number {
    return this.bytes[this.#take(1)]!
  }

  varint(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        if (byte === 0 && i > 0) this.fail('a number is longer than needed')
        if (!Number.isSafeInteger(value)) break
        return value
      }
      scale *= 128
    }
    this.fail('a number is too large')
  }

  /** Any double but a NaN other than the one that is written. */
  float(): number {
    const at = this.#take(8)
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + at, 8)
    const value = view.getFloat64(0)
    if (Number.isNaN(value) && (view.getUint32(0) !== 0x7ff80000 || view.getUint32(4) !== 0)) {
      this.fail('not the NaN that is written')
    }
    return value
  }

  /** Not copied. */
  raw(count: number): Uint8Array {
    const at = this.#take(count)
    return this.bytes.subarray(at, at + count)
  }

  hash(): Hash {
    return hexOf(this.raw(HASH_BYTES))
  }

  text(): string {
    const text = decodeText(this.raw(this.varint()))
    if (text === undefined) this.fail('text is not well encoded')
    return text
  }
}

/** The error for bytes that are not what was written. */
export function corrupt(origin: ByteOrigin, what: string, cause?: unknown): DaglogError {
  return new DaglogError(
    'OBJECT_CORRUPT',
    `object ${origin.hash}, which ${origin.referrer} refers to: ${what}. ` +
      'What does not need this object is intact; try: `daglog verify`, or restore it from a backup.',
    { hash: origin.hash, referrer: origin.referrer },
    { cause },
  )
}

/**
 * UTF-8, with a lone surrogate as the three bytes that its code point would have (WTF-8).
 * Injective, unlike UTF-8 as Node writes it: there every lone surrogate becomes U+FFFD.
 */
export function encodeText(text: string): Buffer {
  if (isWellFormed(text)) return Buffer.from(text, 'utf8')
  const bytes = Buffer.allocUnsafe(text.length * 3)
  let at = 0
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0xd800 || unit > 0xdfff) continue
    if (unit < 0xdc00 && isLow(text.charCodeAt(i + 1))) {
      i += 1 // A pair is one character.
      continue
    }
    at += bytes.write(text.slice(from, i), at)
    bytes[at++] = 0xe0 | (unit >> 12)
    bytes[at++] = 0x80 | ((unit >> 6) & 0x3f)
    bytes[at++] = 0x80 | (unit & 0x3f)
    from = i + 1
  }
  at += bytes.write(text.slice(from), at)
  return bytes.subarray(0, at)
}

/** The text whose encoding `bytes` is, or undefined where there is none. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (isUtf8(buffer)) return buffer.toString('utf8')
  let text = ''
  let from = 0
  for (let i = 0; i + 2 < buffer.length; i++) {
    // In well-formed UTF-8, 0xed is never followed by 0xa0 or more: that is a surrogate.
    if (buffer[i] !== 0xed || buffer[i + 1]! < 0xa0 || (buffer[i + 2]! & 0xc0) !== 0x80) continue
    const before = buffer.subarray(from, i)
    if (!isUtf8(before) || buffer[i + 1]! > 0xbf) return undefined
    const unit = 0xd000 | ((buffer[i + 1]! & 0x3f) << 6) | (buffer[i + 2]! & 0x3f)
    text += before.toString('utf8')
    // Two of them that make a pair must be written as one character.
    if (isLow(unit) && isHigh(text.charCodeAt(text.length - 1))) return undefined
    text += String.fromCharCode(unit)
    from = i + 3
    i = from - 1
  }
  const rest = buffer.subarray(from)
  return isUtf8(rest) ? text + rest.toString('utf8') : undefined
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** ES2024, in every Node that we run on. */
function isWellFormed(text: string): boolean {
  return (text as unknown as { isWellFormed(): boolean }).isWellFormed()
}

function hexOf(bytes: Uint8Array): Hash {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return buffer.toString('hex') as Hash
}
