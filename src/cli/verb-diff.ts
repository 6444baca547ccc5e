/** `daglog diff LEFT RIGHT [--limit N]`, two runs or two states of one */
import { DIFFERENCES_MAX, diffRuns, type RunDiff } from '../store/diff.js'
import type { Call } from './call.js'
import { differenceWords, payloadLines, withPatch } from './diff-words.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { countText } from './quantity.js'
import { runAt } from './run-at.js'
import { stateDiff } from './state-diff.js'

const SHOWN_MAX = 20

export async function diff(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const [from, to] = [call.argument('LEFT'), call.argument('RIGHT')]
  const sides = { left: await runAt(store, from), right: await runAt(store, to) }
  const asked = call.number('limit') ?? (out.json ? DIFFERENCES_MAX : SHOWN_MAX)
  const limit = asked === 0 ? Number.MAX_SAFE_INTEGER : asked
  const left = sides.left.view
  const right = sides.right.view
  if (sides.left.at !== undefined || sides.right.at !== undefined) {
    if (left.id === right.id) return stateDiff(out, { ...sides, limit })
    throw call.usage(
      `${from} and ${to} are two runs: they are compared whole, and only states of one run as of events`,
      `daglog diff ${left.id} ${right.id}`,
    )
  }
  const found = await diffRuns({ left, right, limit })
  if (out.json) printJson(out, found, { left: left.id, right: right.id })
  else {
    out.line(['dim', 'left   '], left.id, ['dim', `  ${sizeText(found, 'left')}`])
    out.line(['dim', 'right  '], right.id, ['dim', `  ${sizeText(found, 'right')}`])
    printDiff(out, found)
  }
  if (!found.same) return 1
  return found.odd.left.length + found.odd.right.length === 0 ? 0 : 5
}

function sizeText({ steps, exchanges }: RunDiff, side: 'left' | 'right'): string {
  const text = countText(steps[side], 'step')
  return exchanges === undefined ? text : `${text}, ${countText(exchanges[side], 'exchange')}`
}

/** `3 of 4 steps the same`, and of exchanges, where there are any. */
function sameText({ steps, exchanges }: RunDiff): string {
  const text = (counts: RunDiff['steps'], what: string): string =>
    `${counts.same} of ${countText(Math.max(counts.left, counts.right), what)}`
  const both = exchanges === undefined ? '' : `, ${text(exchanges, 'exchange')}`
  return `${text(steps, 'step')}${both} the same`
}

function printDiff(out: Output, found: RunDiff): void {
  const { same, first, differences, cut = 0, odd, bounded } = found
  out.line()
  if (first !== undefined) {
    out.line(['bold', 'they part at '], ...differenceWords(first))
    for (const pieces of payloadLines(first)) out.line('    ', ...pieces)
    out.line()
  }
  const later = differences.filter((difference) => difference !== first)
  for (const difference of later) {
    out.line(...differenceWords(difference))
    for (const pieces of payloadLines(difference)) out.line('    ', ...pieces)
  }
  if (cut > 0) out.line(['dim', `${countText(cut, 'more difference')}; --limit 0 shows all`])
  if (bounded) out.line(['dim', 'the events are too different to be aligned in the best way'])
  for (const [side, events] of Object.entries(odd))
    for (const { seq, type, why } of events)
      out.line(['yellow', 'not compared: '], `${side} seq ${seq} ${type}: ${why}`)
  out.line(same ? ['green', 'same'] : ['red', 'different'], `  ${sameText(found)}`)
}

function printJson(
  out: Output,
  found: RunDiff,
  runs: { readonly left: string; readonly right: string },
): void {
  const { same, first, differences, ...rest } = found
  out.document('daglog.diff/1', {
    ok: same,
    ...runs,
    same,
    ...(first === undefined ? {} : { first: withPatch(first) }),
    differences: differences.map(withPatch),
    ...rest,
  })
}
