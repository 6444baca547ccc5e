/** `daglog proxy [--mode record|replay|auto] [--port N] [--run RUN] [--host HOST]...` */
import { stand } from '../http/proxy/attend.js'
import type { Run } from '../store/run.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'
import { coverageLines } from './coverage-words.js'
import type { ExitCode } from './exit-codes.js'
import { countText } from './quantity.js'
import { missLines } from './replay-words.js'
import {
  autoDoor,
  outerProxyWords,
  recordingDoor,
  replayingDoor,
  replayRun,
  type TrafficDoor,
} from './traffic-doors.js'

export async function proxy(call: Call): Promise<ExitCode> {
  const { out } = call
  const mode = call.text('mode') ?? 'record'
  const reference = call.text('run')
  if (mode !== 'record' && reference === undefined)
    throw call.usage(`mode ${mode} answers from a run`, `daglog proxy --mode ${mode} --run @last`)
  if (mode === 'record' && reference !== undefined)
    throw call.usage('a recording is a run of its own', 'daglog proxy --mode auto --run RUN')
  call.ownInterrupts = true
  const outer = outerProxyWords(process.env)
  if (outer !== undefined) out.note(['yellow', 'note '], outer)
  const store = await call.store({ create: true })
  const from = reference === undefined ? undefined : await store.inspectRun(reference)
  const run = await newRun(store, mode, from)
  const door = await doorFor(mode, from, run)
  const port = call.number('port')
  const standing = await stand({
    ...door,
    hosts: call.list('host'),
    env: process.env,
    ...(port === undefined ? {} : { port }),
    onError: (error) => out.alarm(['red', 'not recorded: '], String(error)),
  })
  await tell(call, standing.environment(process.env), run.id)
  await interrupted()
  await standing.close()
  await door.close()
  await run.end()
  const coverage = standing.coverage()
  const unwritten = door.unwritten()
  // In the other modes what was answered from the run may be among those that were not written.
  const recorded = mode === 'record' ? coverage.recorded - unwritten : coverage.recorded
  out.note(`${countText(recorded, 'call')} recorded, ${coverage.replayed} replayed`)
  if (unwritten > 0) out.alarm(['red', 'not recorded: '], countText(unwritten, 'call'))
  for (const line of coverageLines(coverage)) out.note(...line)
  const report = door.report()
  if (mode !== 'replay' || report === undefined || report.ok) return unwritten > 0 ? 5 : 0
  for (const line of missLines(report)) out.alarm(...line)
  return 6
}

async function newRun(store: Store, mode: string, from: RunView | undefined): Promise<Run> {
  if (from === undefined) return store.createRun({ name: 'proxy' })
  return mode === 'replay' ? replayRun(store, from) : store.createRun({ name: 'proxy' })
}

function doorFor(mode: string, from: RunView | undefined, run: Run): Promise<TrafficDoor> {
  if (from === undefined) return recordingDoor(run)
  return mode === 'replay' ? replayingDoor(from, run) : autoDoor(from, run)
}

/** What a client has to be told; as lines for a shell, or one document. */
async function tell(
  { out }: Call,
  environment: Readonly<Record<string, string | undefined>>,
  run: string,
): Promise<void> {
  if (out.json) out.document('daglog.proxy/1', { run, environment })
  else {
    for (const [name, value] of Object.entries(environment))
      out.line(value === undefined ? `unset ${name}` : `export ${name}='${value}'`)
  }
  await out.flush()
  out.note(`run ${run}; stop with Ctrl-C`)
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
