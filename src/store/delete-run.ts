/**
 * The one sanctioned erasure of a whole log. It is recorded in the store's log, so that a run that is
 * gone can be told from one that never was.
 */
import { DaglogError } from '../core/errors.js'
import type { StoreContext } from './context.js'
import { RunView } from './run-view.js'

/**
 * Delete a run: first the fact is noted, durably, then the bytes go. Packed objects stay until gc.
 * @throws RUN_HAS_FORKS where other runs begin in it and `force` is not given; RUN_LOCKED.
 */
export async function deleteRun(
  context: StoreContext,
  id: string,
  { force }: { readonly force: boolean },
): Promise<void> {
  const { backend, heads, program } = context
  const view = new RunView(context, id)
  const list = await heads.refresh()
  const known = list.head(id)
  const identity = (await view.identity()) ?? known?.run
  const forks = [...list.all()].filter(
    ({ summary }) => summary.parent?.kind === 'fork' && summary.parent.run === identity,
  )
  if (forks.length > 0 && !force) {
    const ids = forks.map((fork) => fork.id)
    throw new DaglogError(
      'RUN_HAS_FORKS',
      `run ${id} is where ${ids.length} others begin (${ids.slice(0, 3).join(', ')}); try: delete those first, or force`,
      { run: id, forks: ids },
    )
  }
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
