/**
 * Exact bytes as a rope: an object tree whose leaves concatenate to them, cut so that bytes which
 * repeat, in another version, position or file, are mostly the same objects.
 * Knows what a caller hands in and gets back; cutting is in `slice.ts`, building in
 * `rope-builder.ts`. A rope is a function of its bytes alone, not of a memo or of how they arrived.
 * @see docs/format.md#ropes
 */
import { createHash } from 'node:crypto'
import { assert } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import { RopeBuilder } from './rope-builder.js'
import type { RopeMemo } from './rope-memo.js'
import type { RopeChild, RopeKind } from './rope-node.js'
import { Slicer } from './slice.js'

export { RopeMemo } from './rope-memo.js'
export { type RopeChild, type RopeKind, ropeChildren } from './rope-node.js'
export { type RopeReadOptions, readRope, readRopeAsync } from './rope-read.js'

export interface RopeResult {
  /** SHA-256 of the exact bytes. */
  readonly sha256: Hash
  /** The object to read them from; the same as `sha256` exactly where it is a blob. */
  readonly root: Hash
  readonly rootKind: RopeKind
  /** Count of the exact bytes. */
  readonly size: number
}

/**
 * Takes each object of a rope, children before parents, some more than once. `bytes` are a view of
 * memory that is used again: they hold until the call returns, so copy what is kept.
 */
export type PutObject = (object: StoredObject) => void

export interface RopeWriteOptions {
  /**
   * Remembers this body for the next one. Objects that lie wholly in what both start with are not
   * put again: give a memo only to calls whose objects go to, and stay in, the same place.
   */
  readonly memo?: RopeMemo
}

/** Longest window of a `RopeWriter`, in bytes; no input comes near, however it is made. */
export const ROPE_WINDOW_BYTES_MAX = 8 * 1024 * 1024

/** A window is at first, and a chunk is taken in parts of at most half, this many bytes. */
const WINDOW_BYTES = 512 * 1024

/** Cuts `bytes` and hands each object to `put`. What `put` throws passes through. */
export function writeRope(
  bytes: Uint8Array,
  put: PutObject,
  options: RopeWriteOptions = {},
): RopeResult {
  const { memo } = options
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const builder = new RopeBuilder(view, put)
  if (memo === undefined) {
    new Slicer(builder).slice(true)
    return resultOf(builder.finish(view.length), () => sha256(view))
  }
  try {
    const place = memo.place(view)
    const slicer = new Slicer(builder, memo.nextAt, (state) => memo.add(view, state))
    if (place !== undefined) slicer.restore(place)
    slicer.slice(true)
    return resultOf(builder.finish(view.length), () => memo.sha256(view))
  } catch (error) {
    // Objects before its places may not have been taken.
    memo.clear()
    throw error
  }
}

/**
 * The same for bytes that arrive in parts, in memory that does not grow with them. The result is
 * that of `writeRope` over the whole.
 */
export class RopeWriter {
  private window = Buffer.allocUnsafeSlow(WINDOW_BYTES)
  private readonly builder: RopeBuilder
  private readonly slicer: Slicer
  private readonly hasher = createHash('sha256')

  constructor(put: PutObject) {
    this.builder = new RopeBuilder(this.window.subarray(0, 0), put)
    this.slicer = new Slicer(this.builder)
  }

  /** Takes the next bytes; `chunk` may be overwritten afterwards. */
  push(chunk: Uint8Array): void {
    this.hasher.update(chunk)
    for (let at = 0; at < chunk.length; at += WINDOW_BYTES / 2) {
      const part = chunk.subarray(at, at + WINDOW_BYTES / 2)
      if (this.builder.bytes.length + part.length > this.window.length) this.makeRoom()
      const { length } = this.builder.bytes
      this.window.set(part, length)
      this.builder.bytes = this.window.subarray(0, length + part.length)
      this.slicer.slice(false)
    }
  }

  /** Cuts what is left. The writer is of no use afterwards. */
  end(): RopeResult {
    this.slicer.slice(true)
    const root = this.builder.finish(this.builder.bytes.length)
    return resultOf(root, () => this.hasher.digest('hex') as Hash)
  }

  /** Drops what has become objects; grows where half of the window or more is still pending. */
  private makeRoom(): void {
    this.slicer.shift(this.builder.compact())
    const pending = this.builder.bytes
    if (pending.length <= this.window.length / 2) return
    const grown = Buffer.allocUnsafeSlow(this.window.length * 2)
    assert(grown.length <= ROPE_WINDOW_BYTES_MAX, 'the pending part of a rope is bounded')
    grown.set(pending)
    this.window = grown
    this.builder.bytes = grown.subarray(0, pending.length)
  }
}

function resultOf(root: RopeChild, exact: () => Hash): RopeResult {
  return {
    // A blob is named by its bytes, and here those are all of them.
    sha256: root.kind === 'blob' ? root.hash : exact(),
    root: root.hash,
    rootKind: root.kind,
    size: root.size,
  }
}
