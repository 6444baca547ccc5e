/**
 * The raw lines that an imported run holds: where they are in the source, and their bytes.
 * A torn last line that was stated anew later does not count, nor does its event.
 */
import { createHash } from 'node:crypto'
import type { RunEvent } from '../core/event.js'
import type { ImportFile } from '../core/event-map.js'
import type { RunView } from '../store/run-view.js'

/** One `import/lines` event that counts. */
export interface StoredLines {
  readonly seq: number
  readonly from: number
  readonly to: number
  /** Of its bytes. */
  readonly sha256: string
}

interface Stated {
  readonly from: number
  readonly bytes: Uint8Array | null
}

/** Those that count, in order. @param upTo Last seq that is looked at. */
export async function storedLines(
  view: RunView,
  upTo = Number.POSITIVE_INFINITY,
): Promise<StoredLines[]> {
  const counting: StoredLines[] = []
  for await (const event of view.events({ types: ['import/lines'], refs: true, to: upTo })) {
    const lines = stored(event)
    if (lines === undefined) continue
    while ((counting.at(-1)?.to ?? 0) > lines.from) counting.pop()
    counting.push(lines)
  }
  return counting
}

function stored(event: RunEvent): StoredLines | undefined {
  if (event.type !== 'import/lines' || event.redacted === true) return undefined
  const { from, bytes } = event.data as Stated
  const { seq } = event
  if (bytes !== null) {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return { seq, from, to: from + bytes.length, sha256 }
  }
  const ref = event.refs?.find(({ pointer }) => pointer === '/bytes')
  return ref === undefined ? undefined : { seq, from, to: from + ref.size, sha256: ref.sha256 }
}

/**
 * The source as it was: what an imported run holds, byte for byte, as of an event (its end unless
 * told).
 * Of a file that lay there packed, the packed file: no packing of its lines would give it again.
 * @throws OBJECT_MISSING, OBJECT_CORRUPT
 */
export async function* rawBytes(view: RunView, upTo?: number): AsyncGenerator<Uint8Array> {
  const packed = await packedFile(view, upTo)
  if (packed !== undefined) {
    yield packed
    return
  }
  for (const { seq } of await storedLines(view, upTo)) {
    for await (const { data } of view.events({ from: seq, to: seq }))
      yield (data as { readonly bytes: Uint8Array }).bytes
  }
}

/** The packed file that the run was last taken from; undefined where that was no packed one. */
async function packedFile(view: RunView, upTo?: number): Promise<Uint8Array | undefined> {
  const to = upTo === undefined ? {} : { to: upTo }
  let path: string | undefined
  for await (const { data } of view.events({ types: ['import/source'], ...to }))
    path = data?.packing === undefined ? undefined : data.path
  if (path === undefined) return undefined
  let seq: number | undefined
  for await (const event of view.events({ types: ['import/file'], refs: true, ...to }))
    if (event.data?.path === path) seq = event.seq
  if (seq === undefined) return undefined
  return ((await view.event(seq))?.data as ImportFile | undefined)?.bytes
}
