/**
 * The report of a replay for people: what was recorded, what is now, and where in the code.
 */
import type { Divergence, DivergenceSide, ReplayReport } from '../fold/divergence.js'
import type { JsonChange } from '../value/json-diff.js'
import { previewOf, printable } from '../value/preview.js'

/** Divergences that are shown behind the first one. */
const TAINTED_SHOWN_MAX = 10
const DIGEST_SHOWN_LENGTH = 12

export interface ReportOf extends ReplayReport {
  /** Ids of the run that was replayed, and of the replay's own. */
  readonly source: string
  readonly id: string
}

export function reportText(report: ReportOf): string {
  const { ok, complete, source, id, answered, notes, uncovered } = report
  const end = complete ? '' : '; the recording ends before the function does'
  const head = `${ok ? 'same' : 'DIVERGED'}  ${source} replayed as ${id}: ${answered} steps answered from the recording${end}`
  const lines = [head, ...divergencesText(report)]
  for (const note of notes) {
    lines.push(
      `  order: "${note.path}" (recorded ${place(note.recorded)}) went out early: ${note.note}`,
    )
  }
  for (const { api, target, count } of uncovered)
    lines.push(`  not covered: ${api} ${target}${count === 1 ? '' : ` (${count} times)`}`)
  // Names, paths and pointers are recorded content: a terminal must not obey them.
  return lines.map((line) => `${printable(line)}\n`).join('')
}

function divergencesText({ first, divergences, more }: ReplayReport): string[] {
  if (first === undefined) return []
  const rest = divergences.slice(1)
  const shown = rest.slice(0, TAINTED_SHOWN_MAX)
  const hidden = rest.length - shown.length + more
  return [
    ...divergenceText(first),
    ...(rest.length === 0 ? [] : ['  then, and perhaps only because of that:']),
    ...shown.map((one) => `    ${one.kind}: ${named(one)} (${place(one.recorded ?? one.now)})`),
    ...(hidden === 0 ? [] : [`    and ${hidden} more`]),
  ]
}

function named({ path }: Divergence): string {
  return path === '' ? 'the function itself' : `"${path}"`
}

const WORDS: Readonly<Record<Divergence['kind'], string>> = {
  'input-changed': 'is given something else',
  missing: 'is not asked for any more',
  extra: 'was never recorded',
  renamed: 'had another name',
  'output-changed': 'gives something else',
  'error-changed': 'fails in another way',
  'traffic-miss': 'sends a request that was never recorded',
  order: 'goes out in another order',
}

function divergenceText(found: Divergence): string[] {
  const { kind, recorded, now, changes = [], more = 0, note } = found
  return [
    `  ${kind}: ${named(found)} ${WORDS[kind]}`,
    `    recorded  ${recorded === undefined ? 'nothing' : side(recorded)}`,
    `    now       ${now === undefined ? 'nothing' : side(now)}`,
    ...(note === undefined ? [] : [`    ${note}`]),
    ...changes.flatMap(changeText),
    ...(more === 0 ? [] : [`      and ${more} more`]),
  ]
}

function side({ name, digest, site, ...at }: DivergenceSide): string {
  return [
    name === undefined ? undefined : `"${name}"`,
    place(at),
    digest?.slice(0, DIGEST_SHOWN_LENGTH),
    site === undefined ? undefined : `at ${site}`,
  ]
    .filter((part) => part !== undefined)
    .join('  ')
}

function place(at: Pick<DivergenceSide, 'run' | 'seq'> | undefined): string {
  if (at === undefined) return 'nowhere'
  return at.seq === undefined ? at.run : `${at.run} seq ${at.seq}`
}

function changeText(change: JsonChange): string[] {
  const { pointer, op } = change
  const lines = [`      ${pointer === '' ? '(all of it)' : pointer}`]
  if (op !== 'add') lines.push(`        recorded  ${previewOf(change.left).line}`)
  if (op !== 'remove') lines.push(`        now       ${previewOf(change.right).line}`)
  return lines
}
