/**
 * The audit of a store: its own log, and the runs asked for.
 */
import type { RunList } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import type { Tail } from './log-tail.js'
import { runIdAt } from './run-view.js'
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

/** @param ids The runs to audit; all that there are or should be, unless told. */
export async function verifyStore(
  context: StoreContext,
  ids: readonly string[] | undefined,
  options: { readonly head?: KnownHead },
): Promise<VerifyReport> {
  // An audit believes no cache: the heads are read from the store's log itself, once for all runs.
  const { list, tail, events } = await context.heads.read()
  const storeLog = storeLogReport(tail, events)
  const runs: RunReport[] = []
  for (const id of ids ?? (await allRuns(context, list))) {
    runs.push(await verifyRun(context, id, { ...options, list }))
  }
  return {
    ok: storeLog.ok && runs.every(({ ok }) => ok),
    complete:
      storeLog.incomplete.length === 0 && runs.every(({ incomplete }) => incomplete.length === 0),
    storeLog,
    runs,
  }
}

/**
 * The runs that are there, and those that the store's log knows and that are gone without a word.
 */
async function allRuns(context: StoreContext, list: RunList): Promise<string[]> {
  const ids = new Set<string>()
  for (const place of await context.backend.listRuns()) ids.add(await runIdAt(context, place))
  for (const { id } of list.all()) ids.add(id)
  return [...ids].sort()
}

function storeLogReport({ torn, damage }: Tail, events: number): StoreLogReport {
  const incomplete = torn === undefined ? [] : [`the store's log ends in ${torn.bytes} torn bytes`]
  if (damage === undefined) return { ok: true, events, problems: [], incomplete }
  const { place, seq, reason, expected, found } = damage
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
