/**
 * A digest of a value that does not depend on the order of its keys.
 * The text hashed is RFC 8785 (JCS), but for what JCS refuses or changes: lone surrogates are kept
 * as escapes and -0 as -0; codec tags are appended, so that 1n, "1" and a Date differ.
 * @see docs/format.md#digests
 */
import { encodeValue } from './encode.js'
import { type Hash, sha256 } from './hash.js'

/** @throws VALUE_UNSUPPORTED */
export function valueDigest(value: unknown): Hash {
  const { text, tags } = encodeValue(value, '', { order: 'sorted' })
  return sha256(Buffer.from(tags.length === 0 ? text : `${text}\n${JSON.stringify(tags)}`))
}

/**
 * The stable identity of a step. `parentKey` is '' at the top of a run; `occurrence` counts from 0.
 */
export function stepKey(options: {
  readonly parentKey: string
  readonly name: string
  readonly inputDigest: Hash
  readonly occurrence: number
  /** A key that the caller gave; it stands in the place of the input. */
  readonly own?: string
}): Hash {
  const { parentKey, name, inputDigest, occurrence, own } = options
  const what = own === undefined ? inputDigest : ['key', own]
  return sha256(Buffer.from(JSON.stringify(['step/1', parentKey, name, what, occurrence])))
}
