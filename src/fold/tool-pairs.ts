/**
 * Which tool calls of a run never got a result, and which results nobody asked for. Pairs go by
 * (turn, id), since providers use ids again. The log is left as it is: the provider view pairs
 * them.
 */
import type { RunEvent } from '../core/event.js'
import { type Address, addressOf } from './address.js'
import type { Projection } from './projection.js'

/** So many places are named; all are counted. */
const PLACES_MAX = 16

const ANSWERED_MAX = 64

export interface ToolPairs {
  readonly calls: number
  /** Calls whose turn ended without a result. */
  readonly unanswered: { readonly count: number; readonly at: readonly Address[] }
  /** Results of no call in their turn. */
  readonly unasked: { readonly count: number; readonly at: readonly Address[] }
}

interface Call {
  readonly id: string
  readonly at: Address
  /** The id of the message that asked, which may be stated anew. */
  readonly message: string | null
  readonly answered: boolean
}

interface State extends ToolPairs {
  /** Of the turn that is open, or of what is in none. */
  readonly asked: readonly Call[]
}

const NONE = { count: 0, at: [] } as const

export const toolPairs: Projection<State, ToolPairs> = {
  key: 'tool-pairs',
  version: 1,
  types: ['turn/start', 'turn/end', 'assistant/message', 'tool/call', 'tool/result', 'run/end'],
  init: () => ({ calls: 0, unanswered: NONE, unasked: NONE, asked: [] }),
  apply(state, event) {
    if (event.redacted === true) return state
    switch (event.type) {
      case 'assistant/message':
        return askedIn(state, event)
      case 'tool/call':
        return asked(state, event, idOf(event.data), null)
      case 'tool/result':
        return answered(state, event, idOf(event.data))
      default:
        return settled(state)
    }
  },
  view: ({ calls, unanswered, unasked }) => ({ calls, unanswered, unasked }),
}

function idOf(data: unknown): string | undefined {
  const { id } = (data ?? {}) as { readonly id?: unknown }
  return typeof id === 'string' ? id : undefined
}

function askedIn(state: State, event: RunEvent): State {
  const { content } = (event.data ?? {}) as { readonly content?: unknown }
  if (!Array.isArray(content)) return state
  const message = idOf(event.data) ?? null
  return content.reduce(
    (before: State, part: { readonly type?: unknown } | null) =>
      part?.type === 'tool_use' ? asked(before, event, idOf(part), message) : before,
    state,
  )
}

/** A call says that a body begins which was asked for; a message may be stated anew. */
function asked(
  state: State,
  event: RunEvent,
  id: string | undefined,
  message: string | null,
): State {
  if (id === undefined) return state
  const known = state.asked.findLast((call) => call.id === id)
  if (known !== undefined) {
    const restated = message !== null && message === known.message
    if (restated || !known.answered) return state
    if (event.type === 'tool/call') return state
  }
  const call: Call = { id, at: addressOf(event), message, answered: false }
  return { ...state, calls: state.calls + 1, asked: [...state.asked, call] }
}

function answered(state: State, event: RunEvent, id: string | undefined): State {
  const at = state.asked.findLastIndex((call) => call.id === id)
  const call = state.asked[at]
  if (call === undefined) return { ...state, unasked: counted(state.unasked, addressOf(event)) }
  if (call.answered) return state
  return { ...state, asked: remembered(state.asked.with(at, { ...call, answered: true })) }
}

/** Where there are no turns, calls that are long answered are forgotten. */
function remembered(calls: readonly Call[]): readonly Call[] {
  if (calls.length <= 2 * ANSWERED_MAX) return calls
  const from = calls.length - ANSWERED_MAX
  return calls.filter((call, at) => at >= from || !call.answered)
}

/** A turn begins or ends: what has no result now gets none. */
function settled(state: State): State {
  if (state.asked.length === 0) return state
  const left = state.asked.filter((call) => !call.answered)
  const unanswered = left.reduce((sum, { at }) => counted(sum, at), state.unanswered)
  return { ...state, unanswered, asked: [] }
}

function counted(sum: ToolPairs['unasked'], at: Address): ToolPairs['unasked'] {
  return { count: sum.count + 1, at: sum.at.length < PLACES_MAX ? [...sum.at, at] : sum.at }
}
