/**
 * Brings a list into its canonical shape: cut where `tree-cut.ts` cuts, level by level.
 * Costs what changed since the list last had that shape: settled nodes are taken over whole as soon
 * as cutting reaches the start of one. That is right as each settled node ends with a cut, but for
 * the last of a list, and nothing comes after that one: what is appended goes into it
 * (`tree-list.ts`).
 */
import { Buffer } from 'node:buffer'
import type { ByteWriter } from './tree-bytes.js'
import { Cutter } from './tree-cut.js'
import { writeListChild, writeListHead, writeSlot } from './tree-encode.js'
import { bodyEach, innerOf, levelOf } from './tree-list.js'
import {
  bodySize,
  KIND,
  LeafNode,
  type ListBody,
  type ListChild,
  openBody,
  type Slot,
  TREE_CHILD_INLINE_BYTES_MAX,
  TREE_INLINE_BYTES_MAX,
  TREE_LIST_FLAT_MAX,
} from './tree-node.js'

/** Who the new nodes of a list are handed to. */
export interface NodeFinisher {
  /** Scratch: the items of the node being cut, and a node in full. */
  readonly items: ByteWriter
  readonly whole: ByteWriter
  /** Notes the encoding of a node: its length and, where over `inlineMax` bytes, its name. */
  finish(node: ListBody, bytes: Uint8Array, inlineMax: number): void
}

/** The canonical nodes of a list whose elements have been encoded; every new one is finished. */
export function settled(body: ListBody, finisher: NodeFinisher): ListBody {
  if (bodySize(body) <= TREE_LIST_FLAT_MAX) return flat(body, finisher)
  let pieces: ListChild[] = [body]
  for (let level = 0; ; level++) {
    pieces = new LevelCut(level, pieces, finisher).run()
    const [only, more] = pieces
    if (more === undefined) return openBody(only!)
  }
}

function flat(body: ListBody, finisher: NodeFinisher): ListBody {
  if (body.kind === KIND.leaf && body.bytes > 0) return body
  const slots: Slot[] = []
  bodyEach(body, (slot) => slots.push(slot))
  const leaf = new LeafNode(slots)
  const { whole } = finisher
  whole.at = 0
  writeListHead(whole, 0, slots.length)
  for (const slot of slots) writeSlot(whole, slot)
  finisher.finish(leaf, whole.view(), TREE_INLINE_BYTES_MAX)
  return leaf
}

/** Cuts one level: takes nodes of that level or above and, as loose items, those just below. */
class LevelCut {
  readonly #out: ListChild[] = []
  readonly #cutter: Cutter
  /** Items of the node that is not cut yet; their bytes are in the finisher's `items`. */
  #open: (Slot | ListChild)[] = []
  /** The first new node, and its bytes: whether it is the root shows at the end. */
  #first: { node: ListBody; bytes: Uint8Array } | undefined

  constructor(
    readonly level: number,
    readonly pieces: readonly ListChild[],
    readonly finisher: NodeFinisher,
  ) {
    this.#cutter = new Cutter(level)
  }

  run(): ListChild[] {
    this.finisher.items.at = 0
    const work = this.pieces.toReversed()
    for (let piece = work.pop(); piece !== undefined; piece = work.pop()) {
      if (levelOf(piece) < this.level) this.#take(piece)
      else if (this.#open.length === 0 && isSettled(piece)) this.#out.push(piece)
      else {
        const node = openBody(piece)
        if (node.kind === KIND.leaf) for (const slot of node.slots) this.#take(slot)
        else for (let i = node.slots.length - 1; i >= 0; i--) work.push(node.slots[i]!)
      }
    }
    if (this.#open.length > 0) this.#emit()
    if (this.#first !== undefined) {
      const inlineMax = this.#out.length === 1 ? TREE_INLINE_BYTES_MAX : TREE_CHILD_INLINE_BYTES_MAX
      this.finisher.finish(this.#first.node, this.#first.bytes, inlineMax)
    }
    return this.#out
  }

  #take(item: Slot | ListChild): void {
    const { items } = this.finisher
    const fromByte = items.at
    if (this.level === 0) writeSlot(items, item as Slot)
    else writeListChild(items, item as ListChild)
    this.#open.push(item)
    if (this.#cutter.take(items.buffer, fromByte, items.at)) this.#emit()
  }

  #emit(): void {
    const { level, finisher } = this
    const { items, whole } = finisher
    const open = this.#open
    const node = level === 0 ? new LeafNode(open as Slot[]) : innerOf(open as ListChild[], level)
    whole.at = 0
    writeListHead(whole, level, open.length)
    whole.raw(items.view())
    items.at = 0
    this.#open = []
    if (this.#first === undefined) this.#first = { node, bytes: Buffer.from(whole.view()) }
    else finisher.finish(node, whole.view(), TREE_CHILD_INLINE_BYTES_MAX)
    this.#out.push(node)
  }
}

function isSettled(piece: ListChild): boolean {
  return piece.kind === KIND.stub || piece.bytes > 0
}
