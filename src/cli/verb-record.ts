/** `daglog record [--name NAME] [--host HOST]... -- CMD...` */
import { attend } from '../http/proxy/attend.js'
import { RelayDoor } from '../http/proxy/relay.js'
import { Sightings } from '../http/proxy/sightings.js'
import { trustedHere } from '../http/proxy/trust.js'
import { Upstream } from '../http/proxy/upstream.js'
import { openRecorder } from '../http/recorder.js'
import type { Run } from '../store/run.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'
import { nameOfCommand } from './child-name.js'
import { coverageLines } from './coverage-words.js'
import { childExit, type ExitCode } from './exit-codes.js'
import { countText } from './quantity.js'

export async function record(call: Call): Promise<ExitCode> {
  const { out } = call
  const words = call.many('CMD')
  // What was begun is finished and recorded before this process ends.
  call.ownInterrupts = true
  const store = await call.store({ create: true })
  const run = await store.createRun({ name: call.text('name') ?? nameOfCommand(words) })
  const upstream = new Upstream({ trusted: trustedHere(process.env) })
  try {
    const recorder = await openRecorder(run)
    const sightings = new Sightings()
    const [command = '', ...args] = words
    const attended = await attend({
      door: new RelayDoor(upstream, recorder, sightings),
      sightings,
      upstream,
      hosts: call.list('host'),
      env: process.env,
      seal: false,
      onError: (error) => out.alarm(['red', 'not recorded: '], String(error)),
      child: {
        command,
        args,
        env: { ...process.env, ...libraryEnvironment(store, run) },
        stdout: out.json ? 'stderr' : 'inherit',
      },
    })
    await recorder.close()
    const { exit, coverage } = attended
    await run.end(exit.code === 0 ? 'ok' : exit.signal === undefined ? 'error' : 'cancelled')
    if (out.json)
      out.document('daglog.record/1', { ok: exit.code === 0, run: run.id, exit, coverage })
    out.note(['green', 'recorded '], `${countText(coverage.recorded, 'call')} into ${run.id}`)
    for (const line of coverageLines(coverage)) out.note(...line)
    return childExit(exit.code)
  } catch (error) {
    await run.end('error').catch(() => {}) // What went wrong first is what counts.
    throw error
  } finally {
    upstream.close()
  }
}

/** For programs that use the library themselves. */
function libraryEnvironment(store: Store, run: Run): Record<string, string> {
  return { DAGLOG_DIR: store.place, DAGLOG_MODE: 'record', DAGLOG_RUN: run.id }
}
