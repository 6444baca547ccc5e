/**
 * The runs of a store by what they were imported from. Told by the store's log: no run is opened
 * but those that it does not know, since it was lost or an import died before it noted them.
 * Of a source that was rewritten there are several; the newest is the one that goes on.
 */
import type { RunHead } from '../fold/run-list.js'
import { RunView, runIdAt } from '../store/run-view.js'
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
    const list = await store.context.heads.refresh()
    for (const head of list.all()) known.add(head)
    const unlisted: string[] = []
    for (const place of await store.context.backend.listRuns()) {
      const id = await runIdAt(store.context, place)
      if (list.head(id) === undefined) unlisted.push(id)
    }
    for (const id of unlisted.sort(BY_NUMBER)) {
      try {
        await known.addView(new RunView(store.context, id))
      } catch (error) {
        store.context.notices.report('gap', `run ${id} cannot be read`, error)
      }
    }
    return known
  }

  private async addView(view: RunView): Promise<void> {
    const [summary, head, run] = [await view.summary(), await view.head(), await view.identity()]
    if (head !== undefined && run !== undefined) this.add({ id: view.id, run, ...head, summary })
  }

  /**
   * Heads come in the order in which runs were first noted, so a later one of a session is a later
   * version.
   */
  add({
    id,
    run,
    seq,
    hash,
    summary: { imported },
  }: Pick<RunHead, 'id' | 'run' | 'seq' | 'hash' | 'summary'>): void {
    if (imported === undefined) return
    const { format, session, size, mtime, bytes = 0 } = imported
    this.newest.set(keyOf(format, session), { id, run, seq, hash, size, mtime, bytes })
  }

  find(format: string, session: string): KnownRun | undefined {
    return this.newest.get(keyOf(format, session))
  }
}

/** `x.2` before `x.10`: versions of one session in their order. */
const BY_NUMBER = new Intl.Collator('en', { numeric: true }).compare

function keyOf(format: string, session: string): string {
  return `${format}\n${session}`
}
