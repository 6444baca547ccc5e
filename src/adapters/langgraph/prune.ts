/**
 * Which checkpoints of a thread nobody needs any more. What a run of the graph may go on from
 * stays:
 * the end of each branch, what those ends are built from, and what a subgraph's checkpoint names.
 */
import type { CheckpointEntry, ThreadIndex } from './thread-index.js'
import type { CheckpointData } from './thread-reader.js'

export interface PruneRule {
  /** So many stay of each branch, its end among them; 1 unless told. */
  readonly keep: number
  /** Only older ones go, in ms since 1970. */
  readonly before: number
}

type DataOf = (entry: CheckpointEntry) => Promise<CheckpointData>

/** The checkpoints to delete, as (namespace, id). */
export async function prunable(
  index: ThreadIndex,
  rule: PruneRule,
  dataOf: DataOf,
): Promise<[ns: string, id: string][]> {
  const kept = new Set<CheckpointEntry>()
  const work: CheckpointEntry[] = []
  const keep = (entry: CheckpointEntry | undefined): void => {
    if (entry === undefined || kept.has(entry)) return
    kept.add(entry)
    work.push(entry)
  }
  const all = index.namespaces().flatMap((ns) => [...index.entries(ns)])
  for (const end of endsOf(all, index)) {
    let at: CheckpointEntry | undefined = end
    for (let left = Math.max(1, rule.keep); at !== undefined && left > 0; left -= 1) {
      keep(at)
      at = parentOf(index, at)
    }
  }
  for (const entry of all) {
    // One that does not say when it was made is of no known age.
    const isOld =
      rule.before === Number.POSITIVE_INFINITY || madeAt(await dataOf(entry)) < rule.before
    if (!isOld) keep(entry)
  }
  // What is kept may need others to be read or gone on from.
  for (let entry = work.pop(); entry !== undefined; entry = work.pop()) {
    const data = await dataOf(entry)
    for (const [ns, id] of Object.entries(parentsIn(data))) keep(index.get(ns, id))
    if (data.v < SENDS_INSIDE) keep(parentOf(index, entry))
    if (hasDeltas(data)) keep(parentOf(index, entry))
  }
  return all.filter((entry) => !kept.has(entry)).map(({ ns, id }) => [ns, id])
}

/** In ms since 1970; NaN where it does not say. */
function madeAt({ ts }: CheckpointData): number {
  return Date.parse(ts)
}

/** Checkpoints that no other one follows. */
function endsOf(all: readonly CheckpointEntry[], index: ThreadIndex): CheckpointEntry[] {
  const followed = new Set(all.map((entry) => parentOf(index, entry)))
  return all.filter((entry) => !followed.has(entry))
}

function parentOf(
  index: ThreadIndex,
  { ns, parent }: CheckpointEntry,
): CheckpointEntry | undefined {
  return parent === undefined ? undefined : index.get(ns, parent)
}

function parentsIn({ metadata }: CheckpointData): Readonly<Record<string, string>> {
  return (metadata as { readonly parents?: Record<string, string> } | null)?.parents ?? {}
}

/** Before this version, what was sent lay with the checkpoint before. */
const SENDS_INSIDE = 4

/** Whether a channel's value is made from the writes since an earlier checkpoint. */
function hasDeltas({ metadata }: CheckpointData): boolean {
  const counters = (metadata as { readonly counters_since_delta_snapshot?: unknown } | null)
    ?.counters_since_delta_snapshot
  if (typeof counters !== 'object' || counters === null) return false
  return Object.values(counters).some((counts) => Array.isArray(counts) && Number(counts[1]) > 0)
}
