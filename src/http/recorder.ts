/**
 * Writes exchanges into a run: ordinals, the policy for a disk that is full, and what goes missing.
 * One exchange is `live-recording.ts`; knows neither fetch nor sockets.
 */
import { encodeData, type LargeValue, type PreparedValue } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { HttpGap, HttpMiss, HttpStart } from '../core/http-events.js'
import type { Run } from '../store/run.js'
import { currentStep } from '../store/steps.js'
import type { BodyForm, Miss, Recording, RequestHead } from './exchange.js'
import { type Fingerprint, storeFingerprint } from './fingerprint.js'
import { LiveRecording } from './live-recording.js'
import { checkNormalisers, type Normaliser } from './normalise.js'
import { ExchangeScrub } from './scrub.js'

export interface RecorderOptions {
  /**
   * What becomes of a call that cannot be recorded, since the disk is full, say. `open`: it goes
   * on, and an `http/gap` is written as soon as that can be. `closed`: it fails. `open` unless
   * told.
   */
  readonly fail?: 'open' | 'closed'
  /** Values that are secrets wherever they stand, beside those that are known by name or form. */
  readonly secrets?: readonly string[]
  /** Further headers whose values are secrets. */
  readonly secretHeaders?: readonly string[]
  /** Differences between requests that do not count; none unless given. */
  readonly normalisers?: readonly Normaliser[]
}

export interface StartOptions {
  /** It is answered by this exchange, and not by the network. */
  readonly replayed?: { readonly run: string; readonly ordinal: number }
}

/** Of one run, in this process: however many recorders write to it, ordinals are given once. */
interface Ordinals {
  last: number
  /** The log's last `http/start` that `last` counts with; -1 where none was looked at. */
  seq: number
  reading: Promise<void> | undefined
}

const ordinalsOf = new WeakMap<Run, Ordinals>()

export class Recorder {
  private readonly open = new Set<Recording>()
  private readonly lost = new Set<number>()
  /** Of exchanges that are not in the log, whether or not that was told there. */
  private readonly missing = new Set<number>()
  private lostReason = ''
  private readonly seen = new Set<string>()
  private readonly ordinals: Ordinals

  /** @internal `openRecorder` makes one. */
  constructor(
    readonly run: Run,
    readonly options: RecorderOptions,
    private readonly fingerprint: Fingerprint,
  ) {
    this.ordinals = ordinalsOf.get(run) ?? { last: 0, seq: -1, reading: undefined }
    ordinalsOf.set(run, this.ordinals)
  }

  /** How many exchanges took place and are not in the log. Final once it is closed. */
  get unwritten(): number {
    return this.missing.size
  }

  get failsClosed(): boolean {
    return this.options.fail === 'closed'
  }

  /** For one exchange. */
  scrub(): ExchangeScrub {
    const { secrets, secretHeaders } = this.options
    return new ExchangeScrub({
      fingerprint: this.fingerprint,
      seen: this.seen,
      ...(secrets && { secrets }),
      ...(secretHeaders && { headers: secretHeaders }),
    })
  }

  /**
   * A request begins: its ordinal is taken, and the log will say so.
   * @throws where the run cannot be written to and the recorder fails closed
   */
  async start(head: RequestHead, form: BodyForm, options: StartOptions = {}): Promise<Recording> {
    const ownStep = this.ownStep()
    const began = performance.now()
    await this.catchUp()
    this.ordinals.last += 1
    const ordinal = this.ordinals.last
    const recording = new LiveRecording(this, {
      ordinal,
      head,
      form,
      began,
      ...(ownStep === undefined ? {} : { step: ownStep }),
      ...(options.replayed && { replayed: options.replayed }),
    })
    this.open.add(recording)
    const { method, url } = recording.scrubbedHead
    const data: HttpStart = {
      ordinal,
      method,
      url,
      ...(ownStep === undefined ? {} : { step: ownStep }),
    }
    const starting = this.append('http/start', data, [], ordinal)
    if (!this.failsClosed)
      starting.catch(() => {}) // Noted as a gap by `append`.
    else {
      try {
        await starting
      } catch (error) {
        this.open.delete(recording)
        recording.drop()
        throw error
      }
    }
    return recording
  }

  /** Ordinals go on from what the log has: another process may have had a turn. */
  private async catchUp(): Promise<void> {
    const { ordinals, run } = this
    ordinals.reading ??= (async () => {
      try {
        const seq = await run.lastSeq(['http/start'])
        // Mostly it is one that was written here.
        if (seq <= ordinals.seq) return
        const last = (await run.last('http/start'))?.data as Partial<HttpStart> | undefined
        if (typeof last?.ordinal === 'number') ordinals.last = Math.max(ordinals.last, last.ordinal)
        ordinals.seq = seq
      } finally {
        ordinals.reading = undefined
      }
    })()
    try {
      await ordinals.reading
    } catch (error) {
      if (this.failsClosed) throw error
      this.lose(ordinals.last + 1, error)
    }
  }

  /** A request that nothing recorded answers, in a replay that writes its own run. */
  async miss(miss: Miss): Promise<void> {
    const { key, miss: kind, method, url, recorded, asked, nearest } = miss
    const step = this.ownStep()
    const data: HttpMiss = {
      key: key as Hash,
      kind,
      method,
      url,
      recorded,
      asked,
      nearest,
      ...(step === undefined ? {} : { step }),
    }
    await this.append('http/miss', data, [], this.ordinals.last)
  }

  private ownStep(): string | undefined {
    const step = currentStep()
    return step?.run === this.run ? step.id : undefined
  }

  /** @internal What was lost before is told first. */
  async append(
    type: 'http/start' | 'http/exchange' | 'http/miss',
    data: unknown,
    large: readonly (LargeValue | PreparedValue)[],
    ordinal: number,
  ): Promise<void> {
    const { run } = this
    try {
      const encoded = encodeData(data)
      const event = { type, data: { ...encoded, large: [...encoded.large, ...large] } }
      // Though its start got lost, the exchange is here now.
      if (type === 'http/exchange') this.lost.delete(ordinal)
      const lost = [...this.lost]
      const gap = lost.length === 0 ? [] : [{ type: 'http/gap', data: encodeData(this.gap()) }]
      const appended = await run.appendEncoded([...gap, event])
      if (type === 'http/exchange') this.missing.delete(ordinal)
      const seq = appended.at(-1)?.seq ?? -1
      if (type === 'http/start') this.ordinals.seq = Math.max(this.ordinals.seq, seq)
      for (const told of lost) this.lost.delete(told)
    } catch (error) {
      this.lose(ordinal, error)
      throw error
    }
  }

  /** @internal An exchange is not in the log, though it took place. */
  lose(ordinal: number, error: unknown): void {
    this.missing.add(ordinal)
    this.lostReason = error instanceof Error ? error.message : String(error)
    if (this.lost.has(ordinal)) return
    this.lost.add(ordinal)
    this.run.context.notices.report(
      'traffic',
      `exchange ${ordinal} of run ${this.run.id} could not be written; try: make room on the disk`,
      error,
    )
    // A run whose write failed can be written to again once it was let go of.
    if (error instanceof DaglogError && WRITER_GONE.has(error.code)) {
      this.run.release().catch(() => {}) // Whatever it is, the next append meets it.
    }
  }

  private gap(): HttpGap {
    const ordinals = [...this.lost]
    const from = ordinals.reduce((least, one) => Math.min(least, one))
    const to = ordinals.reduce((most, one) => Math.max(most, one))
    return { from, to, count: ordinals.length, reason: this.lostReason }
  }

  /** @internal */
  ended(recording: Recording): void {
    this.open.delete(recording)
  }

  /**
   * Whatever is still open ends here, as cut by the client; resolves once all is in the log, and
   * what was lost is told if it can be.
   */
  async close(): Promise<void> {
    await Promise.allSettled([...this.open.keys()].map((one) => one.end('client-abort')))
    const { lost } = this
    if (lost.size === 0) return
    try {
      await this.run.append('http/gap', this.gap())
      lost.clear()
    } catch (error) {
      this.run.context.notices.report(
        'traffic',
        `run ${this.run.id} cannot even say that ${lost.size} exchanges are missing`,
        error,
      )
      if (this.failsClosed) throw error
    }
  }
}

const WRITER_GONE: ReadonlySet<string> = new Set(['WRITE_FAILED', 'WRITER_FENCED'])

/** Record exchanges into a run. @throws USAGE where a normaliser makes no sense */
export async function openRecorder(run: Run, options: RecorderOptions = {}): Promise<Recorder> {
  checkNormalisers(options.normalisers ?? [])
  return new Recorder(run, options, await storeFingerprint(run.context.backend))
}
