/**
 * The one sanctioned erasure of a whole log. It is recorded in the store's log, so that a run that
 * is gone can be told from one that never was.
 */
import { DaglogError } from '../core/errors.js'
import type { StoreContext } from './context.js'
import { RunView } from './run-view.js'

export interface DeleteOptions {
  /** Also where other runs begin in it, which then are left without their beginning. */
  readonly force?: boolean
  /** Also the runs below it, and those below them, which go first. */
  readonly children?: boolean
}

/**
 * Delete a run: first the fact is noted, durably, then the bytes go. Packed objects stay until gc.
 * @throws RUN_HAS_FORKS where other runs begin in it or are its children, and the options do not
 *   say what is to become of them; RUN_LOCKED.
 */
export async function deleteRun(
  context: StoreContext,
  id: string,
  { force = false, children = false }: DeleteOptions,
): Promise<void> {
  const { backend, heads, program } = context
  const view = new RunView(context, id)
  const list = await heads.refresh()
  const known = list.head(id)
  const identity = (await view.identity()) ?? known?.run
  const below = (kind: string): string[] =>
    [...list.all()]
      .filter(({ summary: { parent } }) => parent?.kind === kind && parent.run === identity)
      .map((head) => head.id)
  const [forks, own] = [below('fork'), below('child')]
  if (forks.length > 0 && !force) throw hasOthers(id, 'is where', forks, 'begin')
  if (own.length > 0 && !children && !force) throw hasOthers(id, 'has', own, 'below it')
  if (children) for (const child of own) await deleteRun(context, child, { force, children })
  if (!(await backend.hasRun(id))) {
    // Somebody removed it by hand; nobody can be writing to it.
    const data = { id, run: identity, seq: known?.seq ?? -1, hash: known?.hash }
    await heads.note([{ type: 'run/deleted', data }])
    return
  }
  const writer = await backend.openWriter({ run: id }, { program })
  try {
    const head = known ?? (await view.head().catch(() => undefined))
    await heads.note([
      { type: 'run/deleted', data: { id, run: identity, seq: head?.seq ?? -1, hash: head?.hash } },
    ])
    await backend.removeRun(id)
  } finally {
    await writer.release()
  }
}

function hasOthers(id: string, verb: string, ids: readonly string[], what: string): DaglogError {
  const shown = ids.slice(0, 3).join(', ')
  const others = `${ids.length} ${ids.length === 1 ? 'other' : 'others'}`
  const instead = what === 'begin' ? 'force' : '{ children: true } (--children), or force'
  return new DaglogError(
    'RUN_HAS_FORKS',
    `run ${id} ${verb} ${others} ${what} (${shown}); try: delete those first, or ${instead}`,
    { run: id, forks: ids },
  )
}
