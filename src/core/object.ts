/**
 * What an object is: immutable bytes named by their SHA-256.
 * Knows neither where objects live nor what a rope or tree means.
 * @see docs/format.md#objects
 */
import type { Hash } from './hash.js'

/**
 * How an object's bytes are read. The referrer decides, never the stored kind, so bytes that a user
 * wrote can not pass for a node; the stored byte only helps tools that walk without a referrer.
 */
export const OBJECT_KINDS = { blob: 1, rope: 2, tree: 3 } as const
export type ObjectKind = keyof typeof OBJECT_KINDS

export interface StoredObject {
  readonly hash: Hash
  readonly kind: ObjectKind
  readonly bytes: Uint8Array
}
