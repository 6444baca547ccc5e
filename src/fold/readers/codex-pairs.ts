/**
 * Texts that a rollout holds twice: as an item of the model's view and as an event for people.
 * Which comes first changed between versions, and either may be missing. A pair is found only among
 * neighbours: whatever else the model or a person says in between parts them, so that the same
 * words said twice stay two.
 */
import { sha256 } from '../../core/hash.js'

export type TextKind = 'user' | 'assistant' | 'reasoning'

/** An event whose item has not come yet. */
export interface PendingText {
  readonly hash: string
  /**
   * The text, where it must be said should no item come: only an answer that an event announced.
   */
  readonly text?: string
  /** Names the chunk that was derived from it. */
  readonly chunk?: string
}

interface Side {
  /** Hashes of the texts of items that no event has been found for. */
  readonly items: readonly (readonly string[])[]
  readonly events: readonly PendingText[]
}

export type Pairs = Readonly<Record<TextKind, Side>>

const NONE: Side = { items: [], events: [] }
export const NO_PAIRS: Pairs = { user: NONE, assistant: NONE, reasoning: NONE }

/** Neighbours are few; a file that has more of one side only must not fill the memory. */
const NEIGHBOURS_MAX = 16

/** What tells texts apart; blanks around them differ between the two forms. */
export function textHash(text: string): string {
  return sha256(Buffer.from(text.trim())).slice(0, 32)
}

/** An item came. Returns the event that it is the same as, if one waits for it. */
export function meetItem(
  pairs: Pairs,
  kind: TextKind,
  texts: readonly string[],
): { readonly pairs: Pairs; readonly events: readonly PendingText[] } {
  const hashes = hashesOf(texts)
  const side = pairs[kind]
  const met = side.events.filter(({ hash }) => hashes.includes(hash))
  // Reasoning comes as one item and an event for each of its parts; all else is one to one.
  const taken = kind === 'reasoning' ? met : met.slice(0, 1)
  const events = side.events.filter((event) => !taken.includes(event))
  const left = hashes.filter((hash) => !taken.some((event) => event.hash === hash))
  const open = kind === 'reasoning' ? left : taken.length > 0 ? [] : left
  const items = open.length === 0 ? side.items : bounded([...side.items, open])
  return { pairs: { ...pairs, [kind]: { items, events } }, events: taken }
}

/** An event came. `paired` where an item said the same just before; else it waits. */
export function meetEvent(
  pairs: Pairs,
  kind: TextKind,
  event: PendingText,
): { readonly pairs: Pairs; readonly paired: boolean } {
  const side = pairs[kind]
  const at = side.items.findIndex((hashes) => hashes.includes(event.hash))
  if (at < 0) {
    const events = bounded([...side.events, event])
    return { pairs: { ...pairs, [kind]: { ...side, events } }, paired: false }
  }
  const rest = kind === 'reasoning' ? side.items[at]!.filter((hash) => hash !== event.hash) : []
  const items = rest.length > 0 ? side.items.with(at, rest) : side.items.toSpliced(at, 1)
  return { pairs: { ...pairs, [kind]: { ...side, items } }, paired: true }
}

/** Something else was said: what has found no partner by now has none. */
export function partFrom(pairs: Pairs, kinds: readonly TextKind[]): Pairs {
  if (kinds.every((kind) => pairs[kind].items.length + pairs[kind].events.length === 0))
    return pairs
  const parted = { ...pairs }
  for (const kind of kinds) parted[kind] = NONE
  return parted
}

function hashesOf(texts: readonly string[]): string[] {
  const parts = texts.filter((text) => text.trim() !== '')
  const all = parts.length > 1 ? [parts.join(''), parts.join('\n'), ...parts] : parts
  return [...new Set(all.map(textHash))]
}

function bounded<T>(list: readonly T[]): readonly T[] {
  return list.length > NEIGHBOURS_MAX ? list.slice(-NEIGHBOURS_MAX) : list
}
