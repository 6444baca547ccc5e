/**
 * Replaces secrets in a stream of bytes, wherever the stream is cut.
 * A stretch as long as the longest secret is held back, so what comes out is a function of the
 * bytes alone; where pieces ended is told in terms of what comes out.
 */
import { PLACEHOLDER, SECRET_BYTES_MAX, type SecretPattern } from './scrub-pattern.js'

/** Held back behind what was looked through; no match is longer. */
const HELD_BYTES = 2 * SECRET_BYTES_MAX
/** Looked through at once, or a stream of small pieces would be read again and again. */
const SCAN_BYTES = 4 * HELD_BYTES
/** Bytes before a stretch that a pattern looks back on. */
const CONTEXT_BYTES = 64

export interface ScrubSink {
  /**
   * What comes out, good until this returns. `keyed` is what counts for a key: the same but for fingerprints.
   */
  bytes(out: Buffer, keyed: Buffer): void
  /** A piece ended here: this much has come out since the piece before it ended. */
  piece(bytes: number): void
  hit(rule: string): void
}

export interface ScrubStreamOptions {
  readonly pattern: SecretPattern
  readonly fingerprint: (secret: string) => string
  readonly binary: boolean
  readonly sink: ScrubSink
}

const NO_FINGERPRINT = Buffer.from(`${PLACEHOLDER}${'0'.repeat(16)}`)

export class ScrubStream {
  private waiting: Buffer[] = []
  private waitingBytes = 0
  /** What was not given out yet, behind `context` characters that were. */
  private text = ''
  private context = 0
  /** Where pieces end, counted from the end of the context. */
  private ends: number[] = []
  private given = 0

  constructor(private readonly options: ScrubStreamOptions) {}

  push(bytes: Uint8Array): void {
    const { binary, pattern, sink } = this.options
    if (binary && !pattern.knowsAny) {
      const out = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      sink.bytes(out, out)
      sink.piece(out.length)
      return
    }
    this.waiting.push(Buffer.from(bytes))
    this.waitingBytes += bytes.length
    this.ends.push(this.text.length - this.context + this.waitingBytes)
    if (this.waitingBytes >= SCAN_BYTES) this.scan(false)
  }

  end(): void {
    this.scan(true)
  }

  private scan(final: boolean): void {
    this.text += Buffer.concat(this.waiting).toString('latin1')
    this.waiting = []
    this.waitingBytes = 0
    const { pattern, binary, fingerprint, sink } = this.options
    const { text } = this
    const limit = final ? text.length : text.length - HELD_BYTES
    let at = this.context
    while (at < limit) {
      const hit = pattern.next(text, at, binary)
      if (hit === undefined || hit.start >= limit) break
      this.give(at, hit.from)
      const secret = text.slice(hit.from, hit.to)
      if (hit.rule === 'scrubbed') this.replace(hit.to, secret)
      else {
        this.replace(hit.to, fingerprint(secret))
        sink.hit(hit.rule)
      }
      at = hit.to
    }
    if (at < limit) {
      this.give(at, limit)
      at = limit
    }
    this.pieces(at)
    this.drop(at)
  }

  /** `[from..to)` comes out as it is. */
  private give(from: number, to: number): void {
    let at = from
    while (at < to) {
      const end = Math.min(to, (this.ends[0] ?? Number.POSITIVE_INFINITY) + this.context)
      if (end > at) {
        const bytes = Buffer.from(this.text.slice(at, end), 'latin1')
        this.options.sink.bytes(bytes, bytes)
        this.given += bytes.length
      }
      this.pieces(end)
      at = end
    }
  }

  /** A piece that ended inside a secret ends behind what stands for it. */
  private replace(to: number, placeholder: string): void {
    const out = Buffer.from(placeholder, 'latin1')
    this.options.sink.bytes(out, NO_FINGERPRINT)
    this.given += out.length
    this.pieces(to)
  }

  /** All pieces that end at or before `at` have come out. */
  private pieces(at: number): void {
    while (this.ends.length > 0 && (this.ends[0] as number) + this.context <= at) {
      this.ends.shift()
      this.options.sink.piece(this.given)
      this.given = 0
    }
  }

  private drop(at: number): void {
    const context = Math.min(CONTEXT_BYTES, at)
    const shift = at - this.context
    this.text = this.text.slice(at - context)
    this.context = context
    this.ends = this.ends.map((end) => end - shift)
  }
}
