/** `daglog record [--name NAME] [--host HOST]... -- CMD...` */
import { attend } from '../http/proxy/attend.js'
import { checkProgram } from '../http/proxy/run-child.js'
import type { Call } from './call.js'
import { childOf, nameOfCommand } from './child-words.js'
import { coverageLines } from './coverage-words.js'
import { childExit, type ExitCode } from './exit-codes.js'
import { countText } from './quantity.js'
import { outerProxyWords, recordingDoor } from './traffic-doors.js'

/** The program ended well, and its record does not hold all of it. */
const LEFT_OUT: ExitCode = 5

export async function record(call: Call): Promise<ExitCode> {
  const { out } = call
  const words = call.many('CMD')
  const [command = ''] = words
  checkProgram({ command, env: process.env })
  // What was begun is finished and recorded before this process ends.
  call.ownInterrupts = true
  const outer = outerProxyWords(process.env)
  if (outer !== undefined) out.note(['yellow', 'note '], outer)
  const store = await call.store({ create: true })
  const run = await store.createRun({ name: call.text('name') ?? nameOfCommand(words) })
  try {
    const door = await recordingDoor(run)
    const { exit, coverage } = await attend({
      ...door,
      hosts: call.list('host'),
      env: process.env,
      seal: false,
      onError: (error) => out.alarm(['red', 'not recorded: '], String(error)),
      child: childOf(call, store, { mode: 'record', run: run.id }),
    })
    await door.close()
    await run.end(exit.code === 0 ? 'ok' : exit.signal === undefined ? 'error' : 'cancelled')
    const unwritten = door.unwritten()
    const ok = exit.code === 0 && unwritten === 0
    if (out.json) out.document('daglog.record/1', { ok, run: run.id, exit, coverage, unwritten })
    const recorded = coverage.recorded - unwritten
    out.note(['green', 'recorded '], `${countText(recorded, 'call')} into ${run.id}`)
    if (unwritten > 0) out.alarm(['red', 'not recorded: '], countText(unwritten, 'call'))
    for (const line of coverageLines(coverage)) out.note(...line)
    return exit.code === 0 && unwritten > 0 ? LEFT_OUT : childExit(exit.code)
  } catch (error) {
    await run.end('error').catch(() => {}) // What went wrong first is what counts.
    throw error
  }
}
