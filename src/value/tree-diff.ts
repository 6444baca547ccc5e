/**
 * What differs between two trees, as changes that make the left one into the right one.
 * Compares names, so it looks only into what differs. Both trees must be sealed. Iterative.
 */
import { listChanges } from './tree-align.js'
import { mapChild, mapEachAt } from './tree-map.js'
import {
  ABSENT,
  type ContainerNode,
  containerIn,
  isNode,
  KIND,
  type ListNode,
  type MapNode,
  type ObjectNode,
  openMap,
  type Slot,
} from './tree-node.js'
import { objectEach, objectGet } from './tree-object.js'
import { pointerStep } from './tree-pointer.js'
import { mapChildBytes, slotBytes } from './tree-seal.js'
import { viewOf } from './tree-view.js'

/**
 * One change. In the order they come, they are a JSON Patch (RFC 6902) but for the values that JSON
 * does not have: each pointer holds once the changes before it were made.
 */
export type TreeChange =
  | { readonly op: 'add'; readonly pointer: string; readonly right: unknown }
  | { readonly op: 'remove'; readonly pointer: string; readonly left: unknown }
  | {
      readonly op: 'replace'
      readonly pointer: string
      readonly left: unknown
      readonly right: unknown
    }

/** A place that holds containers of one kind on both sides. */
interface Pair {
  readonly pointer: string
  readonly left: ContainerNode
  readonly right: ContainerNode
}

/** The changes from `left` to `right`: those of a container, then those of what is in it. */
export function* slotChanges(left: Slot, right: Slot): Generator<TreeChange, void, undefined> {
  const work: Pair[] = []
  yield* compare('', left, right, work)
  for (let pair = work.pop(); pair !== undefined; pair = work.pop()) {
    const { left: from, right: to } = pair
    if (from.kind === KIND.list) yield* listPair(pair.pointer, from, to as ListNode, work)
    else yield* objectPair(pair.pointer, from, to as ObjectNode, work)
  }
}

/** The change of one place; what is in it, if both sides are alike, is for later. */
function* compare(
  pointer: string,
  left: Slot | typeof ABSENT,
  right: Slot | typeof ABSENT,
  work: Pair[],
): Generator<TreeChange, void, undefined> {
  if (left === ABSENT) {
    if (right !== ABSENT) yield { op: 'add', pointer, right: viewOf(right) }
    return
  }
  if (right === ABSENT) {
    yield { op: 'remove', pointer, left: viewOf(left) }
    return
  }
  if (isSame(left, right)) return
  const from = containerIn(left)
  const to = containerIn(right)
  const isList = from?.kind === KIND.list
  if (from !== undefined && to !== undefined && isList === (to.kind === KIND.list)) {
    work.push({ pointer, left: from, right: to })
  } else yield { op: 'replace', pointer, left: viewOf(left), right: viewOf(right) }
}

function isSame(left: Slot, right: Slot): boolean {
  if (!isNode(left) || !isNode(right)) return Object.is(left, right)
  return left === right || slotBytes(left) === slotBytes(right)
}

/** Elements that changed in place come as such; for the rest pointers count from the left. */
function* listPair(
  pointer: string,
  left: ListNode,
  right: ListNode,
  work: Pair[],
): Generator<TreeChange, void, undefined> {
  for (const change of listChanges(left.body, right.body)) {
    const longer = Math.max(change.left.length, change.right.length)
    for (let i = 0; i < longer; i++) {
      const from = i < change.left.length ? change.left[i] : ABSENT
      const to = i < change.right.length ? change.right[i] : ABSENT
      // What is removed is followed by the next to be removed, in the same place.
      const at = change.rightStart + Math.min(i, change.right.length)
      yield* compare(pointer + pointerStep(at), from, to, work)
    }
  }
}

function* objectPair(
  pointer: string,
  left: ObjectNode,
  right: ObjectNode,
  work: Pair[],
): Generator<TreeChange, void, undefined> {
  const changes: KeyChange[] = []
  const pair = new ObjectPair(left, right, changes)
  if (left.kind === KIND.map && right.kind === KIND.map) pair.maps(left, right)
  else pair.entries()
  for (const { key, left: from, right: to } of changes) {
    yield* compare(pointer + pointerStep(key), from, to, work)
  }
}

interface KeyChange {
  readonly key: string
  readonly left: Slot | typeof ABSENT
  readonly right: Slot | typeof ABSENT
}

/** Finds the keys of two objects that may differ. */
class ObjectPair {
  constructor(
    readonly left: ObjectNode,
    readonly right: ObjectNode,
    readonly changes: KeyChange[],
  ) {}

  entries(): void {
    objectEach(this.left, this.#leftEntry)
    objectEach(this.right, this.#rightEntry)
  }

  /** Nodes that are at the same place in either map. */
  maps(left: MapNode, right: MapNode): void {
    for (let bit = 1; bit <= 0x8000; bit <<= 1) {
      const from = mapChild(left, bit)
      const to = mapChild(right, bit)
      if (from === undefined || to === undefined) {
        mapEachAt(left, bit, this.#leftEntry)
        mapEachAt(right, bit, this.#rightEntry)
      } else if (from !== to && mapChildBytes(from) !== mapChildBytes(to)) {
        // Names come first: what is the same on both sides is not even loaded.
        this.maps(openMap(from), openMap(to))
      }
    }
  }

  readonly #leftEntry = (key: string, slot: Slot): void => {
    this.changes.push({ key, left: slot, right: objectGet(this.right, key) })
  }

  readonly #rightEntry = (key: string, slot: Slot): void => {
    const isNew = objectGet(this.left, key) === ABSENT
    if (isNew) this.changes.push({ key, left: ABSENT, right: slot })
  }
}
