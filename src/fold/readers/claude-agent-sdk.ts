/**
 * What the entries of a Claude Agent SDK session mean: each is a line of a Claude Code transcript,
 * and is read as one. A deletion shadows all that a model was shown.
 * @see docs/claude-agent-sdk.md
 */
import type { RunEvent } from '../../core/event.js'
import { type Address, addressOf } from '../address.js'
import { appendTo, EMPTY_LIST, fromArray, type GrowingList, toArray } from '../growing-list.js'
import type { Derived, Reader } from '../reader.js'
import { claudeCode } from './claude-code.js'
import type { ClaudeState, Shown } from './claude-state.js'

export const ENTRY_TYPE = 'claude-agent-sdk/entry'
export const DELETE_TYPE = 'claude-agent-sdk/delete'

interface State {
  /** Of the reader of lines, without what was shown: it copies its state for each of them. */
  readonly own: ClaudeState
  readonly shown: GrowingList<Shown>
}

export const claudeAgentSdk: Reader<State> = {
  key: 'claude-agent-sdk',
  version: 1,
  types: [ENTRY_TYPE, DELETE_TYPE],
  init: () => ({ own: claudeCode.init(), shown: EMPTY_LIST }),
  read(state, event) {
    if (event.type === DELETE_TYPE) return deleted(state, event)
    const { data } = event as { readonly data: { readonly isCompactSummary?: unknown } | null }
    // Only a compaction looks at what was shown before it.
    const whole = data?.isCompactSummary === true
    const before = { ...state.own, shown: whole ? [...toArray(state.shown)] : [] }
    const line = Buffer.from(`${JSON.stringify(data ?? null)}\n`)
    const lines = { ...event, type: 'import/lines', data: { from: 0, lines: 1, bytes: line } }
    const { state: after, events } = claudeCode.read(before, lines as RunEvent)
    const shown = whole ? fromArray(after.shown) : after.shown.reduce(appendTo, state.shown)
    return { state: { own: { ...after, shown: [] }, shown }, events }
  },
}

function deleted({ shown }: State, { run }: RunEvent): ReturnType<Reader<State>['read']> {
  const replaces = toArray(shown).map(([seq, line]): Address => {
    return addressOf({ seq, line, ...(run === undefined ? {} : { run }) })
  })
  const shadow: Derived = { line: 0, type: 'compaction', data: { replaces, message: [] } }
  return { state: claudeAgentSdk.init(), events: replaces.length === 0 ? [] : [shadow] }
}
