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
import { toolPairs } from './tool-pairs.js'

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
  /** Calls that were asked for or begun, each once: transcripts seldom say that a body began. */
  readonly toolCalls: number
}

export interface TurnsState {
  readonly list: GrowingList<Turn>
  /** Number of the last turn; the next is one more. */
  readonly last: number
  readonly pairs: ReturnType<typeof toolPairs.init>
}

export const turns: Projection<TurnsState, readonly Turn[]> = {
  key: 'turns',
  version: 2,
  types: ['user/message', ...(toolPairs.types ?? [])],
  init: () => ({ list: EMPTY_LIST, last: 0, pairs: toolPairs.init() }),
  apply(before, event) {
    const pairs = toolPairs.apply(before.pairs, event)
    const asked = pairs.calls - before.pairs.calls
    const state = pairs === before.pairs ? before : { ...before, pairs }
    if (event.type === 'turn/start') return begun(state, event)
    const at = lengthOf(state.list) - 1
    const turn = itemAt(state.list, at)
    if (turn === undefined || turn.reason !== 'open') return state
    if (event.type === 'turn/end') return changed(state, at, ended(turn, event))
    const said = MESSAGES.has(event.type) && !restates(event) ? 1 : 0
    if (said + asked === 0) return state
    const { messages, toolCalls } = turn
    return changed(state, at, {
      ...turn,
      messages: messages + said,
      toolCalls: toolCalls + asked,
    })
  },
  view: ({ list }) => toArray(list),
}

const MESSAGES: ReadonlySet<string> = new Set(['user/message', 'assistant/message'])

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
  return { ...state, list: appendTo(state.list, row), last: turn }
}

function ended(turn: Turn, event: RunEvent): Turn {
  const { reason } = (event.data ?? {}) as { reason?: TurnReason }
  // An end whose body is gone still ends the turn.
  return { ...turn, end: addressOf(event), ended: event.time, reason: reason ?? 'completed' }
}

function changed(state: TurnsState, at: number, turn: Turn): TurnsState {
  return { ...state, list: replaceIn(state.list, at, turn) }
}
