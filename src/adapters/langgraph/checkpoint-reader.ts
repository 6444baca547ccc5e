/**
 * Checkpoints of a thread as LangGraph wants them: tuples that are the caller's to change.
 */

import type { RunnableConfig } from '@langchain/core/runnables'
import {
  type Checkpoint,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  type DeltaChannelHistory,
  maxChannelVersion,
  TASKS,
  writesSortKey,
} from '@langchain/langgraph-checkpoint'
import { setField } from '../../core/set-field.js'
import { bodyEach } from '../../value/tree-list.js'
import { ABSENT, containerIn, KIND, type Slot } from '../../value/tree-node.js'
import { objectEach, objectGet } from '../../value/tree-object.js'
import type { AllowedClasses } from './classes.js'
import type { Codec, SharedValues } from './codec.js'
import { liveOf } from './revive.js'
import type { CheckpointEntry, ThreadIndex } from './thread-index.js'
import type { CheckpointData, Held, WritesData } from './thread-reader.js'
import type { Thread } from './threads.js'

/** The first version whose checkpoints hold what is sent themselves. */
const SENDS_INSIDE = 4

/** One write, before its value is read. */
interface StoredWrite {
  readonly task: string
  readonly path: string
  readonly channel: string
  readonly index: number
  value(shared: SharedValues | undefined): unknown
}

export interface ReadOptions {
  readonly shared?: SharedValues
  /** Whether those before it are likely to be read next. */
  readonly ahead?: boolean
}

export class CheckpointReader {
  constructor(
    readonly codec: Codec,
    readonly classes: AllowedClasses,
    /** What a channel without a version gets. */
    readonly firstVersion: () => number | string,
  ) {}

  async tuple(
    thread: Thread,
    index: ThreadIndex,
    entry: CheckpointEntry,
    { shared, ahead = false }: ReadOptions = {},
  ): Promise<CheckpointTuple> {
    const held = await thread.reader.event<CheckpointData>(entry, ahead)
    const { data } = held
    const checkpoint: Checkpoint = {
      v: data.v,
      id: data.id,
      ts: data.ts,
      channel_values: await this.values(thread, held, shared),
      channel_versions: { ...data.versions },
      versions_seen: structuredClone(data.seen) as Checkpoint['versions_seen'],
    }
    const parent = entry.parent === undefined ? undefined : index.get(entry.ns, entry.parent)
    if (data.v < SENDS_INSIDE && parent !== undefined) {
      await this.takeSends(thread, parent, checkpoint)
    }
    const writes = await this.writes(thread, entry, ahead)
    const pendingWrites: CheckpointPendingWrite[] = []
    for (const write of writes) {
      pendingWrites.push([write.task, write.channel, await write.value(shared)])
    }
    const of = (id: string): RunnableConfig => ({
      configurable: { thread_id: thread.id, checkpoint_ns: entry.ns, checkpoint_id: id },
    })
    return {
      config: of(entry.id),
      checkpoint,
      metadata: this.metadataOf(data),
      pendingWrites,
      ...(entry.parent === undefined ? {} : { parentConfig: of(entry.parent) }),
    }
  }

  metadataOf({ metadata }: CheckpointData): Record<string, unknown> {
    return liveOf(structuredClone(metadata), this.classes) as Record<string, unknown>
  }

  private async values(
    thread: Thread,
    held: Held<CheckpointData>,
    shared: SharedValues | undefined,
  ): Promise<Record<string, unknown>> {
    const values: Record<string, unknown> = {}
    for (const [channel, slot] of await this.slots(thread, held)) {
      setField(values, channel, await this.codec.decode(slot, shared))
    }
    return values
  }

  /** The channels that have a value. */
  async slots(thread: Thread, held: Held<CheckpointData>): Promise<[string, Slot][]> {
    const root = containerIn((await thread.reader.tree(held))?.root)
    const slots: [string, Slot][] = []
    if (root === undefined || root.kind === KIND.list) return slots
    objectEach(root, (channel, slot) => slots.push([channel, slot]))
    return slots
  }

  /** Before version 4, what was sent lay with the writes of the checkpoint before. */
  private async takeSends(
    thread: Thread,
    parent: CheckpointEntry,
    checkpoint: Checkpoint,
  ): Promise<void> {
    const sends: unknown[] = []
    for (const write of await this.stored(thread, parent)) {
      if (write.channel === TASKS) sends.push(await write.value(undefined))
    }
    checkpoint.channel_values[TASKS] = sends
    const versions = Object.values(checkpoint.channel_versions)
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.firstVersion()
  }

  /** In the order in which LangGraph applies them. */
  private async writes(
    thread: Thread,
    entry: CheckpointEntry,
    ahead: boolean,
  ): Promise<StoredWrite[]> {
    const keyOf = ({ path, task, index }: StoredWrite): ReturnType<typeof writesSortKey> =>
      writesSortKey(path, task, index)
    const stored = await this.stored(thread, entry, ahead)
    return stored.sort((a, b) => compareWritesSortKeys(keyOf(a), keyOf(b)))
  }

  /**
   * One for each task and index: of ordinary writes the first counts, of special ones, whose index
   * is below zero, the last.
   */
  private async stored(
    thread: Thread,
    entry: CheckpointEntry,
    ahead = false,
  ): Promise<StoredWrite[]> {
    const found = new Map<string, StoredWrite>()
    for (const place of entry.writes) {
      const held = await thread.reader.event<WritesData>(place, ahead)
      const { task, path, channels } = held.data
      const slots = held.root === undefined ? undefined : await this.listed(thread, held)
      // What this call writes does not stand in its own way.
      const before = new Set(found.keys())
      for (const [at, [channel, index]] of channels.entries()) {
        const key = JSON.stringify([task, index])
        if (index >= 0 && before.has(key)) continue
        const value = (shared: SharedValues | undefined): unknown =>
          slots === undefined
            ? liveOf(structuredClone((held.data.values as readonly unknown[])[at]), this.classes)
            : this.codec.decode(slots[at], shared)
        found.set(key, { task, path, channel, index, value })
      }
    }
    return [...found.values()]
  }

  private async listed(thread: Thread, held: Held<WritesData>): Promise<Slot[]> {
    const root = containerIn((await thread.reader.tree(held))?.root)
    const slots: Slot[] = []
    if (root?.kind === KIND.list) bodyEach(root.body, (slot) => slots.push(slot))
    return slots
  }

  /** What `getDeltaChannelHistory` asks for, read from the named channels alone. */
  async deltas(
    thread: Thread,
    index: ThreadIndex,
    entry: CheckpointEntry | undefined,
    channels: readonly string[],
  ): Promise<Record<string, DeltaChannelHistory>> {
    const writes = new Map(channels.map((channel) => [channel, [] as CheckpointPendingWrite[]]))
    const seeds = new Map<string, unknown>()
    const remaining = new Set(channels)
    let at = entry === undefined ? undefined : parentOf(index, entry)
    const seen = new Set<CheckpointEntry>()
    while (at !== undefined && remaining.size > 0 && !seen.has(at)) {
      seen.add(at)
      const held = await thread.reader.event<CheckpointData>(at, true)
      const root = containerIn((await thread.reader.tree(held))?.root)
      const stepWrites = await this.writes(thread, at, true)
      for (const write of stepWrites.reverse()) {
        if (!remaining.has(write.channel)) continue
        const value = await write.value(undefined)
        writes.get(write.channel)!.push([write.task, write.channel, value])
      }
      for (const channel of remaining) {
        if (root === undefined || root.kind === KIND.list) break
        const slot = objectGet(root, channel)
        if (slot === ABSENT || slot === undefined) continue
        seeds.set(channel, await this.codec.decode(slot))
        remaining.delete(channel)
      }
      at = parentOf(index, at)
    }
    const history: Record<string, DeltaChannelHistory> = {}
    for (const [channel, found] of writes) {
      const seed = seeds.has(channel) ? { seed: seeds.get(channel) } : {}
      setField(history, channel, { writes: found.reverse(), ...seed })
    }
    return history
  }
}

function parentOf(
  index: ThreadIndex,
  { ns, parent }: CheckpointEntry,
): CheckpointEntry | undefined {
  return parent === undefined ? undefined : index.get(ns, parent)
}
