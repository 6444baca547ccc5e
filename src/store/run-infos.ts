/**
 * The list of runs, from the store's log alone where it knows them.
 */
import type { Segment } from '../backend/backend.js'
import type { Hash } from '../core/hash.js'
import type { RunSummary } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import { RunView, runIdAt } from './run-view.js'

/** A run as lists show it. */
export interface RunInfo extends RunSummary {
  readonly id: string
  /** The head that the store's log knows; undefined where it knows none. */
  readonly head: { readonly seq: number; readonly hash: Hash } | undefined
  readonly bytes: number
  /**
   * False where the log has grown since the head was noted: the totals are as of the head. Of
   * imported runs that is not looked at.
   */
  readonly current: boolean
}

const NOTHING_KNOWN: RunSummary = {
  started: 0,
  updated: 0,
  status: 'open',
  events: 0,
  turns: 0,
  steps: 0,
  tokensIn: 0,
  tokensOut: 0,
}

function bytesOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + segment.bytes, 0)
}

/** All runs, newest first; one that cannot be read hides no other. */
export async function listRuns(context: StoreContext): Promise<RunInfo[]> {
  const { backend, heads } = context
  const list = await heads.refresh()
  const infos: RunInfo[] = []
  for (const place of await backend.listRuns()) {
    const id = place.id ?? (await runIdAt(context, place))
    const head = list.head(id)
    if (head === undefined) infos.push(await unlisted(context, id))
    // Importers note what they append, and there may be a hundred thousand of these: nothing is
    // waited for.
    else if (head.summary.imported !== undefined) infos.push(infoOf(head, head.at[3], true))
    else infos.push(await listed(context, head))
  }
  return newestFirst(infos)
}

/** Numbers side by side are compared much faster than members of a hundred thousand objects. */
function newestFirst(infos: readonly RunInfo[]): RunInfo[] {
  const started = Float64Array.from(infos, (info) => info.started)
  const idAt = (at: number): string => (infos[at] as RunInfo).id
  const order = Uint32Array.from(infos, (_, at) => at).sort(
    (a, b) => (started[b] as number) - (started[a] as number) || (idAt(a) < idAt(b) ? 1 : -1),
  )
  return Array.from(order, (at) => infos[at] as RunInfo)
}

async function listed(context: StoreContext, head: RunHead): Promise<RunInfo> {
  const segments = await segmentsOf(context, head.id)
  if (segments === undefined) return infoOf(head, 0, false)
  const [, segment, , to] = head.at
  const last = segments.at(-1)
  const current = last?.number === segment && last.bytes === to
  return infoOf(head, bytesOf(segments), current)
}

/**
 * The summary comes last: an object that is copied first and added to afterwards takes ten times as
 * long.
 */
function infoOf({ summary, id, seq, hash }: RunHead, bytes: number, current: boolean): RunInfo {
  return { id, head: { seq, hash }, bytes, current, ...summary }
}

/**
 * A run that the store's log does not know (its writer died early, or it was copied here): read its
 * end.
 */
async function unlisted(context: StoreContext, id: string): Promise<RunInfo> {
  const bytes = bytesOf((await segmentsOf(context, id)) ?? [])
  try {
    const view = new RunView(context, id)
    return { id, head: undefined, bytes, current: true, ...(await view.summary()) }
  } catch (error) {
    context.notices.report('gap', `run ${id} cannot be read`, error)
    return { id, head: undefined, bytes, current: false, ...NOTHING_KNOWN }
  }
}

/** One run that cannot even be looked at hides no other. */
async function segmentsOf(
  context: StoreContext,
  id: string,
): Promise<readonly Segment[] | undefined> {
  try {
    return await context.backend.segments({ run: id })
  } catch (error) {
    context.notices.report('gap', `run ${id} cannot be read`, error)
    return undefined
  }
}
