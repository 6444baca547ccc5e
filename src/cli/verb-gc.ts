/** `daglog gc [--dry-run]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { bytesText, countText } from './quantity.js'

export async function gc(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const dryRun = call.has('dry-run')
  const report = await store.gc({ dryRun })
  if (out.json) {
    out.document('daglog.gc/1', { ok: true, dryRun, ...report })
    return 0
  }
  const { runs, live, dead, deadBytes, freedBytes } = report
  out.line(
    `${countText(runs, 'run')} ${runs === 1 ? 'needs' : 'need'} ${countText(live, 'object')}`,
  )
  out.line(`${countText(dead, 'object')} in packs, ${bytesText(deadBytes)}, needed by none`)
  if (dryRun) out.note('nothing was dropped; without --dry-run what is worth the work is')
  else out.line(`${bytesText(freedBytes)} freed on the disk`)
  return 0
}
