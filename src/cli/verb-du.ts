/** `daglog du` */
import type { DuTotals, RunUsage } from '../store/du.js'
import { printable } from '../value/preview.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { bytesText } from './quantity.js'

export async function du(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const { runs, totals } = await store.du()
  const whole = runs.every(({ problem }) => problem === undefined)
  if (out.json) {
    const rows = runs.map(({ id, ...numbers }) => ({ run: id, ...numbers }))
    out.document('daglog.du/1', { ok: whole, store: store.place, runs: rows, totals })
  } else {
    if (runs.length > 0) printTable(out, runs)
    printTotals(out, totals)
  }
  for (const { id, problem } of runs) {
    if (problem !== undefined) out.note(['yellow', id], ` is not counted whole: ${problem}`)
  }
  return whole ? 0 : 5
}

const HEADINGS = ['run', 'log', 'on disk', 'values', 'only its own', 'shared', 'unsealed'] as const

function printTable(out: Output, runs: readonly RunUsage[]): void {
  const rows = runs.map(({ id, log, logStored, values, unique, shared, open }) => [
    printable(id),
    ...[log, logStored, values, unique, shared, open].map(bytesText),
  ])
  const widths = HEADINGS.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => (row[at] as string).length)),
  )
  const cells = (row: readonly string[]): string[] =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0)))
  out.line(['dim', cells(HEADINGS).join('  ')])
  for (const row of rows) {
    const [id = '', ...numbers] = cells(row)
    out.line(['bold', id], `  ${numbers.join('  ')}`)
  }
}

function printTotals(out: Output, totals: DuTotals): void {
  const { logical, unique, stored, packs, open, logs, ratio } = totals
  out.line(`as recorded  ${bytesText(logical)}`)
  out.line(`each once    ${bytesText(unique)}`)
  const parts = `packs ${bytesText(packs)}, unsealed ${bytesText(open)}, logs ${bytesText(logs)}`
  out.line(`on disk      ${bytesText(stored)} (${parts})`)
  out.line(`ratio        ${ratio.toFixed(1)} bytes recorded for each on disk`)
}
