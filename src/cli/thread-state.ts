/**
 * The state of a LangGraph thread: what the channels of its last checkpoint hold.
 */
import { readableFields } from '../adapters/langgraph/stored-values.js'
import { toArray } from '../fold/growing-list.js'
import { CHECKPOINT_TYPE, langgraphThread, type ThreadRow } from '../fold/langgraph-thread.js'
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
  if ((await view.last(CHECKPOINT_TYPE)) === undefined) return undefined
  const { rows } = await view.project(langgraphThread, at === undefined ? {} : { at })
  const row = rowAt(toArray(rows), at)
  if (row === undefined) return undefined
  const event = await view.event(row[1], { trees: 'refs' })
  const root = event?.refs?.find(({ kind }) => kind === 'tree')?.root
  if (root === undefined) return undefined
  const node = containerIn((await view.treeOf(root, row[1])).root)
  return node === undefined || node.kind === KIND.list ? undefined : treeFrom(readableFields(node))
}

/** Of this run's own: a copy of a thread begins with what is in another run. */
function rowAt(rows: readonly ThreadRow[], at: number | undefined): ThreadRow | undefined {
  const own = rows.filter((row) => row[0] === 'c' && row[2] === 0)
  return own.find(([, seq]) => seq === at) ?? own.findLast((row) => row[0] === 'c' && row[3] === 0)
}
