/**
 * A run as of one of its events: `RUN@SEQ`.
 */
import { DaglogError } from '../core/errors.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'

export interface RunAt {
  readonly view: RunView
  /** The seq that was asked for; it exists. */
  readonly at?: number
}

/** @throws RUN_NOT_FOUND, RUN_AMBIGUOUS, SEQ_NOT_FOUND */
export async function runAt(store: Store, reference: string): Promise<RunAt> {
  const parts = /^(.+)@(\d+)$/s.exec(reference)
  if (parts === null || (await isRun(store, reference)))
    return { view: await store.inspectRun(reference) }
  const view = await store.inspectRun(parts[1] as string)
  const at = Number(parts[2])
  await requireSeq(view, at)
  return { view, at }
}

/** An id may itself end in `@` and digits. */
async function isRun(store: Store, reference: string): Promise<boolean> {
  return (await store.context.backend.listRuns()).some(({ id }) => id === reference)
}

/** @throws SEQ_NOT_FOUND */
export async function requireSeq(view: RunView, seq: number): Promise<void> {
  if (Number.isSafeInteger(seq) && (await view.headAt(seq)) !== undefined) return
  const last = (await view.head())?.seq
  throw new DaglogError(
    'SEQ_NOT_FOUND',
    `run ${view.id} has no event ${seq}; ${last === undefined ? 'it has none' : `its last is ${last}`}; try: daglog show ${view.id}`,
    { run: view.id, seq },
  )
}
