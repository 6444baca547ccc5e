/** `daglog events RUN[@SEQ] [--from N] [--to N] [--type T]... [--refs] [--json | --jsonl]` */
import type { EventsOptions } from '../store/event-reader.js'
import { jsonlEvents } from '../store/jsonl.js'
import type { Call } from './call.js'
import { eventWords } from './event-words.js'
import type { ExitCode } from './exit-codes.js'
import { timeText } from './quantity.js'
import { readable } from './readable.js'
import { runAt } from './run-at.js'

export async function events(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const { view, at } = await runAt(store, call.argument('RUN'))
  const options = optionsOf(call, at)
  let trouble = 0
  const source = readable(view, (what) => {
    trouble += 1
    out.alarm(['red', 'cannot be read: '], what)
  })
  if (out.json || call.has('jsonl')) {
    if (out.json)
      out.jsonPart(`{"schema":"daglog.events/1","run":${JSON.stringify(view.id)},"events":[`)
    let first = true
    for await (const line of jsonlEvents(source, options)) {
      if (out.json) out.jsonPart(first ? line : `,${line}`)
      else out.jsonLine(line)
      first = false
      await out.flowing()
    }
    if (out.json) out.jsonLine(`],"ok":${trouble === 0}}`)
  } else {
    for await (const event of source.events({ ...options, refs: true })) {
      const { seq, time, type } = event
      out.line(
        ['dim', `${String(seq).padStart(5)}  ${timeText(time)}  `],
        `${type}  `,
        ...eventWords(event),
      )
      await out.flowing()
    }
  }
  return trouble > 0 ? 3 : 0
}

function optionsOf(call: Call, at: number | undefined): EventsOptions {
  const [from, to, types] = [call.number('from'), call.number('to'), call.list('type')]
  const last = to === undefined || at === undefined ? (to ?? at) : Math.min(to, at)
  return {
    ...(from === undefined ? {} : { from }),
    ...(last === undefined ? {} : { to: last }),
    ...(types.length === 0 ? {} : { types }),
    refs: call.has('refs'),
  }
}
