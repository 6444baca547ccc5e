/** `daglog runs [--limit N]` */
import type { RunInfo, Store } from '../store/store.js'
import { printable } from '../value/preview.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output, Style } from './output.js'
import { bytesText, timeText } from './quantity.js'

interface Listed extends RunInfo {
  /** Id of the run it begins in, where that one is in this store. */
  readonly above?: string
  readonly depth: number
}

export async function runs(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const all = await family(store)
  const shown = all.slice(0, call.number('limit') ?? all.length)
  if (out.json) {
    const rows = shown.map(({ id, above, depth: _, parent, ...info }) => ({
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

/** Newest first, each followed by the runs that begin in it. */
async function family(store: Store): Promise<Listed[]> {
  const infos = await store.runs()
  const list = await store.context.heads.refresh()
  const known = new Set(infos.map(({ id }) => id))
  const children = new Map<string | undefined, RunInfo[]>()
  const aboveOf = new Map<string, string>()
  for (const info of infos) {
    const above = info.parent === undefined ? undefined : list.idOf(info.parent.run)
    const here = above !== undefined && known.has(above) && above !== info.id ? above : undefined
    if (here !== undefined) aboveOf.set(info.id, here)
    children.set(here, [...(children.get(here) ?? []), info])
  }
  const listed: Listed[] = []
  const stack = (children.get(undefined) ?? []).toReversed().map((info) => ({ info, depth: 0 }))
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { info, depth } = next
    const above = aboveOf.get(info.id)
    listed.push({ ...info, depth, ...(above === undefined ? {} : { above }) })
    for (const child of (children.get(info.id) ?? []).toReversed())
      stack.push({ info: child, depth: depth + 1 })
  }
  return listed
}

/** One that cannot be read has no head, no events, and is not as current as can be. */
function isReadable({
  head,
  events,
  current,
}: Pick<RunInfo, 'head' | 'events' | 'current'>): boolean {
  return head !== undefined || events > 0 || current
}

const HEADINGS = ['run', 'started', 'status', 'events', 'turns', 'tokens', 'size'] as const

function printTable(out: Output, shown: readonly Listed[]): void {
  const rows = shown.map((info) => [
    `${'  '.repeat(info.depth)}${printable(info.id)}`,
    timeText(info.started),
    isReadable(info) ? info.status : 'unreadable',
    // A log that has grown since its head was noted: these are the numbers as of then.
    `${info.events}${info.current ? '' : '+'}`,
    `${info.turns}`,
    `${info.tokensIn + info.tokensOut}`,
    bytesText(info.bytes),
  ])
  const widths = HEADINGS.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => (row[at] as string).length)),
  )
  const cells = (row: readonly string[]): string[] =>
    row.map((cell, at) => (at < 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
  out.line(['dim', cells(HEADINGS).join('  ')])
  for (const row of rows) {
    const [id = '', started = '', status = '', ...numbers] = cells(row)
    const color = COLORS[status.trim()] ?? 'dim'
    out.line(['bold', id], `  ${started}  `, [color, status], `  ${numbers.join('  ')}`)
  }
}

const COLORS: Readonly<Record<string, Style>> = {
  ok: 'green',
  error: 'red',
  unreadable: 'red',
  cancelled: 'yellow',
}
