/**
 * What `verify` says to people: the level that was reached and what it proves, never more.
 */
import type { RunReport } from '../store/verify-report.js'
import type { StoreLogReport } from '../store/verify-store.js'
import type { Output, Piece } from './output.js'
import { countText, durationText, hashText } from './quantity.js'

/** One line for a run; below it a line for each thing that is wrong, missing or worth knowing. */
export function printReport(out: Output, report: RunReport & { readonly ms: number }): void {
  const { run, events, objects, head, problems, problemsMore, incomplete, redacted, stray } = report
  const words: Piece[] = [verdict(report), '  ', ['bold', run]]
  words.push(`  ${countText(events, 'event')}  ${countText(objects, 'object')}`)
  if (head !== undefined) words.push(`  head ${head.seq}:${hashText(head.hash)}`)
  words.push(`  ${proven(report)}`, ['dim', `  ${durationText(report.ms)}`])
  out.line(...words)
  for (const problem of problems) printProblem(out, run, problem)
  if (problemsMore > 0) out.line(`      ${countText(problemsMore, 'more problem')}`)
  for (const what of incomplete) out.line(['yellow', '      incomplete: '], what)
  if (redacted.length > 0)
    out.line(
      `      redacted, and said so in the log: seq ${redacted.slice(0, 10).join(', ')}${redacted.length > 10 ? ', ...' : ''}`,
    )
  for (const { segment, offset, bytes } of stray) {
    out.line(`      stray: ${bytes} bytes at ${offset} of segment ${segment}`)
    out.line('        a writer that had lost the run wrote them; they were never acknowledged')
  }
}

export function printStoreLog(out: Output, { ok, problems, incomplete }: StoreLogReport): void {
  if (!ok) out.line(['red', 'BAD'], "  the store's log: heads after the damage are not known")
  for (const problem of problems) printProblem(out, "the store's log", problem)
  for (const what of incomplete) out.line(['yellow', 'incomplete'], `  ${what}`)
}

function verdict({ ok, incomplete }: RunReport): Piece {
  if (!ok) return ['red', 'BAD']
  return incomplete.length === 0 ? ['green', 'ok'] : ['yellow', 'incomplete']
}

/** What was held against what. */
function proven({ ok, level, head, coveredSeq, problems, problemsMore }: RunReport): string {
  if (!ok) return countText(problems.length + problemsMore, 'problem')
  const words = {
    none: 'holds nothing that could be checked',
    'self-consistent': "is consistent with itself; the store's log knows no head of it",
    'head-log': "matches the store's head log",
    anchored: 'matches the head given',
  }[level]
  const behind = head !== undefined && coveredSeq >= 0 && coveredSeq < head.seq && level !== 'none'
  return behind ? `${words} up to seq ${coveredSeq}, then is consistent with itself` : words
}

function printProblem(out: Output, run: string, problem: RunReport['problems'][number]): void {
  const { kind, seq, segment, byte, reason, expected, found } = problem
  const place = [`seq ${seq}`]
  if (segment !== undefined) place.push(`segment ${segment}`)
  if (byte !== undefined) place.push(`byte ${byte}`)
  out.line(['red', `      ${kind}: `], `${run}, ${place.join(', ')}: ${reason}`)
  if (expected !== undefined) out.line(`        expected ${expected}`)
  if (found !== undefined) out.line(`        found    ${found}`)
}
