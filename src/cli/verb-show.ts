/** `daglog show RUN[@SEQ] [--limit N]` */
import type { RunEvent } from '../core/event.js'
import { lineOf } from '../store/jsonl.js'
import type { Call } from './call.js'
import { type EventRow, EventRows } from './event-rows.js'
import type { ExitCode } from './exit-codes.js'
import { readable } from './readable.js'
import { runAt } from './run-at.js'
import { RunSheet } from './run-sheet.js'

const ROWS_MAX = 200

export async function show(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const { view, at } = await runAt(store, call.argument('RUN'))
  const limit = call.number('limit') ?? ROWS_MAX
  let unreadable = 0
  const events = readable(view, (what) => {
    unreadable += 1
    out.alarm(['red', 'cannot be read: '], what)
  })
  // All of the run is read, since where it ended is a question to all of it; only the end is kept.
  const summary = await view.summary()
  const isImported = summary.imported !== undefined
  const rows = new EventRows(isImported ? summary : undefined)
  const kept: { readonly row: EventRow; readonly json: string }[] = []
  const options = at === undefined ? {} : { to: at }
  const raw = events.events({ ...options, refs: true })
  for await (const event of isImported ? withDerived(raw, view.session(options)) : raw) {
    kept.push({ row: rows.add(event), json: out.json ? lineOf(event) : '' })
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
    const left = rows.totals.events - kept.length
    if (left > 0) out.line(['dim', `  … ${left} earlier events (--limit 0 shows all)`])
    for (const { row } of kept) sheet.printRow(out, row)
    sheet.printEnd(out)
  }
  return unreadable > 0 || sheet.data.damage !== undefined ? 3 : 0
}

/** Raw events as they lie, payloads left out, and behind each what its reader finds in it. */
async function* withDerived(
  raw: AsyncIterable<RunEvent>,
  session: AsyncIterable<RunEvent>,
): AsyncGenerator<RunEvent> {
  const found = session[Symbol.asyncIterator]()
  const nextDerived = async (): Promise<RunEvent | undefined> => {
    for (;;) {
      const { value, done } = await found.next()
      if (done === true) return undefined
      if ((value as RunEvent).line !== undefined) return value as RunEvent
    }
  }
  let derived = await nextDerived()
  for await (const event of raw) {
    yield event
    while (derived?.seq === event.seq) {
      yield derived
      derived = await nextDerived()
    }
  }
}
