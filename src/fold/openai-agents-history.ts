/**
 * What the items of an OpenAI Agents session are after each event: the one rule for the adapter,
 * which gives them to the SDK, and for the reader, which says what they mean. Items are whatever
 * the SDK gave; nothing here looks into one.
 * @see docs/openai-agents.md
 */
import type { RunEvent } from '../core/event.js'
import type { Hash } from '../core/hash.js'
import { appendTo, EMPTY_LIST, fromArray, type GrowingList, toArray } from './growing-list.js'
import type { Projection } from './projection.js'

export const ITEMS_TYPE = 'openai-agents/items'
export const REPLACE_TYPE = 'openai-agents/replace'

/** Items that were added at the end. */
export interface AddedItems {
  readonly items: readonly unknown[]
  /** Digest of the history transaction that this is. */
  readonly transaction?: Hash
}

/**
 * From here on the history is the first `keep` items of what it was, and these. Nothing is removed.
 */
export interface ReplacedItems extends AddedItems {
  readonly keep: number
  readonly reason: 'pop' | 'clear' | 'compaction' | 'mutations' | 'suffix'
  /**
   * The hash of the last event of the history that this was made for, null for none. Where another
   * has come between, this one is void: whoever wrote it did not know of that.
   */
  readonly after: Hash | null
}

/** A history of anything: the adapter keeps items, the reader where they are. */
export interface History<T> {
  readonly list: GrowingList<T>
  /** The hash of the last event that counts, null for none. */
  readonly last: Hash | null
}

export const EMPTY_HISTORY: History<never> = { list: EMPTY_LIST, last: null }

/** What an event does to the history; undefined where it is void, or no event of a history. */
export function changeOf(
  { last }: History<unknown>,
  event: RunEvent,
): { readonly keep: number | undefined; readonly items: readonly unknown[] } | undefined {
  const data = event.data as Partial<ReplacedItems> | null | undefined
  if (!Array.isArray(data?.items)) return undefined
  if (event.type === ITEMS_TYPE) return { keep: undefined, items: data.items }
  if (event.type !== REPLACE_TYPE || data.after !== last) return undefined
  const { keep, items } = data
  return Number.isSafeInteger(keep) && keep! >= 0 ? { keep: keep!, items } : undefined
}

/** The history after an event that adds, or that keeps what comes before `keep`. */
export function grown<T>(
  { list }: History<T>,
  last: Hash,
  keep: number | undefined,
  items: readonly T[],
): History<T> {
  if (keep !== undefined) {
    return { list: fromArray([...toArray(list).slice(0, keep), ...items]), last }
  }
  let more = list
  for (const item of items) more = appendTo(more, item)
  return { list: more, last }
}

/** The items of a session as they are now. */
export const openAiHistory: Projection<
  History<unknown>,
  { readonly items: readonly unknown[]; readonly last: Hash | null }
> = {
  key: 'openai-agents/history',
  version: 1,
  types: [ITEMS_TYPE, REPLACE_TYPE],
  init: () => EMPTY_HISTORY,
  apply(state, event) {
    const change = changeOf(state, event)
    return change === undefined ? state : grown(state, event.hash, change.keep, change.items)
  },
  view: ({ list, last }) => ({ items: toArray(list), last }),
}
