/**
 * Runs with those that begin in them: what `runs` lists.
 */
import type { RunInfo } from '../store/run-infos.js'
import type { Store } from '../store/store.js'

export interface ListedRun extends RunInfo {
  /** Id of the run it begins in, where that one is in this store. */
  readonly above?: string
  /** How many runs it is listed below. */
  readonly below: number
}

/** Newest first, each followed by the runs that begin in it; with `flat` by age alone. */
export async function listRuns(
  store: Store,
  { flat = false }: { readonly flat?: boolean } = {},
): Promise<ListedRun[]> {
  const infos = await store.runs()
  const list = await store.context.heads.refresh()
  const known = new Set(infos.map(({ id }) => id))
  const children = new Map<string | undefined, RunInfo[]>()
  const aboveOf = new Map<string, string>()
  for (const info of infos) {
    const above = info.parent === undefined ? undefined : list.idOf(info.parent.run)
    const here = above !== undefined && known.has(above) && above !== info.id ? above : undefined
    if (here !== undefined) aboveOf.set(info.id, here)
    const siblings = children.get(here)
    if (siblings === undefined) children.set(here, [info])
    else siblings.push(info)
  }
  if (flat) {
    return infos.map((info) => {
      const above = aboveOf.get(info.id)
      return { below: 0, ...(above === undefined ? {} : { above }), ...info }
    })
  }
  const listed: ListedRun[] = []
  const stack = (children.get(undefined) ?? []).toReversed().map((info) => ({ info, below: 0 }))
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { info, below } = next
    const above = aboveOf.get(info.id)
    listed.push({ below, ...(above === undefined ? {} : { above }), ...info })
    for (const child of (children.get(info.id) ?? []).toReversed())
      stack.push({ info: child, below: below + 1 })
  }
  return listed
}

/** One that cannot be read has no head, no events, and is not as current as can be. */
export function isReadable({
  head,
  events,
  current,
}: Pick<RunInfo, 'head' | 'events' | 'current'>): boolean {
  return head !== undefined || events > 0 || current
}
