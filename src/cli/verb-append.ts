/** `daglog append RUN TYPE [--data JSON|-] [--op ID]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { readInput } from './input-file.js'
import { JsonFault, parseJsonText } from './json-text.js'

export async function append(call: Call): Promise<ExitCode> {
  const data = await dataOf(call)
  const store = await call.store()
  const run = await store.openRun(call.argument('RUN'), call.writing())
  const { seq, hash } = await run.append(call.argument('TYPE'), data, { op: call.text('op') })
  if (call.out.json) call.out.document('daglog.append/1', { ok: true, run: run.id, seq, hash })
  else call.out.line(`${seq}:${hash}`)
  return 0
}

async function dataOf(call: Call): Promise<unknown> {
  const given = call.text('data')
  if (given === undefined) return {}
  const text = given === '-' ? (await readInput('-')).toString() : given
  try {
    return parseJsonText(text)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    throw call.usage(
      `--data is no JSON that can be kept: ${error.message}`,
      `--data '{"text":"hello"}'`,
    )
  }
}
