/**
 * A run to read: its events, its last of a type, its head. Writes nothing and needs no lock.
 */
import type { RunPlace } from '../backend/backend.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { RequestHeader } from '../core/event-map.js'
import { FrameReader } from '../core/frame.js'
import type { Hash } from '../core/hash.js'
import { messages } from '../fold/messages.js'
import type { Projection } from '../fold/projection.js'
import {
  type ProviderView,
  providerView,
  type ViewOptions,
} from '../fold/provider/provider-view.js'
import type { OpenWork, RunSummary } from '../fold/run-index.js'
import { RunIndex } from '../fold/run-index.js'
import type { Tree } from '../value/tree.js'
import { closers } from './closers.js'
import type { StoreContext } from './context.js'
import {
  type EventOf,
  type EventSource,
  type EventsOptions,
  type RawEvent,
  readEventAt,
  readEvents,
  readFrames,
} from './event-reader.js'
import { LogReader } from './log-reader.js'
import { type LogShape, type Span, shapeOf } from './log-shape.js'
import { type Damage, readTail, standsAt, type Torn } from './log-tail.js'
import { frameAt, type Head } from './log-walk.js'
import { nextRequest } from './model-request.js'
import { chainBroken } from './open-log.js'
import { openWork } from './open-work.js'
import { findOperation } from './operations.js'
import { type FoldedParent, type FoldedRun, Projecting } from './projecting.js'
import { sessionEvents } from './session-events.js'
import { StateStore } from './state-store.js'
import { hasValue } from './values.js'

/** The state of a run's log as it was found. */
export interface RunStanding {
  readonly index: RunIndex
  readonly head: Head | undefined
  readonly torn?: Torn
  readonly damage?: Damage
}

export class RunView {
  readonly id: string
  /** The log as lines. For daglog's own rooms. */
  readonly log: LogReader
  private standing: RunStanding | undefined
  private loading: Promise<unknown> = Promise.resolve()
  private readonly ownStates: StateStore
  private parentView: RunView | undefined
  private readonly folded: FoldedRun
  protected readonly projecting: Projecting

  constructor(
    /** @internal */
    readonly context: StoreContext,
    id: string,
  ) {
    this.id = id
    this.log = new LogReader(context.backend, { run: id })
    this.ownStates = new StateStore(context.backend, id)
    this.folded = {
      id,
      context,
      isHeld: () => this.isHeld(),
      end: async () => (await this.load()).head,
      lastSeq: (types) => this.lastSeq(types),
      source: () => this.source(),
      parent: () => this.foldedParent(),
    }
    this.projecting = new Projecting(this.folded)
  }

  /**
   * Events in order of seq.
   * A span that cannot be read is given as one `log/gap` event, whatever `types` says.
   * @throws OBJECT_MISSING, OBJECT_CORRUPT at an event whose values are not there; go on after its seq.
   */
  events<T extends string = string>(options: EventsOptions<T> = {}): AsyncIterable<EventOf<T>> {
    const source = this.source.bind(this)
    return {
      [Symbol.asyncIterator]: async function* () {
        yield* readEvents(await source(), options) as AsyncIterable<EventOf<T>>
      },
    } as AsyncIterable<EventOf<T>>
  }

  /** Frames as they lie, for daglog's own rooms. See `readFrames`. */
  async *frames(): AsyncGenerator<RawEvent> {
    yield* readFrames(await this.source())
  }

  /** One event by its seq, or undefined. */
  async event(
    seq: number,
    options: Pick<EventsOptions, 'refs' | 'trees'> = {},
  ): Promise<RunEvent | undefined> {
    for await (const event of this.events({ ...options, from: seq, to: seq })) return event
    return undefined
  }

  /** The value of a ref to a tree; its nodes are read as they are needed. */
  treeOf(root: Hash, seq: number): Promise<Tree> {
    return this.trees.load(root, { run: this.id, seq })
  }

  /** Where the nodes of values are read. */
  protected get trees(): StateStore {
    return this.ownStates
  }

  /** The last event of a type, found by index, not by reading the log; undefined where there was none. */
  async last<T extends string>(type: T): Promise<EventOf<T> | undefined> {
    const row = (await this.load()).index.last(type)
    if (row === undefined) return undefined
    const [, segment, from, to] = row
    return (await readEventAt(await this.source(), { segment, from, to })) as EventOf<T> | undefined
  }

  /** Seq of the last event of these types, -1 where there is none. For daglog's own rooms. */
  async lastSeq(types: readonly string[]): Promise<number> {
    const { index } = await this.load()
    return Math.max(-1, ...types.map((type) => index.last(type)?.[0] ?? -1))
  }

  /** The event that was appended under an operation id, found by index; undefined without one. */
  async operation(op: string): Promise<RunEvent | undefined> {
    const { index } = await this.load()
    const source = await this.source()
    const frame = await findOperation(source, index, op)
    return frame && readEventAt(source, frame.place)
  }

  /** (seq, hash) of the last event; undefined for a run that never began. */
  async head(): Promise<{ readonly seq: number; readonly hash: Hash } | undefined> {
    const head = (await this.load()).head
    return head === undefined ? undefined : { seq: head.seq, hash: head.hash }
  }

  /** The head as of an event, or undefined where there is none with this seq. */
  async headAt(seq: number): Promise<{ readonly seq: number; readonly hash: Hash } | undefined> {
    const { spans } = await this.source()
    const found = await frameAt(this.log, spans, seq)
    return found === undefined ? undefined : { seq: found.seq, hash: found.hash }
  }

  /**
   * The state as of an event (the end unless told), found by index. Its nodes are read as they are
   * needed, so a large state costs what is looked at. A fork begins with the state of its parent.
   * Undefined where none was written by then.
   * @throws RUN_NOT_FOUND where it is the parent's, and that is not in this store; BODY_REDACTED;
   *   CHAIN_BROKEN where the log is damaged by then, so that nobody knows.
   */
  async stateAt(seq = Number.POSITIVE_INFINITY): Promise<Tree | undefined> {
    const { index, damage } = await this.load()
    if (damage !== undefined && damage.seq <= seq) throw chainBroken({ run: this.id }, damage)
    return this.stateIn(index, seq)
  }

  protected async stateIn(index: RunIndex, seq: number): Promise<Tree | undefined> {
    const found = index.stateAt(seq)
    if (found?.root === null) {
      throw new DaglogError(
        'BODY_REDACTED',
        `the state that run ${this.id} had from seq ${found.seq} on was redacted; try: an earlier seq`,
        { run: this.id, seq: found.seq },
      )
    }
    if (found !== undefined) return this.states.load(found.root, { run: this.id, seq: found.seq })
    const { parent } = index.summary()
    if (parent?.kind !== 'fork') return undefined
    this.parentView ??= await this.openParent(parent.run)
    return this.parentView.stateAt(parent.seq)
  }

  /**
   * A projection as of an event (the end unless told): its view, current. Folded from the best
   * snapshot that fits, else from the log; a cache that is broken or gone changes no result. Where a
   * dead writer left a turn open, the value is as it will be once the run is opened, which closes it.
   * @throws PROJECTION_CONFLICT, PROJECTION_FAILED
   */
  async project<S, V>(
    projection: Projection<S, V>,
    options: { readonly at?: number } = {},
  ): Promise<V> {
    const { at } = options
    const seq = at === undefined ? {} : { seq: at }
    return (await this.projecting.at(projection, { ...seq, pending: await this.pending() })).value
  }

  /**
   * The history as a provider accepts it: each call with one result, text well-formed, nothing that
   * another model signed. The log stays as it is; `lint` says what the view changed, and why.
   * @throws PROVIDER_UNKNOWN
   */
  async messages(options: ViewOptions & { readonly at?: number }): Promise<ProviderView> {
    const { at, ...view } = options
    return providerView(await this.project(messages, at === undefined ? {} : { at }), view)
  }

  /**
   * The exact body of the next request to a model, rebuilt from the log alone: `header` (the last
   * one in the
   * log unless given) and the messages, in the form of its provider. With `at` as of an event: what
   * was
   * sent then.
   * @throws USAGE where neither says which model; PROVIDER_UNKNOWN
   */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is the provider's; SDKs have types.
  request(header?: RequestHeader, options: { readonly at?: number } = {}): Promise<any> {
    return nextRequest(this, header, options.at)
  }

  /**
   * Events with what readers find in them, in order of (seq, line), and at the end, marked
   * `pending`, those
   * that will close what a dead writer left open. Options as for `events`; `refs` is not taken.
   */
  async *session(options: Omit<EventsOptions, 'refs'> = {}): AsyncGenerator<RunEvent> {
    yield* sessionEvents(await this.source(), await this.pending(), options)
  }

  /** How opening the run would close what its dead writer left open, as events behind the last. */
  protected async pending(): Promise<readonly RunEvent[]> {
    const { index, head, torn } = await this.load()
    const { turn, steps, calls } = index.open()
    if (head === undefined || (turn === undefined && steps.length === 0 && calls.size === 0)) {
      return []
    }
    const holder = await this.context.backend.holder({ run: this.id })
    // A live writer will finish it; one that let go left it open on purpose.
    if (holder === undefined ? torn === undefined : holder.alive !== false) return []
    const { updated: time } = index.summary()
    return closers(await openWork(index, await this.source())).map(({ type, data }, place) => ({
      seq: head.seq + 1 + place,
      time,
      type,
      data: data as never,
      hash: '' as Hash,
      pending: true,
    }))
  }

  /** Whether nobody else can write now. */
  protected isHeld(): boolean {
    return false
  }

  /** The run that a fork begins in. @throws RUN_NOT_FOUND */
  private async foldedParent(): Promise<FoldedParent | undefined> {
    const { parent } = (await this.load()).index.summary()
    if (parent?.kind !== 'fork') return undefined
    this.parentView ??= await this.openParent(parent.run)
    return { seq: parent.seq, identity: parent.run as Hash, run: this.parentView.folded }
  }

  async openParent(run: string): Promise<RunView> {
    const id = (await this.context.heads.refresh()).idOf(run)
    const { backend } = this.context
    if (id !== undefined && (await backend.hasRun(id))) return new RunView(this.context, id)
    throw new DaglogError(
      'RUN_NOT_FOUND',
      `run ${this.id} begins with the state of run ${run}, which is not in this store. Try: \`daglog import\` of a bundle that holds it`,
      { run: this.id, parent: run },
    )
  }

  /** Where the nodes of states are read. */
  protected get states(): StateStore {
    return this.ownStates
  }

  async summary(): Promise<RunSummary> {
    return (await this.load()).index.summary()
  }

  /** What is open at the end: a turn, steps, tool calls. */
  async open(): Promise<OpenWork> {
    return (await this.load()).index.open()
  }

  /** What lies behind the last whole event, and where damage begins, if anywhere. */
  async condition(): Promise<{ readonly torn?: Torn; readonly damage?: Damage }> {
    const { torn, damage } = await this.load()
    return { ...(torn === undefined ? {} : { torn }), ...(damage === undefined ? {} : { damage }) }
  }

  /** The run's identity: the hash of its frame 0. Undefined where that frame cannot be read. */
  async identity(): Promise<Hash | undefined> {
    const span = (await shapeOf(this.log)).spans[0]
    if (span === undefined) return undefined
    const line = await this.log.lineAt(span.segment, 0, span.to)
    const frame = new FrameReader()
    return line !== undefined && frame.read(line, 0, line.length, span.prev)
      ? frame.hash
      : undefined
  }

  /** What its events are read from, as it is now. For daglog's own rooms. */
  async source(): Promise<EventSource> {
    const { spans } = await shapeOf(this.log)
    const readable = await this.readable(spans)
    return { run: this.id, reader: this.log, notices: this.context.notices, spans: readable }
  }

  /** Which of the bytes on disk may be shown: what recovery would cut is not part of the run. */
  protected async readable(spans: readonly Span[]): Promise<readonly Span[]> {
    const { torn } = await this.load()
    if (torn === undefined) return spans
    return spans.map((span) =>
      span.segment === torn.segment ? { ...span, to: torn.offset } : span,
    )
  }

  /** The index at the end of the log, as it is now. */
  protected load(): Promise<RunStanding> {
    const load = async (): Promise<RunStanding> => {
      const known = this.standing
      // Should this fail, the index that is known was folded further than its head says.
      this.standing = undefined
      this.standing = await loadState(this.context, this.log, this.id, known)
      return this.standing
    }
    // One after the other: two that go on from one index would fold the same frames into it twice.
    const loading = this.loading.then(load, load)
    this.loading = loading
    return loading
  }
}

/** Fold a run up to its end without writing; goes on from `known` where that still stands. */
export async function loadState(
  context: StoreContext,
  log: LogReader,
  id: string,
  known?: RunStanding,
): Promise<RunStanding> {
  const shape = await shapeOf(log)
  const covered = (await context.heads.refresh()).head(id)
  const start = (await goOn(log, shape, known)) ?? (await fromSnapshot(context, log, shape, id))
  const tail = await readTail(log, {
    shape,
    anchor: start.head,
    coveredSeq: covered?.seq ?? -1,
    hasObject: (ref) => hasValue(context.backend, ref, id),
    onFrame: (frame) => start.index.apply(frame),
  })
  return {
    index: start.index,
    head: tail.head,
    ...(tail.torn && { torn: tail.torn }),
    ...(tail.damage && { damage: tail.damage }),
  }
}

async function goOn(
  log: LogReader,
  shape: LogShape,
  known: RunStanding | undefined,
): Promise<RunStanding | undefined> {
  if (known?.head === undefined || !(await standsAt(log, shape, known.head))) return undefined
  return known
}

async function fromSnapshot(
  context: StoreContext,
  log: LogReader,
  shape: LogShape,
  id: string,
): Promise<RunStanding> {
  const snapshot = await context.snapshots.read(snapshotKey(id), log, shape)
  const index = snapshot === undefined ? undefined : RunIndex.fromJSON(snapshot.state)
  return index === undefined
    ? { index: new RunIndex(), head: undefined }
    : { index, head: snapshot?.head }
}

/** The id of a run in its place: where that is too long for a name, frame 0 says it, or the place stands for it. */
export async function runIdAt(context: StoreContext, { id, place }: RunPlace): Promise<string> {
  if (id !== undefined) return id
  const first = await new RunView(context, place).event(0).catch(() => undefined)
  const said = (first?.data as { id?: unknown } | undefined)?.id
  // Only where that id leads here: a directory may have been copied.
  const leadsHere = typeof said === 'string' && (await context.backend.placeOf(said)) === place
  return leadsHere ? said : place
}

/** Where the snapshot of a run's index is cached. */
export function snapshotKey(id: string): string {
  return `run-index/${id}`
}
