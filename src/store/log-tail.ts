/**
 * Where a log ends, after whatever happened: which frames stand, which bytes are torn, what is
 * damage.
 * The rule (docs/format.md#recovery): a frame says how many before it were not yet known to be
 * synced (`lag`). What lies before that, or under a head in the store's log, was durable: bad bytes
 * there are damage. After it they are torn, and the log ends where the atomic append they belong to
 * began.
 * Decides only; cutting and telling are in `recovery.ts`.
 */
import { type EncodedData, operationOf, type Ref, readableRefsOf } from '../core/body.js'
import { FrameReader } from '../core/frame.js'
import type { LogReader, Place } from './log-reader.js'
import type { LogShape, Span } from './log-shape.js'
import {
  type BadLine,
  type Head,
  nextWellFormed,
  type WalkEnd,
  type WalkStart,
  walkSpan,
} from './log-walk.js'

/** A frame that outlives the walk: what folds are given. */
export interface StandingFrame extends Head {
  readonly time: number
  readonly type: string
  readonly redacted: boolean
  readonly extra: string
  readonly op: string | undefined
  readonly body: Buffer
  /** Of a frame that was written just now: its data, before any of it went out of line. */
  readonly data?: EncodedData
}

export interface Torn {
  readonly segment: number
  readonly offset: number
  readonly bytes: number
  /** The bytes may have been acknowledged: nothing tells torn from tampered here. */
  readonly maybeAcknowledged: boolean
  readonly why: BadLine['fault'] | 'objects' | 'append'
}

export interface Damage {
  readonly place: Place
  readonly seq: number
  readonly reason: string
  readonly expected?: string
  readonly found?: string
}

export interface Tail {
  /** The last frame that stands; undefined for a log that holds none. */
  readonly head: Head | undefined
  readonly torn?: Torn
  readonly damage?: Damage
}

export interface TailOptions {
  readonly shape: LogShape
  /**
   * A frame known from before; the walk starts after it. It must have been checked with `standsAt`.
   */
  readonly anchor?: Head | undefined
  /** Highest seq under a head in the store's log, or -1. */
  readonly coveredSeq: number
  readonly hasObject: (ref: Ref) => Promise<boolean>
  /** Called in order for each frame that stands. */
  readonly onFrame: (frame: StandingFrame) => void
}

/** A frame whose standing is not decided yet. */
interface Pending extends StandingFrame {
  readonly left: number
  readonly refs: readonly Ref[]
}

/** Whether the frame that `known` names is still there, byte for byte. */
export async function standsAt(reader: LogReader, shape: LogShape, known: Head): Promise<boolean> {
  const span = shape.spans.find((candidate) => candidate.segment === known.place.segment)
  if (span === undefined || known.place.to > span.to) return false
  const { segment, from, to } = known.place
  const line = await reader.backend.read(reader.log, segment, from, to - from)
  const frame = new FrameReader()
  if (line.length !== to - from || line.at(-1) !== 0x0a) return false
  return (
    frame.read(line, 0, line.length - 1, undefined) &&
    frame.hash === known.hash &&
    frame.seq === known.seq
  )
}

/** Walk from the anchor, or from the start, to the end. */
export async function readTail(reader: LogReader, options: TailOptions): Promise<Tail> {
  const { shape } = options
  const tail = await walkTail(reader, options)
  const first = shape.spans[0]
  if (shape.lost === undefined || first === undefined) return tail
  const place = { segment: first.segment, from: 0, to: 0 }
  return { head: tail.head, damage: { place, seq: 0, reason: shape.lost } }
}

async function walkTail(reader: LogReader, options: TailOptions): Promise<Tail> {
  const { shape, anchor } = options
  const walk = new TailWalk(options)
  for (const [index, span] of shape.spans.entries()) {
    if (anchor !== undefined && span.segment < anchor.place.segment) continue
    const start: WalkStart =
      anchor?.place.segment === span.segment
        ? { from: anchor.place.to, seq: anchor.seq + 1, prev: anchor.hash }
        : { from: 0, seq: span.firstSeq, prev: span.prev }
    if (span.broken === true && start.from === 0) return walk.damaged(brokenOpening(span))
    const end = await walkSpan(reader, span, start, walk.visit)
    const next = shape.spans[index + 1]
    if (end.bad !== undefined) {
      const reason =
        next === undefined
          ? await damageReason(reader, span, end.bad, options.coveredSeq)
          : 'a later segment stands on it'
      if (reason !== undefined) return walk.damaged(damageAt(end.bad, reason))
      return walk.finish({ span, bad: end.bad })
    }
    if (next === undefined) return walk.finish({ span, bad: undefined })
    const gap = unjoined(span, end, next)
    if (gap !== undefined) return walk.damaged(gap)
  }
  return walk.finish(undefined)
}

/** The first frame of a segment should say what it follows, and cannot be believed. */
export function brokenOpening(span: Span): Damage {
  const place = { segment: span.segment, from: 0, to: 0 }
  return {
    place,
    seq: span.firstSeq,
    reason: 'the first frame of the segment is not as it was written',
  }
}

/** What is wrong where one segment ends and the next begins, if anything. */
export function unjoined(span: Span, end: WalkEnd, next: Span): Damage | undefined {
  const place = { segment: span.segment, from: end.to, to: end.to }
  if (span.counted !== undefined && span.counted > span.to) {
    const reason = `the segment is ${span.to} bytes long, its successor counts ${span.counted}: it was cut`
    return { place, seq: end.seq, reason }
  }
  if (next.broken === true || (end.seq === next.firstSeq && end.prev === next.prev))
    return undefined
  const reason = `segment ${next.segment} does not follow from what is here`
  return {
    place,
    seq: Math.min(end.seq, next.firstSeq),
    reason,
    ...(next.prev === undefined ? {} : { expected: next.prev }),
    ...(end.prev === undefined ? {} : { found: end.prev }),
  }
}

function damageAt(bad: BadLine, reason: string): Damage {
  return {
    place: { segment: bad.segment, from: bad.from, to: bad.to },
    seq: bad.seq,
    reason: `${FAULTS[bad.fault]}; ${reason}`,
    ...(bad.expected === undefined ? {} : { expected: bad.expected }),
    ...(bad.found === undefined ? {} : { found: bad.found }),
  }
}

export const FAULTS: Record<BadLine['fault'], string> = {
  form: 'this is no frame',
  commit: 'the body does not match its commitment',
  hash: 'the hash does not follow from the frame before',
  seq: 'the frame has another number',
  unfinished: 'the line does not end',
}

/** Why bad bytes in the last segment cannot be the work of a crash, or undefined where they can. */
async function damageReason(
  reader: LogReader,
  span: Span,
  bad: BadLine,
  coveredSeq: number,
): Promise<string | undefined> {
  if (bad.seq <= coveredSeq) return "a head in the store's log covers it"
  if (bad.from < span.durableTo) return 'it was laid to rest, and so it was durable'
  if (await differsOnlyInLastByte(reader, span, bad)) return 'only its last byte differs'
  let from = bad.from + 1
  for (;;) {
    const later = await nextWellFormed(reader, span, from)
    if (later === undefined) return undefined
    if (later.seq > bad.seq && later.seq - later.lag - 1 >= bad.seq)
      return `frame ${later.seq} was written after it was durable`
    from = later.place.to
  }
}

/** A crash leaves zeros or nothing; a last byte that is something else was changed. */
async function differsOnlyInLastByte(
  reader: LogReader,
  span: Span,
  bad: BadLine,
): Promise<boolean> {
  if (bad.fault !== 'unfinished' && bad.fault !== 'form') return false
  const end = Math.min(bad.to, span.to)
  const line = Buffer.from(
    await reader.backend.read(reader.log, span.segment, bad.from, end - bad.from),
  )
  const frame = new FrameReader()
  const wrongAt = bad.fault === 'unfinished' ? line.length - 1 : line.length - 2
  if (wrongAt < 0 || line[wrongAt] === 0) return false
  if (bad.fault === 'unfinished') return frame.read(line, 0, wrongAt, undefined)
  line[wrongAt] = 0x7d
  return frame.read(line, 0, wrongAt + 1, undefined)
}

class TailWalk {
  head: Head | undefined
  private pending: Pending[] = []
  private durableSeq: number

  constructor(private readonly options: TailOptions) {
    this.head = options.anchor
    this.durableSeq = options.coveredSeq
  }

  readonly visit = (frame: FrameReader, bytes: Buffer, place: Place): void => {
    const body = bytes.subarray(frame.bodyFrom, frame.bodyTo)
    const { seq, hash, time, type, redacted, extra, left } = frame
    const refs = redacted ? [] : readableRefsOf(body)
    const op = redacted ? undefined : operationOf(body)
    this.durableSeq = Math.max(this.durableSeq, seq - frame.lag - 1)
    this.pending.push({ seq, hash, place, time, type, redacted, extra, op, body, left, refs })
    if (left === 0 && (this.pending[0] as Pending).seq <= this.durableSeq)
      this.settle(this.durableSeq)
  }

  /** Frames up to `seq` stand, as far as their atomic appends are whole. */
  private settle(seq: number): void {
    let count = 0
    while (count < this.pending.length && (this.pending[count] as Pending).seq <= seq) count += 1
    while (count > 0 && (this.pending[count - 1] as Pending).left > 0) count -= 1
    for (const frame of this.pending.splice(0, count)) {
      this.options.onFrame(frame)
      this.head = frame
    }
  }

  /** Damage ends the walk; the whole appends before it stand all the same. */
  damaged(damage: Damage): Tail {
    this.settle(Number.POSITIVE_INFINITY)
    return { head: this.head, damage }
  }

  /** The end is reached: what of the undecided frames stands? */
  async finish(end: { span: Span; bad: BadLine | undefined } | undefined): Promise<Tail> {
    let count = 0
    let why: Torn['why'] | undefined = end?.bad?.fault
    for (const frame of this.pending) {
      if (frame.seq > this.durableSeq && !(await this.hasObjects(frame.refs))) {
        why = 'objects'
        break
      }
      count += 1
    }
    while (count > 0 && (this.pending[count - 1] as Pending).left > 0) {
      count -= 1
      why ??= 'append'
    }
    const cut = this.pending[count]
    this.pending.length = count
    this.settle(Number.POSITIVE_INFINITY)
    if (end === undefined || why === undefined) return { head: this.head }
    const offset = cut?.place.from ?? (end.bad as BadLine).from
    const { segment, to } = end.span
    const maybeAcknowledged =
      end.bad !== undefined && end.bad.fault !== 'unfinished' && end.bad.from < end.span.to
    return {
      head: this.head,
      torn: { segment, offset, bytes: to - offset, maybeAcknowledged, why },
    }
  }

  private async hasObjects(refs: readonly Ref[]): Promise<boolean> {
    for (const ref of refs) if (!(await this.options.hasObject(ref))) return false
    return true
  }
}
