/** `daglog fork RUN[@SEQ] [--id ID] [--name NAME] [--close]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { runAt } from './run-at.js'

export async function fork(call: Call): Promise<ExitCode> {
  const store = await call.store()
  const { view, at } = await runAt(store, call.argument('RUN'))
  const [id, name] = [call.text('id'), call.text('name')]
  const run = await store.fork(view.id, {
    ...(at === undefined ? {} : { at }),
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    close: call.has('close'),
  })
  await run.close()
  const seq = at ?? (await view.head())?.seq
  call.out.detail(`begins where ${view.id} is at seq ${seq}`)
  if (call.out.json)
    call.out.document('daglog.fork/1', { ok: true, run: run.id, parent: { run: view.id, seq } })
  else call.out.line(run.id)
  return 0
}
