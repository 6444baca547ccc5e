/**
 * The one encoding of each node: deterministic bytes whose SHA-256 is its name.
 * Knows bytes only: what lies below a node must have been encoded (`bytes` known) before it is.
 * @see docs/format.md#trees
 */
import { assert } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { OBJECT_KINDS } from '../core/object.js'
import type { ByteWriter } from './tree-bytes.js'
import { childBits, childrenAt, entryBits } from './tree-map.js'
import {
  type BoxNode,
  bodySize,
  childSize,
  type InnerNode,
  KIND,
  type LeafNode,
  type ListChild,
  type MapChild,
  type MapNode,
  type RecordNode,
  type Slot,
  TREE_CHILD_INLINE_BYTES_MAX,
  TREE_INLINE_BYTES_MAX,
  type ValueNode,
} from './tree-node.js'
import { bigintContent, contentOf, isLong } from './tree-scalar.js'

/**
 * First byte of every value and node: format version 1 in the upper three bits, then what it is.
 */
const VERSION = 1 << 5
export const TAG = {
  null: VERSION | 0,
  false: VERSION | 1,
  true: VERSION | 2,
  undefined: VERSION | 3,
  /** An integer from 0 to 2^53 - 1, not -0. */
  natural: VERSION | 4,
  /** An integer from -1 to -(2^53 - 1), as the varint of -1 - n. */
  negative: VERSION | 5,
  /** Every other number. */
  float: VERSION | 6,
  text: VERSION | 7,
  bytes: VERSION | 8,
  bigint: VERSION | 9,
  date: VERSION | 10,
  /** Long scalars: length of the content in bytes, object kind, object. */
  longText: VERSION | 11,
  longBytes: VERSION | 12,
  longBigint: VERSION | 13,
  record: VERSION | 16,
  map: VERSION | 17,
  leaf: VERSION | 18,
  inner: VERSION | 19,
  /** A container that is its own object. */
  value: VERSION | 20,
  /** A part of a map or list that is its own object: entries or elements in it, object. */
  part: VERSION | 21,
} as const

/** A value as it stands inside its parent. */
export function writeSlot(writer: ByteWriter, slot: Slot): void {
  switch (typeof slot) {
    case 'string':
      writer.byte(TAG.text)
      writer.text(slot)
      break
    case 'number':
      writeNumber(writer, slot)
      break
    case 'boolean':
      writer.byte(slot ? TAG.true : TAG.false)
      break
    case 'undefined':
      writer.byte(TAG.undefined)
      break
    case 'bigint':
      writer.byte(TAG.bigint)
      writeContent(writer, bigintContent(slot))
      break
    default:
      if (slot === null) writer.byte(TAG.null)
      else writeValue(writer, slot)
  }
}

/** The bytes of a node, which are its object's where it has one. */
export function writeNode(
  writer: ByteWriter,
  node: RecordNode | MapNode | LeafNode | InnerNode,
): void {
  switch (node.kind) {
    case KIND.record:
      writeRecord(writer, node)
      break
    case KIND.map:
      writeMap(writer, node)
      break
    case KIND.leaf:
      writeListHead(writer, 0, node.slots.length)
      for (const slot of node.slots) writeSlot(writer, slot)
      break
    case KIND.inner:
      writeListHead(writer, node.level, node.slots.length)
      for (const child of node.slots) writeListChild(writer, child)
  }
}

/** What a leaf (level 0) or an inner node starts with. */
export function writeListHead(writer: ByteWriter, level: number, count: number): void {
  writer.byte(level === 0 ? TAG.leaf : TAG.inner)
  if (level > 0) writer.varint(level)
  writer.varint(count)
}

export function writeListChild(writer: ByteWriter, child: ListChild): void {
  writePart(writer, child, bodySize(child))
}

export function writeMapChild(writer: ByteWriter, child: MapChild): void {
  writePart(writer, child, childSize(child))
}

function writePart(writer: ByteWriter, child: ListChild | MapChild, size: number): void {
  if (child.kind !== KIND.stub && child.bytes <= TREE_CHILD_INLINE_BYTES_MAX) {
    assert(child.bytes > 0, 'a node is encoded after its children')
    writeNode(writer, child)
  } else {
    writer.byte(TAG.part)
    writer.varint(size)
    writer.hash(named(child))
  }
}

function writeValue(writer: ByteWriter, node: ValueNode): void {
  if (node.kind === KIND.box) {
    writeBox(writer, node)
  } else if (node.kind !== KIND.stub && node.bytes <= TREE_INLINE_BYTES_MAX) {
    assert(node.bytes > 0, 'a node is encoded after its children')
    writeNode(writer, node.kind === KIND.list ? node.body : node)
  } else {
    writer.byte(TAG.value)
    writer.hash(named(node))
  }
}

function named(node: { readonly hash: Hash | undefined }): Hash {
  assert(node.hash !== undefined, 'a node too large for its parent has a name')
  return node.hash
}

function writeRecord(writer: ByteWriter, node: RecordNode): void {
  writer.byte(TAG.record)
  writer.varint(node.keys.length)
  for (let i = 0; i < node.keys.length; i++) {
    writer.text(node.keys[i]!)
    writeSlot(writer, node.slots[i])
  }
}

/** Places of entries, places of children (16 bits each), entries, children. */
function writeMap(writer: ByteWriter, node: MapNode): void {
  const { slots } = node
  writer.byte(TAG.map)
  for (const places of [entryBits(node), childBits(node)]) {
    writer.byte(places >>> 8)
    writer.byte(places & 0xff)
  }
  const childrenFrom = childrenAt(node)
  for (let i = 0; i < childrenFrom; i += 2) {
    writer.text(slots[i] as string)
    writeSlot(writer, slots[i + 1])
  }
  for (let i = childrenFrom; i < slots.length; i++) {
    writeMapChild(writer, slots[i] as MapChild)
  }
}

function writeNumber(writer: ByteWriter, value: number): void {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
    writer.byte(TAG.float)
    writer.float(value)
  } else if (value >= 0) {
    writer.byte(TAG.natural)
    writer.varint(value)
  } else {
    writer.byte(TAG.negative)
    writer.varint(-1 - value)
  }
}

const BOX_TAGS = { text: TAG.text, bytes: TAG.bytes, bigint: TAG.bigint }
const LONG_TAGS = { text: TAG.longText, bytes: TAG.longBytes, bigint: TAG.longBigint }

function writeBox(writer: ByteWriter, box: BoxNode): void {
  if (box.type === 'date') {
    writer.byte(TAG.date)
    writer.float(box.value as number)
  } else if (isLong(box.type, box.length)) {
    writer.byte(LONG_TAGS[box.type])
    writer.varint(box.length)
    writer.byte(OBJECT_KINDS[box.contentKind])
    writer.hash(named(box))
  } else {
    writer.byte(BOX_TAGS[box.type])
    writeContent(writer, contentOf(box))
  }
}

function writeContent(writer: ByteWriter, content: Uint8Array): void {
  writer.varint(content.length)
  writer.raw(content)
}
