/** `daglog doctor [PATH...]` */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Finding } from './finding.js'
import { machineFindings, storeFindings } from './health.js'
import type { Style } from './output.js'

const MARKS: Readonly<Record<Finding['state'], readonly [Style, string]>> = {
  good: ['green', 'ok  '],
  note: ['dim', '-   '],
  incomplete: ['yellow', 'open'],
  bad: ['red', 'BAD '],
}

export async function doctor(call: Call): Promise<ExitCode> {
  const { out } = call
  const paths = call.many('PATH')
  if (paths.length > 0) {
    const { examineTranscripts } = await import('./transcript-health.js')
    return examineTranscripts(call, paths)
  }
  const findings: Finding[] = []
  const tell = (finding: Finding): void => {
    findings.push(finding)
    const { state, about, what, advice } = finding
    if (out.json) return
    out.line(MARKS[state], '  ', ['bold', about], `  ${what}`)
    if (advice !== undefined) out.line(`      try: ${advice}`)
  }
  for (const finding of machineFindings()) tell(finding)
  if (!out.json) await out.flush()
  const place = await examine(call, tell)
  const states = new Set(findings.map(({ state }) => state))
  const exit = states.has('bad') ? 3 : states.has('incomplete') ? 5 : 0
  if (out.json) out.document('daglog.doctor/1', { ok: exit === 0, store: place, findings })
  return exit
}

async function examine(call: Call, tell: (finding: Finding) => void): Promise<string> {
  const store = await call.store()
  for await (const finding of storeFindings(store)) tell(finding)
  return store.place
}
