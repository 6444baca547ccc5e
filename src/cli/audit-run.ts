/**
 * The audit of one run, whatever happens: a run that cannot even be read hides no other.
 */
import type { Store } from '../store/store.js'
import { verifyRun } from '../store/verify.js'
import type { KnownHead, RunReport } from '../store/verify-report.js'

export interface TimedReport extends RunReport {
  /** How long the audit took. */
  readonly ms: number
}

/** @param head A head of the run that was kept elsewhere. */
export async function auditRun(
  store: Store,
  id: string,
  head: KnownHead | undefined,
): Promise<TimedReport> {
  const began = performance.now()
  const report = await verifyRun(store.context, id, head === undefined ? {} : { head }).catch(
    (error: unknown) => unread(id, error instanceof Error ? error.message : String(error)),
  )
  return { ...report, ms: Math.round(performance.now() - began) }
}

function unread(run: string, reason: string): RunReport {
  return {
    run,
    ok: false,
    level: 'none',
    events: 0,
    objects: 0,
    bytes: 0,
    head: undefined,
    coveredSeq: -1,
    problems: [{ kind: 'medium', seq: 0, reason }],
    problemsMore: 0,
    incomplete: [],
    redacted: [],
    stray: [],
  }
}
