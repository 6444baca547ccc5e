/**
 * A run open for writing: one history, one writer.
 * Holds the run's lock from opening until `close()`, or until it has been idle for a while.
 */
import { randomBytes } from 'node:crypto'
import { type EncodedData, encodeData, outOfLineBytes } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { checkUserEvent } from '../core/event.js'
import type { DataOf, ErrorData, ParentLink, RunStatus } from '../core/event-map.js'
import { genesisExtra } from '../core/frame.js'
import type { Hash } from '../core/hash.js'
import { RunIndex, STATE_TYPE } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import { type Tree, treeFrom } from '../value/tree.js'
import type { Appended, Draft } from './appender.js'
import { closers } from './closers.js'
import type { StoreContext } from './context.js'
import type { Span } from './log-reader.js'
import type { StandingFrame } from './log-tail.js'
import type { Head } from './log-walk.js'
import { type OpenedLog, openLog } from './open-log.js'
import { RunKeeping } from './run-keeping.js'
import { type RunStanding, RunView, snapshotKey } from './run-view.js'
import { checkSchema } from './schemas.js'
import { StateStore } from './state-store.js'
import { StepNumbers } from './step-numbers.js'
import { runStep, type StepBody, type StepOptions } from './steps.js'

/** What a run begins with. */
export interface RunBeginning {
  readonly parent?: ParentLink
  readonly name?: string
  readonly meta?: unknown
  readonly tags?: readonly string[]
}

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
}

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
  private current: Tree | undefined
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
    return (await this.appendEncoded([this.encode(type, data)]))[0] as Appended
  }

  /** Append several events as one atomic unit: after a crash all of them are there, or none. */
  async appendAll(events: readonly NewEvent[]): Promise<readonly Appended[]> {
    for (const { type, data } of events) checkUserEvent(type, data)
    return this.write(events)
  }

  private async write(events: readonly NewEvent[]): Promise<readonly Appended[]> {
    // Encoding happens in the caller's turn, before anything is awaited.
    return this.appendEncoded(events.map(({ type, data }) => this.encode(type, data)))
  }

  /** The same for data that was encoded earlier. For daglog's own rooms. */
  async appendEncoded(events: readonly EncodedEvent[]): Promise<readonly Appended[]> {
    if (this.closed !== undefined)
      throw new DaglogError('CLOSED', `run ${this.id} was closed; try: open it again`)
    if (events.length === 0) return []
    const now = this.context.now()
    const drafts = events.map(({ type, data, time = now }): Draft => ({ type, time, data }))
    const sync =
      this.context.durability === 'step' && events.some(({ type }) => !UNSYNCED_TYPES.has(type))
    const log = this.held ?? (await this.opened())
    this.touch()
    const appended = await log.appender.append(drafts, { sync })
    this.keeping?.afterAppend({
      turnEnded: events.some(({ type }) => type === 'turn/end'),
      valueBytes: events.reduce((sum, { data }) => sum + outOfLineBytes(data), 0),
    })
    return appended.map(({ seq, hash }) => ({ seq, hash }))
  }

  /** The state now: what was last written, as an immutable tree; `{}` where nothing was. */
  get state(): Tree {
    return this.current ?? EMPTY_STATE
  }

  /**
   * Change the state: `change` gets a draft that it may use like a plain object. The event carries the
   * whole value after the change, and stores what is new of it. Resolves as `append` does; to undefined,
   * with nothing written, where nothing changed.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of a state is its user's.
  async setState<T = any>(change: (draft: T) => void): Promise<Appended | undefined> {
    if (this.held === undefined) await this.opened()
    const next = this.state.update(change)
    if (next === this.state && this.current !== undefined) return undefined
    return (await this.appendEncoded([this.encodeState(next)]))[0]
  }

  private encodeState(tree: Tree): EncodedEvent {
    this.current = tree
    const large = [this.states.prepare(tree, '/value')]
    return { type: STATE_TYPE, data: { inline: '{"value":null}', large, tags: [] } }
  }

  private encode(type: string, data: unknown): EncodedEvent {
    const schema = this.context.schemas[type]
    if (schema !== undefined) checkSchema(schema, type, data)
    if (type === STATE_TYPE && isStateData(data)) return this.encodeState(treeFrom(data.value))
    return { type, data: encodeData(data) }
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
      genesis: () => this.genesis(),
      covered: noted === undefined ? undefined : coveredHead(noted),
      program: context.program,
      now: context.now,
      force: options.force ?? false,
      lockWaitMs: options.lockWaitMs ?? context.lockWaitMs,
    })
    this.held = log
    this.indexed = log.head()
    // Nodes that an earlier writer of ours did not get to the disk must not be counted on.
    this.states = new StateStore(context.backend, id)
    const written = this.index.stateAt(Number.POSITIVE_INFINITY)
    this.current = written && (await this.states.load(written.root, { run: id, seq: written.seq }))
    this.keeping = this.keep(log, noted?.seq ?? -1)
    await this.closeOpenWork(log)
    await this.keeping.introduce()
    this.touch()
    return log
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

  private genesis(): Draft {
    const parent = this.beginning?.parent
    return {
      type: 'run/start',
      time: this.context.now(),
      data: encodeData({ id: this.id }),
      extra: genesisExtra({
        nonce: randomBytes(16).toString('hex'),
        ...(parent === undefined ? {} : { parent }),
      }),
    }
  }

  /** A writer that did not let go left turns, steps and tool calls that nobody will finish. */
  private async closeOpenWork(log: OpenedLog): Promise<void> {
    const events: NewEvent[] =
      log.takenOver || log.torn !== undefined ? closers(this.index.open()) : []
    const { name, meta, tags } = this.beginning ?? {}
    if (log.head().seq === 0 && (name !== undefined || meta !== undefined || tags !== undefined)) {
      events.push({
        type: 'run/meta',
        data: {
          ...(name !== undefined && { name }),
          ...(meta !== undefined && { meta }),
          ...(tags && { tags }),
        },
      })
    }
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

  protected override async load(): Promise<RunStanding> {
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

const EMPTY_STATE = treeFrom({})

/** Just a value: then it is kept as a tree, and later ones share with it. */
function isStateData(data: unknown): data is { value: unknown } {
  return typeof data === 'object' && data !== null && Object.keys(data).join() === 'value'
}
