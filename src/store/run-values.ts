/**
 * Every value that a run refers to, in the order of its log.
 * Goes only as far as the run can be trusted: what recovery would cut is no part of it, and where
 * anything before that is not as it was written, the walk is refused rather than cut short.
 */
import type { Backend } from '../backend/backend.js'
import { type Ref, refsOf } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { GENESIS } from '../core/hash.js'
import type { RunHead } from '../fold/run-list.js'
import { LogReader } from './log-reader.js'
import { type LogShape, shapeOf } from './log-shape.js'
import { readTail, standsAt } from './log-tail.js'
import { nextWellFormed, type Visit, walkSpan } from './log-walk.js'
import { chainBroken } from './open-log.js'
import { hasValue, type Referrer } from './values.js'

/**
 * Call `visit` for each value of the run, again where it is referred to again.
 * @param run.noted What the store's log says of it.
 * @throws CHAIN_BROKEN where the log is damaged, ends before its head in the store's log, or ends in bytes
 *   of which nobody can tell yet whether they count; FRAME_INVALID; and what `visit` throws.
 */
export async function walkValues(
  backend: Backend,
  { id, noted }: { readonly id: string; readonly noted: RunHead | undefined },
  visit: (ref: Ref, by: Referrer) => Promise<void>,
): Promise<void> {
  const reader = new LogReader(backend, { run: id })
  const shape = await shapeOf(reader)
  if (noted !== undefined) await checkHead(reader, shape, noted)
  const lastSeq = await standsTo(reader, shape, { id, noted })
  await walkChained(reader, shape, (frame, bytes) => {
    const { seq, redacted } = frame
    if (redacted || seq > lastSeq) return
    const refs = refsOf(bytes.subarray(frame.bodyFrom, frame.bodyTo))
    if (refs.length > 0) return visitAll(refs, { run: id, seq }, visit)
  })
}

async function visitAll(
  refs: readonly Ref[],
  by: Referrer,
  visit: (ref: Ref, by: Referrer) => Promise<void>,
): Promise<void> {
  for (const ref of refs) await visit(ref, by)
}

/** The seq of the last frame that stands, or -1; the same decision that recovery would come to. */
async function standsTo(
  reader: LogReader,
  shape: LogShape,
  { id, noted }: { readonly id: string; readonly noted: RunHead | undefined },
): Promise<number> {
  const tail = await readTail(reader, {
    shape,
    coveredSeq: noted?.seq ?? -1,
    hasObject: (ref) => hasValue(reader.backend, ref, id),
    onFrame: () => {},
  })
  if (tail.damage !== undefined) throw chainBroken(reader.log, tail.damage)
  const seq = tail.head?.seq ?? -1
  if (tail.torn?.maybeAcknowledged === true || (await hasDoubtful(reader, shape)))
    throw undecided(id, seq + 1)
  return seq
}

async function checkHead(reader: LogReader, shape: LogShape, noted: RunHead): Promise<void> {
  const { seq, hash } = noted
  const [, segment, from, to] = noted.at
  const place = { segment, from, to }
  if (await standsAt(reader, shape, { seq, hash, place })) return
  const reason = `a head in the store's log says that frame ${seq} with hash ${hash} is here, and it is not`
  throw chainBroken(reader.log, { place, seq, reason, expected: hash })
}

/** Whether a last segment that never began, as it seems, holds frames all the same. */
async function hasDoubtful(reader: LogReader, shape: LogShape): Promise<boolean> {
  const last = shape.spans.at(-1)?.segment ?? -1
  for (const { segment, offset, bytes } of shape.stray) {
    if (segment <= last) continue
    const span = { segment, to: offset + bytes, firstSeq: 0, prev: GENESIS }
    if ((await nextWellFormed(reader, span, offset)) !== undefined) return true
  }
  return false
}

/** Walk all spans; each must go on where the one before ended, and the first must begin the log. */
async function walkChained(reader: LogReader, shape: LogShape, visit: Visit): Promise<void> {
  let seq = 0
  let prev = GENESIS
  for (const span of shape.spans) {
    if (span.firstSeq !== seq || span.prev !== prev) {
      const place = { segment: span.segment, from: 0, to: 0 }
      const reason = 'the segment does not go on where the one before it ends'
      throw chainBroken(reader.log, { place, seq, reason, expected: prev, found: span.prev })
    }
    const end = await walkSpan(reader, span, { from: 0, seq, prev }, visit)
    seq = end.seq
    prev = end.prev ?? GENESIS
  }
}

function undecided(run: string, seq: number): DaglogError {
  return new DaglogError(
    'CHAIN_BROKEN',
    `run ${run}, seq ${seq}: nobody has decided yet whether the bytes at its end count; try: open the run once, which recovers it`,
    { run, seq },
  )
}
