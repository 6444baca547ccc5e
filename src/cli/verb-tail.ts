/** `daglog tail RUN [--follow] [--lines N] [--jsonl]` */
import { setTimeout as wait } from 'node:timers/promises'
import type { RunEvent } from '../core/event.js'
import { lineOf } from '../store/jsonl.js'
import type { Call } from './call.js'
import { AFTER_END, EventRows } from './event-rows.js'
import type { ExitCode } from './exit-codes.js'
import { timeText } from './quantity.js'
import { readable } from './readable.js'

const POLL_MS = 200
const LINES = 10

export async function tail(call: Call): Promise<ExitCode> {
  const { out } = call
  if (out.json) throw call.usage('a tail is no single document', `daglog tail --jsonl`)
  // The end of a live log may be half an event at any moment.
  const store = await call.store({ hush: 'gap' })
  const view = await store.inspectRun(call.argument('RUN'))
  const rows = new EventRows()
  let unreadable = 0
  const source = readable(view, (what) => {
    unreadable += 1
    out.alarm(['red', 'cannot be read: '], what)
  })
  const print = (event: RunEvent): void => {
    if (call.has('jsonl')) {
      out.jsonLine(lineOf(event))
      return
    }
    const { seq, time, type } = event
    const { depth, words } = rows.add(event)
    const label = `${'  '.repeat(depth)}${type}`
    out.line(['dim', `${String(seq).padStart(5)}  ${timeText(time)}  `], `${label}  `, ...words)
  }
  const last = (await view.head())?.seq ?? -1
  let ended = (await view.summary()).status !== 'open'
  let from = Math.max(0, last + 1 - (call.number('lines') ?? LINES))
  for (;;) {
    for await (const event of source.events({ from, refs: !call.has('jsonl') })) {
      print(event)
      from = event.seq + 1
      if (event.seq > last)
        ended = event.type === 'run/end' || (ended && AFTER_END.test(event.type))
      await out.flowing()
    }
    await out.flush()
    if (ended && !call.has('follow')) return unreadable > 0 ? 3 : 0
    await wait(POLL_MS)
  }
}
