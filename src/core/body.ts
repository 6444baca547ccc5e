/**
 * The body of a frame: salt, refs, codec tags and data.
 * Splits what is too large off the data and puts it back; where the split bytes live is the store's
 * business.
 * @see docs/format.md#body
 */
import { applyTags } from './decode.js'
import { encodeValue, type Tagging } from './encode.js'
import { DaglogError } from './errors.js'
import { type Hash, isHash } from './hash.js'
import { BODY_DATA_BYTES_MAX, VALUE_HOIST_BYTES_MIN, VALUE_INLINE_BYTES_MAX } from './limits.js'
import type { StoredObject } from './object.js'
import { pointerStep, replaceAt } from './pointer.js'

/**
 * How the exact bytes of a value out of line are read: JSON text; JSON text, a newline, and its
 * codec tags as JSON; UTF-8 text; or as they are. A `tree` has no bytes of its own: its objects are
 * the value.
 */
export type RefKind = 'json' | 'tagged' | 'text' | 'bytes' | 'tree'

/** Where a large value was: the hash of its exact bytes, and the object that rebuilds them. */
export interface Ref {
  readonly pointer: string
  readonly sha256: Hash
  readonly root: Hash
  readonly size: number
  readonly kind: RefKind
}

/** A value that goes out of line, on its way to the objects. */
export interface LargeValue {
  readonly pointer: string
  readonly kind: RefKind
  readonly bytes: Uint8Array
}

/** A value out of line whose objects are made already: a state. */
export interface PreparedValue {
  readonly pointer: string
  readonly ref: Ref
  /** Children before parents. */
  readonly objects: readonly StoredObject[]
}

/** Data as it was at the call: later changes to the caller's objects do not reach it. */
export interface EncodedData {
  /** JSON text with `null` at the pointer of each large value. */
  readonly inline: string
  readonly large: readonly (LargeValue | PreparedValue)[]
  readonly tags: readonly Tagging[]
}

/** Of an event whose data is put in later. */
export const NO_DATA: EncodedData = { inline: 'null', large: [], tags: [] }

/**
 * Encode the data of an event. A member of `data` (or the whole of it, where it is no object)
 * longer than `VALUE_INLINE_BYTES_MAX` goes out of line; so does a string or byte array inside it
 * that is longer than `VALUE_HOIST_BYTES_MIN`, by itself.
 * @throws VALUE_UNSUPPORTED
 */
export function encodeData(data: unknown): EncodedData {
  if (!isPlainObject(data)) return encodeWhole(data)
  const members = encodeMembers(data)
  return byteLength(members.inline) > BODY_DATA_BYTES_MAX ? encodeWhole(data) : members
}

function encodeWhole(data: unknown): EncodedData {
  const { text, tags, large } = encodeAt(data, '')
  return { inline: text, large, tags }
}

function encodeMembers(data: Record<string, unknown>): EncodedData {
  const large: LargeValue[] = []
  const tags: Tagging[] = []
  let inline = ''
  for (const key of Object.keys(data)) {
    let text = shortText(data[key])
    if (text === undefined) {
      const encoded = encodeAt(data[key], pointerStep(key))
      for (const value of encoded.large) large.push(value)
      for (const tag of encoded.tags) tags.push(tag)
      text = encoded.text
    }
    inline += `${inline === '' ? '{' : ','}${JSON.stringify(key)}:${text}`
  }
  return { inline: inline === '' ? '{}' : `${inline}}`, large, tags }
}

/** Most bytes that one UTF-16 unit takes in JSON text: `\u0000`. */
const ESCAPED_BYTES_MAX = 6

/**
 * The JSON text of a string that can only be short, as most members are; undefined for all else.
 */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && value.length * ESCAPED_BYTES_MAX + 2 <= VALUE_INLINE_BYTES_MAX
    ? JSON.stringify(value)
    : undefined
}

/**
 * One value: inline, or out of line as a whole; very long strings and bytes inside it by
 * themselves, so that a page is the same object whether it is the output of one step or a member of
 * another's input.
 */
function encodeAt(
  value: unknown,
  pointer: string,
): { text: string; tags: readonly Tagging[]; large: LargeValue[] } {
  const scalar = largeScalar(value, pointer, VALUE_INLINE_BYTES_MAX + 1)
  if (scalar !== undefined) return { text: 'null', tags: [], large: [scalar] }
  const inner: LargeValue[] = []
  const { text, tags } = encodeValue(value, pointer, {
    hoist: (at, candidate) => {
      const taken = largeScalar(candidate, at, VALUE_HOIST_BYTES_MIN)
      if (taken !== undefined) inner.push(taken)
      return taken !== undefined
    },
  })
  if (!isLargeText(text)) return { text, tags, large: inner }
  const outer = largeScalar(value, pointer, 0) ?? largeJson(text, tags, pointer)
  // What is put back first must be the outer one.
  return { text: 'null', tags: [], large: [outer, ...inner] }
}

/** What encoded data stands for, as it will be read, but for trees: of those there are the refs. */
export function decodeData(data: EncodedData): {
  readonly value: unknown
  readonly trees: readonly Ref[]
} {
  let value: unknown = JSON.parse(data.inline)
  const trees: Ref[] = []
  for (const large of data.large) {
    if ('bytes' in large)
      value = replaceAt(value, large.pointer, valueIn(large.kind, large.bytes, large.pointer))
    else trees.push(large.ref)
  }
  return { value: applyTags(value, data.tags), trees }
}

/** Encode data that must stay in the frame, however long it is. @throws VALUE_UNSUPPORTED */
export function encodeInline(data: unknown): EncodedData {
  const { text, tags } = encodeValue(data)
  return { inline: text, large: [], tags }
}

/** Bytes that will go out of line, as far as they are known to be new. */
export function outOfLineBytes(data: EncodedData): number {
  let bytes = 0
  for (const value of data.large) {
    if ('bytes' in value) bytes += value.bytes.length
    else for (const object of value.objects) bytes += object.bytes.length
  }
  return bytes
}

/** The members of two encoded objects as one; they must have no key in common. */
export function joinData(left: EncodedData, right: EncodedData): EncodedData {
  const members = [left, right]
    .map(({ inline }) => inline.slice(1, -1))
    .filter((text) => text !== '')
  return {
    inline: `{${members.join(',')}}`,
    large: [...left.large, ...right.large],
    tags: [...left.tags, ...right.tags],
  }
}

/** Tags go where their value goes; there they are relative to it. */
function largeJson(text: string, tags: readonly Tagging[], pointer: string): LargeValue {
  if (tags.length === 0) return { pointer, kind: 'json', bytes: Buffer.from(text) }
  const relative = tags.map(([at, tag]) => [at.slice(pointer.length), tag])
  return { pointer, kind: 'tagged', bytes: Buffer.from(`${text}\n${JSON.stringify(relative)}`) }
}

/** A string or byte array of at least `bytesMin` goes out of line as its own bytes, not as JSON. */
function largeScalar(value: unknown, pointer: string, bytesMin: number): LargeValue | undefined {
  if (typeof value === 'string') {
    if (value.length * 3 < bytesMin || Buffer.byteLength(value) < bytesMin) return undefined
    return value.isWellFormed() ? { pointer, kind: 'text', bytes: Buffer.from(value) } : undefined
  }
  if (value instanceof Uint8Array && value.byteLength >= bytesMin) {
    return { pointer, kind: 'bytes', bytes: Buffer.from(value) }
  }
  return undefined
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const proto = Object.getPrototypeOf(value)
  // Symbol keys are refused with their path by encodeWhole.
  return (
    (proto === Object.prototype || proto === null) &&
    Object.getOwnPropertySymbols(value).length === 0
  )
}

function byteLength(text: string): number {
  return text.length * 3 <= VALUE_INLINE_BYTES_MAX ? text.length : Buffer.byteLength(text)
}

function isLargeText(text: string): boolean {
  return byteLength(text) > VALUE_INLINE_BYTES_MAX
}

/**
 * The JSON text of a body. `salt` is 16 random bytes as hex, so that the commitment says nothing
 * about guessable content.
 */
export function bodyText(options: {
  readonly salt: string
  readonly inline: string
  readonly refs: readonly Ref[]
  readonly tags: readonly Tagging[]
  readonly op?: string | undefined
}): string {
  const { salt, inline, refs, tags, op } = options
  let text = `{"salt":"${salt}"`
  if (refs.length > 0) {
    const rows = refs.map((ref) => [ref.pointer, ref.sha256, ref.root, ref.size, ref.kind])
    text += `,"refs":${JSON.stringify(rows)}`
  }
  if (tags.length > 0) text += `,"enc":${JSON.stringify(tags)}`
  if (op !== undefined) text += `,"op":${JSON.stringify(op)}`
  return `${text},"data":${inline}}`
}

export interface Body {
  readonly refs: readonly Ref[]
  readonly tags: readonly Tagging[]
  readonly op?: string
  /** With `null` at the pointer of each ref, and codec tags not yet applied. */
  readonly data: unknown
}

/** Parse a body whose commitment was already checked. @throws FRAME_INVALID */
export function parseBody(bytes: Uint8Array): Body {
  let body: { salt?: unknown; refs?: unknown; enc?: unknown; op?: unknown; data?: unknown } | null
  try {
    body = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  } catch (cause) {
    throw new DaglogError('FRAME_INVALID', 'the body of a frame is no JSON', {}, { cause })
  }
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'data')) {
    throw new DaglogError('FRAME_INVALID', 'the body of a frame has no data')
  }
  const refs = parseRefs(body.refs)
  // Whoever audits looks for refs in one place only; there must be none elsewhere.
  if (refs.length > 0 && !hasRefs(bytes)) {
    throw new DaglogError('FRAME_INVALID', 'the refs of a body are not where they belong')
  }
  if (body.op !== undefined && operationOf(bytes) !== body.op) {
    throw new DaglogError('FRAME_INVALID', 'the operation of a body is not where it belongs')
  }
  return {
    refs,
    tags: Array.isArray(body.enc) ? (body.enc as Tagging[]) : [],
    ...(typeof body.op === 'string' ? { op: body.op } : {}),
    data: body.data,
  }
}

const REFS_AT = `{"salt":"${'0'.repeat(32)}",`.length
const REFS_KEY = Buffer.from('"refs":')
const NO_REFS: readonly Ref[] = []

/** The refs of a body; parses nothing where it has none, which is most of verify's work. */
export function refsOf(bytes: Uint8Array): readonly Ref[] {
  return hasRefs(bytes) ? parseBody(bytes).refs : NO_REFS
}

/** The same, and none where the body makes no sense: that is for an audit to tell. */
export function readableRefsOf(bytes: Uint8Array): readonly Ref[] {
  try {
    return refsOf(bytes)
  } catch (error) {
    if (error instanceof DaglogError) return NO_REFS
    throw error
  }
}

function hasRefs(bytes: Uint8Array): boolean {
  return standsAt(bytes, REFS_AT, REFS_KEY)
}

function standsAt(bytes: Uint8Array, at: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i += 1) if (bytes[at + i] !== key[i]) return false
  return true
}

const TAGS_KEY = Buffer.from('"enc":')
const OP_KEY = Buffer.from('"op":')
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

/**
 * The operation id of a body; undefined where it has none. It stands after refs and tags and before
 * the data, so whoever looks for it walks over those two and parses nothing.
 */
export function operationOf(bytes: Uint8Array): string | undefined {
  let at = REFS_AT
  for (const key of [REFS_KEY, TAGS_KEY]) {
    if (standsAt(bytes, at, key)) at = listEnd(bytes, at + key.length) + 1
  }
  if (!standsAt(bytes, at, OP_KEY)) return undefined
  const from = at + OP_KEY.length
  try {
    const op: unknown = JSON.parse(
      Buffer.from(bytes.subarray(from, stringEnd(bytes, from))).toString(),
    )
    return typeof op === 'string' ? op : undefined
  } catch {
    return undefined // Not as we write it: `parseBody` tells what is wrong.
  }
}

/** Where the JSON list that begins at `from` ends. */
function listEnd(bytes: Uint8Array, from: number): number {
  let depth = 0
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1
    else if (byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE_LIST) {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return bytes.length
}

/** Where the JSON string that begins at `from` ends. */
function stringEnd(bytes: Uint8Array, from: number): number {
  let at = from + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}

function parseRefs(rows: unknown): Ref[] {
  if (rows === undefined) return []
  if (!Array.isArray(rows)) throw new DaglogError('FRAME_INVALID', 'the refs of a body are no list')
  return rows.map((row) => {
    const [pointer, sha256, root, size, kind] = Array.isArray(row) ? row : []
    const sized = Number.isSafeInteger(size) && size >= 0
    if (
      typeof pointer === 'string' &&
      isHash(sha256) &&
      isHash(root) &&
      sized &&
      typeof kind === 'string'
    ) {
      return { pointer, sha256, root, size, kind: kind as RefKind }
    }
    throw new DaglogError('FRAME_INVALID', 'a ref of a body is malformed')
  })
}

/**
 * Put loaded values back at their pointers and apply the codec tags: the data as it was appended.
 */
export function restoreData(body: Body, values: ReadonlyMap<string, unknown>): unknown {
  let data = body.data
  for (const ref of body.refs) data = replaceAt(data, ref.pointer, values.get(ref.pointer))
  return applyTags(data, body.tags)
}

/** The value that a ref's exact bytes stand for. @throws OBJECT_CORRUPT where they are no JSON. */
export function refValue(ref: Ref, bytes: Uint8Array): unknown {
  try {
    return valueIn(ref.kind, bytes, ref.pointer)
  } catch (cause) {
    const place = ref.pointer || 'the top'
    throw new DaglogError(
      'OBJECT_CORRUPT',
      `the value at ${place} is not readable`,
      { ref },
      { cause },
    )
  }
}

function valueIn(kind: RefKind, bytes: Uint8Array, pointer: string): unknown {
  if (kind === 'bytes') return new Uint8Array(bytes)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  if (kind === 'text') return text
  if (kind === 'json') return JSON.parse(text)
  if (kind !== 'tagged') throw new Error(`a value of kind "${kind}" is not known at ${pointer}`)
  const end = text.indexOf('\n')
  return applyTags(JSON.parse(text.slice(0, end)), JSON.parse(text.slice(end + 1)))
}
