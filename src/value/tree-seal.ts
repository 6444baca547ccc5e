/**
 * Encodes and names the nodes of a tree that are new, children before parents, and stores them.
 * Costs what changed: a node that is known is not looked into. Iterative: depth is the caller's.
 */
import { type Hash, sha256 } from '../core/hash.js'
import { ByteWriter } from './tree-bytes.js'
import { writeListChild, writeMapChild, writeNode, writeSlot } from './tree-encode.js'
import { type PutObject, writeLong } from './tree-long.js'
import { childrenAt } from './tree-map.js'
import {
  type BoxNode,
  isNode,
  KIND,
  type ListBody,
  type ListChild,
  type ListNode,
  type MapChild,
  type MapNode,
  type OpenNode,
  type RecordNode,
  type Slot,
  type StubNode,
  TREE_CHILD_INLINE_BYTES_MAX,
  TREE_INLINE_BYTES_MAX,
  type TreeHome,
} from './tree-node.js'
import { contentOf, isLong } from './tree-scalar.js'
import { type NodeFinisher, settled } from './tree-settle.js'

/** Where nodes are stored. */
export interface SealTarget {
  /** Nodes whose home this is already are not put again, nor looked into. */
  readonly home: TreeHome
  /** Nodes of other homes that were put here as well. */
  readonly copied: WeakSet<object>
  readonly put: PutObject
}

/** Scratch buffers above this are not kept, in bytes. */
const SCRATCH_BYTES_MAX = 1024 * 1024
const scratch: ByteWriter[] = []

/**
 * Works out the name of every new node at and below `root` and, where there is a `target`, hands it
 * to `put`. What `put` throws passes through; what it took before stays noted as stored.
 * @returns The name of the root's own object; small roots have one too.
 */
export function seal(root: Slot, target?: SealTarget): Hash {
  const sealer = new Sealer(target)
  try {
    if (isNode(root)) sealer.walk(root)
    return sealer.root(root)
  } finally {
    sealer.release()
  }
}

/** The bytes of a slot as it stands in its parent: equal exactly where the values are. Sealed. */
export function slotBytes(slot: Slot): string {
  return written((writer) => writeSlot(writer, slot))
}

/** The same for a node inside a list. */
export function listChildBytes(child: ListChild): string {
  return written((writer) => writeListChild(writer, child))
}

/** The same for a node inside a map. */
export function mapChildBytes(child: MapChild): string {
  return written((writer) => writeMapChild(writer, child))
}

function written(write: (writer: ByteWriter) => void): string {
  const writer = borrow()
  write(writer)
  const bytes = writer.view().toString('latin1')
  scratch.push(writer)
  return bytes
}

function borrow(): ByteWriter {
  const writer = scratch.pop() ?? new ByteWriter()
  writer.at = 0
  return writer
}

type WalkNode = OpenNode | StubNode
const PART = TREE_CHILD_INLINE_BYTES_MAX
const VALUE = TREE_INLINE_BYTES_MAX

class Sealer implements NodeFinisher {
  readonly items = borrow()
  readonly whole = borrow()
  readonly #stored = new Set<Hash>()
  readonly #stack: WalkNode[] = []
  /** For each of them: how large it may be inside its parent, in bytes. */
  readonly #inlineMax: number[] = []
  /** And whether what lies below it was pushed already. */
  readonly #entered: boolean[] = []

  constructor(readonly target: SealTarget | undefined) {}

  release(): void {
    for (const writer of [this.items, this.whole]) {
      if (writer.buffer.length <= SCRATCH_BYTES_MAX) scratch.push(writer)
    }
  }

  walk(root: WalkNode): void {
    this.#push(root, VALUE)
    while (this.#stack.length > 0) {
      const top = this.#stack.length - 1
      const node = this.#stack[top]!
      if (!this.#entered[top]) {
        this.#entered[top] = true
        this.#enter(node)
        if (this.#stack.length > top + 1) continue
      }
      // A node that stands in two places may be done by now.
      if (!this.#done(node)) this.#leave(node, this.#inlineMax[top]!)
      this.#stack.pop()
      this.#inlineMax.pop()
      this.#entered.pop()
    }
  }

  root(root: Slot): Hash {
    const isObject = isNode(root) && root.kind !== KIND.box && root.kind !== KIND.stub
    if (isObject && root.bytes > VALUE) return root.hash!
    const { whole } = this
    whole.at = 0
    writeSlot(whole, root)
    const hash = sha256(whole.view())
    this.#store(hash, whole.view())
    return hash
  }

  finish(node: Encodable, bytes: Uint8Array, inlineMax: number): void {
    node.bytes = bytes.length
    if (bytes.length > inlineMax) {
      node.hash ??= sha256(bytes)
      this.#store(node.hash, bytes)
    }
    this.#note(node)
  }

  #store(hash: Hash, bytes: Uint8Array): void {
    // Equal nodes that came about apart, as in a list of one element over and over.
    if (this.target === undefined || this.#stored.has(hash)) return
    this.target.put({ hash, kind: 'tree', bytes })
    this.#stored.add(hash)
  }

  /** All of `node` is in the target. A node of another home goes on being read from there. */
  #note(node: WalkNode): void {
    if (this.target === undefined) return
    if (node.home === undefined) node.home = this.target.home
    else if (node.home !== this.target.home) this.target.copied.add(node)
  }

  #done(node: WalkNode): boolean {
    if (node.kind === KIND.box && !isLong(node.type, node.length)) return true
    if (this.target !== undefined) {
      return (
        node.home === this.target.home || (node.home !== undefined && this.target.copied.has(node))
      )
    }
    if (node.kind === KIND.stub) return true
    return node.kind === KIND.box ? node.hash !== undefined : node.bytes > 0
  }

  #push(node: WalkNode, inlineMax: number): void {
    if (this.#done(node)) return
    this.#stack.push(node)
    this.#inlineMax.push(inlineMax)
    this.#entered.push(false)
  }

  #enter(node: WalkNode): void {
    switch (node.kind) {
      case KIND.record:
      case KIND.leaf:
        for (const slot of node.slots) if (isNode(slot)) this.#push(slot, VALUE)
        break
      case KIND.map: {
        const childrenFrom = childrenAt(node)
        for (let i = 0; i < node.slots.length; i++) {
          const slot = node.slots[i]
          if (isNode(slot)) this.#push(slot, i < childrenFrom ? VALUE : PART)
        }
        break
      }
      case KIND.inner:
        for (const child of node.slots) this.#push(child, PART)
        break
      case KIND.list:
        // A settled list's own node is written with the list: it may be larger than a part.
        if (node.bytes > 0) this.#enter(node.body)
        else this.#push(node.body, PART)
        break
      case KIND.stub:
        this.#push(node.home.open(node), node.expect.role === 'value' ? VALUE : PART)
    }
  }

  #leave(node: WalkNode, inlineMax: number): void {
    if (node.kind === KIND.stub) this.#note(node)
    else if (node.kind === KIND.box) this.#leaveBox(node)
    else if (node.kind === KIND.list) this.#leaveList(node)
    else {
      // The nodes of a list have no encoding before the list is settled.
      const isLoose = (node.kind === KIND.leaf || node.kind === KIND.inner) && node.bytes === 0
      if (!isLoose) this.#encode(node, inlineMax)
    }
  }

  #leaveBox(box: BoxNode): void {
    const content = writeLong(contentOf(box), this.target?.put)
    box.hash = content.hash
    box.contentKind = content.kind
    this.#note(box)
  }

  #leaveList(list: ListNode): void {
    if (list.bytes === 0) list.body = settled(list.body, this)
    else this.#encode(list.body, VALUE)
    list.bytes = list.body.bytes
    if (list.bytes > VALUE) list.hash = list.body.hash
    this.#note(list)
  }

  #encode(node: Encodable, inlineMax: number): void {
    const { whole } = this
    whole.at = 0
    writeNode(whole, node)
    this.finish(node, whole.view(), inlineMax)
  }
}

type Encodable = RecordNode | MapNode | ListBody
