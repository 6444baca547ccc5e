/** `daglog record [--name NAME] [--host HOST]... -- CMD...` */
import { attend } from '../http/proxy/attend.js'
import { checkProgram } from '../http/proxy/run-child.js'
import type { Call } from './call.js'
import { childOf, nameOfCommand } from './child-words.js'
import { coverageLines } from './coverage-words.js'
import { childExit, type ExitCode } from './exit-codes.js'
import { countText } from './quantity.js'
import { outerProxyWords, recordingDoor } from './traffic-doors.js'

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
    const ok = exit.code === 0
    if (out.json) out.document('daglog.record/1', { ok, run: run.id, exit, coverage })
    out.note(['green', 'recorded '], `${countText(coverage.recorded, 'call')} into ${run.id}`)
    for (const line of coverageLines(coverage)) out.note(...line)
    return childExit(exit.code)
  } catch (error) {
    await run.end('error').catch(() => {}) // What went wrong first is what counts.
    throw error
  }
}
