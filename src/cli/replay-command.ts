/** `daglog replay RUN -- CMD...`: a program again, answered from a run, without any network. */
import { attend } from '../http/proxy/attend.js'
import { checkProgram } from '../http/proxy/run-child.js'
import type { Coverage } from '../http/proxy/sightings.js'
import type { Call } from './call.js'
import { childOf } from './child-words.js'
import { coverageLines } from './coverage-words.js'
import { childExit, type ExitCode } from './exit-codes.js'
import { missLines, verdictLine } from './replay-words.js'
import { replayingDoor, replayRun } from './traffic-doors.js'

const MISS: ExitCode = 6

export async function replayCommand(call: Call): Promise<ExitCode> {
  const { out } = call
  const [command = ''] = call.many('CMD')
  checkProgram({ command, env: process.env })
  call.ownInterrupts = true
  const store = await call.store()
  const from = await store.inspectRun(call.argument('RUN'))
  const run = await replayRun(store, from)
  try {
    const door = await replayingDoor(from, run)
    const { exit, coverage, seal } = await attend({
      ...door,
      env: process.env,
      seal: true,
      onError: (error) => out.alarm(['red', 'not replayed: '], String(error)),
      child: childOf(call, store, { mode: 'replay', run: run.id, from: from.id }),
    })
    await door.close()
    const report = door.report()
    const same = report?.ok === true && refused(coverage) === 0
    await run.end(same && exit.code === 0 ? 'ok' : 'error')
    if (out.json) {
      const network = seal?.why === undefined ? 'none' : `not enforced: ${seal.why}`
      out.document('daglog.replay-command/1', {
        ok: same,
        run: run.id,
        exit,
        network,
        report,
        coverage,
      })
    }
    if (report !== undefined) {
      for (const line of missLines(report)) out.alarm(...line)
      for (const line of coverageLines(coverage)) out.note(...line)
      if (seal?.why !== undefined) out.note(['yellow', 'network '], `not enforced: ${seal.why}`)
      out.alarm(...verdictLine(report))
    }
    // A program may have swallowed the miss, and ended well.
    return same ? childExit(exit.code) : MISS
  } catch (error) {
    await run.end('error').catch(() => {}) // What went wrong first is what counts.
    throw error
  }
}

/** What was turned away because a replay connects to nothing. */
function refused({ unseen }: Coverage): number {
  return unseen.filter(({ why }) => why === 'replay-refused').length
}
