/**
 * A LangGraph checkpointer over a store: each thread is a run, each checkpoint an event that holds
 * whole values and stores what is new of them.
 * @see docs/langgraph.md
 */
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
} from '@langchain/langgraph-checkpoint'
import { DaglogError } from '../../core/errors.js'
import { DELETE_TYPE } from '../../fold/langgraph-thread.js'
import type { Store } from '../../store/store.js'
import type { ChannelSize } from './channel-sizes.js'
import { CheckpointReader } from './checkpoint-reader.js'
import { CheckpointWriter } from './checkpoint-writer.js'
import { AllowedClasses, type Class } from './classes.js'
import { type Codec, SharedValues, TreeCodec } from './codec.js'
import { isMatch } from './metadata-filter.js'
import { SerdeCodec } from './serde-codec.js'
import type { CheckpointEntry, ThreadIndex } from './thread-index.js'
import type { CheckpointData } from './thread-reader.js'
import { type Thread, Threads } from './threads.js'
import { type FoundCheckpoint, type Pruned, type PruneOptions, Upkeep } from './upkeep.js'

export interface DaglogSaverOptions {
  /** Write values as this serializer does, instead of exactly. */
  readonly serde?: SerializerProtocol
  /** Classes of yours that may be in a state; their instances are kept by their own fields. */
  readonly classes?: readonly Class[]
  /** Erase a deleted thread instead of saying in its run that it is deleted. */
  readonly erase?: boolean
  /**
   * How long to wait for another worker that writes to the same thread, in ms; 20,000 unless told.
   */
  readonly lockWaitMs?: number
  /** A thread that nothing was written to for this long is let go of, in ms; 1,000 unless told. */
  readonly lockIdleMs?: number
}

const LOCK_WAIT_MS = 20_000
const LOCK_IDLE_MS = 1000

export class DaglogSaver extends BaseCheckpointSaver {
  /** @internal */
  readonly threads: Threads
  private readonly codec: Codec
  private readonly writer: CheckpointWriter
  private readonly reader: CheckpointReader
  private readonly upkeep: Upkeep

  /** The store stays the caller's to close, after the saver. */
  constructor(
    readonly store: Store,
    private readonly options: DaglogSaverOptions = {},
  ) {
    super(options.serde)
    const classes = new AllowedClasses(options.classes)
    this.codec =
      options.serde === undefined ? new TreeCodec(classes) : new SerdeCodec(options.serde)
    this.threads = new Threads(store, {
      lockWaitMs: options.lockWaitMs ?? LOCK_WAIT_MS,
      lockIdleMs: options.lockIdleMs ?? LOCK_IDLE_MS,
    })
    this.writer = new CheckpointWriter(this.codec, classes)
    this.reader = new CheckpointReader(this.codec, classes, () => this.getNextVersion(undefined))
    this.upkeep = new Upkeep(this.threads, this.reader, classes, store.context.now)
  }

  /**
   * The checkpoint that `config` names, or the latest of its namespace; undefined where there is
   * none.
   */
  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const found = await this.find(config)
    return found && this.reader.tuple(found.thread, found.index, found.entry)
  }

  private async find(
    config: RunnableConfig,
  ): Promise<{ thread: Thread; index: ThreadIndex; entry: CheckpointEntry } | undefined> {
    const { thread_id: id, checkpoint_ns: ns = '', checkpoint_id: asked } = named(config)
    if (id === undefined) return undefined
    const thread = this.threads.get(id)
    if (!(await thread.exists())) return undefined
    const index = await thread.index()
    const entry = asked === undefined ? index.latest(ns) : index.get(ns, asked)
    return entry && { thread, index, entry }
  }

  /**
   * Checkpoints, newest first: of one thread or all, of one namespace or all. In a listing of more
   * than 16, what checkpoints have in common (each message) is one object in all of them: copy one
   * before you change it. `getTuple`, and a `limit` of 16 or less, share nothing.
   */
  async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const asked = named(config ?? {})
    const before: unknown = options.before?.configurable?.checkpoint_id
    const { filter } = options
    let left = options.limit ?? Number.POSITIVE_INFINITY
    const ids = asked.thread_id === undefined ? await this.threads.ids() : [asked.thread_id]
    const shared = left > AHEAD_MIN ? new SharedValues() : undefined
    for (const id of ids) {
      const thread = this.threads.get(id)
      if (left <= 0) return
      if (!(await thread.exists())) continue
      const index = await thread.index()
      for (const entry of entriesOf(index, asked)) {
        if (left <= 0) return
        if (typeof before === 'string' && entry.id >= before) continue
        if (filter !== undefined) {
          const { data } = await thread.reader.event<CheckpointData>(entry, true)
          if (!isMatch(this.reader.metadataOf(data), filter)) continue
        }
        left -= 1
        yield await this.reader.tuple(thread, index, entry, {
          ahead: left > AHEAD_MIN,
          ...(shared === undefined ? {} : { shared }),
        })
      }
    }
  }

  /**
   * Keep a checkpoint, durably. Its values are taken as they are at the call.
   * @throws VALUE_UNSUPPORTED naming what cannot be kept, and then nothing was written;
   *   CHECKPOINT_DELETED; RUN_LOCKED where another worker writes to the thread for too long
   */
  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id: id, checkpoint_ns: ns = '' } = named(config)
    if (id === undefined) throw missing('put', 'thread_id')
    const thread = this.threads.get(id)
    const given = { config, checkpoint, metadata, newVersions }
    await this.writer.put(thread, ns, given)
    return {
      configurable: { thread_id: id, checkpoint_ns: ns, checkpoint_id: checkpoint.id },
    }
  }

  /** Keep what a task wrote, durably, also before the checkpoint that it is for. */
  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const { thread_id: id, checkpoint_ns: ns = '', checkpoint_id: checkpoint } = named(config)
    if (id === undefined) throw missing('putWrites', 'thread_id')
    if (checkpoint === undefined) throw missing('putWrites', 'checkpoint_id')
    const thread = this.threads.get(id)
    await this.writer.putWrites(
      thread,
      { ns, id: checkpoint },
      { writes, task: taskId, path: taskPath },
    )
  }

  /**
   * Delete a thread with all its namespaces. What it was stays in its run, where people can see it,
   * unless the saver was told to erase.
   * @throws RUN_LOCKED; RUN_HAS_FORKS where a copy begins in it and it is to be erased
   */
  async deleteThread(threadId: string): Promise<void> {
    const thread = this.threads.get(threadId)
    if (!(await thread.exists())) return
    if (this.options.erase === true) {
      await this.threads.close(threadId)
      await this.store.deleteRun(thread.runId)
    } else if (!(await thread.index()).isEmpty) {
      await thread.write((run) => run.append(DELETE_TYPE, { reason: 'thread' }))
    }
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig
    channels: string[]
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options
    if (channels.length === 0) return {}
    const found = await this.find(config)
    if (found === undefined) {
      return Object.fromEntries(channels.map((channel) => [channel, { writes: [] }]))
    }
    return this.reader.deltas(found.thread, found.index, found.entry, channels)
  }

  /**
   * Delete checkpoints that nobody needs any more. The end of every branch stays, with what is
   * pending there, and whatever those ends are made of. Nothing that may be gone on from is lost.
   */
  prune(options: PruneOptions = {}): Promise<Pruned[]> {
    return this.upkeep.prune(options)
  }

  /**
   * Begin a thread where another one is now. Nothing is copied: it shares all that there is.
   * @throws RUN_NOT_FOUND, RUN_EXISTS
   */
  copyThread(source: string, target: string): Promise<void> {
    return this.upkeep.copy(source, target)
  }

  /**
   * Delete the checkpoints of these runs of a graph: those put with such a `run_id` in
   * `configurable` or
   * `metadata`. @returns how many there were.
   */
  deleteForRuns(runIds: readonly string[]): Promise<number> {
    return this.upkeep.deleteForRuns(runIds)
  }

  /** Which channel costs what, the most costly first; of all threads unless told. */
  sizes(threads?: readonly string[]): Promise<ChannelSize[]> {
    return this.upkeep.sizes(threads)
  }

  /** Checkpoints whose metadata, or what their run was told about itself, has all these values. */
  search(
    filter: Readonly<Record<string, unknown>>,
    options: { readonly threads?: readonly string[] } = {},
  ): AsyncGenerator<FoundCheckpoint> {
    return this.upkeep.search(filter, options.threads)
  }

  /** Let go of all threads; the store stays open. */
  close(): Promise<void> {
    return this.threads.closeAll()
  }
}

/** Listings of no more than this many read one event at a time. */
const AHEAD_MIN = 16

interface Named {
  readonly thread_id: string | undefined
  readonly checkpoint_ns: string | undefined
  readonly checkpoint_id: string | undefined
}

function named(config: RunnableConfig): Named {
  const { thread_id, checkpoint_ns, checkpoint_id, thread_ts } = config.configurable ?? {}
  return {
    thread_id: textOrNone('thread_id', thread_id),
    checkpoint_ns: textOrNone('checkpoint_ns', checkpoint_ns),
    checkpoint_id: textOrNone('checkpoint_id', checkpoint_id || thread_ts) || undefined,
  }
}

function textOrNone(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  throw new DaglogError(
    'USAGE',
    `config.configurable.${name} is a ${typeof value}, and a string is needed; try: String(...)`,
    { name },
  )
}

function missing(what: string, name: string): DaglogError {
  return new DaglogError(
    'USAGE',
    `${what} needs config.configurable.${name}; try: { configurable: { ${name}: '...' } }`,
    { name },
  )
}

/** Newest id first, namespace by namespace. */
function* entriesOf(index: ThreadIndex, asked: Named): Generator<CheckpointEntry> {
  const { checkpoint_ns: ns, checkpoint_id: id } = asked
  for (const name of ns === undefined ? index.namespaces() : [ns]) {
    const ids = id === undefined ? index.ids(name) : [id]
    // Taken now: checkpoints may come while the caller looks at one.
    for (const one of [...ids].reverse()) {
      const entry = index.get(name, one)
      if (entry !== undefined) yield entry
    }
  }
}
