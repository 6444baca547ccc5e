/**
 * What a store takes, and what of that runs share.
 * Reads every value of every run; the numbers are exact while nobody writes. Runs that cannot be
 * read hide no others.
 * Memory: about 120 bytes for each object, and as much again for those of the largest run.
 */
import type { Backend } from '../backend/backend.js'
import type { Hash } from '../core/hash.js'
import type { RunHead } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import { walkValues } from './run-values.js'
import { runIdAt } from './run-view.js'
import { missing, valueObjects } from './values.js'

/** All in bytes. */
export interface RunUsage {
  readonly id: string
  /** Its log as it is read. */
  readonly log: number
  /** Its log as it lies on the medium: less where parts of it are at rest. */
  readonly logStored: number
  /** Its values out of line as they were appended, each as often as it was; states do not count. */
  readonly values: number
  /** Objects that no other run refers to, each once, as they are read. */
  readonly unique: number
  /** Objects that other runs refer to as well, each once, as they are read. */
  readonly shared: number
  /** Its own objects that are in no pack yet, as they lie on the medium. */
  readonly open: number
  /** Why the numbers are not whole. */
  readonly problem?: string
}

/** All in bytes, but for the ratio. */
export interface DuTotals {
  /** Logs as they are read, and values as often as they were appended. */
  readonly logical: number
  /** Logs as they are read, and each object once, as it is read. */
  readonly unique: number
  /** What is on the medium: packs with their indexes, open objects, logs, the store's own log. */
  readonly stored: number
  readonly packs: number
  readonly open: number
  readonly logs: number
  /** How many times smaller the store is than what it holds: logical to stored. */
  readonly ratio: number
}

export interface DuReport {
  readonly runs: readonly RunUsage[]
  readonly totals: DuTotals
}

export async function usage(context: StoreContext): Promise<DuReport> {
  const { backend } = context
  const owners = new Owners()
  const { list } = await context.heads.read()
  const ids: string[] = []
  for (const place of await backend.listRuns()) ids.push(await runIdAt(context, place))
  const found: Measured[] = []
  for (const [number, id] of ids.sort().entries())
    found.push(await measure(backend, { id, noted: list.head(id) }, { owners, number }))
  const runs = found.map((run, number): RunUsage => ({ ...run, ...owners.of(number) }))
  const storeLog = await backend.logBytes('store')
  const packs = await backend.objectBytes(undefined)
  const total = (of: (run: RunUsage) => number): number =>
    runs.reduce((sum, run) => sum + of(run), 0)
  const [read, open] = [total(({ log }) => log), total((run) => run.open)]
  const logs = storeLog + total(({ logStored }) => logStored)
  const logical = read + total(({ values }) => values)
  const stored = packs + open + logs
  const unique = read + owners.bytes
  const ratio = stored === 0 ? 1 : logical / stored
  return { runs, totals: { logical, unique, stored, packs, open, logs, ratio } }
}

type Measured = Omit<RunUsage, 'unique' | 'shared'>

async function measure(
  backend: Backend,
  { id, noted }: { readonly id: string; readonly noted: RunHead | undefined },
  { owners, number }: { readonly owners: Owners; readonly number: number },
): Promise<Measured> {
  const run = { id, log: 0, logStored: 0, values: 0, open: 0 }
  try {
    for (const { bytes } of await backend.segments({ run: id })) run.log += bytes
    run.logStored = await backend.logBytes({ run: id })
    // A medium that does not seal has one place for all objects.
    run.open = backend.can.seals ? await backend.objectBytes(id) : 0
    const seen = new Set<string>()
    await walkValues(backend, { id, noted }, async (ref, by) => {
      run.values += ref.size
      for await (const { hash, object } of valueObjects(backend, ref, id, seen)) {
        if (object === undefined) throw missing(hash, ref, by)
        owners.add(hash, number, object.bytes.length)
      }
    })
    return run
  } catch (error) {
    return { ...run, problem: error instanceof Error ? error.message : String(error) }
  }
}

const SHARED = -1

/** Which run an object belongs to, as long as it is one; runs go by number. */
class Owners {
  /** Of all objects, each once. */
  bytes = 0
  private readonly ownerOf = new Map<Hash, number>()
  private readonly unique: number[] = []
  private readonly shared: number[] = []

  /** A run refers to an object. Not to be told twice of the same, and runs one after the other. */
  add(hash: Hash, run: number, bytes: number): void {
    const owner = this.ownerOf.get(hash)
    if (owner === run) return
    if (owner === undefined) {
      this.ownerOf.set(hash, run)
      this.bytes += bytes
      this.unique[run] = (this.unique[run] ?? 0) + bytes
      return
    }
    this.shared[run] = (this.shared[run] ?? 0) + bytes
    if (owner === SHARED) return
    this.ownerOf.set(hash, SHARED)
    this.unique[owner] = (this.unique[owner] ?? 0) - bytes
    this.shared[owner] = (this.shared[owner] ?? 0) + bytes
  }

  of(run: number): { unique: number; shared: number } {
    return { unique: this.unique[run] ?? 0, shared: this.shared[run] ?? 0 }
  }
}
