/**
 * Objects of many keys: a hash trie whose shape depends on the keys alone, not on how they came in.
 * Knows the inside of a map; when an object is a map at all is for `tree-object.ts`.
 *
 * Each place of a node holds nothing, one entry, or a child with two entries or more: a child left
 * with one entry after a deletion is folded into its parent.
 */
import { keyPath, placeBit } from './tree-key.js'
import { ABSENT, keepOpen, type MapChild, MapNode, openMap, type Slot } from './tree-node.js'
import { sameSlot } from './tree-scalar.js'

export interface MapEntry {
  readonly key: string
  readonly slot: Slot
}

const CHILD_SHIFT = 16
const ENTRY_MASK = 0xffff

/** How many bits of a 16-bit number are set. */
export function countBits(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x5555)
  n = (n & 0x3333) + ((n >>> 2) & 0x3333)
  n = (n + (n >>> 4)) & 0x0f0f
  return (n + (n >>> 8)) & 0x1f
}

export function entryBits(node: MapNode): number {
  return node.places & ENTRY_MASK
}

export function childBits(node: MapNode): number {
  return node.places >>> CHILD_SHIFT
}

/** Where the children start in `slots`. */
export function childrenAt(node: MapNode): number {
  return 2 * countBits(entryBits(node))
}

function entryAt(node: MapNode, bit: number): number {
  return 2 * countBits(entryBits(node) & (bit - 1))
}

function childAt(node: MapNode, bit: number): number {
  return childrenAt(node) + countBits(childBits(node) & (bit - 1))
}

/** The child at a place, or undefined. */
export function mapChild(node: MapNode, bit: number): MapChild | undefined {
  return (childBits(node) & bit) === 0 ? undefined : (node.slots[childAt(node, bit)] as MapChild)
}

/** Every entry at a place: none, one, or those of the child. */
export function mapEachAt(
  node: MapNode,
  bit: number,
  visit: (key: string, slot: Slot) => void,
): void {
  const child = mapChild(node, bit)
  if (child !== undefined) mapEach(openMap(child), visit)
  else if ((entryBits(node) & bit) !== 0) {
    const at = entryAt(node, bit)
    visit(node.slots[at] as string, node.slots[at + 1])
  }
}

/** What `key` holds. `keep`: the nodes loaded on the way stay in memory as long as the map does. */
export function mapGet(root: MapNode, key: string, keep = false): Slot | typeof ABSENT {
  const path = keyPath(key)
  let node = root
  for (let depth = 0; ; depth++) {
    const bit = placeBit(key, path, depth)
    if ((entryBits(node) & bit) !== 0) {
      const at = entryAt(node, bit)
      if (node.slots[at] !== key) return ABSENT
      return keep ? keepOpen(node.slots, at + 1) : node.slots[at + 1]
    }
    if ((childBits(node) & bit) === 0) return ABSENT
    const at = childAt(node, bit)
    const child = openMap(node.slots[at] as MapChild)
    if (keep) node.slots[at] = child
    node = child
  }
}

/** The map with `key` holding `slot`; the same node where it does already. */
export function mapSet(node: MapNode, key: string, slot: Slot, depth = 0): MapNode {
  const path = keyPath(key)
  const bit = placeBit(key, path, depth)
  if ((childBits(node) & bit) !== 0) {
    const at = childAt(node, bit)
    const child = openMap(node.slots[at] as MapChild)
    const next = mapSet(child, key, slot, depth + 1)
    if (next === child) return node
    return new MapNode(
      node.places,
      replaced(node.slots, at, next),
      node.size - child.size + next.size,
    )
  }
  const at = entryAt(node, bit)
  if ((entryBits(node) & bit) === 0) {
    return new MapNode(node.places | bit, node.slots.toSpliced(at, 0, key, slot), node.size + 1)
  }
  const held = node.slots[at] as string
  if (held === key) {
    if (sameSlot(node.slots[at + 1], slot)) return node
    return new MapNode(node.places, replaced(node.slots, at + 1, slot), node.size)
  }
  const both = [
    { key: held, slot: node.slots[at + 1] },
    { key, slot },
  ]
  return withChild(node, bit, mapOf(both, depth + 1))
}

/** The map without `key`; the same node where it is not there. May leave an empty map. */
export function mapDelete(node: MapNode, key: string, depth = 0): MapNode {
  const bit = placeBit(key, keyPath(key), depth)
  if ((entryBits(node) & bit) !== 0) {
    const at = entryAt(node, bit)
    if (node.slots[at] !== key) return node
    return new MapNode(node.places & ~bit, node.slots.toSpliced(at, 2), node.size - 1)
  }
  if ((childBits(node) & bit) === 0) return node
  const at = childAt(node, bit)
  const child = openMap(node.slots[at] as MapChild)
  const next = mapDelete(child, key, depth + 1)
  if (next === child) return node
  if (next.size > 1) return new MapNode(node.places, replaced(node.slots, at, next), node.size - 1)
  return withEntry(node, bit, next.slots[0] as string, next.slots[1])
}

/** The map of `entries`, whose keys differ. */
export function mapOf(entries: readonly MapEntry[], depth = 0): MapNode {
  const buckets: MapEntry[][] = Array.from({ length: 16 }, () => [])
  for (const entry of entries) {
    const bit = placeBit(entry.key, keyPath(entry.key), depth)
    buckets[31 - Math.clz32(bit)]!.push(entry)
  }
  let places = 0
  const slots: Slot[] = []
  const children: MapNode[] = []
  for (const [place, bucket] of buckets.entries()) {
    const first = bucket[0]
    if (first === undefined) continue
    if (bucket.length === 1) {
      places |= 1 << place
      slots.push(first.key, first.slot)
    } else {
      places |= 1 << (place + CHILD_SHIFT)
      children.push(mapOf(bucket, depth + 1))
    }
  }
  slots.push(...children)
  return new MapNode(places, slots, entries.length)
}

/** Every entry: in each node its own by path, then those of its children. */
export function mapEach(node: MapNode, visit: (key: string, slot: Slot) => void): void {
  const { slots } = node
  const childrenFrom = childrenAt(node)
  for (let i = 0; i < childrenFrom; i += 2) visit(slots[i] as string, slots[i + 1])
  for (let i = childrenFrom; i < slots.length; i++) mapEach(openMap(slots[i] as MapChild), visit)
}

/** The node with `child` where it had an entry. */
function withChild(node: MapNode, bit: number, child: MapNode): MapNode {
  const slots = node.slots.toSpliced(childAt(node, bit), 0, child)
  slots.splice(entryAt(node, bit), 2)
  return new MapNode((node.places & ~bit) | (bit << CHILD_SHIFT), slots, node.size + 1)
}

/** The node with an entry where it had a child of two. */
function withEntry(node: MapNode, bit: number, key: string, slot: Slot): MapNode {
  const slots = node.slots.toSpliced(childAt(node, bit), 1)
  slots.splice(entryAt(node, bit), 0, key, slot)
  return new MapNode((node.places & ~(bit << CHILD_SHIFT)) | bit, slots, node.size - 1)
}

function replaced(slots: readonly Slot[], at: number, slot: Slot): Slot[] {
  const next = slots.slice()
  next[at] = slot
  return next
}
