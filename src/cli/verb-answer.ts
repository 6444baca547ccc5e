/** `daglog answer RUN NAME [--data JSON|-]` */
import { type Call, LOCK_WAIT_MS } from './call.js'
import { dataOf } from './data-flag.js'
import type { ExitCode } from './exit-codes.js'

export async function answer(call: Call): Promise<ExitCode> {
  const value = await dataOf(call, undefined)
  const store = await call.store()
  const [run, name] = [call.argument('RUN'), call.argument('NAME')]
  const given = await store.answer(run, name, value, {
    lockWaitMs: call.number('wait') ?? LOCK_WAIT_MS,
  })
  if (call.out.json) call.out.document('daglog.answer/1', { ok: true, ...given })
  else call.out.note(['green', 'answered '], `${name} of ${given.run} (step ${given.step})`)
  return 0
}
