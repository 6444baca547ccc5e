/**
 * What LangGraph gives a saver as events of its thread. Values are taken as they are at the call,
 * before anything is awaited: they are live, and the next node may change them.
 */

import type { RunnableConfig } from '@langchain/core/runnables'
import {
  type ChannelVersions,
  type Checkpoint,
  type PendingWrite,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { DaglogError } from '../../core/errors.js'
import type { LanggraphCheckpoint, LanggraphWrites } from '../../core/langgraph-events.js'
import { CHECKPOINT_TYPE, WRITES_TYPE } from '../../fold/langgraph-thread.js'
import type { Run } from '../../store/run.js'
import { Tree } from '../../value/tree.js'
import { bodyOf } from '../../value/tree-list.js'
import { ABSENT, containerIn, isNode, KIND, ListNode, type Slot } from '../../value/tree-node.js'
import { objectGet, objectOf } from '../../value/tree-object.js'
import type { AllowedClasses } from './classes.js'
import type { Codec, ValuePath } from './codec.js'
import { plainOf } from './plain.js'
import type { CheckpointEntry, ThreadIndex } from './thread-index.js'
import type { CheckpointData } from './thread-reader.js'
import type { Thread } from './threads.js'

const GATHERED = { gather: true } as const

interface Taken {
  readonly slots: ReadonlyMap<string, Slot | Promise<Slot>>
}

export class CheckpointWriter {
  constructor(
    readonly codec: Codec,
    readonly classes: AllowedClasses,
  ) {}

  /** Resolves once the checkpoint would survive power loss. */
  async put(
    thread: Thread,
    ns: string,
    given: {
      readonly config: RunnableConfig
      readonly checkpoint: Checkpoint
      readonly metadata: unknown
      readonly newVersions: ChannelVersions
    },
  ): Promise<void> {
    const { config, checkpoint, metadata, newVersions } = given
    const parent: unknown = config.configurable?.checkpoint_id
    const data: LanggraphCheckpoint = {
      ns,
      id: checkpoint.id,
      ...(typeof parent === 'string' && parent !== '' ? { parent } : {}),
      v: checkpoint.v,
      ts: checkpoint.ts,
      versions: { ...checkpoint.channel_versions },
      seen: structuredClone(checkpoint.versions_seen ?? {}),
      metadata: this.copied(withoutUndefined(metadata), ['metadata']),
      ...this.labelsOf(config),
      values: null,
    }
    const taken = this.take(thread, ns, checkpoint.channel_values ?? {})
    const changed = new Set(Object.keys(newVersions ?? {}))
    // A thread that was erased is not begun again by who does not know of that.
    const isOrphan = data.parent !== undefined && !(await thread.exists())
    if (isOrphan && (await thread.wasErased())) throw deleted(thread, data.parent as string)
    await thread.write((run) => this.putTaken(thread, run, { data, taken, changed }))
  }

  /** What the caller said about the run, such as its user: kept for searches. */
  private labelsOf(config: RunnableConfig): { labels?: unknown } {
    const { metadata, runId } = config
    const run: unknown = config.configurable?.run_id ?? runId ?? metadata?.run_id
    const labels = { ...(metadata ?? {}), ...(typeof run === 'string' ? { run_id: run } : {}) }
    if (Object.keys(labels).length === 0) return {}
    return { labels: this.copied(labels, ['config', 'metadata']) }
  }

  /** As what JSON can say, and nobody else's. */
  private copied(value: unknown, at: ValuePath): unknown {
    return structuredClone(plainOf(value, this.classes, at))
  }

  private take(thread: Thread, ns: string, values: Readonly<Record<string, unknown>>): Taken {
    const last = thread.last.get(ns)
    const slots = new Map<string, Slot | Promise<Slot>>()
    const next = new Map<string, Slot>()
    for (const channel of Object.keys(values)) {
      const prior = last?.has(channel) ? (last.get(channel) as Slot) : ABSENT
      const slot = this.codec.encode(values[channel], ['channel_values', channel], prior)
      slots.set(channel, slot)
      if (!(slot instanceof Promise)) next.set(channel, slot)
    }
    thread.last.set(ns, next)
    return { slots }
  }

  private async putTaken(
    thread: Thread,
    run: Run,
    given: { data: LanggraphCheckpoint; taken: Taken; changed: ReadonlySet<string> },
  ): Promise<void> {
    const { data, taken, changed } = given
    const index = await thread.index()
    await checkStanding(thread, index, data)
    const entries: { key: string; slot: Slot }[] = []
    for (const [channel, slot] of taken.slots) {
      const version = data.versions[channel]
      const stands =
        changed.has(channel) ||
        version === undefined ||
        (await this.isStored(thread, index, { data, channel, version }))
      if (stands) entries.push({ key: channel, slot: await slot })
    }
    const tree = new Tree(objectOf(entries))
    const trees = new Map([['/values', tree]])
    const [appended] = await run.appendTrees([{ type: CHECKPOINT_TYPE, data, trees }])
    thread.reader.keep({
      run: undefined,
      seq: appended!.seq,
      data,
      root: tree.hash(),
      channels: new Set(entries.map(({ key }) => key)),
    })
  }

  /** Whether a value of the channel with this version is in the thread already. */
  private async isStored(
    thread: Thread,
    index: ThreadIndex,
    asked: { data: LanggraphCheckpoint; channel: string; version: number | string },
  ): Promise<boolean> {
    const { ns, parent } = asked.data
    const first = parent === undefined ? undefined : index.get(ns, parent)
    if (first !== undefined && (await holds(thread, first, asked))) return true
    for (const entry of index.entries(ns)) {
      if (entry !== first && (await holds(thread, entry, asked))) return true
    }
    return false
  }

  putWrites(
    thread: Thread,
    { ns, id }: { readonly ns: string; readonly id: string },
    given: {
      readonly writes: readonly PendingWrite[]
      readonly task: string
      readonly path: string
    },
  ): Promise<void> {
    const { writes, task, path } = given
    const channels = writes.map(
      ([channel], index) => [channel, WRITES_IDX_MAP[channel] ?? index] as const,
    )
    const slots = writes.map(([channel, value], index) =>
      this.codec.encode(value, ['writes', index, channel], ABSENT),
    )
    const base = { ns, id, task, path, channels }
    const isShort = slots.every((slot) => !(slot instanceof Promise) && !isNode(slot))
    const short = isShort
      ? writes.map(([channel, value], index) => this.copied(value, ['writes', index, channel]))
      : undefined
    return thread.write(async (run) => {
      const index = await thread.index()
      if (index.wasDeleted(ns, id)) throw deleted(thread, id)
      const data: LanggraphWrites = { ...base, values: short ?? null }
      const tree =
        short === undefined ? new Tree(new ListNode(bodyOf(await Promise.all(slots)))) : undefined
      const trees = new Map(tree === undefined ? [] : [['/values', tree] as const])
      // A graph puts its next checkpoint at once after: one sync is enough for both.
      const [appended] = await run.appendTrees([{ type: WRITES_TYPE, data, trees }], GATHERED)
      thread.reader.keep({ run: undefined, seq: appended!.seq, data, root: tree?.hash() })
    })
  }
}

async function holds(
  thread: Thread,
  entry: CheckpointEntry,
  { channel, version }: { readonly channel: string; readonly version: number | string },
): Promise<boolean> {
  const held = await thread.reader.event<CheckpointData>(entry, true)
  if (held.data.versions[channel] !== version) return false
  if (held.channels !== undefined) return held.channels.has(channel)
  const root = containerIn((await thread.reader.tree(held))?.root)
  return root !== undefined && root.kind !== KIND.list && objectGet(root, channel) !== ABSENT
}

/** @throws CHECKPOINT_DELETED */
async function checkStanding(
  thread: Thread,
  index: ThreadIndex,
  { ns, id, parent }: LanggraphCheckpoint,
): Promise<void> {
  // Without a parent it begins anew, under whatever id.
  if (parent === undefined) return
  if (index.wasDeleted(ns, id)) throw deleted(thread, id)
  if (index.get(ns, parent) !== undefined) return
  if (index.wasDeleted(ns, parent) || (await thread.wasErased())) throw deleted(thread, parent)
}

function deleted(thread: Thread, id: string): DaglogError {
  return new DaglogError(
    'CHECKPOINT_DELETED',
    `checkpoint ${id} of thread ${thread.id} was deleted, so nothing is written to it; try: a run of the graph that begins anew, without a "checkpoint_id"`,
    { thread: thread.id, checkpoint: id },
  )
}

/** LangGraph may leave members undefined; they are as good as absent. */
function withoutUndefined(metadata: unknown): unknown {
  if (typeof metadata !== 'object' || metadata === null) return metadata ?? {}
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined))
}
