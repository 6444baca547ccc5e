/**
 * What the reader of Claude Code transcripts remembers from one raw event to the next. Plain JSON.
 */

import type { Part } from '../../core/content.js'
import type { SessionInfo, Usage } from '../../core/event-map.js'
import { isObject } from './claude-content.js'

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
  /** When the last record that says so was written, in ms since 1970. */
  time?: number
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

/** Which records a compaction keeps: their ids, or `from`, the first and the last of a stretch. */
export function preservedOf(metadata: unknown): readonly string[] {
  if (!isObject(metadata)) return []
  const { preservedMessages, preservedSegment } = metadata
  if (isObject(preservedMessages) && Array.isArray(preservedMessages.uuids))
    return preservedMessages.uuids.map((id) => String(id).slice(0, 8))
  if (!isObject(preservedSegment)) return []
  const { headUuid, tailUuid } = preservedSegment
  return ['from', String(headUuid).slice(0, 8), String(tailUuid).slice(0, 8)]
}

export function keptFilter(
  kept: readonly string[],
  shown: readonly Shown[],
): (one: Shown) => boolean {
  if (kept[0] !== 'from') return ([, , id]) => kept.includes(id)
  const at = (id: string | undefined): number => shown.findIndex(([, , one]) => one === id)
  const first = at(kept[1])
  const last = at(kept[2])
  return (one) => {
    const place = shown.indexOf(one)
    return first >= 0 && last >= first && place >= first && place <= last
  }
}
