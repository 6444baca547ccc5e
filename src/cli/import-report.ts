/**
 * `daglog import` of transcripts: progress while it runs, a line a run, and what is not in there.
 */
import { DaglogError } from '../core/errors.js'
import {
  type ImportedFile,
  type ImportReport,
  importTranscripts,
} from '../importers/import-transcripts.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { Progress } from './progress.js'
import { bytesText, countText } from './quantity.js'
import { version } from './version.js'

export async function importTranscriptRuns(
  call: Call,
  paths: readonly string[],
): Promise<ExitCode> {
  const { out } = call
  const store = await call.store({ create: true })
  const from = call.text('from')
  const progress = new Progress(out)
  let report: ImportReport
  try {
    report = await importTranscripts(store, paths, {
      program: version(),
      from: from === 'auto' ? undefined : from,
      id: call.text('id'),
      onProgress: ({ files, bytes }) =>
        progress.say(`${countText(files, 'session')}  ${bytesText(bytes)} read`),
    })
  } finally {
    progress.done()
  }
  const faults = report.files.reduce((sum, { totals }) => sum + (totals?.faults ?? 0), 0)
  const exit = report.leftOut.length > 0 ? 5 : 0
  if (out.json) out.document('daglog.import/1', { ok: exit === 0, ...documentOf(report) })
  else print(out, report, faults)
  if (report.files.length === 0 && report.leftOut.length === 0)
    throw new DaglogError(
      'USAGE',
      `no transcript was found in ${paths.join(', ')}; try: a folder such as ~/.claude or ~/.codex`,
      { paths },
    )
  return exit
}

function documentOf(report: ImportReport): Readonly<Record<string, unknown>> {
  const runs = report.files.map(({ totals, lines, bytes, ...file }) => ({
    ...file,
    lines,
    bytes,
    skipped: [],
    ...(totals === undefined ? {} : { totals }),
  }))
  const { leftOut, passedOver, neverRecorded } = report
  return { runs, leftOut, passedOver, neverRecorded }
}

function print(out: Output, report: ImportReport, faults: number): void {
  for (const file of report.files) {
    if (file.outcome === 'same' || file.outcome === 'older') continue
    out.line(['bold', file.run], ...words(file))
  }
  const of = (outcome: ImportedFile['outcome']): number =>
    report.files.filter((file) => file.outcome === outcome).length
  const bytes = report.files.reduce((sum, file) => sum + file.bytes, 0)
  out.note(
    `${countText(report.files.length, 'session')}: ${of('new')} new, ${of('grown')} grown, ` +
      `${of('rewritten')} rewritten, ${of('same') + of('older')} as before; ${bytesText(bytes)} taken in`,
  )
  if (faults > 0)
    out.note(`${countText(faults, 'place')} could not be read as a record; their bytes are kept`)
  for (const [format, things] of Object.entries(report.neverRecorded))
    out.detail(`${format} never records: ${things.join('; ')}`)
  for (const { path, reason } of report.leftOut)
    out.alarm(['red', 'left out: '], `${path} ${reason}`)
}

function words({ outcome, lines, totals, source }: ImportedFile): string[] {
  const title = totals?.title === undefined ? source : totals.title
  const counts =
    totals === undefined
      ? ''
      : `  ${countText(totals.turns, 'turn')}  ${countText(totals.inputTokens + totals.outputTokens, 'token')}`
  return [`  ${outcome}  ${countText(lines, 'line')}${counts}  ${title}`]
}
