/** `daglog step RUN FN [--in FILE|-] [--out FILE|-] [--dep ID]... [--error TEXT]` */
import { recordStep } from '../store/record-step.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { readInput, textOrBytes } from './input-file.js'

export async function step(call: Call): Promise<ExitCode> {
  const [given, gave, error] = [call.text('in'), call.text('out'), call.text('error')]
  if (given === '-' && gave === '-')
    throw call.usage('--in and --out cannot both be standard input', 'a file for one of them')
  // Read before the run is opened: nobody waits for a slow pipe.
  const input = given === undefined ? undefined : textOrBytes(await readInput(given))
  const output = gave === undefined ? undefined : textOrBytes(await readInput(gave))
  const store = await call.store()
  const run = await store.openRun(call.argument('RUN'), call.writing())
  const { id, key, end } = await recordStep(run, {
    name: call.argument('FN'),
    input,
    output,
    error: error === undefined ? undefined : { name: 'Error', message: error },
    deps: call.list('dep'),
  })
  if (call.out.json) call.out.document('daglog.step/1', { ok: true, run: run.id, id, key, ...end })
  else call.out.line(id)
  return 0
}
