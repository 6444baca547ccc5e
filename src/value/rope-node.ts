/**
 * The bytes of an inner node of a rope: literal bytes and references to children, in order.
 * Knows one node only: neither how bytes are cut nor where objects live.
 *
 * `01`, then entries to the end. An entry starts with a varint (7 bits a byte, lowest first) whose
 * two low bits are a kind and whose rest is a count of bytes, never 0. Kind 0: that many literal
 * bytes follow. Kind 1 or 2: the 32-byte hash of a blob or a rope node follows, which stands for
 * that many bytes.
 * @see docs/format.md#ropes
 */
import { assert, DaglogError } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'

/** How a child is read: as its own bytes, or as a node. */
export type RopeKind = 'blob' | 'rope'

/** A child of a node. `size` is the count of bytes it stands for, not of bytes it is stored in. */
export interface RopeChild {
  readonly hash: Hash
  readonly kind: RopeKind
  readonly size: number
}

/** One entry of a node: bytes kept in place (a view of the node's bytes), or a child. */
export type RopeEntry = Uint8Array | RopeChild

/** First byte of a node: a rope node, version 1. */
const NODE_VERSION = 1

const HASH_BYTES = 32
const VARINT_BYTES_MAX = 8
const KIND_LITERAL = 0
const KIND_BLOB = 1
const KIND_ROPE = 2

/** Largest node that is written or read, in bytes. Most are below 5 KB. */
export const ROPE_NODE_BYTES_MAX = 64 * 1024

/** What a child costs in its node, in bytes, for a size between 4 KB and 512 KB. */
export const ROPE_CHILD_BYTES = HASH_BYTES + 3

/** The node of these entries. No literal and no child may be empty. */
export function encodeRopeNode(entries: readonly RopeEntry[]): Uint8Array {
  let most = 1
  for (const entry of entries) {
    most += VARINT_BYTES_MAX + (entry instanceof Uint8Array ? entry.length : HASH_BYTES)
  }
  const node = Buffer.allocUnsafe(most)
  node[0] = NODE_VERSION
  let length = 1
  for (const entry of entries) {
    if (entry instanceof Uint8Array) {
      length = writeVarint(node, length, entry.length * 4 + KIND_LITERAL)
      node.set(entry, length)
      length += entry.length
    } else {
      const kind = entry.kind === 'blob' ? KIND_BLOB : KIND_ROPE
      length = writeVarint(node, length, entry.size * 4 + kind)
      length += node.write(entry.hash, length, 'hex')
    }
  }
  assert(length <= ROPE_NODE_BYTES_MAX, 'a rope node is bounded')
  return node.subarray(0, length)
}

function writeVarint(into: Buffer, at: number, value: number): number {
  let rest = value
  let next = at
  while (rest >= 0x80) {
    into[next++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  into[next++] = rest
  return next
}

/**
 * The entries of a node, checked whole before any is used.
 * @param hash The node's name, for the error; computed where it is not given.
 * @throws DaglogError OBJECT_CORRUPT where `bytes` is not a node.
 */
export function parseRopeNode(bytes: Uint8Array, hash?: Hash): RopeEntry[] {
  if (bytes.length > ROPE_NODE_BYTES_MAX) {
    throw corruptNode(bytes, hash, `is ${bytes.length} bytes long, ${ROPE_NODE_BYTES_MAX} at most`)
  }
  if (bytes[0] !== NODE_VERSION) throw corruptNode(bytes, hash, 'does not start as a node does')
  const entries: RopeEntry[] = []
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 1
  while (at < bytes.length) {
    let head = 0
    let scale = 1
    let byte: number
    do {
      byte = bytes[at++] ?? 0
      head += (byte & 0x7f) * scale
      scale *= 0x80
    } while (byte >= 0x80 && head <= Number.MAX_SAFE_INTEGER)
    const kind = head % 4
    const size = (head - kind) / 4
    const end = at + (kind === KIND_LITERAL ? size : HASH_BYTES)
    if (head > Number.MAX_SAFE_INTEGER || byte === 0 || size === 0 || kind > KIND_ROPE) {
      throw corruptNode(bytes, hash, `has no valid entry before byte ${at}`)
    }
    if (end > bytes.length) throw corruptNode(bytes, hash, 'ends inside an entry')
    if (kind === KIND_LITERAL) entries.push(bytes.subarray(at, end))
    else {
      const child = view.toString('hex', at, end) as Hash
      entries.push({ hash: child, kind: kind === KIND_BLOB ? 'blob' : 'rope', size })
    }
    at = end
  }
  return entries
}

/**
 * The children of a node, in order, for `gc` and `verify`. One child may occur more than once.
 * @throws DaglogError OBJECT_CORRUPT where `bytes` is not a node.
 */
export function ropeChildren(bytes: Uint8Array): RopeChild[] {
  return parseRopeNode(bytes).filter((entry): entry is RopeChild => !(entry instanceof Uint8Array))
}

function corruptNode(bytes: Uint8Array, hash: Hash | undefined, what: string): DaglogError {
  const name = hash ?? sha256(bytes)
  return new DaglogError(
    'OBJECT_CORRUPT',
    `object ${name} is referred to as a rope node, but ${what}. ` +
      'Try: `daglog verify` to see which runs need it, then a backup.',
    { hash: name },
  )
}
