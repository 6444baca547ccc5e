/** `daglog append RUN TYPE [--data JSON|-] [--op ID]` */
import type { Call } from './call.js'
import { dataOf } from './data-flag.js'
import type { ExitCode } from './exit-codes.js'

export async function append(call: Call): Promise<ExitCode> {
  const data = await dataOf(call, {})
  const store = await call.store()
  const run = await store.openRun(call.argument('RUN'), call.writing())
  const { seq, hash } = await run.append(call.argument('TYPE'), data, { op: call.text('op') })
  if (call.out.json) call.out.document('daglog.append/1', { ok: true, run: run.id, seq, hash })
  else call.out.line(`${seq}:${hash}`)
  return 0
}
