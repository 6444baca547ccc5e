/**
 * What the events of a thread hold, read by place and kept for a while.
 * Knows the log of the thread and of those that it begins in; what it means is the saver's
 * business.
 */
import type { Ref } from '../../core/body.js'
import { DaglogError } from '../../core/errors.js'
import type { EventMap } from '../../core/event-map.js'
import type { Hash } from '../../core/hash.js'
import { CHECKPOINT_TYPE, WRITES_TYPE } from '../../fold/langgraph-thread.js'
import type { StoreContext } from '../../store/context.js'
import { RunView } from '../../store/run-view.js'
import type { Store } from '../../store/store.js'
import type { Tree } from '../../value/tree.js'
import type { EventPlace } from './thread-index.js'

export type CheckpointData = EventMap['langgraph/checkpoint']
export type WritesData = EventMap['langgraph/writes']

/** An event as it was written, its tree unread. */
export interface Held<D> extends EventPlace {
  readonly data: D
  readonly root: Hash | undefined
  /** The channels that a checkpoint of ours has a value of; else its tree knows. */
  readonly channels?: ReadonlySet<string>
}

/** Events that are kept in memory, for one thread. */
const EVENTS_MAX = 8192
/** What is read at once where one after the other is asked for. */
const EVENTS_AHEAD = 1024

type Data = CheckpointData | WritesData

export class ThreadReader {
  readonly #held = new Map<string, Held<Data>>()
  readonly #views = new Map<Hash, RunView>()

  constructor(
    readonly store: Store,
    /** Of the thread's own run; another one from call to call. */
    readonly own: () => Promise<RunView>,
  ) {}

  /** What was just written. */
  keep(held: Held<Data>): void {
    if (this.#held.size >= EVENTS_MAX) this.#held.clear()
    this.#held.set(keyOf(held), held)
  }

  /** @param ahead Whether the events before it are likely to be asked for next. */
  async event<D extends Data>(place: EventPlace, ahead = false): Promise<Held<D>> {
    const key = keyOf(place)
    const known = this.#held.get(key)
    if (known !== undefined) return known as Held<D>
    const from = ahead ? Math.max(0, place.seq - EVENTS_AHEAD) : place.seq
    const view = await this.viewOf(place)
    const types = [CHECKPOINT_TYPE, WRITES_TYPE] as const
    for await (const event of view.events({ from, to: place.seq, types, trees: 'refs' })) {
      const data = event.data as Data | undefined
      if (event.redacted === true || typeof data !== 'object' || data === null) continue
      const root = event.refs?.find(({ kind }: Ref) => kind === 'tree')?.root
      this.keep({ run: place.run, seq: event.seq, data, root })
    }
    const found = this.#held.get(key)
    if (found !== undefined) return found as Held<D>
    throw new DaglogError(
      'CHAIN_BROKEN',
      `run ${view.id}, seq ${place.seq}: what a checkpoint needs cannot be read; earlier ones can. Try: daglog verify ${view.id}`,
      { run: view.id, seq: place.seq },
    )
  }

  /** The tree of an event, if it has one. */
  async tree(held: Held<Data>): Promise<Tree | undefined> {
    if (held.root === undefined) return undefined
    return (await this.viewOf(held)).treeOf(held.root, held.seq)
  }

  async viewOf({ run }: EventPlace): Promise<RunView> {
    if (run === undefined) return this.own()
    let view = this.#views.get(run)
    if (view === undefined) {
      view = await viewOfIdentity(this.store.context, run)
      this.#views.set(run, view)
    }
    return view
  }
}

function keyOf({ run, seq }: EventPlace): string {
  return run === undefined ? String(seq) : `${run} ${seq}`
}

/**
 * The run that a copy of a thread begins in. @throws RUN_NOT_FOUND where it is not in the store.
 */
export async function viewOfIdentity(context: StoreContext, run: Hash): Promise<RunView> {
  const id = (await context.heads.refresh()).idOf(run)
  if (id !== undefined) return new RunView(context, id)
  throw new DaglogError(
    'RUN_NOT_FOUND',
    `a thread was copied from run ${run}, which is not in this store. Try: \`daglog import\` of a bundle that holds it`,
    { run },
  )
}
