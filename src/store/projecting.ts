/**
 * The projections of one run, kept current: from snapshots and the log at first, then event by
 * event.
 * The log is asked, never the caches believed: a snapshot that does not fit is not used, and one
 * that cannot be written costs the next start some reading.
 * @see docs/projections.md
 */
import { decodeData, parseBody, restoreData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { Hash } from '../core/hash.js'
import { FOLD_SNAPSHOT_EVENTS } from '../core/limits.js'
import type { AnyProjection, Projection } from '../fold/projection.js'
import type { AnyReader } from '../fold/reader.js'
import { builtInReaders } from '../fold/readers.js'
import { Registry } from '../fold/registry.js'
import { STATE_TYPE } from '../fold/run-index.js'
import type { StoreContext } from './context.js'
import type { EventSource } from './event-reader.js'
import { foldEvents } from './fold-events.js'
import { type FoldSnapshot, FoldSnapshots } from './fold-snapshots.js'
import { type LogShape, shapeOf } from './log-shape.js'
import { type StandingFrame, standsAt } from './log-tail.js'
import type { Head } from './log-walk.js'
import { type Listener, Subscribers } from './subscribers.js'

/** A projection as of an event. */
export interface Projected<V> {
  readonly value: V
  /** The last event that the value knows; -1 where there was none. */
  readonly asOfSeq: number
}

/** A run whose projections can be asked for. */
export interface ProjectedRun {
  readonly id: string
  project<S, V>(projection: Projection<S, V>, options?: { readonly at?: number }): Promise<V>
}

/** The run whose events are folded. All of it may change between calls. */
export interface FoldedRun {
  readonly id: string
  readonly context: StoreContext
  /** Whether nobody else can write to it now. */
  isHeld(): boolean
  /** The last event that stands, or undefined. */
  end(): Promise<Head | undefined>
  /** The seq of the last event of any of these types, found by index; -1 where there is none. */
  lastSeq(types: readonly string[]): Promise<number>
  source(): Promise<EventSource>
  parent(): Promise<FoldedParent | undefined>
}

/** The run that a fork begins in, its identity, and the last event of it that counts. */
export interface FoldedParent {
  readonly run: FoldedRun
  readonly identity: Hash
  readonly seq: number
}

/** What was last kept of a unit. */
interface Kept {
  readonly seq: number
  readonly bytes: number
  readonly slot: number
}

const NOTHING_KEPT: Kept = { seq: -1, bytes: 0, slot: 1 }

export class Projecting {
  private registry: Registry | undefined
  private readers: readonly AnyReader[] = []
  /** Whether readers find events in this log, which its index does not know. */
  private isRead = true
  /** Where the registry was when it was last compared with the log. */
  private head: Head | undefined
  private working: Promise<unknown> = Promise.resolve()
  private readonly subscribers: Subscribers
  private keeping: Promise<void> | undefined
  private readonly kept = new Map<string, Kept>()

  constructor(private readonly run: FoldedRun) {
    this.subscribers = new Subscribers({
      run: run.id,
      notices: run.context.notices,
      current: (projections) => this.catchUp(projections),
    })
  }

  /**
   * The projection as it is at the end of the log. @throws PROJECTION_CONFLICT, PROJECTION_FAILED
   */
  async current<S, V>(projection: Projection<S, V>): Promise<Projected<V>> {
    const registry = await this.catchUp([projection])
    return { value: registry.view(projection), asOfSeq: registry.asOfSeq }
  }

  /**
   * The same as it was at an event, or, with `pending`, as it will be once these are in the log
   * too.
   */
  async at<S, V>(
    projection: Projection<S, V>,
    options: { readonly seq?: number; readonly pending?: readonly RunEvent[] },
  ): Promise<Projected<V>> {
    const { seq = Number.POSITIVE_INFINITY, pending = [] } = options
    const end = await this.run.end()
    if (end !== undefined && seq < end.seq) {
      const registry = await this.cold([projection], seq)
      return { value: registry.view(projection), asOfSeq: registry.asOfSeq }
    }
    const current = await this.catchUp([projection])
    const balanced = pending.length === 0 ? current : current.copy()
    for (const event of pending) balanced.apply(event)
    return { value: balanced.view(projection), asOfSeq: current.asOfSeq }
  }

  /** See `Subscribers.add`. */
  subscribe<S, V>(projection: Projection<S, V>, listener: Listener<V>): () => void {
    this.registry?.has(projection)
    return this.subscribers.add(projection, listener)
  }

  /** A frame was acknowledged. Costs nothing where nobody projects. */
  committed(frame: StandingFrame): void {
    const { registry } = this
    if (registry === undefined || registry.asOfSeq !== frame.seq - 1) {
      this.subscribers.tellSoon()
      return
    }
    if (!registry.wants(frame.type)) registry.advance(frame.seq)
    else {
      const event = eventOf(frame)
      // Its value is in the log only; it is read there when somebody asks.
      if (event !== undefined) registry.apply(event)
    }
    if (registry.asOfSeq === frame.seq) {
      const { seq, hash, place } = frame
      this.head = { seq, hash, place }
    }
    this.subscribers.tellSoon()
  }

  /** The log is not the one that was folded. */
  reset(): void {
    this.registry = undefined
    this.head = undefined
    this.kept.clear()
  }

  /** The same without waiting; nothing waits for a cache. */
  keepSoon(when: 'turn' | 'running'): void {
    if (this.registry === undefined || this.keeping !== undefined) return
    this.keeping = this.keep(when).finally(() => {
      this.keeping = undefined
    })
  }

  /** Keep what is worth it for the next start. `when` says how eager to be. */
  async keep(when: 'turn' | 'close' | 'running'): Promise<void> {
    if (when === 'close') await this.keeping
    const { registry, head } = this
    if (registry === undefined || head === undefined || head.seq !== registry.asOfSeq) return
    const snapshots = this.snapshots()
    const readerStates = registry.readerStates
    // Taken now: while one is written, the others go on.
    const due = registry
      .all()
      .filter(
        ({ failure, projection }) => failure === undefined && this.isDue(projection, head, when),
      )
      .map(({ projection, state }) => ({ projection, state }))
    for (const unit of due) {
      const { key } = unit.projection
      const slot = 1 - (this.kept.get(key) ?? NOTHING_KEPT).slot
      this.kept.set(key, { seq: head.seq, bytes: 0, slot })
      const bytes = await snapshots.write(unit, head, readerStates, slot)
      this.kept.set(key, { seq: head.seq, bytes, slot })
    }
  }

  /**
   * Writing a large state must be paid for by many events, or a long run would write it again and
   * again.
   */
  private isDue(
    { key, whole }: AnyProjection,
    head: Head,
    when: 'turn' | 'close' | 'running',
  ): boolean {
    if (whole && !this.isRead) return false
    const { seq, bytes } = this.kept.get(key) ?? NOTHING_KEPT
    const news = head.seq - seq
    const worth = Math.ceil(bytes / BYTES_PER_EVENT[when])
    return news > 0 && news >= Math.max(EVENTS_MIN[when], worth)
  }

  private snapshots(): FoldSnapshots {
    return new FoldSnapshots(this.run.context, this.run.id, this.readers)
  }

  /** One after the other: two that read the same events would fold them twice. */
  private catchUp(projections: readonly AnyProjection[]): Promise<Registry> {
    const work = (): Promise<Registry> => this.catchUpNow(projections)
    const working = this.working.then(work, work)
    this.working = working
    return working
  }

  private async catchUpNow(projections: readonly AnyProjection[]): Promise<Registry> {
    const before = await this.standing()
    const late = projections.filter((projection) => before?.has(projection) !== true)
    if (before === undefined) {
      this.registry = await this.cold([...projections, ...this.subscribers.projections()])
    } else if (late.length > 0) {
      const other = await this.cold(late)
      // Either may get ahead while we read for the other.
      while (before.asOfSeq !== other.asOfSeq) {
        const to = Math.max(before.asOfSeq, other.asOfSeq)
        await this.goOn(before.asOfSeq < to ? before : other, to)
      }
      for (const unit of other.all()) before.adopt(unit, before.asOfSeq)
    }
    const registry = this.registry as Registry
    // More may have been appended while we read.
    for (;;) {
      const end = await this.run.end()
      if (end === undefined || registry.asOfSeq >= end.seq) {
        if (end?.seq === registry.asOfSeq) this.head = end
        return registry
      }
      await this.goOn(registry, end.seq)
    }
  }

  /** The registry, where the log that it folded is still there. */
  private async standing(): Promise<Registry | undefined> {
    if (this.registry === undefined || this.head === undefined) return undefined
    if (this.run.isHeld()) return this.registry
    const { reader } = await this.run.source()
    if (!(await standsAt(reader, await shapeOf(reader), this.head))) this.reset()
    return this.registry
  }

  private async goOn(registry: Registry, to: number): Promise<void> {
    const source = await this.run.source()
    const range = { from: registry.asOfSeq + 1, to, types: registry.types() }
    for await (const event of foldEvents(source, range)) registry.apply(event)
    registry.advance(to)
  }

  /** Fold from the best snapshots, or from the start, up to `to` or the end. */
  private async cold(
    projections: readonly AnyProjection[],
    to = Number.POSITIVE_INFINITY,
  ): Promise<Registry> {
    this.readers = await builtInReaders()
    this.isRead = (await this.run.lastSeq(this.readers.flatMap((reader) => reader.types))) >= 0
    const end = await this.run.end()
    const last = Math.min(to, end?.seq ?? -1)
    const { reader } = await this.run.source()
    const shape = await shapeOf(reader)
    const starts = new Map<AnyProjection, FoldSnapshot | undefined>()
    for (const projection of projections) {
      starts.set(projection, await this.start(projection, reader, shape, last))
    }
    const registry = this.begin(starts)
    if (registry.asOfSeq < 0) await this.inherit(registry)
    await this.goOn(registry, last)
    const folded = last - Math.max(-1, ...[...starts.values()].map((start) => start?.asOfSeq ?? -1))
    if (end !== undefined && last === end.seq && folded >= FOLD_SNAPSHOT_EVENTS) {
      await this.keepCold(registry, end)
    }
    return registry
  }

  private async start(
    projection: AnyProjection,
    reader: EventSource['reader'],
    shape: LogShape,
    to: number,
  ): Promise<FoldSnapshot | undefined> {
    if (projection.whole && !this.isRead) return this.lastWritten(projection, to)
    const start = await this.snapshots().newest(projection, reader, shape, to)
    if (start !== undefined && to !== Number.POSITIVE_INFINITY) {
      const { asOfSeq: seq, bytes, slot } = start
      if (!this.kept.has(projection.key)) this.kept.set(projection.key, { seq, bytes, slot })
    }
    return start
  }

  /**
   * The state that one event says; undefined where the last one says none, so that all are to be
   * folded.
   */
  private async lastWritten(
    projection: AnyProjection,
    to: number,
  ): Promise<FoldSnapshot | undefined> {
    const seq = await this.run.lastSeq(projection.types ?? [])
    if (seq < 0 || seq > to) return undefined
    const registry = new Registry(this.readers)
    registry.add(projection)
    const before = registry.unit(projection)?.state
    for await (const event of foldEvents(await this.run.source(), { from: seq, to: seq })) {
      registry.apply(event)
    }
    const unit = registry.unit(projection)
    if (unit === undefined || unit.failure !== undefined || unit.state === before) return undefined
    const { state } = unit
    return { state, asOfSeq: seq, readerStates: registry.readerStates, bytes: 0, slot: 0 }
  }

  /**
   * All are folded together from the oldest start; a unit that knows more waits until the others
   * are there.
   */
  private begin(starts: ReadonlyMap<AnyProjection, FoldSnapshot | undefined>): Registry {
    const all = [...starts.values()]
    const oldest = all.includes(undefined)
      ? undefined
      : (all as FoldSnapshot[]).reduce<FoldSnapshot | undefined>(
          (least, one) => (least === undefined || one.asOfSeq < least.asOfSeq ? one : least),
          undefined,
        )
    const registry = new Registry(
      this.readers,
      oldest && { state: oldest.readerStates, asOfSeq: oldest.asOfSeq },
    )
    for (const [projection, start] of starts) registry.add(projection, start)
    return registry
  }

  /** A fork begins with what its parent had seen. */
  private async inherit(registry: Registry): Promise<void> {
    // One that does not ask for the parent works also where that is not in the store.
    if (registry.all().every(({ projection }) => projection.inherits === false)) return
    for await (const event of inherited(this.run, registry.types())) registry.apply(event)
  }

  private async keepCold(registry: Registry, end: Head): Promise<void> {
    if (this.registry !== undefined) return
    this.registry = registry
    this.head = end
    await this.keep('running')
  }
}

/** Fewest events between two snapshots of one projection. */
const EVENTS_MIN = { turn: 256, close: 1, running: FOLD_SNAPSHOT_EVENTS } as const
/** Bytes of a snapshot that one event pays for. */
const BYTES_PER_EVENT = { turn: 2048, close: 16_384, running: 1024 } as const

/** The events before a fork, oldest run first. */
async function* inherited(
  run: FoldedRun,
  types: readonly string[] | undefined,
): AsyncGenerator<RunEvent> {
  const parent = await run.parent()
  if (parent === undefined) return
  const end = await parent.run.end()
  if (end === undefined || end.seq < parent.seq) {
    throw new DaglogError(
      'CHAIN_BROKEN',
      `run ${run.id} begins behind seq ${parent.seq} of run ${parent.run.id}, which can be read up to seq ${end?.seq ?? 'none'} only; try: daglog verify ${parent.run.id}`,
      { run: run.id, parent: parent.run.id, seq: parent.seq },
    )
  }
  yield* inherited(parent.run, types)
  const source = await parent.run.source()
  for await (const event of foldEvents(source, { from: 0, to: parent.seq, types })) {
    yield { ...event, run: parent.identity }
  }
}

/**
 * The event of a frame that was just written; undefined where part of it is not in memory any more.
 */
function eventOf(frame: StandingFrame): RunEvent | undefined {
  const { seq, time, type, hash, redacted } = frame
  if (redacted) return { seq, time, type, data: undefined, hash, redacted }
  const op = frame.op === undefined ? undefined : { op: frame.op }
  if (frame.data !== undefined) {
    const { value: data, trees: refs } = decodeData(frame.data)
    if (refs.length === 0) return { seq, time, type, data, hash, ...op }
    // Folds are given a state whole.
    return type === STATE_TYPE ? undefined : { seq, time, type, data, hash, ...op, refs }
  }
  const body = parseBody(frame.body)
  if (body.refs.length > 0) return undefined
  return { seq, time, type, data: restoreData(body, new Map()), hash, ...op }
}
