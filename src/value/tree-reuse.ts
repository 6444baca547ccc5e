/**
 * Containers made anew from whole values, sharing all they can with the one that they replace:
 * so a whole state handed in again and again costs what changed in it.
 */
import { bodyEach, bodyOf, bodySplice } from './tree-list.js'
import { type MapEntry, mapDelete, mapEach, mapSet } from './tree-map.js'
import {
  ABSENT,
  bodySize,
  type ContainerNode,
  KIND,
  ListNode,
  type MapNode,
  type ObjectNode,
  RecordNode,
  type Slot,
  TREE_RECORD_KEYS_MAX,
} from './tree-node.js'
import { objectGet, objectOf, objectSize } from './tree-object.js'
import { sameSlot } from './tree-scalar.js'

/**
 * The object of `keys`, which differ and are sorted where a record takes them; `prior` itself where
 * that has the same. Takes over `keys` and `slots`.
 */
export function objectLike(
  prior: ContainerNode | undefined,
  keys: readonly string[],
  slots: Slot[],
): ObjectNode {
  const isSmall = keys.length <= TREE_RECORD_KEYS_MAX
  if (prior === undefined || prior.kind === KIND.list) {
    return isSmall ? new RecordNode(keys, slots) : objectOf(entriesOf(keys, slots))
  }
  const changed: MapEntry[] = []
  let added = 0
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const held = objectGet(prior, key)
    if (held === ABSENT) added += 1
    else if (sameSlot(held, slots[i])) continue
    changed.push({ key, slot: slots[i] })
  }
  const removed = objectSize(prior) - (keys.length - added)
  if (changed.length === 0 && removed === 0) return prior
  if (isSmall) {
    const isAlike = added === 0 && removed === 0 && prior.kind === KIND.record
    return new RecordNode(isAlike ? prior.keys : keys, slots)
  }
  if (prior.kind === KIND.record || (changed.length + removed) * 4 > keys.length) {
    return objectOf(entriesOf(keys, slots))
  }
  const kept = removed === 0 ? prior : narrowed(prior, new Set(keys))
  return changed.reduce((map, { key, slot }) => mapSet(map, key, slot), kept)
}

/** The list of `slots`, which it takes over; `prior` itself where that has the same. */
export function listLike(prior: ContainerNode | undefined, slots: Slot[]): ListNode {
  if (prior?.kind !== KIND.list) return new ListNode(bodyOf(slots))
  const size = bodySize(prior.body)
  const held: Slot[] = []
  bodyEach(prior.body, (slot) => held.push(slot))
  const shorter = Math.min(size, slots.length)
  let before = 0
  while (before < shorter && sameSlot(held[before], slots[before])) before += 1
  if (before === size && before === slots.length) return prior
  let after = 0
  while (
    after < shorter - before &&
    sameSlot(held[size - 1 - after], slots[slots.length - 1 - after])
  ) {
    after += 1
  }
  if ((before + after) * 2 < slots.length) return new ListNode(bodyOf(slots))
  const middle = slots.slice(before, slots.length - after)
  return new ListNode(bodySplice(prior.body, before, size - before - after, middle))
}

function narrowed(map: MapNode, keys: ReadonlySet<string>): MapNode {
  const gone: string[] = []
  mapEach(map, (key) => {
    if (!keys.has(key)) gone.push(key)
  })
  return gone.reduce((rest, key) => mapDelete(rest, key), map)
}

function entriesOf(keys: readonly string[], slots: readonly Slot[]): MapEntry[] {
  return keys.map((key, i) => ({ key, slot: slots[i] }))
}
