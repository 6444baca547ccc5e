/**
 * SHA-256 as lower-case hex: the only hash of the format.
 * Hashes bytes, never decoded text: two lone surrogates encode to the same UTF-8.
 * @see docs/format.md#hashes
 */
import { hash } from 'node:crypto'

/** 64 lower-case hex digits. */
export type Hash = string & { readonly __brand: 'Hash' }

/** The hash before the first frame of a log. */
export const GENESIS = '0'.repeat(64) as Hash

export const HASH_HEX_LENGTH = 64

/** SHA-256 of `bytes`. */
export function sha256(bytes: Uint8Array): Hash {
  return hash('sha256', bytes, 'hex') as Hash
}

const HASH_PATTERN = /^[0-9a-f]{64}$/

/** Whether `text` has the form of a hash. */
export function isHash(text: unknown): text is Hash {
  return typeof text === 'string' && HASH_PATTERN.test(text)
}
