/**
 * What an import of HAR files or cassettes did, in words: what is in the store now, and what such a
 * file cannot carry.
 */
import { resolve } from 'node:path'
import { type HarImported, importHar, type TrafficFormat } from '../http/har-import.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { readInput } from './input-file.js'
import { countText } from './quantity.js'
import { version } from './version.js'

/** Entries that are named; all are counted, and the run says all. */
const NAMED_MAX = 20

export async function importHarRuns(
  call: Call,
  paths: readonly string[],
  format: TrafficFormat,
): Promise<ExitCode> {
  const { out } = call
  const id = call.text('id')
  const store = await call.store({ create: true })
  const runs: HarImported[] = []
  for (const path of paths) {
    const source = { path: resolve(path), bytes: await readInput(path) }
    const run = await importHar(store, source, { program: version(), id, format })
    runs.push(run)
    if (!out.json) printRun(call, run)
  }
  const refused = runs.reduce((sum, run) => sum + run.refused.length, 0)
  if (out.json) out.document('daglog.import/1', { ok: refused === 0, runs })
  return refused === 0 ? 0 : 5
}

function printRun({ out }: Call, run: HarImported): void {
  const { entries, exchanges, refused, lost, neverHeld, outcome } = run
  out.line(run.run, ['dim', `  ${outcome}  ${countText(exchanges, 'exchange')}`])
  for (const { entry, reason } of refused.slice(0, NAMED_MAX))
    out.alarm(['red', 'left out: '], `entry ${entry} ${reason}`)
  const more = refused.length - NAMED_MAX
  if (more > 0) out.alarm(['red', 'left out: '], `${more} more of ${entries} entries`)
  for (const { what, count } of lost) out.note(`not taken over: ${what} (${count})`)
  for (const what of neverHeld) out.note(`not in such a file: ${what}`)
}
