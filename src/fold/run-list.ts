/**
 * The list of runs: a fold over the store's log, which notes the head of each run at turn ends, run
 * ends and closes. Listing never opens a run.
 */
import type { Hash } from '../core/hash.js'
import { type Columns, packColumns, unpackColumns } from './columns.js'
import type { PlaceRow, RunSummary } from './run-index.js'

/** Bumped whenever the meaning of a field changes; a snapshot of another version is not used. */
export const RUN_LIST_VERSION = 2

/** What the store's log says of a run: data of `run/head`. */
export interface RunHead {
  readonly id: string
  /** Hash of the run's frame 0: what the run is, whatever it is called. */
  readonly run: Hash
  readonly seq: number
  readonly hash: Hash
  /** Where the head's frame lies in the run's log. */
  readonly at: PlaceRow
  readonly summary: RunSummary
}

/** Data of `run/deleted`. */
export interface RunDeleted {
  readonly id: string
  readonly run: Hash | undefined
  readonly seq: number
  readonly hash: Hash | undefined
}

export class RunList {
  private readonly heads = new Map<string, RunHead>()
  /** By the hash of frame 0; made once it is asked for, since there may be very many. */
  private ids: Map<string, string> | undefined
  private readonly deleted = new Map<string, RunDeleted>()

  apply(type: string, data: unknown): void {
    if (type === 'run/head') {
      const head = data as RunHead
      const known = this.heads.get(head.id)
      // A fenced writer may note late what it last saw; the highest head of a run is the one that
      // counts.
      if (known?.run === head.run && known.seq >= head.seq) return
      this.heads.set(head.id, head)
      this.ids?.set(head.run, head.id)
      if (this.deleted.size > 0) this.deleted.delete(head.run)
    } else if (type === 'run/deleted') {
      const gone = data as RunDeleted
      this.heads.delete(gone.id)
      if (gone.run === undefined || gone.run === null) return
      this.ids?.delete(gone.run)
      this.deleted.set(gone.run, gone)
    }
  }

  /** How many runs there are. */
  get size(): number {
    return this.heads.size
  }

  head(id: string): RunHead | undefined {
    return this.heads.get(id)
  }

  /** The id under which a run, known by the hash of its frame 0, is in this store. */
  idOf(run: string): string | undefined {
    this.ids ??= new Map(Array.from(this.heads.values(), (head) => [head.run, head.id]))
    return this.ids.get(run)
  }

  /** Whether there once was a run with this id that was deleted. */
  hadDeleted(id: string): boolean {
    for (const gone of this.deleted.values()) if (gone.id === id) return true
    return false
  }

  /** What is known of a run that was deleted. */
  gone(run: string): RunDeleted | undefined {
    return this.deleted.get(run)
  }

  all(): IterableIterator<RunHead> {
    return this.heads.values()
  }

  toJSON(): unknown {
    return {
      version: RUN_LIST_VERSION,
      heads: packColumns([...this.heads.values()]),
      deleted: [...this.deleted.values()],
    }
  }

  /** @returns undefined where the snapshot is of another version. */
  static fromJSON(snapshot: unknown): RunList | undefined {
    const from = snapshot as { version?: number; heads: Columns; deleted: RunDeleted[] } | null
    if (from?.version !== RUN_LIST_VERSION) return undefined
    const list = new RunList()
    for (const head of unpackColumns(from.heads) as RunHead[]) list.heads.set(head.id, head)
    for (const gone of from.deleted) if (gone.run !== undefined) list.deleted.set(gone.run, gone)
    return list
  }
}
