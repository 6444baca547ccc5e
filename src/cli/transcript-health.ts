/**
 * `daglog doctor PATH`: what is wrong with transcripts of other programs, and what an import would save.
 */
import type { Finding } from '../importers/examine.js'
import {
  type ExaminedFile,
  examineFiles,
  type TranscriptHealth,
} from '../importers/examine-files.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output, Style } from './output.js'
import { Progress } from './progress.js'
import { bytesText, countText } from './quantity.js'

/** Findings of one kind in one file that are printed; `--json` has more. */
const SHOWN_MAX = 5

/** What of a file cannot be read as it was written; the rest is for people to know. */
const BROKEN = new Set(['torn', 'fused', 'zeros', 'not-utf8', 'not-json'])

export async function examineTranscripts(call: Call, paths: readonly string[]): Promise<ExitCode> {
  const { out } = call
  const progress = new Progress(out)
  let health: TranscriptHealth
  try {
    health = await examineFiles(paths, (files, bytes) =>
      progress.say(`${countText(files, 'session')}  ${bytesText(bytes)} read`),
    )
  } finally {
    progress.done()
  }
  const broken = health.files.some(({ counts }) =>
    Object.keys(counts).some((kind) => BROKEN.has(kind)),
  )
  const exit = broken || health.leftOut.length > 0 ? 5 : 0
  if (out.json) out.document('daglog.doctor-transcripts/1', { ok: exit === 0, ...health })
  else print(out, health)
  return exit
}

function print(out: Output, health: TranscriptHealth): void {
  for (const file of health.files) printFile(out, file)
  for (const { path, reason } of health.leftOut)
    out.line(['red', 'left out: '], `${path} ${reason}`)
  const { files, bytes, duplicateBytes, storedBytes } = health
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const share = bytes === 0 ? 0 : Math.round((duplicateBytes / bytes) * 100)
  out.line()
  out.line([
    'bold',
    `${countText(files.length, 'session')}, ${countText(lines, 'line')}, ${bytesText(bytes)}`,
  ])
  for (const [kind, count] of Object.entries(totals(files)))
    out.line('  ', [styleOf(kind), kind.padEnd(16)], `${count.toLocaleString('en-US')}`)
  out.line(`  ${'duplicate bytes'.padEnd(16)}${bytesText(duplicateBytes)} (${share} %)`)
  out.line(
    `  ${'in a store'.padEnd(16)}${bytesText(storedBytes)}`,
    bytes > 0 && storedBytes > 0 ? `: ${(bytes / storedBytes).toFixed(1)} times smaller` : '',
  )
}

function printFile(out: Output, { path, counts, findings }: ExaminedFile): void {
  if (findings.length === 0) return
  out.line(['bold', path])
  for (const [kind, count] of Object.entries(counts)) {
    const shown = findings.filter((finding) => finding.kind === kind).slice(0, SHOWN_MAX)
    for (const finding of shown) out.line('  ', [styleOf(kind), kind.padEnd(16)], placeOf(finding))
    if (count > shown.length) out.line(`  ${''.padEnd(16)}and ${count - shown.length} more`)
  }
}

function placeOf({ line, from, to, what }: Finding): string {
  const bytes = to === undefined ? `byte ${from}` : `bytes ${from} to ${to}`
  return `line ${line}, ${bytes}${what === undefined ? '' : `: ${what}`}`
}

function styleOf(kind: string): Style {
  return BROKEN.has(kind) || kind === 'secret' ? 'red' : 'yellow'
}

function totals(files: readonly ExaminedFile[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { counts } of files)
    for (const [kind, count] of Object.entries(counts)) sums[kind] = (sums[kind] ?? 0) + count
  return sums
}
