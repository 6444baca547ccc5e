/**
 * Which bytes of a log's segments count, and how the segments follow each other.
 * Knows what each segment's first frame says of the one before; whether that is true is found by
 * walking.
 * @see docs/format.md#segments
 */
import type { Segment } from '../backend/backend.js'
import { parseBody } from '../core/body.js'
import type { EventMap } from '../core/event-map.js'
import { FrameReader } from '../core/frame.js'
import { GENESIS, type Hash } from '../core/hash.js'
import type { LogReader } from './log-reader.js'
import { nextWellFormed } from './log-walk.js'

/** The bytes of one segment that belong to the log, and what they must chain onto. */
export interface Span {
  readonly segment: number
  /** Length that counts, in bytes; what is behind it is stray. */
  readonly to: number
  /** Length that the segment after it counts; more than `to` where this one was cut. */
  readonly counted?: number
  /** Seq of its first frame. */
  readonly firstSeq: number
  /** Hash before its first frame; undefined where its first frame cannot say. */
  readonly prev: Hash | undefined
  /** Its first frame should say what it follows, and is not as it was written. */
  readonly broken?: true
  /** Everything before this offset was durable: it was laid to rest. */
  readonly durableTo: number
}

/** Bytes of a segment that its successor does not count: what a fenced writer still wrote. */
export interface Stray {
  readonly segment: number
  readonly offset: number
  readonly bytes: number
}

export interface LogShape {
  readonly spans: readonly Span[]
  readonly stray: readonly Stray[]
  /** Why the log does not begin at its beginning, where it does not. */
  readonly lost?: string
}

type Opening =
  | { readonly kind: 'first' }
  | { readonly kind: 'follows'; readonly previous: EventMap['writer/open']['previous'] }
  | { readonly kind: 'broken'; readonly firstSeq: number }
  /** Nothing of it was ever acknowledged: a takeover that died. */
  | { readonly kind: 'dead' }

/** Find the shape. Reads the first frame of each segment but segment 0. */
export async function shapeOf(reader: LogReader): Promise<LogShape> {
  const spans: Span[] = []
  const stray: Stray[] = []
  const passOver = ({ number, bytes }: Segment): void => {
    if (bytes > 0) stray.push({ segment: number, offset: 0, bytes })
  }
  let before: { readonly segment: number; readonly length: number } | undefined
  let begun = false
  for (const segment of (await reader.segments()).toReversed()) {
    if (begun || (before !== undefined && segment.number > before.segment)) {
      passOver(segment)
      continue
    }
    if (before !== undefined && segment.number < before.segment) break
    const opening = await openingOf(reader, segment)
    if (opening.kind === 'dead' && before === undefined) {
      passOver(segment)
      continue
    }
    const to = Math.min(before?.length ?? segment.bytes, segment.bytes)
    if (to < segment.bytes)
      stray.push({ segment: segment.number, offset: to, bytes: segment.bytes - to })
    spans.push({
      segment: segment.number,
      to,
      ...(before === undefined ? {} : { counted: before.length }),
      ...beginning(opening),
      durableTo: segment.durable,
    })
    before = opening.kind === 'follows' ? opening.previous : undefined
    begun = opening.kind === 'first'
  }
  const lost = begun ? undefined : lostReason(spans, before)
  return { spans: spans.reverse(), stray: stray.reverse(), ...(lost === undefined ? {} : { lost }) }
}

function beginning(opening: Opening): Pick<Span, 'firstSeq' | 'prev' | 'broken'> {
  if (opening.kind === 'first') return { firstSeq: 0, prev: GENESIS }
  if (opening.kind === 'follows') {
    const { seq, hash } = opening.previous.head
    return { firstSeq: seq + 1, prev: hash }
  }
  return {
    firstSeq: opening.kind === 'broken' ? opening.firstSeq : 0,
    prev: undefined,
    broken: true,
  }
}

function lostReason(
  spans: readonly Span[],
  before: { readonly segment: number } | undefined,
): string | undefined {
  const first = spans.at(-1)
  if (first === undefined) return undefined
  if (before === undefined) return `what segment ${first.segment} follows is not known`
  return `segment ${before.segment}, which segment ${first.segment} follows, is gone`
}

async function openingOf(reader: LogReader, { number, bytes }: Segment): Promise<Opening> {
  if (number === 0) return { kind: 'first' }
  if (bytes === 0) return { kind: 'dead' }
  const line = await reader.lineAt(number, 0, bytes)
  const frame = new FrameReader()
  if (line === undefined || !frame.read(line, 0, line.length, undefined)) {
    return unreadable(reader, { number, bytes })
  }
  if (await isCutShort(reader, { number, bytes }, frame, line.length + 1)) return { kind: 'dead' }
  // A writer that died before its first frame was whole leaves the log to begin in a later segment.
  if (frame.seq === 0) return { kind: 'first' }
  const previous = frame.redacted
    ? undefined
    : previousOf(line.subarray(frame.bodyFrom, frame.bodyTo))
  if (frame.type !== 'writer/open' || previous === undefined)
    return { kind: 'broken', firstSeq: frame.seq }
  return { kind: 'follows', previous }
}

/**
 * Whether the append that opens a segment did not become whole, and nothing behind it says that it
 * was durable. Then nothing of the segment was acknowledged, and what the opening says is to be
 * found anew.
 */
async function isCutShort(
  reader: LogReader,
  { number, bytes }: { readonly number: number; readonly bytes: number },
  { seq, left, hash }: { readonly seq: number; readonly left: number; readonly hash: Hash },
  end: number,
): Promise<boolean> {
  const frame = new FrameReader()
  let prev = hash
  let at = end
  for (let next = seq + 1; next <= seq + left; next += 1) {
    const line = await reader.lineAt(number, at, bytes)
    if (line === undefined || !frame.read(line, 0, line.length, prev) || frame.seq !== next)
      return !(await isProven(reader, { segment: number, to: bytes }, { seq: next - 1, from: at }))
    prev = frame.hash
    at += line.length + 1
  }
  return false
}

/** Whether a frame from `from` on says that frame `seq` was durable when it was written. */
async function isProven(
  reader: LogReader,
  span: { readonly segment: number; readonly to: number },
  { seq, from }: { readonly seq: number; readonly from: number },
): Promise<boolean> {
  for (let at = from; ; ) {
    const later = await nextWellFormed(reader, span, at)
    if (later === undefined) return false
    if (later.seq - later.lag - 1 >= seq) return true
    at = later.place.to
  }
}

function previousOf(body: Uint8Array): EventMap['writer/open']['previous'] | undefined {
  const { previous } = (parseBody(body).data ?? {}) as Partial<EventMap['writer/open']>
  const numbers = [previous?.segment, previous?.length, previous?.head?.seq]
  return numbers.every(Number.isSafeInteger) ? previous : undefined
}

/**
 * A first line that is no frame: torn, if nothing behind it says that it had been durable; else it
 * was changed, and what follows it must not be passed over.
 */
async function unreadable(
  reader: LogReader,
  { number, bytes }: { readonly number: number; readonly bytes: number },
): Promise<Opening> {
  const span = { segment: number, to: bytes }
  let firstSeq: number | undefined
  for (let from = 1; ; ) {
    const next = await nextWellFormed(reader, span, from)
    if (next === undefined) return { kind: 'dead' }
    // The line before the first whole one is the opening.
    firstSeq ??= next.seq - 1
    if (next.seq - next.lag - 1 >= firstSeq) return { kind: 'broken', firstSeq }
    from = next.place.to
  }
}
