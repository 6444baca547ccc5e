/**
 * How the history of a request goes on from what was derived before: what is kept, what was
 * replaced, what is new. Knows messages by a digest of what they say, not by how a client wrote
 * them.
 */

import { valueDigest } from '../../core/canonical.js'
import type { Content, Part } from '../../core/content.js'
import { type HistoryEvent, partsOf } from '../provider/neutral.js'
import { fieldsOf, without } from '../provider/shape.js'

/** The same for a text and for one part with it; without thinking, which clients may leave out. */
export function messageKey({ type, data }: HistoryEvent): string {
  const said: unknown[] =
    type === 'tool/result' ? [['result', data.id, saidIn(data.content)]] : saidIn(data.content)
  return valueDigest([type, said]).slice(0, 32)
}

function saidIn(content: Content): unknown[] {
  const said: unknown[] = []
  for (const part of partsOf(content)) {
    const last = said.at(-1)
    if (part.type === 'text' && typeof last === 'string') said[said.length - 1] = last + part.text
    else said.push(...saidBy(part))
  }
  return said.filter((one) => one !== '')
}

function saidBy(part: Part): unknown[] {
  switch (part.type) {
    case 'text':
      return [part.text]
    case 'thinking':
      return []
    case 'tool_use':
      return [['call', part.id, part.name, part.input]]
    case 'tool_result':
      return [['result', part.id, saidIn(part.content)]]
    case 'other':
      // Marks of what to cache move from request to request.
      return [['other', without(fieldsOf(part.value), ['cache_control'])]]
    default:
      return [[part.type, part.mediaType, part.data ?? part.url]]
  }
}

/** How a history goes on from a known one. All are counts of messages. */
export interface Continuation {
  /** Kept at the start of both. */
  readonly kept: number
  /** Of the known one, behind that: no longer there. */
  readonly dropped: number
  /** Of the new one: what stands for them. Then come as many as are left of the known one. */
  readonly replacing: number
}

/** A tail this short may be the same by chance. */
const SUMMARY_CHARS_MIN = 40

/**
 * Whether `next` goes on from `known`, and how; undefined where it is another conversation.
 * It goes on where all that is known begins it (the usual case); where it is what is known without
 * its end (asked again, or rolled back); where the last known message is still in it (its beginning
 * was compacted or cut) or is the only one that differs; or where one of its messages quotes
 * `summary`, the model's last words.
 */
export function continuationOf(
  known: readonly string[],
  next: readonly string[],
  quotes: (text: string) => boolean,
  summary: string | undefined,
): Continuation | undefined {
  let kept = 0
  while (kept < known.length && kept < next.length && known[kept] === next[kept]) kept += 1
  if (kept === known.length) return kept === 0 ? undefined : { kept, dropped: 0, replacing: 0 }
  if (kept === next.length) return { kept, dropped: known.length - kept, replacing: 0 }
  const tail = tailOf(known.slice(kept), next.slice(kept))
  if (tail !== undefined) return { kept, ...tail }
  const rest = next.length - kept
  const edited = kept > 0 && known.length - kept === 1
  const quoted = summary !== undefined && summary.length >= SUMMARY_CHARS_MIN && quotes(summary)
  if (!edited && !quoted) return undefined
  // The last message is what the user says now; all before it stands for what is gone.
  return { kept, dropped: known.length - kept, replacing: quoted ? Math.max(rest - 1, 1) : 0 }
}

/** Where the end of what is known is still in what comes, the longest piece of it. */
function tailOf(
  known: readonly string[],
  next: readonly string[],
): { dropped: number; replacing: number } | undefined {
  const last = next.lastIndexOf(known.at(-1) as string)
  if (last < 0) return undefined
  let length = 1
  while (length < known.length && length <= last && known.at(-1 - length) === next[last - length]) {
    length += 1
  }
  return { dropped: known.length - length, replacing: last + 1 - length }
}
