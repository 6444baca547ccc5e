/** `daglog salvage RUN [--id ID]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { countText } from './quantity.js'

export async function salvage(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const source = await store.resolve(call.argument('RUN'))
  const id = call.text('id')
  const { run, events, gaps } = await store.salvage(source, id === undefined ? {} : { id })
  const lost = gaps === 0 ? 'nothing was lost' : `${countText(gaps, 'gap')} named in it`
  out.note(`${countText(events, 'event')} of ${source} carried over; ${lost}`)
  if (out.json) out.document('daglog.salvage/1', { ok: true, run, source, events, gaps })
  else out.line(run)
  return gaps === 0 ? 0 : 5
}
