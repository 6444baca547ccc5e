/**
 * Walks the frames of a log, checks that each follows the one before, and says where that stops.
 * Reads only; whether a bad line is torn or damaged is decided in `log-tail.ts` and `verify.ts`.
 */
import { FrameReader } from '../core/frame.js'
import type { Hash } from '../core/hash.js'
import type { LogReader, Place } from './log-reader.js'

/** A part of a log to walk: what `log-shape.ts` finds. */
export interface WalkSpan {
  readonly segment: number
  readonly to: number
  readonly firstSeq: number
  readonly prev: Hash | undefined
}

/** A frame that stands, and where it lies. */
export interface Head {
  readonly seq: number
  readonly hash: Hash
  readonly place: Place
}

const LF = 0x0a

/**
 * Where a walk begins: the next frame is at `from`, is number `seq`, and follows `prev` (undefined:
 * unknown).
 */
export interface WalkStart {
  readonly from: number
  readonly seq: number
  readonly prev: Hash | undefined
}

/** The first line that is not the frame that belongs there. */
export interface BadLine extends Place {
  /** The seq that belongs there. */
  readonly seq: number
  readonly fault: 'form' | 'commit' | 'hash' | 'seq' | 'unfinished'
  readonly expected?: string
  readonly found?: string
}

export interface WalkEnd {
  readonly seq: number
  readonly prev: Hash | undefined
  /** Offset after the last good frame. */
  readonly to: number
  readonly bad?: BadLine
}

/** Called for each good frame; `frame` and `bytes` are only good during the call. */
export type Visit = (frame: FrameReader, bytes: Buffer, place: Place) => void | Promise<void>

/** Walk one span up to its end or the first bad line. */
export async function walkSpan(
  reader: LogReader,
  span: WalkSpan,
  start: WalkStart,
  visit: Visit,
): Promise<WalkEnd> {
  const frame = new FrameReader()
  let { seq, prev, from } = start
  for await (const block of reader.lines(span.segment, from, span.to)) {
    let at = 0
    while (at < block.bytes.length) {
      const end = block.bytes.indexOf(LF, at)
      const place = { segment: span.segment, from: block.atByte + at, to: block.atByte + end + 1 }
      if (end < 0) {
        return { seq, prev, to: from, bad: { ...place, to: span.to, seq, fault: 'unfinished' } }
      }
      if (!frame.read(block.bytes, at, end, prev)) {
        return { seq, prev, to: from, bad: { ...place, seq, ...frame.fault } }
      }
      if (frame.seq !== seq) {
        const fault = { fault: 'seq', expected: String(seq), found: String(frame.seq) } as const
        return { seq, prev, to: from, bad: { ...place, seq, ...fault } }
      }
      // Awaiting nothing costs a turn of the loop for each frame; most visits are synchronous.
      const visited = visit(frame, block.bytes, place)
      if (visited !== undefined) await visited
      seq += 1
      prev = frame.hash
      from = place.to
      at = end + 1
    }
  }
  return { seq, prev, to: from }
}

/** Walk all spans in order from the first frame on. */
export async function walkLog(
  reader: LogReader,
  spans: readonly WalkSpan[],
  visit: Visit,
): Promise<WalkEnd & { segment: number }> {
  let end: WalkEnd & { segment: number } = { seq: 0, prev: undefined, to: 0, segment: 0 }
  for (const span of spans) {
    end = {
      ...(await walkSpan(reader, span, { from: 0, seq: span.firstSeq, prev: span.prev }, visit)),
      segment: span.segment,
    }
    if (end.bad !== undefined) break
  }
  return end
}

const FRAME_START = Buffer.from('{"seq":')

/** Frames looked for inside one bad line; more is no fused record but somebody's idea of a joke. */
const STARTS_MAX = 64

/**
 * The next well-formed frame at or after `from`: whole, its commitment right, its predecessor
 * unknown.
 * Looks inside a line as well, since a torn record and the next one can be fused into one.
 */
export async function nextWellFormed(
  reader: LogReader,
  span: Pick<WalkSpan, 'segment' | 'to'>,
  from: number,
): Promise<{ readonly place: Place; readonly seq: number; readonly lag: number } | undefined> {
  const frame = new FrameReader()
  for await (const block of reader.lines(span.segment, from, span.to)) {
    let at = 0
    for (;;) {
      const end = block.bytes.indexOf(LF, at)
      if (end < 0) break
      const start = frameStart(frame, block.bytes, at, end)
      if (start !== undefined) {
        const from = block.atByte + start
        const place = { segment: span.segment, from, to: block.atByte + end + 1 }
        return { place, seq: frame.seq, lag: frame.lag }
      }
      at = end + 1
    }
  }
  return undefined
}

/** Where in a line a whole frame begins that goes to its end; undefined where none does. */
function frameStart(
  frame: FrameReader,
  bytes: Buffer,
  lineFrom: number,
  lineTo: number,
): number | undefined {
  let start = lineFrom
  for (let tries = 0; tries < STARTS_MAX && start >= 0 && start < lineTo; tries += 1) {
    if (frame.read(bytes, start, lineTo, undefined)) return start
    start = bytes.indexOf(FRAME_START, start + 1)
  }
  return undefined
}

/** The frame at a seq as it stands, its predecessor unchecked; undefined where there is none. */
export async function frameAt(
  reader: LogReader,
  spans: readonly WalkSpan[],
  seq: number,
): Promise<Head | undefined> {
  const start = await reader.seek(spans, seq)
  if (start === undefined) return undefined
  const { span } = start
  const frame = new FrameReader()
  for await (const block of reader.lines(span.segment, start.from, span.to)) {
    let at = 0
    for (let end = block.bytes.indexOf(LF, at); end >= 0; end = block.bytes.indexOf(LF, at)) {
      const whole = frame.read(block.bytes, at, end, undefined)
      if (whole && frame.seq > seq) return undefined
      if (whole && frame.seq === seq) {
        const place = { segment: span.segment, from: block.atByte + at, to: block.atByte + end + 1 }
        return { seq, hash: frame.hash, place }
      }
      at = end + 1
    }
  }
  return undefined
}
