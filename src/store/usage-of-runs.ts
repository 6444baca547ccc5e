/**
 * What all runs of a store took, each call counted once.
 * A run that cannot be read hides no other; what is left out is said.
 */
import { usage } from '../fold/usage.js'
import { type CountedUsage, countOnce, type RunCalls } from '../fold/usage-across.js'
import type { RunInfo } from './run-infos.js'
import type { Store } from './store.js'
import { UsageCache } from './usage-cache.js'

export interface StoreUsage extends CountedUsage {
  /** Runs that were looked at. */
  readonly runs: number
  /** Runs whose events are another run's: replays, and what was salvaged of a run that is here. */
  readonly again: readonly string[]
  /** Runs that could not be read, and why. */
  readonly unread: readonly { readonly run: string; readonly reason: string }[]
}

/**
 * @param wanted Which runs to look at; all unless given. A call that others hold as well is still
 * counted once.
 */
export async function usageOfRuns(
  store: Store,
  wanted: (run: RunInfo) => boolean = () => true,
): Promise<StoreUsage> {
  const infos = (await store.runs()).filter(wanted).sort((a, b) => a.started - b.started)
  const identities = new Set<string>()
  const found: { readonly info: RunInfo; readonly calls: RunCalls }[] = []
  const unread: { run: string; reason: string }[] = []
  const cache = await UsageCache.of(store.context)
  const list = await store.context.heads.refresh()
  for (const info of infos) {
    try {
      const noted = await cache.read(info)
      const calls = noted ?? (await (await store.inspectRun(info.id)).project(usage))
      if (noted === undefined) await cache.write(info, calls)
      const identity = list.head(info.id)?.run
      if (identity !== undefined) identities.add(identity)
      found.push({ info, calls: { run: info.id, ...calls } })
    } catch (error) {
      unread.push({ run: info.id, reason: error instanceof Error ? error.message : String(error) })
    }
  }
  const isAgain = ({ parent }: RunInfo): boolean =>
    parent?.kind === 'replay' || (parent?.kind === 'salvage' && identities.has(parent.run))
  const own = found.filter(({ info }) => !isAgain(info))
  const again = found.filter(({ info }) => isAgain(info)).map(({ info }) => info.id)
  return { ...countOnce(own.map(({ calls }) => calls)), runs: found.length, again, unread }
}
