/**
 * Events of a log, as they were appended: from any seq, without reading what lies before.
 * Never refuses: a bad span is a `log/gap` event, and what is intact behind it is still given.
 */
import { parseBody, type Ref, restoreData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { EventType } from '../core/event-map.js'
import { FrameReader } from '../core/frame.js'
import type { Hash } from '../core/hash.js'
import { STATE_TYPE } from '../fold/run-index.js'
import type { LogReader, Place } from './log-reader.js'
import type { Span } from './log-shape.js'
import { FAULTS } from './log-tail.js'
import { nextWellFormed } from './log-walk.js'
import type { Notices } from './notices.js'
import { resolveRef } from './values.js'

const LF = 0x0a

export interface EventsOptions<T extends string = string> {
  /** First seq; 0 unless told. */
  readonly from?: number
  /** Last seq, inclusive; to the end unless told. */
  readonly to?: number
  /** Only these types. Gaps are always given. */
  readonly types?: readonly T[]
  /** Leave large values out of line: `data` has `null` there and `refs` says what they are. */
  readonly refs?: boolean
  /**
   * The same for trees only, but for states: they may be large, and are read as they are needed.
   */
  readonly trees?: 'refs'
}

/** The type of events that a choice of types gives. */
export type EventOf<T extends string> = T extends EventType ? RunEvent<T> : RunEvent

/** A frame as it lies in the log, before its values are loaded. */
export interface RawEvent extends Place {
  readonly seq: number
  readonly time: number
  readonly type: string
  readonly hash: Hash
  readonly redacted: boolean
  readonly body: Buffer
}

export interface EventSource {
  readonly run: string
  readonly reader: LogReader
  readonly notices: Notices
  /** The spans to read; the last one may end before its segment does. */
  readonly spans: readonly Span[]
}

/**
 * @throws OBJECT_MISSING, OBJECT_CORRUPT for an event whose values cannot be loaded; go on after
 * its seq.
 */
export async function* readEvents(
  source: EventSource,
  options: EventsOptions,
): AsyncGenerator<RunEvent> {
  const { from = 0, to = Number.POSITIVE_INFINITY } = options
  const types = options.types === undefined ? undefined : new Set<string>(options.types)
  const wanted = (raw: RawEvent): boolean =>
    raw.seq >= from && (types === undefined || raw.type === GAP || types.has(raw.type))
  const first = source.spans[0]
  if (first !== undefined && from < first.firstSeq) yield gapEvent(beginningGone(first, from))
  const start = await source.reader.seek(source.spans, from)
  if (start === undefined) return
  for (const span of source.spans.slice(source.spans.indexOf(start.span))) {
    for await (const raw of readSpan(source, span, span === start.span ? start.from : 0)) {
      if (raw.seq > to) return
      if (wanted(raw))
        yield raw.type === GAP ? gapEvent(raw) : await readableEvent(source, raw, options)
    }
  }
}

/**
 * Frames as they lie from a seq on, bodies unread; a bad span is a `log/gap` without a hash, whose
 * body is its data.
 * A body is a view that holds until the next frame is asked for.
 */
export async function* readFrames(source: EventSource, from = 0): AsyncGenerator<RawEvent> {
  const [first] = source.spans
  if (first !== undefined && first.firstSeq > from) yield beginningGone(first, from)
  const start = await source.reader.seek(source.spans, from)
  if (start === undefined) return
  for (const span of source.spans.slice(source.spans.indexOf(start.span))) {
    for await (const raw of readSpan(source, span, span === start.span ? start.from : 0)) {
      if (raw.seq >= from) yield raw
    }
  }
}

const GAP = 'log/gap'

/** The log begins in the middle: its first segments are not there. */
function beginningGone(first: Span, from: number): RawEvent {
  const reason = `events up to seq ${first.firstSeq - 1} are in a segment that is gone`
  return gap(first.segment, 0, 0, from, reason)
}

/** Frames of a span; a bad one is a gap up to the next that is whole. */
async function* readSpan(source: EventSource, span: Span, start: number): AsyncGenerator<RawEvent> {
  const frame = new FrameReader()
  let from = start
  let prev = start === 0 ? span.prev : undefined
  let seq = start === 0 ? span.firstSeq : undefined
  for (;;) {
    let bad: { from: number; reason: string } | undefined
    walk: for await (const block of source.reader.lines(span.segment, from, span.to)) {
      let at = 0
      while (at < block.bytes.length) {
        const end = block.bytes.indexOf(LF, at)
        const good =
          end >= 0 &&
          frame.read(block.bytes, at, end, prev) &&
          (seq === undefined || frame.seq === seq)
        if (!good) {
          bad = {
            from: block.atByte + at,
            reason: FAULTS[end < 0 ? 'unfinished' : frame.fault.fault],
          }
          break walk
        }
        yield rawEvent(frame, block.bytes, {
          segment: span.segment,
          from: block.atByte + at,
          to: block.atByte + end + 1,
        })
        seq = frame.seq + 1
        prev = frame.hash
        at = end + 1
      }
    }
    if (bad === undefined) return
    const next = await nextWellFormed(source.reader, span, bad.from + 1)
    const to = next?.place.from ?? span.to
    if (next === undefined && source.spans.at(-1) === span) {
      source.notices.report(
        'gap',
        `run ${source.run} ends in ${to - bad.from} bytes that are no whole event (${bad.reason})`,
      )
      return
    }
    yield gap(span.segment, bad.from, to, seq ?? next?.seq ?? span.firstSeq, bad.reason)
    if (next === undefined) return
    from = next.place.from
    prev = undefined
    seq = next.seq
  }
}

function rawEvent(frame: FrameReader, bytes: Buffer, place: Place): RawEvent {
  const { seq, time, type, hash, redacted } = frame
  const body = bytes.subarray(frame.bodyFrom, frame.bodyTo)
  // The spread comes last: in front it would cost more than reading the frame did.
  return { seq, time, type, hash, redacted, body, ...place }
}

function gap(segment: number, from: number, to: number, seq: number, reason: string): RawEvent {
  const body = Buffer.from(JSON.stringify({ segment, offset: from, bytes: to - from, reason }))
  return { segment, from, to, seq, time: 0, type: GAP, hash: '' as Hash, redacted: false, body }
}

function gapEvent(raw: RawEvent): RunEvent {
  // A gap that a salvaged run recorded is an event like any other; one we found has no hash.
  const data = raw.hash === '' ? JSON.parse(raw.body.toString()) : parseBody(raw.body).data
  return { seq: raw.seq, time: raw.time, type: raw.type, data, hash: raw.hash }
}

/**
 * A frame can be whole and its body make no sense: another program wrote it. It hides nothing
 * behind it.
 */
async function readableEvent(
  source: EventSource,
  raw: RawEvent,
  options: EventsOptions,
): Promise<RunEvent> {
  try {
    return await loadEvent(source, raw, options)
  } catch (error) {
    if (!(error instanceof DaglogError) || error.code.startsWith('OBJECT_')) throw error
    return gapEvent(gap(raw.segment, raw.from, raw.to, raw.seq, error.message))
  }
}

async function loadEvent(
  source: EventSource,
  raw: RawEvent,
  options: EventsOptions,
): Promise<RunEvent> {
  const { seq, time, type, hash } = raw
  if (raw.redacted) return { seq, time, type, data: undefined, hash, redacted: true }
  const body = parseBody(raw.body)
  const op = body.op === undefined ? undefined : { op: body.op }
  const kept = body.refs.filter((ref) => staysRef(type, ref, options))
  const loaded = body.refs.filter((ref) => !kept.includes(ref))
  const values = new Map<string, unknown>()
  for (const ref of loaded) {
    values.set(ref.pointer, await resolveRef(source.reader.backend, ref, { run: source.run, seq }))
  }
  const data = restoreData({ ...body, refs: loaded }, values)
  const said = options.refs === true || kept.length > 0 ? { refs: kept } : undefined
  return { seq, time, type, data, hash, ...op, ...said }
}

function staysRef(type: string, { kind }: Ref, { refs, trees }: EventsOptions): boolean {
  return refs === true || (trees === 'refs' && kind === 'tree' && type !== STATE_TYPE)
}

/** Load one event whose place is known; with `refs`, what is out of line is left there. */
export async function readEventAt(
  source: EventSource,
  place: Place,
  refs = false,
): Promise<RunEvent | undefined> {
  const line = await source.reader.backend.read(
    source.reader.log,
    place.segment,
    place.from,
    place.to - place.from,
  )
  const frame = new FrameReader()
  if (line.at(-1) !== LF || !frame.read(line, 0, line.length - 1, undefined)) return undefined
  return loadEvent(source, rawEvent(frame, line, place), { refs })
}
