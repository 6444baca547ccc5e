/**
 * Where bytes have structure: one pass over JSON in any formatting, JSON Lines and event streams.
 * Tells a builder where containers open and close, where members end, and which runs are long.
 * Knows just enough grammar to stay in step: any bytes at all are taken, and bytes that break the
 * grammar only make worse cuts. What it does at a byte depends on the bytes before it, never on how
 * they arrived, so a stream is cut as the whole is.
 * @see docs/format.md#ropes
 */
import { chunkSizes, cutPoint } from './chunk.js'
import {
  type BuilderState,
  type RopeBuilder,
  RUN_INLINE_BYTES_MAX,
  STRUCTURE_DEPTH_MAX,
} from './rope-builder.js'

/** Longest run that is one piece, in bytes; longer ones are cut by content. */
const RUN_PIECE_BYTES_MAX = 64 * 1024

/** How much of the start decides which form the bytes have. No saved state lies before its end. */
const FORM_BYTES_MAX = 1024

/** `values`: JSON values and lines of text. `events`: the same, in an event stream. */
type Form = 'unknown' | 'values' | 'events' | 'text'

/** A token without structure of its own. */
type Run = 'none' | 'string' | 'scalar' | 'space' | 'line' | 'rest'

const SCALAR = 0
const SPACE = 1
const NEWLINE = 2
const QUOTE = 3
const OPEN = 4
const CLOSE = 5
const COMMA = 6
const COLON = 7

const CLASS = new Uint8Array(256)
for (const [bytes, of] of [
  [' \t\r', SPACE],
  ['\n', NEWLINE],
  ['"', QUOTE],
  ['{[', OPEN],
  ['}]', CLOSE],
  [',', COMMA],
  [':', COLON],
] as const) {
  for (const byte of Buffer.from(bytes)) CLASS[byte] = of
}

const LF = 0x0a
const QUOTATION = 0x22
const BACKSLASH = 0x5c

const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const DATA_FIELD = Buffer.from('data:')

/** All that decides what comes of the bytes ahead, right after a member. */
export interface SliceState {
  readonly pos: number
  readonly form: Form
  readonly flat: number
  readonly builder: BuilderState
}

export class Slicer {
  /** Everything before it has been told to the builder. */
  private pos = 0
  private form: Form = 'unknown'
  /** Containers open beyond the depth that is told apart. */
  private flat = 0
  /** Whether the last thing inside the container was a value: another can not follow. */
  private afterValue = false
  /** Outside containers: whether only white space came since the last line end. */
  private lineStart = true

  /** The run that starts at `pos` and whose end has not been seen, and what is known of it. */
  private run: Run = 'none'
  private searchedTo = 0
  /** The next line end as far as it was looked for in this window; -1 where it was not. */
  private lineAt = -1
  /** Bytes of it that became chunks, and where the next one starts; -1 while it may be a piece. */
  private chunkedBytes = 0
  private chunkAt = -1

  /**
   * @param saveAt First position from which on the state after a member is wanted.
   * @param onSave Takes the state and says the next such position. Goes with `saveAt`.
   */
  constructor(
    private readonly builder: RopeBuilder,
    private saveAt = Number.POSITIVE_INFINITY,
    private readonly onSave?: (state: SliceState) => number,
  ) {}

  /** Takes the window as far as it can be decided; wholly where it is `final`. */
  slice(final: boolean): void {
    this.lineAt = -1
    const { length } = this.builder.bytes
    if (this.form === 'unknown' && !this.begin(final)) return
    if (this.run !== 'none' && !this.resume(final)) return
    while (this.pos < length) {
      this.builder.limit(this.pos)
      const of = CLASS[this.builder.bytes[this.pos]!]!
      if (!(this.builder.depth === 0 ? this.outside(of, final) : this.inside(of, final))) return
    }
  }

  /** The window has shrunk before `pos`. */
  shift(bytes: number): void {
    this.pos -= bytes
    this.searchedTo -= bytes
    if (this.chunkAt >= 0) this.chunkAt -= bytes
  }

  /** Goes on from there. After a member, `afterValue` is false, as in a new slicer. */
  restore(state: SliceState): void {
    this.pos = state.pos
    this.form = state.form
    this.flat = state.flat
    this.lineStart = state.builder.depth === 0
    this.builder.restore(state.builder)
  }

  private begin(final: boolean): boolean {
    const head = this.builder.bytes.subarray(0, FORM_BYTES_MAX)
    if (head.length < FORM_BYTES_MAX && !final) return false
    const bomBytes = head.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0
    this.form = formOf(head.toString('latin1', bomBytes))
    this.pos = bomBytes
    if (this.form === 'text') this.startRun('rest', final)
    return true
  }

  /** One token between values: lines, and the starts of values in them. */
  private outside(of: number, final: boolean): boolean {
    if (of === SPACE) return this.startRun('space', final)
    if (of === NEWLINE) {
      this.pos += 1
      // An event ends with an empty line.
      if (this.form === 'values' || this.lineStart) this.memberEnd()
      this.lineStart = true
      return true
    }
    if (of === OPEN) return this.open()
    if (this.form === 'events' && this.lineStart && of === SCALAR) {
      const field = this.builder.bytes.subarray(this.pos, this.pos + DATA_FIELD.length)
      if (field.length < DATA_FIELD.length && !final) return false
      if (DATA_FIELD.equals(field)) {
        this.lineStart = false
        this.pos += DATA_FIELD.length
        return true
      }
    }
    this.lineStart = false
    return this.startRun(of === QUOTE ? 'string' : 'line', final)
  }

  /** One token inside a container. */
  private inside(of: number, final: boolean): boolean {
    if (of === SPACE) return this.startRun('space', final)
    if (of === CLOSE) return this.close()
    if (of === NEWLINE || of === COMMA || of === COLON) {
      this.pos += 1
      if (of !== NEWLINE) this.afterValue = false
      if (of === COMMA) this.memberEnd()
      return true
    }
    if (this.afterValue) return this.fallOut(final)
    if (of === OPEN) return this.open()
    this.afterValue = true
    return this.startRun(of === QUOTE ? 'string' : 'scalar', final)
  }

  private memberEnd(): void {
    this.builder.member(this.pos)
    if (this.pos < this.saveAt) return
    const { pos, form, flat } = this
    this.saveAt = this.onSave!({ pos, form, flat, builder: this.builder.save() })
  }

  private open(): boolean {
    const flat = this.builder.depth === STRUCTURE_DEPTH_MAX
    if (!flat) this.builder.open(this.pos)
    this.pos += 1
    if (flat) {
      this.flat += 1
      this.builder.member(this.pos)
    }
    this.afterValue = false
    this.lineStart = false
    return true
  }

  /** Either closer closes: where it is the wrong one, a later value will not fit. */
  private close(): boolean {
    this.pos += 1
    if (this.flat === 0) this.builder.close(this.pos)
    else {
      this.flat -= 1
      this.builder.member(this.pos)
    }
    this.afterValue = true
    return true
  }

  /** A value where none can be: the grammar is broken. Starts afresh with the next line. */
  private fallOut(final: boolean): boolean {
    while (this.builder.depth > 0) this.builder.close(this.pos)
    this.flat = 0
    return this.startRun('line', final)
  }

  private startRun(run: Run, final: boolean): boolean {
    this.run = run
    this.searchedTo = run === 'string' ? this.pos + 1 : this.pos
    return this.resume(final)
  }

  /** Goes on with the run at hand; whether its end was found, so that `pos` is there. */
  private resume(final: boolean): boolean {
    const stop = this.findStop()
    const ended = stop >= 0 || final
    const to = stop >= 0 ? stop : this.builder.bytes.length
    const length = to - this.pos
    if (this.chunkAt >= 0 || length > RUN_PIECE_BYTES_MAX) this.chunk(to, ended)
    else if (ended && length > RUN_INLINE_BYTES_MAX) this.builder.piece(this.pos, to)
    if (!ended) return false
    this.run = 'none'
    this.pos = to
    return true
  }

  /** The long run at `pos`, known up to `to`, becomes chunks, members of a container of its own. */
  private chunk(to: number, ended: boolean): void {
    if (this.chunkAt < 0) {
      this.builder.open(this.pos)
      this.chunkAt = this.pos
      this.chunkedBytes = 0
    }
    for (;;) {
      const sizes = chunkSizes(this.chunkedBytes)
      const known = to - this.chunkAt
      if (known === 0 || (known < sizes.maxBytes && !ended)) break
      const cut = cutPoint(this.builder.bytes, this.chunkAt, to, sizes)
      this.builder.piece(this.chunkAt, cut)
      this.builder.member(cut)
      this.chunkedBytes += cut - this.chunkAt
      this.chunkAt = cut
    }
    if (!ended) return
    this.builder.close(to)
    this.chunkAt = -1
  }

  /** Where the run at hand ends, or -1 where that is not in the window. */
  private findStop(): number {
    const { bytes } = this.builder
    if (this.run === 'string') return this.findStringStop()
    if (this.run === 'line') {
      const at = this.nextLine(this.searchedTo)
      this.searchedTo = at
      return at < bytes.length ? at : -1
    }
    if (this.run === 'rest') return -1
    const of = this.run === 'space' ? SPACE : SCALAR
    let at = this.searchedTo
    while (at < bytes.length && CLASS[bytes[at]!] === of) at += 1
    this.searchedTo = at
    return at < bytes.length ? at : -1
  }

  private findStringStop(): number {
    const { bytes } = this.builder
    let at = this.searchedTo
    const lineAt = this.nextLine(at)
    for (;;) {
      const quoteAt = bytes.indexOf(QUOTATION, at)
      if (quoteAt < 0 || quoteAt > lineAt) break
      const escaped = countBackslashes(bytes, at, quoteAt) % 2 === 1
      at = quoteAt + 1
      if (!escaped) return at
    }
    // A raw line end can not be in a string: this line was torn.
    if (lineAt < bytes.length) return lineAt
    // A last backslash may escape a byte that is not here yet: look at it again.
    this.searchedTo = bytes.length - (countBackslashes(bytes, at, bytes.length) % 2)
    return -1
  }

  /** The first line end at `from` or after it, or the end of the window. */
  private nextLine(from: number): number {
    if (this.lineAt < from) {
      const at = this.builder.bytes.indexOf(LF, from)
      this.lineAt = at < 0 ? this.builder.bytes.length : at
    }
    return this.lineAt
  }
}

/** How many backslashes stand right before `end`, at `from` or after it. */
function countBackslashes(bytes: Buffer, from: number, end: number): number {
  let at = end
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1
  return end - at
}

const VALUES_HEAD = /^[ \t\r\n]*(\{[ \t\r\n]*["}]|\[[ \t\r\n]*([[{"\]\d-]|true|false|null))/
const EVENTS_HEAD = /^(data|event|id|retry)?:/

/** Which form bytes have that start with `head`. */
function formOf(head: string): Form {
  if (VALUES_HEAD.test(head)) return 'values'
  return EVENTS_HEAD.test(head) ? 'events' : 'text'
}
