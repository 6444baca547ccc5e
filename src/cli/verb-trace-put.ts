/** `daglog trace-put --method M --url U [--body FILE|-] --status N --response FILE [--run RUN]` */
import { STATUS_CODES } from 'node:http'
import { assert } from '../core/errors.js'
import { openRecorder } from '../http/recorder.js'
import type { Run } from '../store/run.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { readInput } from './input-file.js'
import { countText } from './quantity.js'
import { headersOf, required, traceRequest } from './trace-request.js'

const RUN_UNLESS_TOLD = 'traces'

export async function tracePut(call: Call): Promise<ExitCode> {
  const { out } = call
  if (call.text('body') === '-' && call.text('response') === '-')
    throw call.usage('standard input can be one body only', '--body FILE --response -')
  const status = statusOf(call)
  const request = await traceRequest(call)
  const headers = headersOf(call, 'response-header')
  const body = await readInput(required(call, 'response'))
  const store = await call.store({ create: true })
  const run = await runOf(call, store)
  const recorder = await openRecorder(run, { fail: 'closed' })
  const recording = await recorder.start(request, request.form)
  if (request.body.length > 0) await recording.requestBody(request.body)
  recording.requestEnd()
  recording.response({ status, statusText: STATUS_CODES[status] ?? '', headers })
  if (body.length > 0) await recording.responseBody(body)
  await recording.end('complete')
  await recorder.close()
  const stored = await run.last('http/exchange')
  assert(stored !== undefined, 'an exchange that was acknowledged is in its run')
  const { key, ordinal, scrubbed } = stored.data
  await run.close()
  const secrets = scrubbed.reduce((sum, { count }) => sum + count, 0)
  if (secrets > 0) out.note(`${countText(secrets, 'secret')} scrubbed before it was stored`)
  if (out.json) {
    const fields = { ok: true, run: run.id, seq: stored.seq, ordinal, key, scrubbed }
    out.document('daglog.trace-put/1', fields)
  } else out.line(key)
  return 0
}

/** @throws USAGE */
function statusOf(call: Call): number {
  const status = call.number('status')
  if (status === undefined) throw call.usage('--status is missing')
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw call.usage(`${status} is no status of a last response`, '--status 200')
}

/** A run that is named must be there: a mistyped name makes no new one. @throws RUN_NOT_FOUND */
function runOf(call: Call, store: Store): Promise<Run> {
  const named = call.text('run')
  if (named === undefined || named === RUN_UNLESS_TOLD)
    return store.run(RUN_UNLESS_TOLD, { name: RUN_UNLESS_TOLD, ...call.writing() })
  return store.openRun(named, call.writing())
}
