/** `daglog tail RUN [--follow] [--lines N] [--jsonl]` */
import { setTimeout as wait } from 'node:timers/promises'
import type { RunEvent } from '../core/event.js'
import { lineOf } from '../store/jsonl.js'
import type { RunView } from '../store/run-view.js'
import type { Call } from './call.js'
import { AFTER_END, EventRows } from './event-rows.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { timeText } from './quantity.js'
import { type Events, readable } from './readable.js'
import { ShownEvents } from './shown-events.js'

const POLL_MS = 200
const LINES = 10

export async function tail(call: Call): Promise<ExitCode> {
  const { out } = call
  if (out.json) throw call.usage('a tail is no single document', `daglog tail --jsonl`)
  // The end of a live log may be half an event at any moment.
  const store = await call.store({ hush: 'gap' })
  const view = await store.inspectRun(call.argument('RUN'))
  let unreadable = 0
  const onTrouble = (what: string): void => {
    unreadable += 1
    out.alarm(['red', 'cannot be read: '], what)
  }
  const source = call.has('jsonl')
    ? linesOf(out, readable(view, onTrouble))
    : await rowsOf(out, view, new ShownEvents(view, onTrouble))
  const last = (await view.head())?.seq ?? -1
  const wanted = call.number('lines') ?? LINES
  const { status, imported } = await view.summary()
  // Nobody goes on writing what was imported, though its end is seldom said.
  let ended = status !== 'open' || imported !== undefined
  // Where events lie inside events, the last lines are known only at the end.
  const held: (() => void)[] | undefined = source.isDerived ? [] : undefined
  let from = held === undefined ? Math.max(0, last + 1 - wanted) : 0
  for (let isFirst = true; ; isFirst = false) {
    for await (const { event, print } of source.read(from)) {
      if (print !== undefined && isFirst && held !== undefined) {
        held.push(print)
        if (held.length > wanted) held.shift()
      } else print?.()
      if (event.line === undefined) from = event.seq + 1
      if (event.seq > last && event.line === undefined)
        ended = event.type === 'run/end' || (ended && AFTER_END.test(event.type))
      await out.flowing()
    }
    for (const print of held?.splice(0) ?? []) print()
    await out.flush()
    if (ended && !call.has('follow')) return unreadable > 0 ? 3 : 0
    await wait(POLL_MS)
  }
}

/** Events from a seq on, each with how it is printed, if it is. */
interface Source {
  readonly isDerived: boolean
  read(from: number): AsyncIterable<{
    readonly event: RunEvent
    readonly print: (() => void) | undefined
  }>
}

/** For programs: the log as it lies. */
function linesOf(out: Output, events: Events): Source {
  return {
    isDerived: false,
    async *read(from) {
      for await (const event of events.events({ from }))
        yield { event, print: () => out.jsonLine(lineOf(event)) }
    },
  }
}

/** For people: as `show` has it. */
async function rowsOf(out: Output, view: RunView, shown: ShownEvents): Promise<Source> {
  const summary = await view.summary()
  const rows = new EventRows(summary.imported === undefined ? undefined : summary)
  return {
    isDerived: await shown.isDerived(),
    async *read(from) {
      for await (const { event, isTold } of shown.read({ from })) {
        const { address, type, depth, words } = rows.add(event)
        const head = `${String(address).padStart(5)}  ${timeText(event.time)}  `
        const label = `${'  '.repeat(depth)}${type}  `
        const print = (): void => out.line(['dim', head], label, ...words)
        yield { event, print: isTold ? undefined : print }
      }
    },
  }
}
