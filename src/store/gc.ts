/**
 * Garbage collection: dropping the objects that no run refers to.
 * All or nothing in its judgement: where a run, a value or a pack cannot be read whole, nothing is dropped,
 * for what cannot be read cannot be known to be dead. Nobody writes meanwhile.
 * Memory: about 200 bytes for each object that runs refer to.
 * @see docs/format.md#objects
 */
import { DaglogError } from '../core/errors.js'
import type { StoreContext } from './context.js'
import { walkValues } from './run-values.js'
import { explained, missing, valueObjects, wasSeen } from './values.js'
import { verifyStore } from './verify-store.js'

export interface GcReport {
  /** Runs whose values were followed. */
  readonly runs: number
  /** Objects that these refer to, each counted once. */
  readonly live: number
  /** Packed objects that no run refers to, and their length as they are read, in bytes. */
  readonly dead: number
  readonly deadBytes: number
  /**
   * What the medium has got back, in bytes. A pack is written anew only where a fifth of it is dead, so
   * some dead objects stay until more of their neighbours are.
   */
  readonly freedBytes: number
}

/**
 * Collect the store; with `dryRun` only look.
 * @throws STORE_LOCKED naming who writes to a run, or collects already. CHAIN_BROKEN, FRAME_INVALID,
 *   OBJECT_MISSING, OBJECT_CORRUPT, PACK_INVALID, READ_FAILED where something cannot be read, naming run
 *   and seq where it belongs to one: then nothing was dropped.
 */
export async function collect(
  context: StoreContext,
  { dryRun }: { readonly dryRun: boolean },
): Promise<GcReport> {
  const { backend, program } = context
  const letIn = await backend.exclude(program)
  try {
    const { runs, seen } = await mark(context)
    const swept = await backend.sweepObjects((hash) => wasSeen(seen, hash), { dryRun })
    const { dead, deadBytes, freedBytes } = swept
    return { runs, live: seen.size, dead, deadBytes, freedBytes }
  } finally {
    await letIn()
  }
}

/** Follow every value of every run. */
async function mark(context: StoreContext): Promise<{ runs: number; seen: ReadonlySet<string> }> {
  await checkStoreLog(context)
  await checkNoneGone(context)
  const seen = new Set<string>()
  const places = await context.backend.listRuns()
  for (const { id, place } of places) await markRun(context, id ?? place, seen)
  return { runs: places.length, seen }
}

async function markRun(context: StoreContext, id: string, seen: Set<string>): Promise<void> {
  const { backend } = context
  try {
    await walkValues(context, id, async (ref, by) => {
      try {
        for await (const { hash, object } of valueObjects(backend, ref, id, seen))
          if (object === undefined) throw missing(hash, ref, by)
      } catch (error) {
        throw explained(error, ref, by)
      }
    })
  } catch (error) {
    throw named(error, id)
  }
}

/** Errors of a medium or of a body do not know which run they are about. */
function named(error: unknown, run: string): unknown {
  if (!(error instanceof DaglogError) || 'run' in error.data || 'log' in error.data) return error
  const message = error.message.replace(`${error.code}: `, '')
  return new DaglogError(
    error.code,
    `run ${run}: ${message}`,
    { ...error.data, run },
    { cause: error },
  )
}

/** What it says of runs is needed in full: heads that it covers, and which runs were deleted. */
async function checkStoreLog(context: StoreContext): Promise<void> {
  const [problem] = (await verifyStore(context, [], {})).storeLog.problems
  if (problem === undefined) return
  const { seq, segment, byte, reason } = problem
  throw new DaglogError(
    'CHAIN_BROKEN',
    `the store's log, seq ${seq}, segment ${segment}, byte ${byte}: ${reason}. Nothing was dropped; try: a backup of store.*.jsonl`,
    { log: 'store', seq, segment, byte },
  )
}

/** A run that went without a word may come back with the rest of a backup, and wants its objects then. */
async function checkNoneGone({ backend, heads }: StoreContext): Promise<void> {
  for (const { id, seq } of (await heads.refresh()).all()) {
    if (await backend.hasRun(id)) continue
    throw new DaglogError(
      'CHAIN_BROKEN',
      `run ${id} is not here, and the store's log knows of no deletion (its head was seq ${seq}). Nothing was dropped; try: restore it, or record that it is gone with \`daglog rm ${id} --yes\``,
      { run: id, seq },
    )
  }
}
