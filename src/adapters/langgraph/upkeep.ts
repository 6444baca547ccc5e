/**
 * What users ask of a checkpointer beside checkpoints: pruning, copies, sizes, searches.
 */
import { DaglogError } from '../../core/errors.js'
import { DELETE_TYPE } from '../../fold/langgraph-thread.js'
import { forkBeginning } from '../../store/parent-link.js'
import { type ChannelSize, ChannelSizes } from './channel-sizes.js'
import type { CheckpointReader } from './checkpoint-reader.js'
import type { AllowedClasses } from './classes.js'
import { isMatch } from './metadata-filter.js'
import { prunable } from './prune.js'
import { liveOf } from './revive.js'
import type { CheckpointEntry } from './thread-index.js'
import type { CheckpointData } from './thread-reader.js'
import { runIdOfThread, type Thread, type Threads } from './threads.js'

export interface PruneOptions {
  /** These threads; all unless given. */
  readonly threads?: readonly string[]
  /** So many checkpoints stay of each branch; 1 unless told. */
  readonly keep?: number
  /** Only checkpoints that are older than this go, in ms. */
  readonly olderThanMs?: number
  /** Say what would go, and delete nothing. */
  readonly dryRun?: boolean
}

export interface Pruned {
  readonly thread: string
  readonly deleted: number
  readonly kept: number
}

export interface FoundCheckpoint {
  readonly thread: string
  readonly ns: string
  readonly id: string
  readonly ts: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** What its run of the graph was told about itself, such as its user. */
  readonly labels: Readonly<Record<string, unknown>>
}

export class Upkeep {
  constructor(
    private readonly threads: Threads,
    private readonly reader: CheckpointReader,
    private readonly classes: AllowedClasses,
    private readonly now: () => number,
  ) {}

  async prune(options: PruneOptions): Promise<Pruned[]> {
    const { keep = 1, olderThanMs = 0, dryRun = false } = options
    checkNumber('keep', keep)
    checkNumber('olderThanMs', olderThanMs)
    const rule = {
      keep,
      before: olderThanMs === 0 ? Number.POSITIVE_INFINITY : this.now() - olderThanMs,
    }
    const pruned: Pruned[] = []
    for (const thread of await this.existing(options.threads)) {
      const gone = (): Promise<[string, string][]> => this.prunable(thread, rule)
      // Once more under the lock: a worker may have gone on meanwhile.
      let deleted = (await gone()).length
      if (deleted > 0 && !dryRun) deleted = await this.delete(thread, gone, 'prune')
      const left = [...all(await thread.index())].length
      pruned.push({ thread: thread.id, deleted, kept: dryRun ? left - deleted : left })
    }
    return pruned
  }

  private async prunable(
    thread: Thread,
    rule: { readonly keep: number; readonly before: number },
  ): Promise<[string, string][]> {
    return prunable(await thread.index(), rule, (entry) => dataOf(thread, entry))
  }

  private delete(
    thread: Thread,
    gone: () => Promise<[string, string][]>,
    reason: string,
  ): Promise<number> {
    return thread.write(async (run) => {
      const checkpoints = await gone()
      if (checkpoints.length > 0) await run.append(DELETE_TYPE, { reason, checkpoints })
      return checkpoints.length
    })
  }

  /** @throws RUN_NOT_FOUND, RUN_EXISTS */
  async copy(source: string, target: string): Promise<void> {
    const from = this.threads.get(source)
    if (!(await hasCheckpoints(from))) {
      throw new DaglogError(
        'RUN_NOT_FOUND',
        `there is no thread ${source} to copy; try: a thread that has checkpoints`,
        { thread: source },
      )
    }
    const onto = this.threads.get(target)
    if ((await onto.exists()) && !(await hasCheckpoints(onto))) {
      throw new DaglogError(
        'RUN_EXISTS',
        `thread ${target} was deleted, and its run ${onto.runId} is kept; try: another name, or to delete it with a saver that erases`,
        { thread: target, id: onto.runId },
      )
    }
    const { store } = this.threads
    const beginning = await forkBeginning(await from.view(), { name: target })
    const id = runIdOfThread(target)
    const run = await store.createRun({ ...beginning, id, meta: { thread: target } })
    await run.close()
  }

  /** @returns how many checkpoints were deleted. */
  async deleteForRuns(runIds: readonly string[]): Promise<number> {
    let deleted = 0
    for (const thread of await this.existing(undefined)) {
      const gone = async (): Promise<[string, string][]> => {
        const found: [string, string][] = []
        for (const entry of all(await thread.index())) {
          const labels = (await dataOf(thread, entry)).labels as { run_id?: unknown } | undefined
          if (runIds.some((id) => id === labels?.run_id)) found.push([entry.ns, entry.id])
        }
        return found
      }
      if ((await gone()).length > 0) deleted += await this.delete(thread, gone, 'runs')
    }
    return deleted
  }

  async sizes(threadIds: readonly string[] | undefined): Promise<ChannelSize[]> {
    const sizes = new ChannelSizes()
    for (const thread of await this.existing(threadIds)) {
      const entries = [...all(await thread.index())].sort((a, b) => a.seq - b.seq)
      for (const entry of entries) {
        const held = await thread.reader.event<CheckpointData>(entry)
        for (const [channel, slot] of await this.reader.slots(thread, held)) {
          sizes.add(channel, slot)
        }
      }
    }
    return sizes.report()
  }

  async *search(
    filter: Readonly<Record<string, unknown>>,
    threadIds: readonly string[] | undefined,
  ): AsyncGenerator<FoundCheckpoint> {
    for (const thread of await this.existing(threadIds)) {
      for (const entry of all(await thread.index())) {
        const data = await dataOf(thread, entry)
        const metadata = this.reader.metadataOf(data)
        const labels = liveOf(structuredClone(data.labels ?? {}), this.classes) as Record<
          string,
          unknown
        >
        if (!isMatch({ ...labels, ...metadata }, filter)) continue
        const { ns, id } = entry
        yield { thread: thread.id, ns, id, ts: data.ts, metadata, labels }
      }
    }
  }

  private async existing(ids: readonly string[] | undefined): Promise<Thread[]> {
    const threads: Thread[] = []
    for (const id of ids ?? (await this.threads.ids())) {
      const thread = this.threads.get(id)
      if (await thread.exists()) threads.push(thread)
    }
    return threads
  }
}

function* all(index: Awaited<ReturnType<Thread['index']>>): Generator<CheckpointEntry> {
  for (const ns of index.namespaces()) {
    for (const id of [...index.ids(ns)].reverse()) yield index.get(ns, id) as CheckpointEntry
  }
}

/** Not so of a thread that was deleted, whose run is still there. */
async function hasCheckpoints(thread: Thread): Promise<boolean> {
  return (await thread.exists()) && !(await thread.index()).isEmpty
}

/** What is no number would be less than any: all checkpoints would go. */
function checkNumber(name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0) return
  throw new DaglogError(
    'USAGE',
    `prune: ${name} is ${String(value)}, and a number of at least 0 is needed; nothing was deleted. Try: { ${name}: 1 }`,
    { name },
  )
}

async function dataOf(thread: Thread, entry: CheckpointEntry): Promise<CheckpointData> {
  return (await thread.reader.event<CheckpointData>(entry, true)).data
}
