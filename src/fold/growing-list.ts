/**
 * A list as plain data that costs little to append to, and shares all the rest with the list
 * before:
 * what a projection keeps when it keeps something of every event.
 */

const CHUNK_ITEMS = 128

/** Full chunks of `CHUNK_ITEMS`, and the one that grows. */
export interface GrowingList<T> {
  readonly full: readonly (readonly T[])[]
  readonly last: readonly T[]
}

export const EMPTY_LIST: GrowingList<never> = { full: [], last: [] }

export function lengthOf<T>({ full, last }: GrowingList<T>): number {
  return full.length * CHUNK_ITEMS + last.length
}

export function appendTo<T>({ full, last }: GrowingList<T>, item: T): GrowingList<T> {
  const grown = [...last, item]
  return grown.length < CHUNK_ITEMS ? { full, last: grown } : { full: [...full, grown], last: [] }
}

export function itemAt<T>({ full, last }: GrowingList<T>, at: number): T | undefined {
  const chunk = full[Math.floor(at / CHUNK_ITEMS)] ?? last
  return chunk[at % CHUNK_ITEMS]
}

/** The list with another item at a place that it has. */
export function replaceIn<T>(list: GrowingList<T>, at: number, item: T): GrowingList<T> {
  const chunkAt = Math.floor(at / CHUNK_ITEMS)
  const chunk = (list.full[chunkAt] ?? list.last).with(at % CHUNK_ITEMS, item)
  return chunkAt < list.full.length
    ? { full: list.full.with(chunkAt, chunk), last: list.last }
    : { full: list.full, last: chunk }
}

export function toArray<T>({ full, last }: GrowingList<T>): readonly T[] {
  return [...full.flat(), ...last]
}

export function fromArray<T>(items: readonly T[]): GrowingList<T> {
  const fullTo = items.length - (items.length % CHUNK_ITEMS)
  const full: T[][] = []
  for (let at = 0; at < fullTo; at += CHUNK_ITEMS) full.push(items.slice(at, at + CHUNK_ITEMS))
  return { full, last: items.slice(fullTo) }
}
