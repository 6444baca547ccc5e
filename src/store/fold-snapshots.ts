/**
 * Where a fold may begin: snapshots of projections, each bound to the head that it was taken at and
 * to the readers that saw the events before it.
 * A ladder: the newest that fits, else the one before it, else the start of the log. Never truth;
 * any trouble costs time and nothing else.
 */
import { applyTags } from '../core/decode.js'
import { encodeValue, type Tagging } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import type { AnyProjection } from '../fold/projection.js'
import type { AnyReader } from '../fold/reader.js'
import type { FoldStart, ReaderStates, Unit } from '../fold/registry.js'
import type { StoreContext } from './context.js'
import type { LogReader } from './log-reader.js'
import type { LogShape } from './log-shape.js'
import type { Head } from './log-walk.js'

/** A state of a projection, and of the readers there. */
export interface FoldSnapshot extends FoldStart {
  readonly readerStates: ReaderStates
  /** What it took to write, in bytes. */
  readonly bytes: number
  readonly slot: number
}

interface Stored {
  readonly version: number
  readonly readers: readonly (readonly [key: string, version: number])[]
  /** `[readerStates, state]` as JSON, and what JSON cannot carry of it. */
  readonly text: string
  readonly tags: readonly Tagging[]
}

/** Written in turn, so that a bad or too new one leaves the one before. */
const SLOTS = [0, 1] as const

export class FoldSnapshots {
  constructor(
    private readonly context: StoreContext,
    private readonly run: string,
    private readonly readers: readonly AnyReader[],
  ) {}

  /** The newest snapshot of a projection that fits, at or before `to`. */
  async newest(
    projection: AnyProjection,
    log: LogReader,
    shape: LogShape,
    to: number,
  ): Promise<FoldSnapshot | undefined> {
    let newest: FoldSnapshot | undefined
    for (const slot of SLOTS) {
      const key = this.key(projection, slot)
      const file = await this.context.snapshots.read(key, log, shape)
      if (file === undefined || file.head.seq > to) continue
      if (newest !== undefined && newest.asOfSeq >= file.head.seq) continue
      const read = this.revive(projection, file.state as Stored)
      if (read !== undefined) newest = { ...read, asOfSeq: file.head.seq, slot }
    }
    return newest
  }

  /** Keep a unit's state as of `head`. @returns its size in bytes; 0 where it could not be kept. */
  async write(
    { projection, state }: Pick<Unit, 'projection' | 'state'>,
    head: Head,
    readerStates: ReaderStates,
    slot: number,
  ): Promise<number> {
    let encoded: ReturnType<typeof encodeValue>
    try {
      encoded = encodeValue([readerStates, state])
    } catch (error) {
      const trouble = `projection "${projection.key}" keeps what no snapshot can; each start folds the whole log`
      this.context.notices.report('cache', trouble, error)
      return 0
    }
    const stored: Stored = {
      version: projection.version,
      readers: this.readers.map(({ key, version }) => [key, version]),
      ...encoded,
    }
    await this.context.snapshots.write(this.key(projection, slot), head, stored)
    return encoded.text.length
  }

  /** How many snapshots of a projection there are, and how many of them can be used. */
  async count(
    projection: AnyProjection,
    log: LogReader,
    shape: LogShape,
  ): Promise<{ readonly found: number; readonly usable: number }> {
    let [found, usable] = [0, 0]
    for (const slot of SLOTS) {
      const key = this.key(projection, slot)
      if ((await this.context.backend.readCache(key)) === undefined) continue
      found += 1
      const file = await this.context.snapshots.read(key, log, shape)
      if (file !== undefined && this.revive(projection, file.state as Stored)) usable += 1
    }
    return { found, usable }
  }

  private key({ key }: AnyProjection, slot: number): string {
    return `fold/${slot}/${JSON.stringify([key, this.run])}`
  }

  private revive(
    { version, schema }: AnyProjection,
    stored: Stored,
  ): Omit<FoldSnapshot, 'asOfSeq' | 'slot'> | undefined {
    if (stored?.version !== version || !this.sameReaders(stored.readers)) return undefined
    try {
      const [readerStates, state] = applyTags(JSON.parse(stored.text), stored.tags) as [
        ReaderStates,
        unknown,
      ]
      if (schema !== undefined) {
        const result = schema['~standard'].validate(state) as { issues?: unknown }
        if (result instanceof Promise || result.issues !== undefined) return undefined
      }
      return { readerStates, state, bytes: stored.text.length }
    } catch (error) {
      // Of another shape than this version has.
      if (error instanceof SyntaxError || error instanceof DaglogError) return undefined
      throw error
    }
  }

  private sameReaders(stored: Stored['readers']): boolean {
    return (
      Array.isArray(stored) &&
      stored.length === this.readers.length &&
      this.readers.every(({ key, version }, index) => {
        const [otherKey, otherVersion] = stored[index] as readonly [string, number]
        return key === otherKey && version === otherVersion
      })
    )
  }
}
