/**
 * The runs of a store by what they were imported from. Told by the store's log alone: no run is opened.
 * Of a source that was rewritten there are several; the newest is the one that goes on.
 */
import type { RunHead } from '../fold/run-list.js'
import type { Store } from '../store/store.js'

/** What an import needs of a run: little, since there may be a hundred thousand. */
export interface KnownRun extends Pick<RunHead, 'id' | 'run' | 'seq' | 'hash'> {
  readonly size: number | undefined
  readonly mtime: number | undefined
  readonly bytes: number
}

export class KnownRuns {
  private readonly newest = new Map<string, KnownRun>()

  private constructor() {}

  static async of(store: Store): Promise<KnownRuns> {
    const known = new KnownRuns()
    for (const head of (await store.context.heads.refresh()).all()) known.add(head)
    return known
  }

  /** Heads come in the order in which runs were first noted, so a later one of a session is a later version. */
  add({ id, run, seq, hash, summary: { imported } }: RunHead): void {
    if (imported === undefined) return
    const { format, session, size, mtime, bytes = 0 } = imported
    this.newest.set(keyOf(format, session), { id, run, seq, hash, size, mtime, bytes })
  }

  find(format: string, session: string): KnownRun | undefined {
    return this.newest.get(keyOf(format, session))
  }
}

function keyOf(format: string, session: string): string {
  return `${format}\n${session}`
}
