/**
 * The state of a LangGraph thread: what the channels of its last checkpoint hold.
 */
import { readableFields } from '../adapters/langgraph/stored-values.js'
import { viewOfIdentity } from '../adapters/langgraph/thread-reader.js'
import { isThreadRun } from '../adapters/langgraph/threads.js'
import { toArray } from '../fold/growing-list.js'
import {
  CHECKPOINT_TYPE,
  type CheckpointRow,
  langgraphThread,
  type ThreadRow,
} from '../fold/langgraph-thread.js'
import type { RunView } from '../store/run-view.js'
import { type Tree, treeFrom } from '../value/tree.js'
import { containerIn, KIND } from '../value/tree-node.js'

/**
 * As of an event: that checkpoint where the event is one, else the last of the graph itself.
 * Undefined where the run is no thread, or has none by then.
 */
export async function threadStateAt(
  view: RunView,
  at: number | undefined,
): Promise<Tree | undefined> {
  if (!isThreadRun(view.id) && (await view.last(CHECKPOINT_TYPE)) === undefined) return undefined
  const { rows } = await view.project(langgraphThread, at === undefined ? {} : { at })
  const row = rowAt(toArray(rows), at)
  if (row === undefined) return undefined
  const [, seq, run] = row
  const holder = run === 0 ? view : await viewOfIdentity(view.context, run)
  const event = await holder.event(seq, { trees: 'refs' })
  const root = event?.refs?.find(({ kind }) => kind === 'tree')?.root
  if (root === undefined) return undefined
  const node = containerIn((await holder.treeOf(root, seq)).root)
  return node === undefined || node.kind === KIND.list ? undefined : treeFrom(readableFields(node))
}

/** A seq is this run's own; the last may be of the run that a copy of a thread begins in. */
function rowAt(rows: readonly ThreadRow[], at: number | undefined): CheckpointRow | undefined {
  const all = rows.filter((row): row is CheckpointRow => row[0] === 'c')
  return (
    all.find(([, seq, run]) => run === 0 && seq === at) ?? all.findLast(([, , , ns]) => ns === 0)
  )
}
