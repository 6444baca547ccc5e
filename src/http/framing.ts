/**
 * A hash over fields that are each written with their length, so that no two lists of fields are
 * alike.
 * @see docs/format.md#request-key
 */
import { createHash } from 'node:crypto'
import type { Hash } from '../core/hash.js'

export function framedHash(fields: Iterable<string | Uint8Array>): Hash {
  const hash = createHash('sha256')
  // A length stands between any two of them, so no pair of surrogates comes of two halves.
  let text = ''
  for (const field of fields) {
    if (typeof field === 'string') text += `${Buffer.byteLength(field)}:${field}`
    else {
      hash.update(`${text}${field.length}:`).update(field)
      text = ''
    }
  }
  return hash.update(text).digest('hex') as Hash
}
