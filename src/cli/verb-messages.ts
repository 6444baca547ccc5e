/** `daglog messages RUN[@SEQ] [--provider P]` */
import { encodeValue } from '../core/encode.js'
import { providerView } from '../fold/provider/provider-view.js'
import { wholeHistory } from '../store/whole-history.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { runAt } from './run-at.js'

/** The history as a model would be given it: in neutral form, or in the form of a provider. */
export async function messagesOf(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const { view, at } = await runAt(store, call.argument('RUN'))
  const provider = call.text('provider')
  const { messages: seen, begins } = await wholeHistory(view, at === undefined ? {} : { at })
  const given = provider === undefined ? undefined : providerView(seen, { provider })
  const list = given?.messages ?? seen
  if (out.json) {
    const lint = given === undefined ? {} : { provider, changes: given.lint }
    const from = begins.length === 0 ? {} : { begins }
    out.document('daglog.messages/1', { ok: true, run: view.id, ...from, ...lint, messages: list })
    return 0
  }
  for (const message of list) out.jsonLine(encodeValue(message).text)
  for (const { seq, line, kind, what } of given?.lint ?? []) {
    const place = line === undefined ? `${seq}` : `${seq}.${line}`
    out.note(`${place}: ${kind}: ${what}`)
  }
  for (const { session, run } of begins) {
    if (run === undefined)
      out.note(
        `it goes on from session ${session}, which is not here: what was said there is missing`,
      )
    else out.note(`it goes on from run ${run}`)
  }
  return 0
}
