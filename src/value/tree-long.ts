/**
 * Long texts, bytes and integers: contents that are objects of their own.
 * This file is the only one that knows how such a content is cut: as one blob while it is short, as
 * a rope above that, so that an insertion stores what is around it and no more.
 */
import { Buffer } from 'node:buffer'
import { type Hash, sha256 } from '../core/hash.js'
import type { ObjectKind, StoredObject } from '../core/object.js'
import { readRope, writeRope } from './rope.js'
import { type ByteOrigin, corrupt } from './tree-bytes.js'

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

/** Names a long content and, where there is a `put`, stores it. A function of the bytes alone. */
export function writeLong(bytes: Uint8Array, put: PutObject | undefined): LongContent {
  if (longKind(bytes.length) === 'rope') {
    const { root, rootKind } = writeRope(bytes, put ?? drop)
    return { hash: root, kind: rootKind }
  }
  const hash = sha256(bytes)
  put?.({ hash, kind: 'blob', bytes })
  return { hash, kind: 'blob' }
}

function drop(): void {
  // Only the name is wanted.
}

/**
 * The kind of the object for a content of `length` bytes. No rope of more than a blob is a blob.
 */
export function longKind(length: number): 'blob' | 'rope' {
  return length <= TREE_BLOB_BYTES_MAX ? 'blob' : 'rope'
}

/** The exact bytes of a content of `length` bytes. Throws OBJECT_MISSING or OBJECT_CORRUPT. */
export function readLong(
  content: LongContent,
  length: number,
  referrer: string,
  read: ReadObject,
): Uint8Array {
  const origin = { hash: content.hash, referrer }
  if (content.kind !== 'rope') return ofLength(read(content, referrer), length, origin)
  const load = (hash: Hash): Uint8Array =>
    // The kind is the referrer's to say, and nothing checks what it is called here.
    read({ hash, kind: 'rope' }, hash === content.hash ? referrer : `object ${content.hash}`)
  const parts = [...readRope(content.hash, 'rope', load, { size: length })]
  return Buffer.concat(parts)
}

function ofLength(bytes: Uint8Array, length: number, origin: ByteOrigin): Uint8Array {
  if (bytes.length === length) return bytes
  throw corrupt(origin, 'its length is not the one referred to')
}
