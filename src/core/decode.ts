/**
 * Codec tags back to the values they stand for.
 * Knows the tags only; the JSON text was parsed by the caller.
 * @see docs/format.md#values
 */
import type { CodecTag, Tagging } from './encode.js'
import { DaglogError } from './errors.js'
import { replaceAt, valueAt } from './pointer.js'

/**
 * Apply `tags` to a parsed value, in place where it is a container; returns the root.
 * Tags are relative to `at`, the pointer of the root in its body.
 * @throws FRAME_INVALID where a tag does not fit what stands there.
 */
export function applyTags(root: unknown, tags: readonly Tagging[], at = ''): unknown {
  let value = root
  for (const tagging of tags) {
    checkTagging(tagging)
    const [pointer, tag] = tagging
    const inside = pointer.slice(at.length)
    value = replaceAt(value, inside, revive(valueAt(value, inside), tag, pointer))
  }
  return value
}

function checkTagging(tagging: unknown): void {
  const [pointer, tag] = Array.isArray(tagging) ? tagging : []
  if (typeof pointer === 'string' && typeof tag === 'string') return
  throw new DaglogError('FRAME_INVALID', 'a codec tag is no pair of a pointer and a name')
}

function revive(stood: unknown, tag: CodecTag, pointer: string): unknown {
  switch (tag) {
    case 'undefined':
      return undefined
    case 'nan':
      return Number.NaN
    case 'inf':
      return Number.POSITIVE_INFINITY
    case '-inf':
      return Number.NEGATIVE_INFINITY
    case 'bigint':
      if (typeof stood === 'string' && /^-?\d+$/.test(stood)) return BigInt(stood)
      break
    case 'date':
      if (stood === null) return new Date(Number.NaN)
      if (typeof stood === 'string' && isDateText(stood)) return new Date(stood)
      break
    case 'bytes':
      if (typeof stood === 'string') return new Uint8Array(Buffer.from(stood, 'base64'))
  }
  throw new DaglogError(
    'FRAME_INVALID',
    `codec tag "${tag}" does not fit the value at ${pointer}`,
    { pointer, tag },
  )
}

/** One spelling for each moment: the one that `toISOString` gives. */
function isDateText(text: string): boolean {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString() === text
}
