/** `daglog bisect GOOD BAD [--step ID]` */
import { type Bisection, bisectRuns, type CauseKind, type CauseLink } from '../store/bisect.js'
import type { Call } from './call.js'
import { pieceWords } from './dag-rows.js'
import { differenceWords, payloadLines, withPatch } from './diff-words.js'
import type { ExitCode } from './exit-codes.js'
import type { Output, Piece } from './output.js'
import { countText } from './quantity.js'

export async function bisect(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const good = await store.inspectRun(call.argument('GOOD'))
  const bad = await store.inspectRun(call.argument('BAD'))
  const step = call.text('step')
  const found = await bisectRuns({ good, bad, ...(step === undefined ? {} : { step }) })
  const { diff, problems } = found
  for (const { seq, message } of problems)
    out.alarm(['red', 'cannot be read: '], `${bad.id} seq ${seq}: ${message}`)
  if (out.json) printJson(out, found, { good: good.id, bad: bad.id })
  else {
    out.line(['dim', 'good   '], good.id, ['dim', `  ${countText(diff.steps.left, 'step')}`])
    out.line(['dim', 'bad    '], bad.id, ['dim', `  ${countText(diff.steps.right, 'step')}`])
    printFound(out, found)
  }
  if (problems.length > 0) return 3
  if (found.first !== undefined) return 0
  return diff.odd.left.length + diff.odd.right.length === 0 ? 4 : 5
}

const SIDES = { left: 'good', right: 'bad' } as const

const WHY = {
  asked: 'how that came to the step asked about',
  failed: 'how that came to the first step that failed',
  last: 'how that came to the last step that differs',
} as const

function printFound(out: Output, { first, chain, target, diff }: Bisection): void {
  out.line()
  if (first === undefined) out.line(['green', 'they part nowhere'])
  else {
    out.line(['bold', 'they part at '], ...differenceWords(first, SIDES))
    for (const pieces of payloadLines(first)) out.line('    ', ...pieces)
  }
  if (target !== undefined) {
    out.line()
    out.line(['bold', WHY[target]], ['dim', ' (in the bad run)'])
    for (const link of chain) for (const words of linkLines(link)) out.line(...words)
  }
  if ((diff.cut ?? 0) > 0)
    out.line(['yellow', `${countText(diff.cut ?? 0, 'more difference')} not looked into`])
  for (const [side, events] of Object.entries({ good: diff.odd.left, bad: diff.odd.right }))
    for (const { seq, type, why } of events)
      out.line(['yellow', 'not compared: '], `${side} seq ${seq} ${type}: ${why}`)
}

const BY: Readonly<Record<CauseKind, string>> = {
  inferred: 'was given a value of it',
  declared: 'declares that it uses it',
  nested: 'runs inside it',
  outcome: 'is around it',
  before: 'comes after it; no value connects them',
}

function linkLines({ id, path, seqs, kinds, by, pieces = [] }: CauseLink): Piece[][] {
  const place = `${seqs.start}${seqs.end === undefined ? '' : `-${seqs.end}`}`
  const head: Piece[] = ['  ', ['bold', id], ' ', ['cyan', path], ['dim', `  seq ${place}`]]
  head.push(['yellow', `  ${kinds.join(', ')}`])
  if (by === undefined) return [head]
  return [
    head,
    [['dim', `      ${BY[by]}`]],
    ...pieces.map((piece): Piece[] => ['      ', ...pieceWords(piece)]),
  ]
}

function printJson(
  out: Output,
  { first, chain, target, diff, problems }: Bisection,
  runs: { readonly good: string; readonly bad: string },
): void {
  out.document('daglog.bisect/1', {
    ok: first !== undefined && problems.length === 0,
    ...runs,
    same: diff.same,
    ...(first === undefined ? {} : { first: withPatch(first) }),
    ...(target === undefined ? {} : { target }),
    chain,
    ...((diff.cut ?? 0) > 0 && { cut: diff.cut }),
    steps: { good: diff.steps.left, bad: diff.steps.right, same: diff.steps.same },
    odd: { good: diff.odd.left, bad: diff.odd.right },
    problems,
  })
}
