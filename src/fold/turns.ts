/**
 * The turns of a run: how each began and ended, and what it took.
 */
import type { RunEvent } from '../core/event.js'
import type { TurnReason } from '../core/event-map.js'
import { type Address, addressOf } from './address.js'
import {
  appendTo,
  EMPTY_LIST,
  type GrowingList,
  itemAt,
  lengthOf,
  replaceIn,
  toArray,
} from './growing-list.js'
import { restates } from './messages.js'
import type { Projection } from './projection.js'

export interface Turn {
  readonly turn: number
  readonly start: Address
  /** In ms since 1970. */
  readonly started: number
  readonly end?: Address
  readonly ended?: number
  /** `open` until it ended. */
  readonly reason: TurnReason | 'open'
  readonly messages: number
  readonly toolCalls: number
}

export interface TurnsState {
  readonly list: GrowingList<Turn>
  /** Number of the last turn; the next is one more. */
  readonly last: number
}

export const turns: Projection<TurnsState, readonly Turn[]> = {
  key: 'turns',
  version: 1,
  types: ['turn/start', 'turn/end', 'user/message', 'assistant/message', 'tool/call'],
  init: () => ({ list: EMPTY_LIST, last: 0 }),
  apply(state, event) {
    if (event.type === 'turn/start') return begun(state, event)
    const at = lengthOf(state.list) - 1
    const turn = itemAt(state.list, at)
    if (turn === undefined || turn.reason !== 'open') return state
    if (event.type === 'turn/end') return changed(state, at, ended(turn, event))
    if (event.type === 'tool/call') {
      return changed(state, at, { ...turn, toolCalls: turn.toolCalls + 1 })
    }
    if (restates(event)) return state
    return changed(state, at, { ...turn, messages: turn.messages + 1 })
  },
  view: ({ list }) => toArray(list),
}

function begun(state: TurnsState, event: RunEvent): TurnsState {
  const number = Number((event.data as { turn?: unknown } | null | undefined)?.turn)
  const turn = Number.isSafeInteger(number) ? number : state.last + 1
  const start = addressOf(event)
  const row: Turn = {
    turn,
    start,
    started: event.time,
    reason: 'open',
    messages: 0,
    toolCalls: 0,
  }
  return { list: appendTo(state.list, row), last: turn }
}

function ended(turn: Turn, event: RunEvent): Turn {
  const { reason } = (event.data ?? {}) as { reason?: TurnReason }
  // An end whose body is gone still ends the turn.
  return { ...turn, end: addressOf(event), ended: event.time, reason: reason ?? 'completed' }
}

function changed(state: TurnsState, at: number, turn: Turn): TurnsState {
  return { ...state, list: replaceIn(state.list, at, turn) }
}
