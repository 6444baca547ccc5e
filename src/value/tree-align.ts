/**
 * Which runs of elements differ between two lists. Walks their nodes side by side from the top and
 * goes into those only that the other list does not have. Both lists must be sealed.
 */
import { bodyEach, levelOf } from './tree-list.js'
import { bodySize, KIND, type ListBody, type ListChild, openBody, type Slot } from './tree-node.js'
import { listChildBytes, slotBytes } from './tree-seal.js'

/** Elements of the left list that became those of the right one; either may be none. */
export interface ListChange {
  readonly left: readonly Slot[]
  readonly right: readonly Slot[]
  /** Index in the right list of the first of `right`, or of what comes after none. */
  readonly rightStart: number
}

/**
 * The changes from `left` to `right`, in order. What is alike may be in one, but never misaligned.
 */
export function listChanges(left: ListBody, right: ListBody): ListChange[] {
  const changes: ListChange[] = []
  if (left.kind === KIND.leaf || right.kind === KIND.leaf) {
    alignSlots(slotsOf([left]), slotsOf([right]), 0, changes)
    return changes
  }
  const level = Math.min(left.level, right.level) - 1
  alignNodes(nodesAt(left, level), nodesAt(right, level), 0, changes)
  return changes
}

/** The nodes of one level that `body` is made of. */
function nodesAt(body: ListBody, level: number): ListChild[] {
  let nodes: ListChild[] = [body]
  while (levelOf(nodes[0]!) > level) nodes = below(nodes)
  return nodes
}

function below(nodes: readonly ListChild[]): ListChild[] {
  return nodes.flatMap((node) => {
    const body = openBody(node)
    return body.kind === KIND.inner ? body.slots : []
  })
}

function slotsOf(nodes: readonly ListChild[]): Slot[] {
  const slots: Slot[] = []
  for (const node of nodes) bodyEach(openBody(node), (slot) => slots.push(slot))
  return slots
}

/** Nodes of one level on either side; `rightStart`: index of the first element on the right. */
function alignNodes(
  left: readonly ListChild[],
  right: readonly ListChild[],
  rightStart: number,
  changes: ListChange[],
): void {
  const sizes = right.map(bodySize)
  const gaps = gapsBetween(left.map(listChildBytes), right.map(listChildBytes))
  let at = 0
  let start = rightStart
  for (const { leftFrom, leftTo, rightFrom, rightTo } of gaps) {
    while (at < rightFrom) start += sizes[at++]!
    const gone = left.slice(leftFrom, leftTo)
    const come = right.slice(rightFrom, rightTo)
    if (levelOf((gone[0] ?? come[0])!) > 0) alignNodes(below(gone), below(come), start, changes)
    else alignSlots(slotsOf(gone), slotsOf(come), start, changes)
  }
}

function alignSlots(
  left: readonly Slot[],
  right: readonly Slot[],
  rightStart: number,
  changes: ListChange[],
): void {
  for (const gap of gapsBetween(left.map(slotBytes), right.map(slotBytes))) {
    changes.push({
      left: left.slice(gap.leftFrom, gap.leftTo),
      right: right.slice(gap.rightFrom, gap.rightTo),
      rightStart: rightStart + gap.rightFrom,
    })
  }
}

interface Gap {
  readonly leftFrom: number
  readonly leftTo: number
  readonly rightFrom: number
  readonly rightTo: number
}

/**
 * What lies between the items that two sequences share: a common start, a common end, and between
 * those the items that either has once, as far as they are in the same order. Linear but for the
 * log.
 */
function gapsBetween(left: readonly string[], right: readonly string[]): Gap[] {
  const shorter = Math.min(left.length, right.length)
  let start = 0
  while (start < shorter && left[start] === right[start]) start += 1
  let end = 0
  while (end < shorter - start && left.at(-1 - end) === right.at(-1 - end)) end += 1
  const leftEnd = left.length - end
  const rightEnd = right.length - end
  const anchors = inOrder(sharedOnce(left, right, start, leftEnd, rightEnd))
  const gaps: Gap[] = []
  let leftFrom = start
  let rightFrom = start
  for (const [leftTo, rightTo] of [...anchors, [leftEnd, rightEnd] as const]) {
    if (leftFrom < leftTo || rightFrom < rightTo) {
      gaps.push({ leftFrom, leftTo, rightFrom, rightTo })
    }
    leftFrom = leftTo + 1
    rightFrom = rightTo + 1
  }
  return gaps
}

type Pair = readonly [left: number, right: number]

/** Where the items are that stand once in either part, by their place on the left. */
function sharedOnce(
  left: readonly string[],
  right: readonly string[],
  start: number,
  leftEnd: number,
  rightEnd: number,
): Pair[] {
  const leftAt = onceAt(left, start, leftEnd)
  const rightAt = onceAt(right, start, rightEnd)
  const pairs: Pair[] = []
  for (const [item, at] of leftAt) {
    const other = rightAt.get(item)
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([at, other])
  }
  return pairs.sort((a, b) => a[0] - b[0])
}

/** The place of each item, or -1 where it has several. */
function onceAt(items: readonly string[], from: number, to: number): Map<string, number> {
  const places = new Map<string, number>()
  for (let at = from; at < to; at++) {
    const item = items[at]!
    places.set(item, places.has(item) ? -1 : at)
  }
  return places
}

/** The most of `pairs`, sorted on the left, that ascend on the right as well. */
function inOrder(pairs: readonly Pair[]): Pair[] {
  /** For each length: which pair ends the run of that length that ends lowest. */
  const ends: number[] = []
  const before: number[] = []
  for (const [i, [, right]] of pairs.entries()) {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (pairs[ends[middle]!]![1] < right) low = middle + 1
      else high = middle
    }
    before[i] = low === 0 ? -1 : ends[low - 1]!
    ends[low] = i
  }
  const run: Pair[] = []
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]!) run.push(pairs[i]!)
  return run.reverse()
}
