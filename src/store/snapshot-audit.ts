/**
 * Which snapshots of a run there are, and which of them can be used: for `doctor`. One that cannot
 * costs time and nothing else; it is replaced by the next that is written.
 */
import { filesTouched } from '../fold/files-touched.js'
import { messages } from '../fold/messages.js'
import type { AnyProjection } from '../fold/projection.js'
import { builtInReaders } from '../fold/readers.js'
import { RunIndex } from '../fold/run-index.js'
import { steps } from '../fold/steps.js'
import { todo } from '../fold/todo.js'
import { toolPairs } from '../fold/tool-pairs.js'
import { turns } from '../fold/turns.js'
import type { StoreContext } from './context.js'
import { FoldSnapshots } from './fold-snapshots.js'
import { shapeOf } from './log-shape.js'
import { type RunView, snapshotKey } from './run-view.js'

const BUILT_IN: readonly AnyProjection[] = [messages, turns, todo, steps, filesTouched, toolPairs]

export interface SnapshotAudit {
  readonly found: number
  /** What those are of that do not fit the log, or are of another version. */
  readonly unusable: readonly string[]
}

export async function auditSnapshots(context: StoreContext, view: RunView): Promise<SnapshotAudit> {
  const shape = await shapeOf(view.log)
  const unusable: string[] = []
  let found = 0
  const key = snapshotKey(view.id)
  if ((await context.backend.readCache(key)) !== undefined) {
    found += 1
    const file = await context.snapshots.read(key, view.log, shape)
    if (file === undefined || RunIndex.fromJSON(file.state) === undefined) unusable.push('index')
  }
  const snapshots = new FoldSnapshots(context, view.id, await builtInReaders())
  for (const projection of BUILT_IN) {
    const counted = await snapshots.count(projection, view.log, shape)
    found += counted.found
    if (counted.usable < counted.found) unusable.push(projection.key)
  }
  return { found, unusable }
}
