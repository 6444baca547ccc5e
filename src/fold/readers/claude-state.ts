/**
 * What the reader of Claude Code transcripts remembers from one raw event to the next. Plain JSON.
 */
import type { Part } from '../../core/content.js'
import type { SessionInfo, Usage } from '../../core/event-map.js'

/** Messages that may still grow; what grows later than that is told as a record of its own. */
export const MESSAGES_OPEN_MAX = 4

/** One response comes in several lines with the same message id, a content block each. */
export interface OpenMessage {
  readonly id?: string
  readonly content: Part[]
  readonly raw: unknown[]
  readonly uuids: string[]
  usage?: Usage
  stop?: string
}

/** A line that the model sees: where it is, and the beginning of its uuid. */
export type Shown = readonly [seq: number, line: number, id: string]

export interface ClaudeState {
  /** Set where these lines are a part of a file: see `ImportSource`. */
  part?: string
  /** Whether the file begins with a sidechain line, so that all of it is one. */
  alone?: boolean
  info: SessionInfo
  turn: number
  open: boolean
  /** The last word on how the turn goes: a stop reason, `unsaid`, `error`, or nothing yet. */
  stop: string
  messages: OpenMessage[]
  /** Ids of messages of this turn that are closed. */
  left: string[]
  shown: Shown[]
  /** What the next compaction leaves: ids, or `from` with the first and the last. */
  kept: readonly string[]
}

export function firstState(): ClaudeState {
  return {
    info: {},
    turn: 0,
    open: false,
    stop: '',
    messages: [],
    left: [],
    shown: [],
    kept: [],
  }
}
