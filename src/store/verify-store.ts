/**
 * The audit of a store: its own log, and the runs asked for.
 */
import type { StoreContext } from './context.js'
import { LogReader } from './log-reader.js'
import { readTail } from './log-tail.js'
import { verifyRun } from './verify.js'
import type { KnownHead, Problem, RunReport } from './verify-report.js'

/** What the audit says of the store's own log. */
export interface StoreLogReport {
  readonly ok: boolean
  readonly events: number
  readonly problems: readonly Problem[]
  readonly incomplete: readonly string[]
}

export interface VerifyReport {
  /** No problem in anything that was audited. */
  readonly ok: boolean
  /** Nothing is missing either: no open turn, no torn end. */
  readonly complete: boolean
  readonly storeLog: StoreLogReport
  readonly runs: readonly RunReport[]
}

export async function verifyStore(
  context: StoreContext,
  ids: readonly string[],
  options: { readonly head?: KnownHead },
): Promise<VerifyReport> {
  const storeLog = await verifyStoreLog(context)
  const runs: RunReport[] = []
  for (const id of ids) runs.push(await verifyRun(context, id, options))
  return {
    ok: storeLog.ok && runs.every(({ ok }) => ok),
    complete:
      storeLog.incomplete.length === 0 && runs.every(({ incomplete }) => incomplete.length === 0),
    storeLog,
    runs,
  }
}

async function verifyStoreLog(context: StoreContext): Promise<StoreLogReport> {
  const reader = new LogReader(context.backend, 'store')
  let events = 0
  const tail = await readTail(reader, {
    shape: await reader.shape(),
    coveredSeq: -1,
    hasObject: async () => true,
    onFrame: () => {
      events += 1
    },
  })
  const incomplete =
    tail.torn === undefined ? [] : [`the store's log ends in ${tail.torn.bytes} torn bytes`]
  if (tail.damage === undefined) return { ok: true, events, problems: [], incomplete }
  const { place, seq, reason, expected, found } = tail.damage
  const problem: Problem = {
    kind: 'frame',
    seq,
    segment: place.segment,
    byte: place.from,
    reason,
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
  }
  return { ok: false, events, problems: [problem], incomplete }
}
