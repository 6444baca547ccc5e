/**
 * Where turns begin and end in a rollout, and what a rollback takes back.
 * Newer versions record both ends. Where they do not, a turn begins with what the user says, and
 * ends where the next one begins; its reason then says that nobody recorded it.
 */
import type { TurnReason } from '../../core/event-map.js'
import type { CodexReading, CodexTurn } from './codex-state.js'
import { type Members, text } from './json-members.js'

/** `task_started` or `turn_started`. */
export function readTurnStart(reading: CodexReading, payload: Members): void {
  const { turn } = reading.state
  const id = text(payload.turn_id)
  reading.set({ turnsRecorded: true })
  if (turn !== undefined) {
    if (turn.recorded && id !== undefined && turn.id === id) return
    // Content that came just before the record of the turn that it belongs to.
    if (!turn.recorded && turn.last === undefined) {
      reading.set({ turn: { ...turn, recorded: true, ...(id === undefined ? {} : { id }) } })
      return
    }
    endUnrecorded(reading, turn)
  }
  begin(reading, true, id)
}

/** `task_complete`, `turn_complete` or `turn_aborted`. False where no turn is open. */
export function readTurnEnd(reading: CodexReading, payload: Members): boolean {
  const { turn } = reading.state
  if (turn === undefined) return false
  if (payload.type === 'turn_aborted') end(reading, turn, 'aborted', text(payload.reason))
  else end(reading, turn, 'completed')
  return true
}

/**
 * Something was said. `event` is what a person wrote, `item` may be that or instructions that were
 * put before it, `answer` is the model's.
 */
export function beginByContent(reading: CodexReading, what: 'event' | 'item' | 'answer'): void {
  const { turn, turnsRecorded } = reading.state
  if (turn === undefined) {
    if (what === 'event' || !turnsRecorded) begin(reading, false)
    return
  }
  if (what === 'answer' || turn.recorded || turn.last === undefined) return
  if (what === 'item' && turnsRecorded) return
  endUnrecorded(reading, turn)
  begin(reading, false)
}

/** The model has done something in the open turn. */
export function markTurn(reading: CodexReading, last: 'answer' | 'work'): void {
  const { turn } = reading.state
  if (turn !== undefined && turn.last !== last) reading.set({ turn: { ...turn, last } })
}

function begin(reading: CodexReading, recorded: boolean, id?: string): void {
  const number = reading.state.turns + 1
  const named = id === undefined ? {} : { id }
  reading.set({ turns: number, turn: { number, recorded, ...named } })
  reading.out('turn/start', { turn: number, ...named })
}

function endUnrecorded(reading: CodexReading, turn: CodexTurn): void {
  const completed = !turn.recorded && turn.last === 'answer'
  const cause = 'not recorded: the next turn begins'
  end(reading, turn, completed ? 'completed' : 'interrupted', cause)
}

function end(reading: CodexReading, turn: CodexTurn, reason: TurnReason, cause?: string): void {
  const { turn: _, ...state } = reading.state
  reading.state = state
  reading.out('turn/end', {
    turn: turn.number,
    reason,
    ...(cause === undefined ? {} : { cause }),
  })
}

/** `thread_rolled_back`: the last turns are no longer part of what the model sees. */
export function readRolledBack(reading: CodexReading, payload: Members): void {
  const asked = typeof payload.num_turns === 'number' ? payload.num_turns : 0
  const { visible } = reading
  const turns = new Set(visible.filter(([, , who]) => who === 'user').map(([, turn]) => turn))
  const taken = [...turns].sort((a, b) => b - a).slice(0, asked)
  const first = taken.at(-1)
  const behind = visible.findLastIndex(([, , who]) => who === 'summary') + 1
  const replaced =
    first === undefined ? [] : visible.slice(behind).filter(([, turn]) => turn >= first)
  reading.replace(replaced, [])
  if (taken.length < asked) reading.other('event_msg/thread_rolled_back/beyond-compaction', payload)
}
