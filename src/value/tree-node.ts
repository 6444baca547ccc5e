/**
 * The nodes of a state tree, as they lie in memory.
 * Knows their shapes only: neither how they change, nor how they are encoded, nor where they live.
 *
 * A node's content never changes. Three things about a node may: what is known of it (`bytes`,
 * `hash`, `home`, `view`), a stub in one of its slots replaced by the node that it stands for, and
 * a list's `body` replaced by the canonical nodes of the same elements.
 */
import type { Hash } from '../core/hash.js'
import type { ObjectKind } from '../core/object.js'

/** Most keys of an object kept as one record; one key more and it is a map. */
export const TREE_RECORD_KEYS_MAX = 32

/** Most elements of a list kept as one leaf, whatever they are. */
export const TREE_LIST_FLAT_MAX = 32

/** Largest encoding of a value kept inside its parent, in bytes; a larger one is its own object. */
export const TREE_INLINE_BYTES_MAX = 256

/** The same for the inner nodes of one map or list, in bytes: about what two references cost. */
export const TREE_CHILD_INLINE_BYTES_MAX = 64

export const KIND = { record: 0, map: 1, list: 2, leaf: 3, inner: 4, box: 5, stub: 6 } as const

/** What an object's field or a list's element holds. `undefined` is a value, see `ABSENT`. */
export type Slot = undefined | null | boolean | number | bigint | string | ValueNode

/** A value that is not a bare JavaScript primitive. */
export type ValueNode = ContainerNode | BoxNode | StubNode
export type ContainerNode = RecordNode | MapNode | ListNode
export type ObjectNode = RecordNode | MapNode

/** The inside of a list. */
export type ListBody = LeafNode | InnerNode
export type OpenValue = ContainerNode | BoxNode
export type OpenNode = OpenValue | ListBody

/** Nothing is there: unlike `undefined`, which is a value. */
export const ABSENT: unique symbol = Symbol('absent')

/** Where stored nodes are read from. */
export interface TreeHome {
  /** The node behind a stub. Throws OBJECT_MISSING or OBJECT_CORRUPT. */
  open(stub: StubNode): OpenNode
  /** The value of a long scalar that is not in memory. Throws the same. */
  content(box: BoxNode): BoxValue
}

/** What a stored node must turn out to be, given who refers to it. */
export type Expectation =
  /** A whole value: the root of a tree (any size), or one that outgrew its parent. */
  | { readonly role: 'root' | 'value' }
  /** Part of a map: every key's path starts with `prefix`, in hex digits. */
  | { readonly role: 'map'; readonly size: number; readonly prefix: string }
  /** Part of a list; `closed` where it must end with a cut, as more follows. */
  | {
      readonly role: 'list'
      readonly size: number
      readonly level: number
      readonly closed: boolean
    }

/** An object of at most TREE_RECORD_KEYS_MAX keys, sorted by UTF-16 units. */
export class RecordNode {
  readonly kind = KIND.record
  /** Length of the canonical encoding, in bytes; 0 until it was worked out. */
  bytes = 0
  /** Name of that encoding; undefined while `bytes` is 0 and where it is kept inside its parent. */
  hash: Hash | undefined = undefined
  /** The store that holds this node and all below it. */
  home: TreeHome | undefined = undefined
  view: object | undefined = undefined

  constructor(
    /** Shared between versions: never written to. */
    readonly keys: readonly string[],
    readonly slots: Slot[],
  ) {}
}

/** A hash trie node. The root of a larger object, or a part of one. */
export class MapNode {
  readonly kind = KIND.map
  bytes = 0
  hash: Hash | undefined = undefined
  home: TreeHome | undefined = undefined
  view: object | undefined = undefined

  constructor(
    /** Low 16 bits: which places hold an entry; high 16 bits: which hold a child. Disjoint. */
    readonly places: number,
    /** Key and value of each entry, then the children; both by ascending place. */
    readonly slots: Slot[],
    /** Entries in all, those of children included. */
    readonly size: number,
  ) {}
}

export type MapChild = MapNode | StubNode

/** A list. */
export class ListNode {
  readonly kind = KIND.list
  bytes = 0
  hash: Hash | undefined = undefined
  home: TreeHome | undefined = undefined
  view: object | undefined = undefined

  constructor(
    /** In any shape until `bytes` is known, canonical from then on. */
    public body: ListBody,
  ) {}
}

/** Elements of a list. */
export class LeafNode {
  readonly kind = KIND.leaf
  /** As in RecordNode. Once it is known, this leaf is cut as the canonical list is. */
  bytes = 0
  hash: Hash | undefined = undefined
  home: TreeHome | undefined = undefined

  constructor(readonly slots: Slot[]) {}
}

/** A run of list nodes that all lie on the level below. */
export class InnerNode {
  readonly kind = KIND.inner
  bytes = 0
  hash: Hash | undefined = undefined
  home: TreeHome | undefined = undefined

  constructor(
    /** 1 above leaves. */
    readonly level: number,
    readonly slots: ListChild[],
    /** For each child: how many elements it and those before it hold. */
    readonly ends: readonly number[],
  ) {}
}

export type ListChild = ListBody | StubNode

export type BoxType = 'text' | 'bytes' | 'bigint' | 'date'
/** A date is its time value, in milliseconds; NaN for an invalid one. */
export type BoxValue = string | Uint8Array | bigint | number

/** A scalar that is not a bare primitive: a date, bytes, a long text, a long integer. */
export class BoxNode {
  readonly kind = KIND.box
  /** Name of the content, and how to read the object behind it, where it is long. */
  hash: Hash | undefined = undefined
  contentKind: ObjectKind = 'blob'
  home: TreeHome | undefined = undefined
  /** Who refers to a content that is still to be loaded. */
  referrer = ''

  constructor(
    readonly type: BoxType,
    /** Ours alone: bytes are copied on the way in and out. Undefined: ask `home`. */
    readonly value: BoxValue | undefined,
    /** Length of the content in bytes: what decides whether it is long. */
    readonly length: number,
  ) {}
}

/** A node that lies in its home and was not needed yet. */
export class StubNode {
  readonly kind = KIND.stub
  /** For the home's use: where it keeps the opened node. */
  entry: object | undefined = undefined

  constructor(
    readonly hash: Hash,
    public home: TreeHome,
    /** For messages: the object that holds this reference. */
    readonly referrer: string,
    readonly expect: Expectation,
  ) {}
}

/** The value behind `node`, loaded if need be. */
export function openValue(node: ValueNode): OpenValue {
  return node.kind === KIND.stub ? (node.home.open(node) as OpenValue) : node
}

export function openMap(child: MapChild): MapNode {
  return child.kind === KIND.stub ? (child.home.open(child) as MapNode) : child
}

export function openBody(child: ListChild): ListBody {
  return child.kind === KIND.stub ? (child.home.open(child) as ListBody) : child
}

/** The slot at `at`, which from now on is in memory as long as the node that it is part of. */
export function keepOpen(slots: Slot[], at: number): Slot {
  const slot = slots[at]
  if (!isNode(slot) || slot.kind !== KIND.stub) return slot
  const node = openValue(slot)
  slots[at] = node
  return node
}

/** Whether a slot holds a node rather than a bare primitive. */
export function isNode(slot: Slot): slot is ValueNode {
  return typeof slot === 'object' && slot !== null
}

/** The container in a slot, loaded if need be; undefined for a scalar. */
export function containerIn(slot: Slot): ContainerNode | undefined {
  if (!isNode(slot)) return undefined
  const node = openValue(slot)
  return node.kind === KIND.box ? undefined : node
}

export function childSize(child: MapChild): number {
  if (child.kind !== KIND.stub) return child.size
  return child.expect.role === 'map' ? child.expect.size : 0
}

export function bodySize(child: ListChild): number {
  if (child.kind === KIND.leaf) return child.slots.length
  if (child.kind === KIND.inner) return child.ends[child.ends.length - 1] ?? 0
  return child.expect.role === 'list' ? child.expect.size : 0
}
