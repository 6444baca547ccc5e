/**
 * Long texts, bytes and integers: contents that are objects of their own.
 * This file is the only one that knows how such a content is cut.
 */

import { Buffer } from 'node:buffer'
import { type Hash, sha256 } from '../core/hash.js'
import type { ObjectKind, StoredObject } from '../core/object.js'
import { type ByteOrigin, ByteReader, ByteWriter, corrupt } from './tree-bytes.js'
import { TAG } from './tree-encode.js'

/** Largest content kept as one blob, in bytes. */
export const TREE_BLOB_BYTES_MAX = 64 * 1024

/** Takes an object; its bytes hold until the call returns, so copy what is kept. */
export type PutObject = (object: StoredObject) => void

export interface LongContent {
  readonly hash: Hash
  readonly kind: ObjectKind
}

/** Reads an object, whole and checked. */
export type ReadObject = (content: LongContent, referrer: string) => Uint8Array

/**
 * Names a long content and, where there is a `put`, stores it. Must be a function of the bytes
 * alone.
 *
 * PLUG: this function, `longKind` and `readLong` are all that has to change for contents above
 * TREE_BLOB_BYTES_MAX to become ropes: `writeRope(bytes, put ?? drop)`, kind 'rope', `readRope`
 * with `size: length`; `piecesOf` and its tag then go. Until then pieces are of one length: exact,
 * but an insertion near the start of a long text stores all of it again.
 */
export function writeLong(bytes: Uint8Array, put: PutObject | undefined): LongContent {
  if (longKind(bytes.length) === 'blob') return named('blob', bytes, put)
  const writer = new ByteWriter()
  writer.byte(TAG.pieces)
  writer.varint(bytes.length)
  for (let at = 0; at < bytes.length; at += TREE_BLOB_BYTES_MAX) {
    writer.hash(named('blob', bytes.subarray(at, at + TREE_BLOB_BYTES_MAX), put).hash)
  }
  return named('tree', writer.view(), put)
}

/** The kind of the object for a content of `length` bytes. */
export function longKind(length: number): ObjectKind {
  return length <= TREE_BLOB_BYTES_MAX ? 'blob' : 'tree'
}

/** The exact bytes of a content of `length` bytes. Throws OBJECT_MISSING or OBJECT_CORRUPT. */
export function readLong(
  content: LongContent,
  length: number,
  referrer: string,
  read: ReadObject,
): Uint8Array {
  const origin = { hash: content.hash, referrer }
  const object = read(content, referrer)
  if (content.kind === 'blob') return ofLength(object, length, origin)
  const pieces = piecesOf(new ByteReader(object, origin))
  if (pieces.length !== length) throw corrupt(origin, WRONG_LENGTH)
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const hash of pieces.hashes) {
    const from = { hash, referrer: `object ${content.hash}` }
    const piece = read({ hash, kind: 'blob' }, from.referrer)
    bytes.set(ofLength(piece, Math.min(TREE_BLOB_BYTES_MAX, length - at), from), at)
    at += piece.length
  }
  return bytes
}

/** What a node of pieces refers to. */
export function piecesOf(reader: ByteReader): { length: number; hashes: Hash[] } {
  if (reader.byte() !== TAG.pieces) reader.fail('it is not a list of pieces')
  const length = reader.varint()
  const count = Math.ceil(length / TREE_BLOB_BYTES_MAX)
  if (length <= TREE_BLOB_BYTES_MAX) reader.fail('so short a content is one blob')
  if (reader.end - reader.at !== count * 32) reader.fail('it has the wrong number of pieces')
  return { length, hashes: Array.from({ length: count }, () => reader.hash()) }
}

const WRONG_LENGTH = 'its length is not the one referred to'

function ofLength(bytes: Uint8Array, length: number, origin: ByteOrigin): Uint8Array {
  if (bytes.length !== length) throw corrupt(origin, WRONG_LENGTH)
  return bytes
}

function named(kind: ObjectKind, bytes: Uint8Array, put: PutObject | undefined): LongContent {
  const hash = sha256(bytes)
  put?.({ hash, kind, bytes })
  return { hash, kind }
}
