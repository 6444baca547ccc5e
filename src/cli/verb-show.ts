/** `daglog show RUN[@SEQ] [--limit N] [--dag]` */

import type { RunEvent } from '../core/event.js'
import { builtInReaders } from '../fold/readers.js'
import { lineOf } from '../store/jsonl.js'
import type { RunView } from '../store/run-view.js'
import type { Call } from './call.js'
import { type EventRow, EventRows } from './event-rows.js'
import type { ExitCode } from './exit-codes.js'
import { gapText, isGap, readable } from './readable.js'
import { runAt } from './run-at.js'
import { RunSheet } from './run-sheet.js'

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
  const events = readable(view, onTrouble)
  // All of the run is read, since where it ended is a question to all of it; only the end is kept.
  const summary = await view.summary()
  const isImported = summary.imported !== undefined
  const rows = new EventRows(isImported ? summary : undefined)
  let count = 0
  const kept: { readonly row: EventRow; readonly json: string }[] = []
  const to = at === undefined ? {} : { to: at }
  const raw = isImported || out.json ? NOTHING_RAW : await rawTypes(view)
  const refs = events.events({ refs: true, ...to })
  const derived = raw.size > 0 ? view.session(to) : refs
  const ended = out.json ? NONE_ENDED : await endedRequests(view, to)
  for await (const event of isImported ? withDerived(refs, view.session(to)) : derived) {
    const row = rows.add(event)
    // `readable` tells of a gap by itself.
    if (raw.size > 0 && isGap(event)) onTrouble(gapText(event))
    // What is inside is shown in its place; of an exchange both are.
    if (raw.has(event.type) && event.type !== EXCHANGE) continue
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

/** What readers look at and derive nothing from: it is a session event itself. */
const SESSION_TYPE = /^(?:turn|user|assistant|tool|request|step|run)\/|^compaction$/

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

const NOTHING_RAW: ReadonlySet<string> = new Set()

/** Types of the run that session events are derived from; nothing where there are none. */
async function rawTypes(view: RunView): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const { types } of await builtInReaders()) {
    for (const type of types) {
      if (SESSION_TYPE.test(type) || type === 'import/source') continue
      if ((await view.last(type)) !== undefined) found.add(type)
    }
  }
  return found
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
