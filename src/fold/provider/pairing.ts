/**
 * Every call gets exactly one result, directly behind the message that asked; every result has its
 * call.
 * Knows calls and results by id and place, not what a provider's form of them is. Ids are not
 * unique in a run: a result belongs to the latest message before it that asks under its id.
 */
import type { Block, Dialect, Entry, Lint } from './view.js'

interface Asked {
  /** The place of the message that asks, among the entries. */
  readonly entry: number
  /**
   * Its calls under one id that still wait: more than one where a model used it twice in a message.
   */
  waiting: number
}

/** The entries, with results behind what they answer, ready to be assembled. */
export function paired(entries: readonly Entry[], dialect: Dialect, lint: Lint): Entry[] {
  const latest = new Map<string, Asked>()
  const results: Block[][] = entries.map(() => [])
  const rest: Entry[] = []
  let said = -1
  for (const [index, entry] of entries.entries()) {
    const others: Block[] = []
    for (const block of entry.blocks) {
      if (block.kind !== 'result') {
        others.push(block)
        continue
      }
      const asked = place(block, latest, lint)
      if (asked === undefined) continue
      if (said > asked.entry) lint.add(block.at, 'result-moved', `result of ${block.id}`)
      results[asked.entry]?.push(block)
    }
    rest.push(others.length === entry.blocks.length ? entry : withBlocks(entry, others))
    if (others.length > 0) said = index
    noteCalls(entry, index, latest)
  }
  return rest.flatMap((entry, index) => {
    const whole = results[index] as Block[]
    const closed = answered(entry, whole, dialect, lint)
    if (closed.results.length === 0) return [closed.entry]
    const at = (closed.results[0] as Block).at
    return [closed.entry, { at, role: 'user', blocks: closed.results } as Entry]
  })
}

function place(result: Block, latest: Map<string, Asked>, lint: Lint): Asked | undefined {
  const asked = latest.get(result.id ?? '')
  if (asked === undefined) {
    lint.add(result.at, 'result-orphan', `result of ${result.id}, which nothing asked for`)
    return undefined
  }
  if (asked.waiting === 0) {
    lint.add(result.at, 'result-duplicate', `another result of ${result.id}`)
    return undefined
  }
  asked.waiting -= 1
  return asked
}

function noteCalls(entry: Entry, index: number, latest: Map<string, Asked>): void {
  for (const { kind, id = '' } of entry.blocks) {
    if (kind !== 'call') continue
    const asked = latest.get(id)
    if (asked?.entry === index) asked.waiting += 1
    else latest.set(id, { entry: index, waiting: 1 })
  }
}

/** The results of an entry's calls, the missing ones made up, in the order in which they came. */
function answered(
  entry: Entry,
  found: readonly Block[],
  dialect: Dialect,
  lint: Lint,
): { entry: Entry; results: readonly Block[] } {
  const left = new Map<string | undefined, number>()
  for (const { id } of found) left.set(id, (left.get(id) ?? 0) + 1)
  const results = [...found]
  const unanswerable: Block[] = []
  for (const call of entry.blocks) {
    if (call.kind !== 'call') continue
    const count = left.get(call.id) ?? 0
    left.set(call.id, count - 1)
    if (count > 0) continue
    const made = dialect.missingResult(call)
    lint.add(call.at, 'call-unanswered', `call ${call.id}${made ? '' : ', which is left out'}`)
    if (made === undefined) unanswerable.push(call)
    else results.push(made)
  }
  if (unanswerable.length === 0) return { entry, results }
  const kept = entry.blocks.filter((block) => !unanswerable.includes(block))
  return { entry: withBlocks(entry, kept), results }
}

/** The entry with other blocks: it is no longer as it was given. */
export function withBlocks(entry: Entry, blocks: readonly Block[]): Entry {
  const { at, role } = entry
  return { at, role, blocks }
}
