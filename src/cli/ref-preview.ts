/**
 * One line about a value whose long parts lie out of line: what is there stands in their place, as
 * in
 * `{"page":<1.8 MB text 04df87…>}`.
 */
import type { Ref } from '../core/body.js'
import { encodeValue } from '../core/encode.js'
import { replaceAt, valueAt } from '../core/pointer.js'
import { previewOf, printable } from '../value/preview.js'
import { bytesText, hashText } from './quantity.js'

/** What a ref stands for: size, kind and the beginning of the hash of its bytes. */
export function refText({ size, kind, sha256 }: Ref): string {
  // A tree has no bytes of its own.
  return `${kind === 'tree' ? '' : `${bytesText(size)} `}${kind} ${hashText(sha256)}`
}

/**
 * @param pointer Where in the event's data `value` is; refs elsewhere do not matter.
 * @param lengthMax Longest line, in UTF-16 units; what does not fit is told behind it.
 */
export function refPreview(
  value: unknown,
  { refs, pointer, lengthMax }: { refs: readonly Ref[]; pointer: string; lengthMax: number },
): string {
  const below = refs.filter((ref) => within(ref.pointer, pointer))
  if (below.length === 0) return previewOf(value, lengthMax).line
  const away = outermost(below.slice(0, REFS_SHOWN_MAX))
  const { text, names } = marked(value, away, pointer.length)
  const line = printable(named(text, away, names), lengthMax)
  const hidden = [
    ...away.filter((ref) => !line.includes(`<${refText(ref)}>`)),
    ...below.slice(REFS_SHOWN_MAX),
  ]
  const bytes = hidden.reduce((sum, { size }) => sum + size, 0)
  return hidden.length === 0 ? line : `${line} + ${bytesText(bytes)} out of line`
}

/** More of them fit into no line. */
const REFS_SHOWN_MAX = 64

/** Those that are not inside others: what is put back first is the outer one. */
function outermost(refs: readonly Ref[]): Ref[] {
  return refs.filter(
    (ref) => !refs.some((other) => other !== ref && within(ref.pointer, other.pointer)),
  )
}

function within(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`)
}

/** The value as JSON with a text of its own in the place of each ref. */
function marked(
  value: unknown,
  away: readonly Ref[],
  from: number,
): { readonly text: string; readonly names: readonly string[] } {
  // Longer than any like it in the value, so that nothing that somebody recorded can pass for it.
  let length = 'ref'.length
  for (const [like] of encodeValue(value).text.matchAll(/ref\.*/g))
    length = Math.max(length, like.length)
  const names = away.map((_, index) => `${'ref'.padEnd(length + 1, '.')}${index}`)
  let root: unknown = structuredClone(value)
  for (const [index, { pointer }] of away.entries()) {
    const at = pointer.slice(from)
    if (isThere(root, at)) root = replaceAt(root, at, names[index])
  }
  return { text: encodeValue(root).text, names }
}

/** Whoever made a log by hand may have written a pointer to nowhere. */
function isThere(root: unknown, pointer: string): boolean {
  try {
    return valueAt(root, pointer) === null
  } catch {
    return false
  }
}

function named(text: string, away: readonly Ref[], names: readonly string[]): string {
  return away.reduce(
    (line, ref, index) => line.replace(`"${names[index]}"`, () => `<${refText(ref)}>`),
    text,
  )
}
