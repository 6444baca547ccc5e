/**
 * The events that close what a crash left open: every whole event stays, nothing is dropped.
 * @see docs/format.md#closers
 */
import type { NewEvent } from './new-event.js'
import type { OpenTurnWork } from './open-work.js'

/**
 * What came of a message first, then tool calls, then steps (inner before outer), then the turn. A
 * call whose body had not begun is safe to do again (`not-started`); of one that had, nobody knows
 * (`outcome-unknown`).
 */
export function closers(open: OpenTurnWork): NewEvent[] {
  const events: NewEvent[] = []
  for (const content of open.partials) {
    events.push({ type: 'assistant/message', data: { content, interrupted: true } })
  }
  for (const [id, state] of open.calls) {
    const closedBy = state === 'begun' ? 'outcome-unknown' : 'not-started'
    const content =
      closedBy === 'not-started'
        ? 'Interrupted before this call began. It is safe to try it again.'
        : 'Interrupted while this call ran. Its outcome is unknown: check before trying it again.'
    events.push({ type: 'tool/result', data: { id, content, isError: true, closedBy } })
  }
  for (const id of open.steps.toReversed())
    events.push({ type: 'step/end', data: { id, status: 'interrupted' } })
  if (open.turn !== undefined)
    events.push({ type: 'turn/end', data: { turn: open.turn, reason: 'interrupted' } })
  return events
}
