/** `daglog end RUN [--status ok|error|cancelled]` */
import { DaglogError } from '../core/errors.js'
import type { RunStatus } from '../core/event-map.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'

export async function end(call: Call): Promise<ExitCode> {
  const store = await call.store()
  const run = await store.openRun(call.argument('RUN'), call.writing())
  const before = (await run.summary()).status
  if (before !== 'open') {
    throw new DaglogError(
      'RUN_ENDED',
      `run ${run.id} has ended already (${before}); try: daglog show ${run.id}`,
      { run: run.id, status: before },
    )
  }
  const status = (call.text('status') ?? 'ok') as RunStatus
  const { seq, hash } = await run.end(status)
  if (call.out.json) call.out.document('daglog.end/1', { ok: true, run: run.id, status, seq, hash })
  else call.out.line(`${seq}:${hash}`)
  return 0
}
