/**
 * The steps of a run as rows of a DAG: what each is, what it stands on, how it went. Without
 * payloads:
 * `StepGraph` reads those too.
 */
import type { RunEvent } from '../core/event.js'
import type { Effect, StepEnd, StepStart, StepStatus } from '../core/event-map.js'
import {
  appendTo,
  EMPTY_LIST,
  type GrowingList,
  itemAt,
  lengthOf,
  replaceIn,
  toArray,
} from './growing-list.js'
import type { Projection } from './projection.js'

export interface StepRow {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly parent?: string
  readonly deps: readonly string[]
  readonly effect?: Effect
  readonly status: StepStatus | 'open'
  readonly start: number
  readonly end?: number
  /** In ms since 1970. */
  readonly started: number
  readonly ended?: number
}

export interface StepsState {
  readonly list: GrowingList<StepRow>
  /** Steps that have not ended, and where in the list they are. */
  readonly open: readonly (readonly [id: string, at: number])[]
}

/** A fork has steps of its own. */
export const steps: Projection<StepsState, readonly StepRow[]> = {
  key: 'steps',
  version: 1,
  types: ['step/start', 'step/end'],
  inherits: false,
  init: () => ({ list: EMPTY_LIST, open: [] }),
  apply(state, event) {
    if (typeof event.data !== 'object' || event.data === null) return state
    return event.type === 'step/start' ? begun(state, event) : ended(state, event)
  },
  view: ({ list }) => toArray(list),
}

function begun({ list, open }: StepsState, { seq, time, data }: RunEvent): StepsState {
  const { id, key, name, parent, deps, effect } = data as StepStart
  const row: StepRow = {
    id,
    key,
    name,
    ...(parent === undefined ? {} : { parent }),
    deps: Array.isArray(deps) ? deps : [],
    ...(effect === undefined ? {} : { effect }),
    status: 'open',
    start: seq,
    started: time,
  }
  return { list: appendTo(list, row), open: [...open, [id, lengthOf(list)]] }
}

function ended(state: StepsState, { seq, time, data }: RunEvent): StepsState {
  const { list, open } = state
  const { id, status } = data as StepEnd
  const found = open.findLast(([other]) => other === id)
  if (found === undefined) return state
  const row = itemAt(list, found[1]) as StepRow
  return {
    list: replaceIn(list, found[1], { ...row, status, end: seq, ended: time }),
    open: open.filter((one) => one !== found),
  }
}
