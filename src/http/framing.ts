/**
 * A hash over fields that are each written with their length, so that no two lists of fields are
 * alike.
 * @see docs/format.md#request-key
 */
import { createHash } from 'node:crypto'
import type { Hash } from '../core/hash.js'

export function framedHash(fields: Iterable<string | Uint8Array>): Hash {
  const hash = createHash('sha256')
  for (const field of fields) {
    const bytes = typeof field === 'string' ? Buffer.from(field) : field
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex') as Hash
}
