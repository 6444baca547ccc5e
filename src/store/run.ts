/**
 * A run open for writing: one history, one writer.
 * Holds the run's lock from opening until `close()`, or until it has been idle for a while.
 */
import { encodeData, NO_DATA, outOfLineBytes } from '../core/body.js'
import { checkOperation, checkUserEvent, type RunEvent, UNSYNCED_TYPES } from '../core/event.js'
import type { DataOf, ErrorData, RunStatus } from '../core/event-map.js'
import type { StoredObject } from '../core/object.js'
import type { Projection } from '../fold/projection.js'
import { type RunIndex, STATE_TYPE } from '../fold/run-index.js'
import type { Tree } from '../value/tree.js'
import type { StepAnswerer } from './answers.js'
import type { Appended, Draft, Gathering } from './appender.js'
import { Asks } from './ask.js'
import { type ChildOptions, type Spawner, spawnChild } from './child.js'
import type { StoreContext } from './context.js'
import type { Span } from './log-shape.js'
import type { StandingFrame } from './log-tail.js'
import type { AppendOptions, EncodedEvent, NewEvent, TreeEvent } from './new-event.js'
import { noFetch } from './no-fetch.js'
import { Operations } from './operations.js'
import type { RunBeginning } from './run-beginning.js'
import { RunClosing } from './run-closing.js'
import { RunState } from './run-state.js'
import { runTurn, type TurnBody, type TurnOptions } from './run-turn.js'
import { type RunStanding, RunView } from './run-view.js'
import { type OpenRunOptions, RunWriter } from './run-writer.js'
import { checkSchema } from './schemas.js'
import { StateStore } from './state-store.js'
import { StepNumbers } from './step-numbers.js'
import { runStep } from './step-runner.js'
import type { StepBody, StepOptions } from './steps.js'
import { Ticks } from './ticks.js'

export class Run extends RunView {
  private readonly writer: RunWriter
  private readonly current: RunState
  private readonly closing = new RunClosing(() => this.writer.close())
  private readonly numbers = new StepNumbers()
  private readonly operations: Operations
  readonly ticks = new Ticks(this)
  private readonly asks = new Asks(this)
  /** @internal Set by the store that opens the run. */
  spawner: Spawner | undefined
  /** @internal Who answers steps while a function is run on this run; see `answerSteps`. */
  answerer: StepAnswerer | undefined
  /** Where the nodes of values are; what was put there counts as stored. */
  private values: StateStore
  /**
   * `fetch`, and what is said goes into the run: `withReplay(fetch, { into: run })` of `daglog/http`, or
   * the replaying one while the run is a replay.
   */
  fetch: typeof globalThis.fetch = noFetch

  constructor(
    context: StoreContext,
    id: string,
    beginning: RunBeginning | undefined,
    options: OpenRunOptions,
  ) {
    super(context, id)
    this.current = new RunState(context.backend, id)
    this.values = new StateStore(context.backend, id)
    const run = {
      id,
      identity: () => this.identity(),
      source: () => this.source(),
      opening: (index: RunIndex) =>
        this.current.begin(() => this.stateIn(index, Number.POSITIVE_INFINITY)),
      reset: () => {
        this.values = new StateStore(context.backend, id)
        this.projecting.reset()
      },
      committed: (frame: StandingFrame) => this.projecting.committed(frame),
      leaving: () => this.projecting.keep('close'),
    }
    this.writer = new RunWriter(context, run, beginning, options)
    this.operations = new Operations({
      id,
      durable: context.durability === 'step',
      writer: this.writer,
      source: () => this.source(),
      append: (events) => this.appendEncoded(events),
    })
  }

  /** Take the lock, recover, and close what a crash left open. @throws RUN_LOCKED, CHAIN_BROKEN */
  async ready(): Promise<this> {
    await this.writer.opened()
    return this
  }

  /**
   * Append one event. Its data is taken as it is at the call: later changes do not reach it.
   * Resolves once it would survive power loss (durability `step`), with its seq and the head it makes.
   * @throws TYPE_INVALID, TYPE_RESERVED, EVENT_INVALID, VALUE_UNSUPPORTED, LIMIT_EXCEEDED; RUN_LOCKED,
   *   WRITER_FENCED, WRITE_FAILED: after the last two the run must be opened again; OPERATION_CONFLICT
   *   where `op` was another event before. Where it was this one, the result is that of the first time.
   */
  async append<T extends string>(
    type: T,
    data: DataOf<T>,
    { op }: AppendOptions = {},
  ): Promise<Appended> {
    checkUserEvent(type, data)
    return (await this.write([{ type, data, op }]))[0] as Appended
  }

  /**
   * Append several events as one atomic unit: after a crash all of them are there, or none. Those whose
   * operation is in the run already are not appended again.
   */
  async appendAll(events: readonly NewEvent[]): Promise<readonly Appended[]> {
    for (const { type, data } of events) checkUserEvent(type, data)
    return this.write(events)
  }

  /**
   * Append events of which some values are trees: what is new of those is stored, and what the run's
   * values before had is shared. As one atomic unit.
   */
  async appendTrees(events: readonly TreeEvent[], how?: Gathering): Promise<readonly Appended[]> {
    for (const { type, data } of events) checkUserEvent(type, data)
    const encoded = events.map(({ type, data, trees }) => ({ ...this.encode(type, data), trees }))
    try {
      return await this.appendEncoded(encoded, how)
    } catch (error) {
      // Nodes that were named may not be on the disk: none of them is counted on any more.
      this.values = new StateStore(this.context.backend, this.id)
      throw error
    }
  }

  /** Have the lock, as for an append that is about to come. @throws RUN_LOCKED, CHAIN_BROKEN */
  async acquire(): Promise<void> {
    while (this.writer.held === undefined) await this.writer.opened()
    this.writer.touch()
  }

  /** Whether the lock is ours now. */
  get holding(): boolean {
    return this.isHeld()
  }

  private async write(events: readonly NewEvent[]): Promise<readonly Appended[]> {
    for (const { type, data, op } of events) {
      const schema = this.context.schemas[type]
      if (schema !== undefined) checkSchema(schema, type, data)
      if (op !== undefined) checkOperation(op)
    }
    // Encoding happens in the caller's turn, before anything is awaited.
    const encoded = events.map(({ type, data, op }) => this.encode(type, data, op))
    const once = events.some(({ op }) => op !== undefined)
    return once ? this.operations.append(encoded) : this.appendEncoded(encoded)
  }

  /** The same for data that was encoded earlier. For daglog's own rooms. */
  async appendEncoded(events: readonly EncodedEvent[], how?: Gathering): Promise<Appended[]> {
    if (this.closing.done) throw this.writer.closedError()
    if (events.length === 0) return []
    const now = this.context.now()
    const sync =
      this.context.durability === 'step' && events.some(({ type }) => !UNSYNCED_TYPES.has(type))
    const log = this.writer.held ?? (await this.writer.opened())
    this.writer.touch()
    const state = events.findLast((event) => event.state !== undefined)?.state
    const undo = state && this.current.mark()
    const ticks = this.ticks.take()
    let drafts: readonly Draft[]
    let appending: Promise<readonly Appended[]>
    // From here on nothing is awaited until it is under way: what fails, fails now.
    try {
      drafts = [...ticks, ...events].map((event) => this.draft(event, now))
      appending = log.appender.append(drafts, { ...how, sync })
    } catch (error) {
      this.ticks.giveBack(ticks)
      undo?.()
      throw error
    }
    if (state !== undefined) appending = this.current.follow(state, appending)
    const appended = await appending
    const turnEnded = events.some(({ type }) => type === 'turn/end')
    const valueBytes = drafts.reduce((sum, { data }) => sum + outOfLineBytes(data), 0)
    this.writer.unrested = true
    this.writer.keeping?.afterAppend({ turnEnded, valueBytes })
    this.projecting.keepSoon(turnEnded ? 'turn' : 'running')
    return appended.slice(ticks.length).map(({ seq, hash }) => ({ seq, hash }))
  }

  private draft({ type, time, data, state, trees, op }: EncodedEvent, now: number): Draft {
    const large = [...(trees ?? [])].map(([pointer, tree]) => this.values.prepare(tree, pointer))
    return {
      type,
      time: time ?? now,
      data:
        state !== undefined
          ? this.current.encode(state)
          : large.length > 0
            ? { ...data, large: [...data.large, ...large] }
            : data,
      op,
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
    while (this.writer.held === undefined) await this.writer.opened()
    const before = this.state
    const state = before.update(change)
    if (state === before || state.hash() === before.hash()) return undefined
    return (await this.appendEncoded([{ type: STATE_TYPE, data: NO_DATA, state }]))[0]
  }

  /** Take data as it is now; a state that it is remains one. For daglog's own rooms. */
  encode(type: string, data: unknown, op?: string): EncodedEvent {
    const state = this.current.stateOf(type, data)
    return { type, data: state === undefined ? encodeData(data) : NO_DATA, state, op }
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

  /** Time in ms, a number from 0 to 1, a UUID: recorded, so that whoever runs again is given it. */
  readonly now = (): number => this.ticks.now()
  readonly random = (): number => this.ticks.random()
  readonly uuid = (): string => this.ticks.uuid()

  /** Ask a person, as a step; answer a question of this process. See `Asks`. */
  readonly ask = this.asks.ask
  readonly answer = this.asks.answer

  /**
   * A turn: drain one input. Its number is one more than the last; it always ends with a reason:
   * `completed`, or `error` and `aborted` where `body` throws, which is thrown on.
   * @throws TURN_OPEN
   */
  turn<R>(body: TurnBody<R>, options: TurnOptions = {}): Promise<R> {
    return runTurn(this, body, options)
  }

  /** From now on somebody else than their bodies answers steps. */
  answerSteps(answerer: StepAnswerer | undefined): void {
    this.answerer = answerer
  }

  /** The id of the next step. */
  async nextStepId(): Promise<string> {
    await this.writer.opened()
    return this.numbers.nextId(this.writer.index)
  }

  /** How often a step with this base identity was begun before, counting this call as the next. */
  nextOccurrence(base: string, keyOf: (occurrence: number) => string): number {
    return this.numbers.nextOccurrence(this.writer.index, base, keyOf)
  }

  /** Close the run for good: records how it went, notes its head, seals its objects. */
  async end(status: RunStatus = 'ok', error?: ErrorData): Promise<Appended> {
    const data = { status, ...(error === undefined ? {} : { error }) }
    const [appended] = await this.write([{ type: 'run/end', data }])
    await this.close()
    return appended as Appended
  }

  /**
   * Finish what is on its way, note the head in the store's log, let go of the lock.
   * @throws the first error of a write that nobody has seen yet.
   */
  close(): Promise<void> {
    return this.closing.close()
  }

  /**
   * Begin a run below this one, for a sub-agent: linked to it from its first frame on, and named in
   * an event here. It is a run of its own: it has its own lock, and is closed by itself.
   * @throws RUN_EXISTS where `id` is taken.
   */
  child(options: ChildOptions = {}): Promise<Run> {
    return spawnChild(this, options, this.spawner as Spawner)
  }

  /** Awaited before the run is closed, while it can still be appended to. For daglog's own rooms. */
  onClosing(listener: () => Promise<void>): void {
    this.closing.onClosing(listener)
  }

  /** Called once when the run is closed. */
  onClosed(listener: () => void): void {
    this.closing.onClosed(listener)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Put objects that an event will refer to before it is appended. For daglog's own rooms. */
  async putObjects(objects: readonly StoredObject[]): Promise<void> {
    if (this.writer.held === undefined) await this.writer.opened()
    await this.context.backend.putObjects(this.id, objects, { direct: true })
  }

  /** Keep the lock however long nothing is appended, until what this gives is called. */
  keepHeld(): () => void {
    return this.writer.keepHeld()
  }

  /** Let go of the lock until the next append. */
  release(): Promise<void> {
    return this.writer.release()
  }

  protected override isHeld(): boolean {
    return this.writer.held !== undefined
  }

  /** What is open is ours to finish. */
  protected override async pending(): Promise<readonly RunEvent[]> {
    return this.closing.done ? super.pending() : []
  }

  /**
   * Be told of each new value of a projection once it is durable, with the last seq that it knows;
   * first of the one there is now. A listener that throws is reported, and disturbs no other.
   * @returns what ends it.
   * @throws PROJECTION_CONFLICT
   */
  subscribe<S, V>(
    projection: Projection<S, V>,
    listener: (value: V, asOfSeq: number) => void,
  ): () => void {
    return this.projecting.subscribe(projection, listener)
  }

  protected override get trees(): StateStore {
    return this.values
  }

  protected override get states(): StateStore {
    return this.current.store
  }

  protected override async load(): Promise<RunStanding> {
    // A closed run can be read like any other; it does not take its lock again for that.
    if (this.closing.done) return super.load()
    await this.writer.opened()
    return { index: this.writer.index, head: this.writer.indexed }
  }

  /** Only what was acknowledged. */
  protected override async readable(spans: readonly Span[]): Promise<readonly Span[]> {
    const head = this.writer.indexed
    if (head === undefined) return spans
    return spans
      .filter(({ segment }) => segment <= head.place.segment)
      .map((span) => (span.segment === head.place.segment ? { ...span, to: head.place.to } : span))
  }
}
