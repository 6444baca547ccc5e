/** `daglog runs [--flat] [--limit N]` */
import { printable } from '../value/preview.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output, Style } from './output.js'
import { bytesText, timeText } from './quantity.js'
import { isReadable, type ListedRun, listRuns } from './run-family.js'

export async function runs(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const all = await listRuns(store, { flat: call.has('flat') })
  const shown = all.slice(0, call.number('limit') ?? all.length)
  if (out.json) {
    const rows = shown.map(({ id, above, below: _, parent, ...info }) => ({
      run: id,
      ...info,
      readable: isReadable(info),
      ...(parent === undefined ? {} : { parent: { ...parent, run: above, identity: parent.run } }),
    }))
    out.document('daglog.runs/1', { ok: true, store: store.place, count: all.length, runs: rows })
    return 0
  }
  if (shown.length === 0) out.note('no runs yet; try: daglog init NAME')
  else printTable(out, shown)
  if (shown.length < all.length) out.note(`${all.length - shown.length} more; without --limit all`)
  return 0
}

/** Of a name; all of it is in `--json`. */
const NAME_LENGTH_MAX = 48

const HEADINGS = ['run', 'started', 'status', 'events', 'turns', 'tokens', 'size', 'about'] as const

function printTable(out: Output, shown: readonly ListedRun[]): void {
  const rows = shown.map((info) => [
    `${'  '.repeat(info.below)}${printable(info.id)}${kindText(info)}`,
    timeText(info.started),
    statusOf(info),
    // A log that has grown since its head was noted: these are the numbers as of then.
    `${info.events}${info.current ? '' : '+'}`,
    `${info.turns}`,
    `${info.tokensIn + info.tokensOut}`,
    bytesText(info.imported?.bytes ?? info.bytes),
    info.name === undefined ? '' : printable(info.name).slice(0, NAME_LENGTH_MAX),
  ])
  const widths = HEADINGS.map((heading, at) =>
    rows.reduce((width, row) => Math.max(width, (row[at] as string).length), heading.length),
  )
  const cells = (row: readonly string[]): string[] =>
    row.map((cell, at) => {
      if (at === HEADINGS.length - 1) return cell
      return at < 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
    })
  out.line(['dim', cells(HEADINGS).join('  ')])
  for (const row of rows) {
    const [id = '', started = '', status = '', ...numbers] = cells(row)
    const color = COLORS[status.trim()] ?? 'dim'
    out.line(['bold', id], `  ${started}  `, [color, status], `  ${numbers.join('  ')}`)
  }
}

/** How it hangs on the run that it is listed below. */
function kindText({ below, parent }: ListedRun): string {
  return below === 0 || parent === undefined ? '' : `  (${parent.kind} @${parent.seq})`
}

/** A transcript says little of how a session ended, and is no recording. */
function statusOf(info: ListedRun): string {
  if (!isReadable(info)) return 'unreadable'
  return info.imported !== undefined && info.status === 'open' ? 'imported' : info.status
}

const COLORS: Readonly<Record<string, Style>> = {
  ok: 'green',
  error: 'red',
  unreadable: 'red',
  cancelled: 'yellow',
}
