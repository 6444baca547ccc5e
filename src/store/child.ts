/**
 * A run that another one begins: a sub-agent's. It is linked when it begins, not when it ends, so
 * no crash leaves one that nobody knows the parent of.
 */
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { Run } from './run.js'
import type { RunBeginning } from './run-beginning.js'

export interface ChildOptions extends Omit<RunBeginning, 'parent' | 'closing' | 'depth'> {
  /** The exact id; one is made of date and name unless told. */
  readonly id?: string
}

/** What the store that opened a run does for it. */
export interface Spawner {
  newId(name: string): string
  hasRun(id: string): Promise<boolean>
  /** @throws RUN_EXISTS */
  create(options: RunBeginning & { readonly id: string }): Promise<Run>
}

/**
 * The parent says first that the child is to begin, then the child's first frame names that event.
 * After a crash in between there is no child, and the parent tells which one there should be.
 * @throws RUN_EXISTS where `id` is taken.
 */
export async function spawnChild(parent: Run, options: ChildOptions, store: Spawner): Promise<Run> {
  const { id: asked, name } = options
  for (;;) {
    const id = asked ?? store.newId(name ?? 'child')
    if (await store.hasRun(id)) {
      if (asked === undefined) continue
      throw new DaglogError(
        'RUN_EXISTS',
        `run ${id} is there already; try: another id, or store.openRun(id)`,
        { id },
      )
    }
    const depth = ((await parent.summary()).depth ?? 0) + 1
    const data = encodeData({ id, ...(name === undefined ? {} : { name }), depth })
    const [said] = await parent.appendEncoded([{ type: 'run/child', data }])
    const run = await parent.identity()
    if (said === undefined || run === undefined) {
      throw new DaglogError('INVARIANT', `run ${parent.id} has no frame 0`)
    }
    return store.create({ ...options, id, depth, parent: { run, ...said, kind: 'child' } })
  }
}
