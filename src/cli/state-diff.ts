/**
 * What changed in the state of one run: `daglog diff RUN@A RUN@B`.
 */
import { diffTrees, type Tree, type TreeChange } from '../value/tree.js'
import { changeWords } from './diff-words.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { countText } from './quantity.js'
import type { RunAt } from './run-at.js'
import { threadStateAt } from './thread-state.js'
import { noState } from './verb-state.js'

interface Side {
  readonly seq: number
  readonly tree: Tree | undefined
}

/**
 * Print what makes the left state the right one; of a side that has none, all is missing.
 * @param limit How many changes are shown; all are counted.
 * @throws POINTER_NOT_FOUND where neither side has a state.
 */
export async function stateDiff(
  out: Output,
  { left, right, limit }: { readonly left: RunAt; readonly right: RunAt; readonly limit: number },
): Promise<ExitCode> {
  const [from, to] = [await sideOf(left), await sideOf(right)]
  if (from.tree === undefined && to.tree === undefined) throw noState(right.view, right.at)
  const changes: TreeChange[] = []
  let more = 0
  for (const change of changesOf(from.tree, to.tree)) {
    if (changes.length < limit) changes.push(change)
    else more += 1
  }
  const same = changes.length + more === 0
  const run = left.view.id
  if (out.json) {
    const facts = { ok: same, run, left: factsOf(from), right: factsOf(to), same }
    out.document('daglog.state-diff/1', { ...facts, changes, ...(more > 0 && { more }) })
  } else {
    out.line(['dim', 'state  '], run, ['dim', `  seq ${from.seq} -> seq ${to.seq}`])
    for (const change of changes) out.line(...changeWords(change))
    if (more > 0) out.line(['dim', `${countText(more, 'more change')}; --limit 0 shows all`])
    const count = changes.length + more
    out.line(same ? ['green', 'same'] : ['red', 'different'], `  ${countText(count, 'change')}`)
  }
  return same ? 0 : 1
}

async function sideOf({ view, at }: RunAt): Promise<Side> {
  const seq = at ?? (await view.head())?.seq ?? -1
  return { seq, tree: (await view.stateAt(seq)) ?? (await threadStateAt(view, seq)) }
}

function factsOf({ seq, tree }: Side): Record<string, unknown> {
  return { seq, ...(tree !== undefined && { root: tree.hash() }) }
}

function changesOf(left: Tree | undefined, right: Tree | undefined): Iterable<TreeChange> {
  if (left !== undefined && right !== undefined) return diffTrees(left, right)
  if (right !== undefined) return [{ op: 'add', pointer: '', right: right.view() }]
  return left === undefined ? [] : [{ op: 'remove', pointer: '', left: left.view() }]
}
