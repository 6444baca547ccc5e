/** `daglog init [NAME]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'

export async function init(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store({ create: true })
  const name = call.optional('NAME')
  if (name === undefined) {
    out.note(`the store is at ${store.place}`)
    if (out.json) out.document('daglog.init/1', { ok: true, store: store.place })
    return 0
  }
  const run = await store.createRun({ name })
  await run.close()
  if (out.json) out.document('daglog.init/1', { ok: true, store: store.place, run: run.id })
  else out.line(run.id)
  return 0
}
