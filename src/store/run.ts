/**
 * A run open for writing: one history, one writer.
 * Holds the run's lock from opening until `close()`, or until it has been idle for a while.
 */
import { type EncodedData, encodeData, outOfLineBytes } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { checkUserEvent } from '../core/event.js'
import type { DataOf, ErrorData, RunStatus } from '../core/event-map.js'
import type { Hash } from '../core/hash.js'
import { RunIndex, STATE_TYPE } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import type { Tree } from '../value/tree.js'
import type { Appended, Draft } from './appender.js'
import { closers } from './closers.js'
import type { StoreContext } from './context.js'
import type { Span } from './log-shape.js'
import type { StandingFrame } from './log-tail.js'
import type { Head } from './log-walk.js'
import { type OpenedLog, openLog } from './open-log.js'
import { openWork } from './open-work.js'
import { genesisDraft, metaOf, type RunBeginning } from './run-beginning.js'
import { RunKeeping } from './run-keeping.js'
import { RunState } from './run-state.js'
import { type RunStanding, RunView, snapshotKey } from './run-view.js'
import { checkSchema } from './schemas.js'
import type { StateStore } from './state-store.js'
import { StepNumbers } from './step-numbers.js'
import { runStep, type StepBody, type StepOptions } from './steps.js'

export interface OpenRunOptions {
  /** Take the lock even from a holder that may be alive; safe, since that one is fenced. */
  readonly force?: boolean
  /** How long to wait for another writer, in ms; the store's `lockWaitMs` unless told. */
  readonly lockWaitMs?: number
}

/** An event to append together with others. */
export interface NewEvent {
  readonly type: string
  readonly data: unknown
}

/** The same, its data taken as it was. */
export interface EncodedEvent {
  readonly type: string
  readonly data: EncodedData
  /** When it happened, where that was earlier. */
  readonly time?: number
  /** The state that it writes, instead of `data`: what is new of it is known once it is written. */
  readonly state?: Tree | undefined
}

const NO_DATA: EncodedData = { inline: 'null', large: [], tags: [] }

/** Types that ride along unsynced until the next event that is synced. */
const UNSYNCED_TYPES: ReadonlySet<string> = new Set(['assistant/chunk'])

export class Run extends RunView {
  private index = new RunIndex()
  private indexed: Head | undefined
  private held: OpenedLog | undefined
  private opening: Promise<OpenedLog> | undefined
  private closed: Promise<void> | undefined
  private identityHash: Hash | undefined
  private keeping: RunKeeping | undefined
  private readonly current: RunState
  private releasing: Promise<void> = Promise.resolve()
  private idleTimer: NodeJS.Timeout | undefined
  private readonly closeListeners: (() => void)[] = []
  private readonly numbers = new StepNumbers()

  constructor(
    context: StoreContext,
    id: string,
    private readonly beginning: RunBeginning | undefined,
    private readonly options: OpenRunOptions,
  ) {
    super(context, id)
    this.current = new RunState(context.backend, id)
  }

  /** Take the lock, recover, and close what a crash left open. @throws RUN_LOCKED, CHAIN_BROKEN */
  async ready(): Promise<this> {
    await this.opened()
    return this
  }

  /**
   * Append one event. Its data is taken as it is at the call: later changes do not reach it.
   * Resolves once it would survive power loss (durability `step`), with its seq and the head it makes.
   * @throws TYPE_INVALID, TYPE_RESERVED, EVENT_INVALID, VALUE_UNSUPPORTED, LIMIT_EXCEEDED; RUN_LOCKED,
   *   WRITER_FENCED, WRITE_FAILED: after the last two the run must be opened again.
   */
  async append<T extends string>(type: T, data: DataOf<T>): Promise<Appended> {
    checkUserEvent(type, data)
    return (await this.write([{ type, data }]))[0] as Appended
  }

  /** Append several events as one atomic unit: after a crash all of them are there, or none. */
  async appendAll(events: readonly NewEvent[]): Promise<readonly Appended[]> {
    for (const { type, data } of events) checkUserEvent(type, data)
    return this.write(events)
  }

  private async write(events: readonly NewEvent[]): Promise<readonly Appended[]> {
    for (const { type, data } of events) {
      const schema = this.context.schemas[type]
      if (schema !== undefined) checkSchema(schema, type, data)
    }
    // Encoding happens in the caller's turn, before anything is awaited.
    return this.appendEncoded(events.map(({ type, data }) => this.encode(type, data)))
  }

  /** The same for data that was encoded earlier. For daglog's own rooms. */
  async appendEncoded(events: readonly EncodedEvent[]): Promise<readonly Appended[]> {
    if (this.closed !== undefined) throw this.closedError()
    if (events.length === 0) return []
    const now = this.context.now()
    const sync =
      this.context.durability === 'step' && events.some(({ type }) => !UNSYNCED_TYPES.has(type))
    const log = this.held ?? (await this.opened())
    this.touch()
    const state = events.findLast((event) => event.state !== undefined)?.state
    const undo = state && this.current.mark()
    let drafts: readonly Draft[]
    let appending: Promise<readonly Appended[]>
    // From here on nothing is awaited until the append is under way: what fails, fails now.
    try {
      drafts = events.map((event) => this.draft(event, now))
      appending = log.appender.append(drafts, { sync })
    } catch (error) {
      undo?.()
      throw error
    }
    if (state !== undefined) appending = this.current.follow(state, appending)
    const appended = await appending
    this.keeping?.afterAppend({
      turnEnded: events.some(({ type }) => type === 'turn/end'),
      valueBytes: drafts.reduce((sum, { data }) => sum + outOfLineBytes(data), 0),
    })
    return appended.map(({ seq, hash }) => ({ seq, hash }))
  }

  private draft({ type, time, data, state }: EncodedEvent, now: number): Draft {
    return {
      type,
      time: time ?? now,
      data: state === undefined ? data : this.current.encode(state),
    }
  }

  /**
   * The state now: what was last written, as an immutable tree; a fork begins with its parent's; `{}`
   * where nothing was written.
   * @throws OBJECT_MISSING, OBJECT_CORRUPT, RUN_NOT_FOUND where it cannot be read; `append('state/write')`
   *   writes another.
   */
  get state(): Tree {
    return this.current.tree
  }

  /**
   * Change the state: `change` gets a draft that it may use like a plain object. The event carries the
   * whole value after the change, and stores what is new of it. Resolves as `append` does; to undefined,
   * with nothing written, where nothing changed.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of a state is its user's.
  async setState<T = any>(change: (draft: T) => void): Promise<Appended | undefined> {
    // Somebody else may have written while we had let go.
    while (this.held === undefined) await this.opened()
    const before = this.state
    const state = before.update(change)
    if (state === before || state.hash() === before.hash()) return undefined
    return (await this.appendEncoded([{ type: STATE_TYPE, data: NO_DATA, state }]))[0]
  }

  /** Take data as it is now; a state that it is remains one. For daglog's own rooms. */
  encode(type: string, data: unknown): EncodedEvent {
    const state = this.current.stateOf(type, data)
    return state === undefined ? { type, data: encodeData(data) } : { type, data: NO_DATA, state }
  }

  /**
   * Do a piece of work and record it: its input before, its output or error after. Steps nest by async
   * context. The result is `body`'s own; an error is recorded and thrown on as it is.
   */
  step<R>(name: string, body: StepBody<R>): Promise<R>
  step<R>(name: string, input: unknown, body: StepBody<R>, options?: StepOptions): Promise<R>
  step<R>(name: string, ...rest: [StepBody<R>] | [unknown, StepBody<R>, StepOptions?]): Promise<R> {
    const [input, body, options = {}] =
      rest.length === 1
        ? ([undefined, rest[0]] as const)
        : (rest as [unknown, StepBody<R>, StepOptions?])
    return runStep({ run: this, name, input, hasInput: rest.length > 1, body, options })
  }

  /** The id of the next step. */
  async nextStepId(): Promise<string> {
    await this.opened()
    return this.numbers.nextId(this.index)
  }

  /** How often a step with this base identity was begun before, counting this call as the next. */
  nextOccurrence(base: string, keyOf: (occurrence: number) => string): number {
    return this.numbers.nextOccurrence(this.index, base, keyOf)
  }

  /** Close the run for good: records how it went, notes its head, seals its objects. */
  async end(status: RunStatus = 'ok', error?: ErrorData): Promise<Appended> {
    const [appended] = await this.write([
      { type: 'run/end', data: { status, ...(error === undefined ? {} : { error }) } },
    ])
    await this.close()
    return appended as Appended
  }

  /**
   * Finish what is on its way, note the head in the store's log, let go of the lock.
   * @throws the first error of a write that nobody has seen yet.
   */
  close(): Promise<void> {
    this.closed ??= this.release().finally(() => {
      for (const listener of this.closeListeners) listener()
    })
    return this.closed
  }

  /** Called once when the run is closed. */
  onClosed(listener: () => void): void {
    this.closeListeners.push(listener)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Let go of the lock until the next append. */
  release(): Promise<void> {
    this.releasing = this.letGo()
    return this.releasing
  }

  private async letGo(): Promise<void> {
    clearTimeout(this.idleTimer)
    this.idleTimer = undefined
    const log = this.held ?? (await this.opening?.catch(() => undefined))
    if (log === undefined) return
    this.held = undefined
    this.opening = undefined
    try {
      await log.appender.idle()
      await this.keeping?.leave()
    } finally {
      await log.writer.release()
    }
  }

  private opened(): Promise<OpenedLog> {
    if (this.closed !== undefined) return Promise.reject(this.closedError())
    // Whoever appends while we let go waits for that: our own lock would refuse it.
    this.opening ??= this.releasing
      .then(() => this.openNow())
      .catch((error: unknown) => {
        this.opening = undefined
        throw error
      })
    return this.opening
  }

  private async openNow(): Promise<OpenedLog> {
    const { context, id, options } = this
    if (context.readOnly !== undefined) throw new DaglogError('FORMAT_TOO_NEW', context.readOnly)
    const noted = (await context.heads.refresh()).head(id)
    const log = await openLog({
      backend: context.backend,
      log: { run: id },
      notices: context.notices,
      snapshots: context.snapshots,
      snapshotKey: snapshotKey(id),
      known: this.indexed,
      fold: {
        restore: (state) => this.adopt(RunIndex.fromJSON(state)),
        reset: () => this.adopt(new RunIndex()),
        apply: (frame) => this.apply(frame),
      },
      genesis: () => genesisDraft(id, this.beginning?.parent, context.now()),
      covered: noted === undefined ? undefined : coveredHead(noted),
      program: context.program,
      now: context.now,
      force: options.force ?? false,
      lockWaitMs: options.lockWaitMs ?? context.lockWaitMs,
    })
    try {
      await this.begin(log, noted?.seq ?? -1)
    } catch (error) {
      // Nobody gets to have the run, so nobody else would let go of it.
      await log.writer.release()
      throw error
    }
    return log
  }

  private async begin(log: OpenedLog, notedSeq: number): Promise<void> {
    this.indexed = log.head()
    await this.current.begin(() => this.stateIn(this.index, Number.POSITIVE_INFINITY))
    this.keeping = this.keep(log, notedSeq)
    await this.closeOpenWork(log)
    await this.keeping.introduce()
    this.held = log
    this.touch()
  }

  private adopt(index: RunIndex | undefined): boolean {
    if (index === undefined) return false
    this.index = index
    this.indexed = undefined
    return true
  }

  private apply(frame: StandingFrame): void {
    this.index.apply(frame)
    const { seq, hash, place } = frame
    this.indexed = { seq, hash, place }
    if (seq === 0) this.identityHash = hash
  }

  /** A writer that did not let go left turns, steps and tool calls that nobody will finish. */
  private async closeOpenWork(log: OpenedLog): Promise<void> {
    const left = log.takenOver || log.torn !== undefined
    const events = left ? closers(await openWork(this.index, await this.source())) : []
    const meta = log.head().seq === 0 ? metaOf(this.beginning ?? {}) : undefined
    if (meta !== undefined) events.push({ type: 'run/meta', data: meta })
    const time = this.context.now()
    const drafts = events.map(({ type, data }): Draft => ({ type, time, data: encodeData(data) }))
    if (drafts.length > 0) await log.appender.append(drafts, { sync: true })
  }

  private keep(log: OpenedLog, notedSeq: number): RunKeeping {
    const run = {
      id: this.id,
      index: () => this.index,
      identity: async () => {
        this.identityHash ??= await this.identity()
        return this.identityHash
      },
    }
    return new RunKeeping(this.context, run, log, notedSeq)
  }

  private touch(): void {
    if (this.idleTimer !== undefined) {
      this.idleTimer.refresh()
      return
    }
    this.idleTimer = setTimeout(() => this.releaseIfIdle(), this.context.lockIdleMs)
    this.idleTimer.unref()
  }

  /** An open turn or step is ours to finish: the lock stays, or another process would call it abandoned. */
  private releaseIfIdle(): void {
    const { turn, steps, calls } = this.index.open()
    if (turn !== undefined || steps.length > 0 || calls.size > 0) {
      this.touch()
      return
    }
    this.release().catch((error: unknown) => {
      this.context.notices.report('heads', `run ${this.id} could not be released cleanly`, error)
    })
  }

  private closedError(): DaglogError {
    return new DaglogError('CLOSED', `run ${this.id} was closed; try: open it again`)
  }

  protected override get states(): StateStore {
    return this.current.store
  }

  protected override async load(): Promise<RunStanding> {
    // A closed run can be read like any other; it does not take its lock again for that.
    if (this.closed !== undefined) return super.load()
    await this.opened()
    return { index: this.index, head: this.indexed }
  }

  /** Only what was acknowledged. */
  protected override async readable(spans: readonly Span[]): Promise<readonly Span[]> {
    const head = this.indexed
    if (head === undefined) return spans
    return spans
      .filter(({ segment }) => segment <= head.place.segment)
      .map((span) => (span.segment === head.place.segment ? { ...span, to: head.place.to } : span))
  }
}

function coveredHead(noted: RunHead): Head {
  const [seq, segment, from, to] = noted.at
  return { seq, hash: noted.hash, place: { segment, from, to } }
}
