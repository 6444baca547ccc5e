/**
 * Nodes from their bytes. Accepts exactly what `tree-encode.ts` writes for some value: anything
 * else, also another encoding of a good value, is OBJECT_CORRUPT. So nothing that was read can have
 * a second name, and a hostile store can at most fail, not lie.
 */
import { DaglogError } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'
import type { ObjectKind } from '../core/object.js'
import { type ByteOrigin, ByteReader } from './tree-bytes.js'
import { Cutter, TREE_CUT_ITEMS_MAX } from './tree-cut.js'
import { TAG } from './tree-encode.js'
import { keyUnder, MAP_DEPTH_MAX } from './tree-key.js'
import { innerOf } from './tree-list.js'
import { countBits } from './tree-map.js'
import {
  bodySize,
  type ContainerNode,
  childSize,
  type Expectation,
  isNode,
  KIND,
  LeafNode,
  type ListBody,
  type ListChild,
  ListNode,
  type MapChild,
  MapNode,
  type OpenNode,
  RecordNode,
  type Slot,
  StubNode,
  TREE_CHILD_INLINE_BYTES_MAX,
  TREE_INLINE_BYTES_MAX,
  TREE_LIST_FLAT_MAX,
  TREE_RECORD_KEYS_MAX,
  type TreeHome,
} from './tree-node.js'
import { readScalar } from './tree-read-scalar.js'

/** Highest level of a list: every node but the last of a level has four below it, or more. */
const LIST_LEVEL_MAX = 27

const VALUE: Expectation = { role: 'value' }
const PLACES = 16

export interface ObjectRef {
  readonly hash: Hash
  readonly kind: ObjectKind
}

/** What an object is read for. */
export interface DecodeContext extends ByteOrigin {
  /** Where the nodes below are read from. */
  readonly home: TreeHome
}

/** The value whose own object `bytes` is, of any size: a tree's root. */
export function decodeRoot(bytes: Uint8Array, context: DecodeContext): Slot {
  const decoder = new Decoder(bytes, context)
  return decoder.whole(decoder.root())
}

/** The node whose object `bytes` is, which someone refers to as `expect`. */
export function decodeNode(
  bytes: Uint8Array,
  expect: Expectation,
  context: DecodeContext,
): OpenNode {
  const decoder = new Decoder(bytes, context)
  return decoder.whole(decoder.node(expect))
}

/**
 * Every object that an object of kind `tree` refers to, in order; one referred to twice comes
 * twice. For those who walk without reading values, as garbage collection does: only what can be
 * checked without knowing who refers to the object is. Throws OBJECT_CORRUPT; `hash` is for its
 * message.
 */
export function treeChildren(bytes: Uint8Array, hash?: Hash): readonly ObjectRef[] {
  const context = { hash: hash ?? sha256(bytes), referrer: 'the caller', home: NOWHERE }
  const decoder = new Decoder(bytes, context, true)
  decoder.whole(decoder.root())
  return decoder.refs
}

const NOWHERE: TreeHome = {
  open: nothingToOpen,
  content: nothingToOpen,
}

function nothingToOpen(): never {
  throw new DaglogError('INVARIANT', 'a walk over references opens nothing')
}

class Decoder {
  readonly reader: ByteReader
  readonly refs: ObjectRef[] = []
  readonly #referrer: string

  constructor(
    bytes: Uint8Array,
    readonly context: DecodeContext,
    /** Nothing is known of who refers to the object, or where in a map or list it is. */
    readonly detached = false,
  ) {
    this.reader = new ByteReader(bytes, context)
    this.#referrer = `object ${context.hash}`
  }

  whole<T>(decoded: T): T {
    if (this.reader.at !== this.reader.bytes.length) this.reader.fail('bytes are left over')
    return decoded
  }

  root(): Slot {
    const { reader } = this
    const tag = reader.byte()
    if (isContainerTag(tag)) return this.#known(this.#container(tag), reader.bytes.length, true)
    if (tag === TAG.value) reader.fail('a root is not a reference')
    return this.#scalar(tag)
  }

  node(expect: Expectation): OpenNode {
    const { reader } = this
    const inlineMax = expect.role === 'value' ? TREE_INLINE_BYTES_MAX : TREE_CHILD_INLINE_BYTES_MAX
    const length = reader.bytes.length
    if (length <= inlineMax) reader.fail('so small a node lies inside its parent')
    const tag = reader.byte()
    if (expect.role === 'map') {
      if (tag !== TAG.map) reader.fail('it is not part of a map')
      const map = this.#map(expect.prefix)
      if (map.size !== expect.size) reader.fail('it does not have the entries referred to')
      return this.#known(map, length, true)
    }
    if (expect.role === 'list') {
      const body = this.#part(tag, expect.level, expect.closed)
      if (bodySize(body) !== expect.size) reader.fail('it does not have the elements referred to')
      return this.#known(body, length, true)
    }
    if (!isContainerTag(tag)) reader.fail('it is not a container')
    return this.#known(this.#container(tag), length, true)
  }

  /** Notes what is known of a node that was read: it has one encoding only, these bytes. */
  #known<N extends ContainerNode | ListBody>(node: N, bytes: number, isObject: boolean): N {
    node.bytes = bytes
    node.home = this.context.home
    if (isObject) node.hash = this.context.hash
    if (node.kind === KIND.list) this.#known(node.body, bytes, isObject)
    return node
  }

  #slot(): Slot {
    const { reader } = this
    const start = reader.at
    const tag = reader.byte()
    if (tag === TAG.value) return this.#stub(VALUE)
    if (!isContainerTag(tag)) return this.#scalar(tag)
    const end = this.#narrow(start, TREE_INLINE_BYTES_MAX)
    const node = this.#container(tag)
    reader.end = end
    return this.#known(node, reader.at - start, false)
  }

  /** Keeps what starts at `start` within `inlineMax` bytes; so nesting is bounded as well. */
  #narrow(start: number, inlineMax: number): number {
    const { end } = this.reader
    this.reader.end = Math.min(end, start + inlineMax)
    return end
  }

  #stub(expect: Expectation): StubNode {
    const hash = this.reader.hash()
    this.refs.push({ hash, kind: 'tree' })
    return new StubNode(hash, this.context.home, this.#referrer, expect)
  }

  #scalar(tag: number): Slot {
    const slot = readScalar(this.reader, tag)
    if (isNode(slot) && slot.kind === KIND.box && slot.hash !== undefined) {
      slot.home = this.context.home
      slot.referrer = this.#referrer
      this.refs.push({ hash: slot.hash, kind: slot.contentKind })
    }
    return slot
  }

  #container(tag: number): ContainerNode {
    if (tag === TAG.record) return this.#record()
    if (tag !== TAG.map) return this.#list(tag)
    const map = this.#map('')
    if (map.size <= TREE_RECORD_KEYS_MAX && !this.detached) {
      this.reader.fail('so few keys are a record')
    }
    return map
  }

  #record(): RecordNode {
    const { reader } = this
    const count = reader.varint()
    if (count > TREE_RECORD_KEYS_MAX) reader.fail('so many keys are a map')
    const keys: string[] = []
    const slots: Slot[] = []
    for (let i = 0; i < count; i++) {
      const key = reader.text()
      if (i > 0 && keys[i - 1]! >= key) reader.fail('keys are not in order')
      keys.push(key)
      slots.push(this.#slot())
    }
    return new RecordNode(keys, slots)
  }

  #map(prefix: string): MapNode {
    const { reader } = this
    const entries = (reader.byte() << 8) | reader.byte()
    const children = (reader.byte() << 8) | reader.byte()
    if ((entries & children) !== 0) reader.fail('a place holds an entry and a child')
    if (children !== 0 && prefix.length >= MAP_DEPTH_MAX - 1) reader.fail('a map is too deep')
    const slots: Slot[] = []
    let size = countBits(entries)
    for (let place = 0; place < PLACES; place++) {
      if ((entries & (1 << place)) === 0) continue
      const key = reader.text()
      if (!this.detached && !keyUnder(key, prefix + place.toString(16))) {
        reader.fail('a key is not where it belongs')
      }
      slots.push(key, this.#slot())
    }
    for (let place = 0; place < PLACES; place++) {
      if ((children & (1 << place)) === 0) continue
      const child = this.#mapChild(prefix + place.toString(16))
      size += childSize(child)
      slots.push(child)
    }
    if (!Number.isSafeInteger(size)) reader.fail('it has too many entries')
    return new MapNode(entries | (children << PLACES), slots, size)
  }

  #mapChild(prefix: string): MapChild {
    const { reader } = this
    const start = reader.at
    const tag = reader.byte()
    if (tag === TAG.part) {
      const size = reader.varint()
      if (size < 2) reader.fail('so few entries need no node')
      return this.#stub({ role: 'map', size, prefix })
    }
    if (tag !== TAG.map) reader.fail('it is not part of a map')
    const end = this.#narrow(start, TREE_CHILD_INLINE_BYTES_MAX)
    const map = this.#map(prefix)
    reader.end = end
    if (map.size < 2) reader.fail('so few entries need no node')
    return this.#known(map, reader.at - start, false)
  }

  #list(tag: number): ListNode {
    if (tag === TAG.leaf) return new ListNode(this.#leaf(false, true))
    const inner = this.#inner(undefined, false)
    if (!this.detached && (inner.slots.length < 2 || bodySize(inner) <= TREE_LIST_FLAT_MAX)) {
      this.reader.fail('so few elements are one leaf')
    }
    return new ListNode(inner)
  }

  #part(tag: number, level: number, closed: boolean): ListBody {
    if (tag !== (level === 0 ? TAG.leaf : TAG.inner)) this.reader.fail('it is not part of a list')
    return level === 0 ? this.#leaf(closed, false) : this.#inner(level, closed)
  }

  #leaf(closed: boolean, isRoot: boolean): LeafNode {
    const { reader } = this
    const count = this.#count()
    if (count === 0 && !isRoot) reader.fail('a part of a list is empty')
    // A list this short is not cut.
    const isFlat = isRoot && count <= TREE_LIST_FLAT_MAX
    const cutter = new Cutter(0)
    const slots: Slot[] = []
    let isCut = false
    for (let i = 0; i < count; i++) {
      if (isCut && !isFlat) reader.fail('a list is not cut where it should be')
      const fromByte = reader.at
      slots.push(this.#slot())
      isCut = cutter.take(reader.bytes, fromByte, reader.at)
    }
    if (closed && !isCut) reader.fail('a list is cut where it should not be')
    return new LeafNode(slots)
  }

  #inner(level: number | undefined, closed: boolean): Exclude<ListBody, LeafNode> {
    const { reader } = this
    const ownLevel = reader.varint()
    if (ownLevel === 0 || ownLevel > LIST_LEVEL_MAX || ownLevel !== (level ?? ownLevel)) {
      reader.fail('a list node is on the wrong level')
    }
    const count = this.#count()
    if (count === 0) reader.fail('a part of a list is empty')
    const cutter = new Cutter(ownLevel)
    const children: ListChild[] = []
    let isCut = false
    for (let i = 0; i < count; i++) {
      if (isCut) reader.fail('a list is not cut where it should be')
      const fromByte = reader.at
      children.push(this.#listChild(ownLevel - 1, closed || i < count - 1))
      isCut = cutter.take(reader.bytes, fromByte, reader.at)
    }
    if (closed && !isCut) reader.fail('a list is cut where it should not be')
    const inner = innerOf(children, ownLevel)
    if (!Number.isSafeInteger(bodySize(inner))) reader.fail('it has too many elements')
    return inner
  }

  #listChild(level: number, closed: boolean): ListChild {
    const { reader } = this
    const start = reader.at
    const tag = reader.byte()
    if (tag === TAG.part) {
      const size = reader.varint()
      if (size === 0) reader.fail('a part of a list is empty')
      return this.#stub({ role: 'list', size, level, closed })
    }
    const end = this.#narrow(start, TREE_CHILD_INLINE_BYTES_MAX)
    const body = this.#part(tag, level, closed)
    reader.end = end
    return this.#known(body, reader.at - start, false)
  }

  #count(): number {
    const count = this.reader.varint()
    if (count > TREE_CUT_ITEMS_MAX) this.reader.fail('a list node has too many items')
    return count
  }
}

function isContainerTag(tag: number): boolean {
  return tag === TAG.record || tag === TAG.map || tag === TAG.leaf || tag === TAG.inner
}
