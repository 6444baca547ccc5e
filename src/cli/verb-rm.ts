/** `daglog rm RUN [--yes] [--children] [--force]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { bytesText, countText } from './quantity.js'

export async function rm(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const id = await store.resolve(call.argument('RUN'), { gone: true })
  if (!call.has('yes')) {
    const info = (await store.runs()).find((run) => run.id === id)
    const size =
      info === undefined ? '' : ` (${countText(info.events, 'event')}, ${bytesText(info.bytes)})`
    throw call.usage(`run ${id}${size} would be deleted, and nothing was`, `daglog rm ${id} --yes`)
  }
  await store.deleteRun(id, { force: call.has('force'), children: call.has('children') })
  out.note(`run ${id} is deleted; objects that only it needed go with \`daglog gc\``)
  if (out.json) out.document('daglog.rm/1', { ok: true, run: id })
  return 0
}
