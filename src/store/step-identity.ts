/**
 * What a step is, whenever it runs: its key, and what follows from it.
 * @see docs/format.md#steps
 */
import { stepKey } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import { GENESIS, type Hash, sha256 } from '../core/hash.js'
import type { RunView } from './run-view.js'

/** The key of a step, given how often one like it was begun before. */
export function keyMaker(ask: {
  readonly parentKey: string
  readonly name: string
  readonly inputDigest: Hash
  readonly options: { readonly key?: string }
}): (occurrence: number) => Hash {
  const { parentKey, name, inputDigest, options } = ask
  const own = options.key === undefined ? {} : { own: options.key }
  return (occurrence) => stepKey({ parentKey, name, inputDigest, occurrence, ...own })
}

/** Steps with keys of their own that are running now. */
const running = new WeakMap<RunView, Set<string>>()

/** @returns To be called when the step has ended. @throws STEP_KEY_TAKEN */
export function enterKey(step: {
  readonly run: RunView
  readonly parentKey: string
  readonly name: string
  readonly key: string
}): () => void {
  const { run, parentKey, name, key } = step
  const place = JSON.stringify([parentKey, name, key])
  const here = running.get(run) ?? new Set()
  running.set(run, here)
  if (here.has(place)) {
    throw new DaglogError(
      'STEP_KEY_TAKEN',
      `step "${name}" with key ${JSON.stringify(key)} is running already in run ${run.id}, and two at once cannot be told apart; try: a key for each, or wait for the first`,
      { run: run.id, name, key },
    )
  }
  here.add(place)
  return () => here.delete(place)
}

const lineages = new WeakMap<RunView, Promise<Hash>>()

/**
 * What idempotency keys are made of: the identity of the run, the same for all who go on with it.
 */
export function lineageOf(run: RunView): Promise<Hash> {
  const known = lineages.get(run)
  if (known !== undefined) return known
  const lineage = run.identity().then((identity) => identity ?? GENESIS)
  lineages.set(run, lineage)
  return lineage
}

export function idempotencyKey(lineage: Hash, key: string): Hash {
  return sha256(Buffer.from(JSON.stringify(['idempotency/1', lineage, key])))
}
