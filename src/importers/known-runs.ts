/**
 * The runs of a store by what they were imported from. Told by the store's log alone: no run is opened.
 * Of a source that was rewritten there are several; the newest is the one that goes on.
 */
import type { RunHead } from '../fold/run-list.js'
import type { Store } from '../store/store.js'

export class KnownRuns {
  private readonly newest = new Map<string, RunHead>()

  private constructor() {}

  static async of(store: Store): Promise<KnownRuns> {
    const known = new KnownRuns()
    for (const head of (await store.context.heads.refresh()).all()) known.add(head)
    return known
  }

  /** Heads come in the order in which runs were first noted, so a later one of a session is a later version. */
  add(head: RunHead): void {
    const { imported } = head.summary
    if (imported !== undefined) this.newest.set(keyOf(imported.format, imported.session), head)
  }

  find(format: string, session: string): RunHead | undefined {
    return this.newest.get(keyOf(format, session))
  }
}

function keyOf(format: string, session: string): string {
  return `${format}\n${session}`
}
