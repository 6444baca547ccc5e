/** `daglog commands [--json | --markdown]` */
import type { Call } from './call.js'
import { docsPage } from './docs.js'
import { EXIT_CODES, type ExitCode } from './exit-codes.js'
import { COMMON_FLAGS, type Verb } from './verb.js'

export async function commands(call: Call, verbs: readonly Verb[]): Promise<ExitCode> {
  const { out } = call
  if (call.has('markdown')) {
    await out.bytes(Buffer.from(docsPage(verbs)))
    return 0
  }
  if (out.json) {
    const table = verbs.map(({ load: _, ...verb }) => verb)
    out.document('daglog.commands/1', {
      ok: true,
      verbs: table,
      commonFlags: COMMON_FLAGS,
      exitCodes: EXIT_CODES,
    })
    return 0
  }
  const width = Math.max(...verbs.map(({ name }) => name.length))
  for (const { name, summary } of verbs) out.line(['bold', name.padEnd(width)], `  ${summary}`)
  return 0
}
