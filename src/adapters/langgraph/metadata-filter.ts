/**
 * Whether the metadata of a checkpoint is what was asked for.
 */
import { isSameValue } from '../../value/value-class.js'

/** Each field of the filter has an equal value; one that is undefined asks for nothing. */
export function isMatch(
  metadata: Readonly<Record<string, unknown>>,
  filter: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(filter).every(
    ([key, value]) =>
      value === undefined || (Object.hasOwn(metadata, key) && isSameValue(metadata[key], value)),
  )
}
