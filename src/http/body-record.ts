/**
 * One body on its way into the log: scrubbed, cut into a rope, its pieces noted.
 * A body with codings on is looked into too: where a secret is in it, it is kept without them.
 */
import type { LargeValue, PreparedValue } from '../core/body.js'
import { HTTP_CODED_BYTES_MAX } from '../core/limits.js'
import { decodedPart, withoutCodings } from '../fold/readers/content-coding.js'
import { ChunkTable } from './chunk-table.js'
import { type Decoding, decoding } from './decoding.js'
import type { BodyForm } from './exchange.js'
import type { ExchangeScrub } from './scrub.js'
import type { ScrubStream } from './scrub-stream.js'

/** Where the bytes of a body go. */
export interface BodyStore {
  push(bytes: Uint8Array): void | Promise<void>
  end(pointer: string): Promise<LargeValue | PreparedValue>
}

/** For whoever only wants to know the key. */
export const NOWHERE: BodyStore = {
  push() {},
  end: async (pointer) => ({ pointer, kind: 'bytes', bytes: new Uint8Array(0) }),
}

export interface BodyRecordOptions {
  readonly stored: BodyStore
  readonly scrub: ExchangeScrub
  readonly side: 'request' | 'response'
  readonly contentType: string
  /** Still on, in the order in which they were applied. */
  readonly codings: readonly string[]
  readonly form: BodyForm
  /** Gets the bytes that count for a key, their codings off. */
  readonly keyed?: (bytes: Uint8Array) => void
}

export interface RecordedBody {
  readonly value: LargeValue | PreparedValue
  readonly form: BodyForm
  readonly chunks: Uint8Array
}

interface CodedPiece {
  readonly bytes: Buffer
  readonly waitUs: number
}

export class BodyRecord {
  private readonly table = new ChunkTable()
  private readonly waits: number[] = []
  private stream: ScrubStream
  /** Pieces with codings on that nobody has looked into yet. */
  private coded: CodedPiece[] | undefined
  private codedBytes = 0
  private decoding: Decoding | undefined
  private form: BodyForm
  private keyed: BodyRecordOptions['keyed']
  private storing: void | Promise<void> = undefined

  constructor(private readonly options: BodyRecordOptions) {
    this.form = options.form
    this.keyed = options.keyed
    if (options.codings.length > 0) this.coded = []
    this.stream = this.scrubbing(options.contentType)
  }

  /** Await what it gives before the next one. @throws what writing throws */
  push(bytes: Uint8Array, waitUs: number): void | Promise<void> {
    if (this.decoding !== undefined) return this.decoding.push(bytes, waitUs)
    if (this.coded === undefined) return this.take(bytes, waitUs)
    this.coded.push({ bytes: Buffer.from(bytes), waitUs })
    this.codedBytes += bytes.length
    if (this.codedBytes > HTTP_CODED_BYTES_MAX) return this.openLong(this.coded)
  }

  /** No more comes. @throws what writing throws */
  async end(pointer: string): Promise<RecordedBody> {
    if (this.coded !== undefined) await this.openWhole(this.coded)
    await this.decoding?.end()
    this.stream.end()
    await this.storing
    const value = await this.options.stored.end(pointer)
    return { value, form: this.form, chunks: this.table.end() }
  }

  private scrubbing(type: string): ScrubStream {
    return this.options.scrub.stream(type, this.options.side, {
      bytes: (out, keyed) => {
        this.storing = this.options.stored.push(out)
        this.keyed?.(keyed)
      },
      piece: (bytes) => this.table.add(bytes, this.waits.shift() ?? 0),
    })
  }

  private take(bytes: Uint8Array, waitUs: number): void | Promise<void> {
    this.storing = undefined
    this.waits.push(waitUs)
    this.stream.push(bytes)
    return this.storing
  }

  /** It goes in as it is where nothing in it is secret, else without its codings. */
  private async openWhole(pieces: readonly CodedPiece[]): Promise<void> {
    this.coded = undefined
    const { codings, scrub, contentType, side, keyed } = this.options
    const whole = Buffer.concat(pieces.map(({ bytes }) => bytes))
    const readable = codings.reduceRight<Uint8Array | undefined>(
      (rest, coding) => rest && decodedPart(rest, coding),
      whole,
    )
    if (readable === undefined) return this.takeAll(pieces)
    if (scrub.finds(readable, contentType)) {
      this.form = 'decoded'
      const waitUs = pieces.reduce((sum, piece) => sum + piece.waitUs, 0)
      await this.take(readable, waitUs)
      return
    }
    this.keyed = undefined
    const plain = withoutCodings(whole, codings)
    if (keyed !== undefined && plain !== undefined) {
      // What was scrubbed before counts as one: see the pattern.
      const counted = scrub.stream(contentType, side, { bytes: (_, key) => keyed(key), piece() {} })
      counted.push(plain)
      counted.end()
    } else keyed?.(whole)
    // Packed bytes are no text: only what is known is looked for in them.
    this.stream = this.scrubbing('application/octet-stream')
    await this.takeAll(pieces)
  }

  /** Too long to be looked into before it is stored: its codings come off as it comes. */
  private async openLong(pieces: readonly CodedPiece[]): Promise<void> {
    this.coded = undefined
    this.decoding = decoding(this.options.codings, (bytes, waitUs) => this.take(bytes, waitUs))
    if (this.decoding === undefined) return this.takeAll(pieces)
    this.form = 'decoded'
    for (const { bytes, waitUs } of pieces) await this.decoding.push(bytes, waitUs)
  }

  private async takeAll(pieces: readonly CodedPiece[]): Promise<void> {
    for (const { bytes, waitUs } of pieces) await this.take(bytes, waitUs)
  }
}
