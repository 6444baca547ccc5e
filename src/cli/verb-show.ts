/** `daglog show RUN[@SEQ] [--limit N] [--dag]` */

import type { RunEvent } from '../core/event.js'
import { lineOf } from '../store/jsonl.js'
import type { RunView } from '../store/run-view.js'
import type { Call } from './call.js'
import { type EventRow, EventRows } from './event-rows.js'
import type { ExitCode } from './exit-codes.js'
import { runAt } from './run-at.js'
import { RunSheet } from './run-sheet.js'
import { ShownEvents } from './shown-events.js'

const ROWS_MAX = 200

export async function show(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const { view, at } = await runAt(store, call.argument('RUN'))
  const limit = call.number('limit') ?? ROWS_MAX
  if (call.has('dag'))
    return (await import('./dag-rows.js')).showDag(out, { view, ...asOf(at) }, limit)
  let unreadable = 0
  const onTrouble = (what: string): void => {
    unreadable += 1
    out.alarm(['red', 'cannot be read: '], what)
  }
  // All of the run is read, since where it ended is a question to all of it; only the end is kept.
  const summary = await view.summary()
  const rows = new EventRows(summary.imported === undefined ? undefined : summary)
  let count = 0
  const kept: { readonly row: EventRow; readonly json: string }[] = []
  const to = at === undefined ? {} : { to: at }
  const ended = out.json ? NONE_ENDED : await endedRequests(view, to)
  for await (const { event, isTold } of new ShownEvents(view, onTrouble).read({ from: 0, ...to })) {
    const row = rows.add(event)
    // People are shown what is inside in its place; programs get both.
    if (isTold && !out.json) continue
    if (event.type === START && ended.has(ordinalOf(event))) continue
    count += 1
    kept.push({ row, json: out.json ? lineOf(event) : '' })
    if (limit > 0 && kept.length > 2 * limit) kept.splice(0, kept.length - limit)
  }
  if (limit > 0 && kept.length > limit) kept.splice(0, kept.length - limit)
  const sheet = await RunSheet.of(store, { view, at, rows })
  if (out.json) {
    const fields = JSON.stringify({ schema: 'daglog.show/1', ok: unreadable === 0, ...sheet.data })
    out.jsonPart(`${fields.slice(0, -1)},"events":[`)
    for (const [index, { json }] of kept.entries()) out.jsonPart(index === 0 ? json : `,${json}`)
    out.jsonLine(']}')
  } else {
    sheet.printHead(out)
    const left = count - kept.length
    if (left > 0) out.line(['dim', `  … ${left} earlier events (--limit 0 shows all)`])
    for (const { row } of kept) sheet.printRow(out, row)
    sheet.printEnd(out)
  }
  return unreadable > 0 || sheet.data.damage !== undefined ? 3 : 0
}

function asOf(at: number | undefined): { readonly at?: number } {
  return at === undefined ? {} : { at }
}

const EXCHANGE = 'http/exchange'
const START = 'http/start'
const NONE_ENDED: ReadonlySet<unknown> = new Set()

/** Ordinals of requests whose end is in the run: one line says both. */
async function endedRequests(
  view: RunView,
  to: { readonly to?: number },
): Promise<ReadonlySet<unknown>> {
  if ((await view.last(START)) === undefined) return NONE_ENDED
  const ended = new Set<unknown>()
  for await (const event of view.events({ types: [EXCHANGE], refs: true, ...to }))
    if (event.type === EXCHANGE) ended.add(ordinalOf(event))
  return ended
}

function ordinalOf({ data }: RunEvent): unknown {
  return (data as { readonly ordinal?: unknown } | null | undefined)?.ordinal
}
