/**
 * Objects: records up to TREE_RECORD_KEYS_MAX keys, maps above. Which of the two is decided by the
 * number of keys alone, so that equal objects have equal nodes.
 */
import { type MapEntry, mapDelete, mapEach, mapGet, mapOf, mapSet } from './tree-map.js'
import {
  ABSENT,
  KIND,
  type ObjectNode,
  RecordNode,
  type Slot,
  TREE_RECORD_KEYS_MAX,
} from './tree-node.js'
import { sameSlot } from './tree-scalar.js'

export function objectSize(node: ObjectNode): number {
  return node.kind === KIND.record ? node.keys.length : node.size
}

export function objectGet(node: ObjectNode, key: string): Slot | typeof ABSENT {
  if (node.kind === KIND.map) return mapGet(node, key)
  const at = node.keys.indexOf(key)
  return at < 0 ? ABSENT : node.slots[at]
}

/** The object with `key` holding `slot`; the same node where it does already. */
export function objectSet(node: ObjectNode, key: string, slot: Slot): ObjectNode {
  if (node.kind === KIND.map) return mapSet(node, key, slot)
  const at = node.keys.indexOf(key)
  if (at >= 0) {
    return sameSlot(node.slots[at], slot)
      ? node
      : new RecordNode(node.keys, node.slots.with(at, slot))
  }
  if (node.keys.length === TREE_RECORD_KEYS_MAX) return mapOf([...entriesOf(node), { key, slot }])
  const found = node.keys.findIndex((held) => held > key)
  const to = found < 0 ? node.keys.length : found
  return new RecordNode(node.keys.toSpliced(to, 0, key), node.slots.toSpliced(to, 0, slot))
}

/** The object without `key`; the same node where it is not there. */
export function objectDelete(node: ObjectNode, key: string): ObjectNode {
  if (node.kind === KIND.map) {
    const next = mapDelete(node, key)
    return next.size > TREE_RECORD_KEYS_MAX ? next : recordOf(entriesOf(next))
  }
  const at = node.keys.indexOf(key)
  if (at < 0) return node
  return new RecordNode(node.keys.toSpliced(at, 1), node.slots.toSpliced(at, 1))
}

/** The object of entries whose keys differ, in any order. */
export function objectOf(entries: readonly MapEntry[]): ObjectNode {
  return entries.length > TREE_RECORD_KEYS_MAX ? mapOf(entries) : recordOf(entries)
}

/** Every entry: by key in a record, by the key's path in a map. */
export function objectEach(node: ObjectNode, visit: (key: string, slot: Slot) => void): void {
  if (node.kind === KIND.map) mapEach(node, visit)
  else for (const [i, key] of node.keys.entries()) visit(key, node.slots[i])
}

export function objectKeys(node: ObjectNode): string[] {
  if (node.kind === KIND.record) return node.keys.slice()
  const keys: string[] = []
  mapEach(node, (key) => keys.push(key))
  return keys
}

function entriesOf(node: ObjectNode): MapEntry[] {
  const entries: MapEntry[] = []
  objectEach(node, (key, slot) => entries.push({ key, slot }))
  return entries
}

function recordOf(entries: readonly MapEntry[]): RecordNode {
  const sorted = entries.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return new RecordNode(
    sorted.map(({ key }) => key),
    sorted.map(({ slot }) => slot),
  )
}
