/**
 * Lists as they are edited: a tree of leaves in any shape, found and changed by position.
 * Knows nothing of the canonical shape; `tree-settle.ts` brings a list into it at commit, so that
 * edits between commits hash nothing. Nodes are never merged here, only split and dropped; what is
 * inserted goes into the leaf that is there, at the end into the last, so no two lists are ever
 * joined.
 */
import {
  bodySize,
  InnerNode,
  KIND,
  LeafNode,
  type ListBody,
  type ListChild,
  openBody,
  type Slot,
} from './tree-node.js'
import { sameSlot } from './tree-scalar.js'

/** Most children or elements of a node, in any shape. */
export const LIST_WIDTH_MAX = 64
/** What an overfull node is cut into. */
const LIST_WIDTH_CUT = 32

/** The element at `index`, which must be inside. */
export function bodyGet(body: ListBody, index: number): Slot {
  let node = body
  let at = index
  while (node.kind === KIND.inner) {
    const child = childOf(node, at)
    at -= startOf(node, child)
    node = openBody(node.slots[child]!)
  }
  return node.slots[at]
}

/**
 * The list with another element at `index`, which must be inside; the same where it is the same.
 */
export function bodySet(body: ListBody, index: number, slot: Slot): ListBody {
  if (body.kind === KIND.leaf) {
    return sameSlot(body.slots[index], slot) ? body : new LeafNode(body.slots.with(index, slot))
  }
  const at = childOf(body, index)
  const child = openBody(body.slots[at]!)
  const next = bodySet(child, index - startOf(body, at), slot)
  return next === child ? body : new InnerNode(body.level, body.slots.with(at, next), body.ends)
}

/** The list with `count` elements from `start` on replaced by `slots`; all must be inside. */
export function bodySplice(
  body: ListBody,
  start: number,
  count: number,
  slots: readonly Slot[],
): ListBody {
  if (count === 0 && slots.length === 0) return body
  return rooted(spliced(body, start, start + count, slots))
}

/** The list of `slots`, which it takes over. */
export function bodyOf(slots: Slot[]): ListBody {
  return rooted(leavesOf(slots))
}

/** Every element from `start` on, in order. */
export function bodyEach(body: ListBody, visit: (slot: Slot) => void): void {
  if (body.kind === KIND.leaf) for (const slot of body.slots) visit(slot)
  else for (const child of body.slots) bodyEach(openBody(child), visit)
}

/** Which elements `splice(start, count)` means: as for an array, from the end where negative. */
export function spliceRange(
  size: number,
  start: number | undefined,
  count: number | undefined,
): { start: number; count: number } {
  const asked = integerOf(start)
  const from = asked < 0 ? Math.max(size + asked, 0) : Math.min(asked, size)
  return { start: from, count: Math.min(Math.max(integerOf(count), 0), size - from) }
}

/** As JavaScript reads an index: what is not a number is 0. */
function integerOf(value: number | undefined): number {
  const number = Math.trunc(Number(value))
  return Number.isNaN(number) ? 0 : number
}

/** The nodes of one level that take the place of `node`; none where it is empty now. */
function spliced(node: ListBody, start: number, end: number, slots: readonly Slot[]): ListChild[] {
  if (node.kind === KIND.leaf) {
    return leavesOf(node.slots.slice(0, start).concat(slots, node.slots.slice(end)))
  }
  const first = Math.min(childOf(node, start), node.slots.length - 1)
  const children: ListChild[] = node.slots.slice(0, first)
  let rest = slots
  let at = first
  for (; at < node.slots.length; at++) {
    const from = startOf(node, at)
    // The first child takes the new elements even where nothing of it goes.
    if (at > first && from >= end) break
    const to = node.ends[at]!
    if (from >= start && to <= end && rest.length === 0) continue
    const child = openBody(node.slots[at]!)
    const parts = spliced(child, Math.max(start - from, 0), Math.min(end, to) - from, rest)
    for (const part of parts) children.push(part)
    rest = []
  }
  for (; at < node.slots.length; at++) children.push(node.slots[at]!)
  return innersOf(children, node.level)
}

function leavesOf(slots: Slot[]): LeafNode[] {
  if (slots.length === 0) return []
  if (slots.length <= LIST_WIDTH_MAX) return [new LeafNode(slots)]
  return cut(slots).map((part) => new LeafNode(part))
}

function innersOf(children: ListChild[], level: number): InnerNode[] {
  if (children.length === 0) return []
  if (children.length <= LIST_WIDTH_MAX) return [innerOf(children, level)]
  return cut(children).map((part) => innerOf(part, level))
}

/** An inner node over `children`, which it takes over. */
export function innerOf(children: ListChild[], level: number): InnerNode {
  const ends: number[] = new Array(children.length)
  let end = 0
  for (let i = 0; i < children.length; i++) {
    end += bodySize(children[i]!)
    ends[i] = end
  }
  return new InnerNode(level, children, ends)
}

function rooted(nodes: readonly ListChild[]): ListBody {
  let level = nodes
  while (level.length > 1) level = innersOf(level.slice(), levelOf(level[0]!) + 1)
  const root = level[0]
  return root === undefined ? new LeafNode([]) : unwrapped(openBody(root))
}

/** The lowest node that holds the whole list. */
function unwrapped(body: ListBody): ListBody {
  let root = body
  while (root.kind === KIND.inner && root.slots.length === 1) root = openBody(root.slots[0]!)
  return root
}

export function levelOf(child: ListChild): number {
  if (child.kind === KIND.leaf) return 0
  if (child.kind === KIND.inner) return child.level
  return child.expect.role === 'list' ? child.expect.level : 0
}

/** Cut into parts of at least LIST_WIDTH_CUT, none over LIST_WIDTH_MAX. */
function cut<T>(items: readonly T[]): T[][] {
  const parts: T[][] = []
  let at = 0
  while (items.length - at > LIST_WIDTH_MAX) {
    parts.push(items.slice(at, at + LIST_WIDTH_CUT))
    at += LIST_WIDTH_CUT
  }
  parts.push(items.slice(at))
  return parts
}

/** Which child holds the element at `index`; the number of children where none does. */
function childOf(node: InnerNode, index: number): number {
  let low = 0
  let high = node.ends.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (node.ends[middle]! <= index) low = middle + 1
    else high = middle
  }
  return low
}

function startOf(node: InnerNode, child: number): number {
  return child === 0 ? 0 : node.ends[child - 1]!
}
