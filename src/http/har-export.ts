/**
 * The exchanges of a run as one HAR, piece by piece: one exchange is in memory at a time.
 * @see docs/har.md
 */
import type { HttpExchange, HttpStart } from '../core/http-events.js'
import { HAR_BODY_BYTES_MAX } from '../core/limits.js'
import type { RunView } from '../store/run-view.js'
import { harEntry } from './har-entry.js'
import { isStoredExchange } from './stored-exchange.js'

export interface HarExportOptions {
  /** Version of this program. */
  readonly program: string
  /** Told of what a HAR of this run has not, a sentence each. */
  readonly onLeftOut: (what: string) => void
}

/** UTF-8 text, in pieces; in the order in which the exchanges were written. */
export async function* harPieces(
  view: Pick<RunView, 'id' | 'events'>,
  options: HarExportOptions,
): AsyncGenerator<Uint8Array> {
  const creator = { name: 'daglog', version: options.program }
  const head = JSON.stringify({ version: '1.2', creator, comment: `run ${view.id}` })
  yield Buffer.from(`{"log":${head.slice(0, -1)},"entries":[`)
  const open = new Map<number, HttpStart>()
  let count = 0
  for await (const event of view.events({
    types: ['http/start', 'http/exchange', 'http/gap'],
  })) {
    const { seq, type, redacted } = event
    if ((type as string) === 'log/gap') continue // Whoever gives the events tells of it.
    if (redacted === true) options.onLeftOut(`seq ${seq} ${type}: it was redacted`)
    else if (type === 'http/start') {
      const start = event.data as HttpStart
      open.set(start.ordinal, start)
    } else if (type === 'http/gap') {
      options.onLeftOut(`seq ${seq}: exchanges that could not be recorded`)
    } else {
      open.delete((event.data as Partial<HttpExchange> | null)?.ordinal as number)
      const text = entryText(event.data, seq, options)
      if (text !== undefined) yield Buffer.from(`${count++ === 0 ? '\n' : ',\n'}${text}`)
    }
  }
  for (const { ordinal, method, url } of open.values())
    options.onLeftOut(`exchange ${ordinal}, ${method} ${url}: it has no end`)
  yield Buffer.from(']}}\n')
}

function entryText(
  data: unknown,
  seq: number,
  { onLeftOut }: HarExportOptions,
): string | undefined {
  if (!isStoredExchange(data)) {
    onLeftOut(`seq ${seq}: it is not as a recorder writes an exchange`)
    return undefined
  }
  const bytes = data.request.body.length + (data.response?.body.length ?? 0)
  if (bytes <= HAR_BODY_BYTES_MAX) return JSON.stringify(harEntry(data))
  onLeftOut(`seq ${seq}: bodies of ${bytes} bytes are too large for JSON`)
  return undefined
}
