/**
 * Garbage collection: dropping the objects that no run refers to.
 * All or nothing in its judgement: where a run, a value or a pack cannot be read whole, nothing is
 * dropped, for what cannot be read cannot be known to be dead. Nobody writes meanwhile.
 * Memory: about 130 bytes for each object that runs refer to.
 * @see docs/format.md#objects
 */
import type { Backend } from '../backend/backend.js'
import { DaglogError } from '../core/errors.js'
import type { RunHead, RunList } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import { chainBroken } from './open-log.js'
import { walkValues } from './run-values.js'
import { runIdAt } from './run-view.js'
import { explained, missing, valueObjects, wasSeen } from './values.js'

export interface GcReport {
  /** Runs whose values were followed. */
  readonly runs: number
  /** Objects that these refer to, each counted once. */
  readonly live: number
  /** Packed objects that no run refers to, and their length as they are read, in bytes. */
  readonly dead: number
  readonly deadBytes: number
  /**
   * What the medium has got back, in bytes. A pack is written anew only where a fifth of it is
   * dead, so some dead objects stay until more of their neighbours are.
   */
  readonly freedBytes: number
}

/**
 * Collect the store; with `dryRun` only look.
 * @throws STORE_LOCKED naming who writes to a run, or collects already. CHAIN_BROKEN, FRAME_INVALID,
 * OBJECT_MISSING, OBJECT_CORRUPT, PACK_INVALID, READ_FAILED where something cannot be read, naming
 * run and seq where it belongs to one: then nothing was dropped.
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
  const list = await headsOf(context)
  const seen = new Set<string>()
  const places = await context.backend.listRuns()
  for (const place of places) {
    const id = await runIdAt(context, place)
    await markRun(context.backend, { id, noted: list.head(id) }, seen)
  }
  return { runs: places.length, seen }
}

async function markRun(
  backend: Backend,
  run: { readonly id: string; readonly noted: RunHead | undefined },
  seen: Set<string>,
): Promise<void> {
  try {
    await walkValues(backend, run, async (ref, by) => {
      try {
        for await (const { hash, object } of valueObjects(backend, ref, run.id, seen))
          if (object === undefined) throw missing(hash, ref, by)
      } catch (error) {
        throw explained(error, ref, by)
      }
    })
  } catch (error) {
    throw named(error, run.id)
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

/**
 * What the store's log says of runs, of which nothing may be missing: it covers their ends, and a
 * run that went without a word may come back with the rest of a backup, and wants its objects then.
 */
async function headsOf({ backend, heads }: StoreContext): Promise<RunList> {
  const { list, tail } = await heads.read()
  if (tail.damage !== undefined) throw chainBroken('store', tail.damage)
  for (const { id, seq } of list.all()) {
    if (await backend.hasRun(id)) continue
    throw new DaglogError(
      'CHAIN_BROKEN',
      `run ${id} is not here, and the store's log knows of no deletion (its head was seq ${seq}); try: restore it, or record that it is gone with \`daglog rm ${id} --yes\``,
      { run: id, seq },
    )
  }
  return list
}
