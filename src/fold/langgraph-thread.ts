/**
 * What is in the log of a LangGraph thread, row by row: which checkpoint is where, which writes
 * belong to it, what was deleted. The rows are small: what a checkpoint holds is read from its
 * event when somebody asks.
 * @see docs/langgraph.md
 */
import type { RunEvent } from '../core/event.js'
import type { Hash } from '../core/hash.js'
import { appendTo, EMPTY_LIST, type GrowingList } from './growing-list.js'
import type { Projection } from './projection.js'

export const CHECKPOINT_TYPE = 'langgraph/checkpoint'
export const WRITES_TYPE = 'langgraph/writes'
export const DELETE_TYPE = 'langgraph/delete'

/** Stands for the id of the last checkpoint before. */
export const LAST = 1
type Id = string | typeof LAST

/** `run`: the identity of the run that the event is in, 0 for this one; `ns`: 0 for the root. */
export type CheckpointRow = readonly [
  'c',
  seq: number,
  run: Hash | 0,
  ns: string | 0,
  id: string,
  parent: Id | 0,
]
export type WritesRow = readonly ['w', seq: number, run: Hash | 0, ns: string | 0, id: Id]
/** Which checkpoints, as (ns, id); 0 for all that there were. */
export type DeleteRow = readonly [
  'd',
  seq: number,
  gone: readonly (readonly [string, string])[] | 0,
]
export type ThreadRow = CheckpointRow | WritesRow | DeleteRow

export interface ThreadRows {
  readonly rows: GrowingList<ThreadRow>
  /** The id of the last checkpoint. */
  readonly last: string | null
}

interface Data {
  readonly ns?: unknown
  readonly id?: unknown
  readonly parent?: unknown
  readonly checkpoints?: unknown
}

export const langgraphThread: Projection<ThreadRows> = {
  key: 'langgraph/thread',
  version: 1,
  types: [CHECKPOINT_TYPE, WRITES_TYPE, DELETE_TYPE],
  init: () => ({ rows: EMPTY_LIST, last: null }),
  apply(state, event) {
    const row = rowOf(state, event)
    if (row === undefined) return state
    return {
      rows: appendTo(state.rows, row),
      last: row[0] === 'c' ? row[4] : state.last,
    }
  },
}

/** Undefined for what is no event of a thread: anybody may append any data under our types. */
function rowOf({ last }: ThreadRows, event: RunEvent): ThreadRow | undefined {
  const data = event.data as Data | null | undefined
  if (typeof data !== 'object' || data === null) return undefined
  const { seq, type, run = 0 } = event
  if (type === DELETE_TYPE) return ['d', seq, goneIn(data.checkpoints)]
  const { ns, id, parent } = data
  if (typeof ns !== 'string' || typeof id !== 'string') return undefined
  const short = (full: string): Id => (full === last ? LAST : full)
  if (type === WRITES_TYPE) return ['w', seq, run, ns === '' ? 0 : ns, short(id)]
  return ['c', seq, run, ns === '' ? 0 : ns, id, typeof parent === 'string' ? short(parent) : 0]
}

function goneIn(checkpoints: unknown): readonly (readonly [string, string])[] | 0 {
  if (!Array.isArray(checkpoints)) return 0
  return checkpoints.flatMap((one: unknown) => {
    const [ns, id] = Array.isArray(one) ? one : []
    return typeof ns === 'string' && typeof id === 'string' ? [[ns, id] as const] : []
  })
}
