/**
 * A log read as lines, and where in them a seq lies.
 * Knows segments and lines; what to do about a bad line is for recovery, verify and the event
 * reader.
 * @see docs/format.md#segments
 */
import type { Backend, LogName, Segment } from '../backend/backend.js'
import { FRAME_BYTES_MAX, READ_BYTES } from '../core/limits.js'

const LF = 0x0a

/** Where one frame lies: `to` is the offset after its newline. */
export interface Place {
  readonly segment: number
  readonly from: number
  readonly to: number
}

/** Where a part of a log begins and ends. */
interface SeekSpan {
  readonly segment: number
  readonly to: number
  readonly firstSeq: number
}

/** Whole lines, or at the very end of a segment an unfinished one. */
export interface LineBlock {
  readonly bytes: Buffer
  /** Offset of the first of `bytes` in its segment. */
  readonly atByte: number
}

export class LogReader {
  constructor(
    readonly backend: Backend,
    readonly log: LogName,
  ) {}

  async segments(): Promise<readonly Segment[]> {
    return this.backend.segments(this.log)
  }

  /**
   * The line that starts at an offset, without its newline; undefined where none ends before `to`.
   */
  async lineAt(segment: number, from: number, to: number): Promise<Buffer | undefined> {
    let length = 4096
    for (;;) {
      const bytes = await this.backend.read(this.log, segment, from, Math.min(length, to - from))
      const end = bytes.indexOf(LF)
      if (end >= 0) return bytes.subarray(0, end)
      if (from + bytes.length >= to || length >= FRAME_BYTES_MAX) return undefined
      length = Math.min(length * 16, FRAME_BYTES_MAX)
    }
  }

  /**
   * Blocks of whole lines from `from`, which must be the start of a line. The last may be
   * unfinished.
   */
  async *lines(segment: number, from: number, to: number): AsyncGenerator<LineBlock> {
    let at = from
    let length = READ_BYTES
    while (at < to) {
      const bytes = await this.backend.read(this.log, segment, at, Math.min(length, to - at))
      if (bytes.length === 0) return
      const end = bytes.lastIndexOf(LF) + 1
      const atEnd = at + bytes.length >= to
      if (end === 0 && !atEnd && length < FRAME_BYTES_MAX) {
        length = Math.min(length * 4, FRAME_BYTES_MAX) // One line longer than the block.
        continue
      }
      const whole = atEnd || end === 0 ? bytes.length : end
      yield { bytes: bytes.subarray(0, whole), atByte: at }
      at += whole
      length = READ_BYTES
    }
  }

  /**
   * The start of the line of `seq`, or of the last line before it that can be found without reading
   * all: frames carry their seq, so a span is searched by halves.
   */
  async seek<S extends SeekSpan>(
    spans: readonly S[],
    seq: number,
  ): Promise<{ span: S; from: number } | undefined> {
    const span = spans.findLast((candidate) => candidate.firstSeq <= seq) ?? spans[0]
    if (span === undefined) return undefined
    let low = 0
    let high = span.to
    while (high - low > READ_BYTES) {
      const middle = low + Math.floor((high - low) / 2)
      const probe = await this.lineAfter(span, middle)
      if (probe === undefined || probe.from >= high) high = middle
      else if (probe.seq <= seq) low = probe.from
      else high = middle
    }
    return { span, from: low }
  }

  /** The first line that starts at or after an offset and has a readable seq. */
  private async lineAfter(
    span: SeekSpan,
    offset: number,
  ): Promise<{ from: number; seq: number } | undefined> {
    let at = offset - 1
    while (at < span.to) {
      const bytes = await this.backend.read(
        this.log,
        span.segment,
        at,
        Math.min(PROBE_BYTES, span.to - at),
      )
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, end + 1)) {
        const match = SEQ.exec(bytes.toString('latin1', end + 1, end + 32))
        if (match !== null) return { from: at + end + 1, seq: Number(match[1]) }
      }
      if (bytes.length <= SEQ_BYTES) return undefined
      at += bytes.length - SEQ_BYTES
    }
    return undefined
  }
}

const PROBE_BYTES = 16 * 1024
/** Enough for a newline and `{"seq":` with 16 digits. */
const SEQ_BYTES = 32
const SEQ = /^\{"seq":(\d{1,16}),"time":/
