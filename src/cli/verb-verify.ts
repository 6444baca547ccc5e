/** `daglog verify [RUN...] [--all] [--head SEQ:HASH]` */
import type { Hash } from '../core/hash.js'
import type { Store } from '../store/store.js'
import type { KnownHead } from '../store/verify-report.js'
import { auditRun, type TimedReport } from './audit-run.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { printReport, printStoreLog } from './verify-words.js'

export async function verify(call: Call): Promise<ExitCode> {
  const { out } = call
  const asked = call.many('RUN')
  const head = headOf(call)
  if (asked.length > 0 && call.has('all')) throw call.usage('--all and a RUN say different things')
  const store = await call.store()
  const ids = asked.length > 0 ? await resolveAll(store, asked) : await allIds(store)
  const { storeLog } = await store.verify([])
  if (!out.json) printStoreLog(out, storeLog)
  const reports: TimedReport[] = []
  for (const id of ids) {
    const report = await auditRun(store, id, head)
    reports.push(report)
    if (!out.json) printReport(out, report)
    await out.flowing()
  }
  if (ids.length === 0) out.note('no runs to verify')
  const ok = storeLog.ok && reports.every((report) => report.ok)
  const complete = [storeLog, ...reports].every(({ incomplete }) => incomplete.length === 0)
  if (out.json) {
    const runs = reports.map(({ run, ok, level, events, objects, head, ...more }) => {
      return { run, ok, level, events, objects, head: head ?? null, ...more }
    })
    out.document('daglog.verify/1', { ok, runs, complete, storeLog })
  }
  return ok ? (complete ? 0 : 5) : 3
}

function headOf(call: Call): KnownHead | undefined {
  const text = call.text('head')
  if (text === undefined) return undefined
  const parts = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (parts === null)
    throw call.usage(
      `"${text}" is no head`,
      '--head SEQ:HASH, as `daglog append` and `end` print it',
    )
  if (call.many('RUN').length !== 1)
    throw call.usage('--head belongs to one run', `daglog verify RUN --head ${text}`)
  return { seq: Number(parts[1]), hash: parts[2] as Hash }
}

async function resolveAll(store: Store, references: readonly string[]): Promise<string[]> {
  const ids = new Set<string>()
  for (const reference of references) ids.add(await store.resolve(reference))
  return [...ids]
}

async function allIds(store: Store): Promise<string[]> {
  const places = await store.context.backend.listRuns()
  return places.map(({ id, place }) => id ?? place).sort()
}
