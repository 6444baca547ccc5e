/**
 * Values of channels as parts of a tree, and back. A list is cut by its elements and a large object
 * by its fields; what is smaller, and each message, is one text. What did not change since it was
 * last seen is known by a walk over it, and is neither encoded nor hashed again.
 * @see docs/langgraph.md#values
 */
import { setField } from '../../core/set-field.js'
import { bodyGet } from '../../value/tree-list.js'
import {
  ABSENT,
  type BoxNode,
  bodySize,
  type ContainerNode,
  containerIn,
  isNode,
  KIND,
  type ListBody,
  type ListChild,
  type ListNode,
  type ObjectNode,
  openBody,
  openValue,
  type Slot,
} from '../../value/tree-node.js'
import { objectEach, objectGet } from '../../value/tree-object.js'
import { listLike, objectLike } from '../../value/tree-reuse.js'
import { bigintSlot, bytesSlot, sameSlot, textSlot, unbox } from '../../value/tree-scalar.js'
import type { AllowedClasses } from './classes.js'
import { textOf } from './plain.js'
import { valueOfText } from './revive.js'
import { FIELDS, fieldsIn, notOurs, ORDER, textIn } from './stored-values.js'
import { isUnchanged, type Shadow, shadowOf } from './unchanged.js'

/** A plain object or list longer than about this is cut, in UTF-16 units. */
const CUT_LENGTH_MIN = 64 * 1024

/** Deepest nesting that is cut. */
const CUT_DEPTH_MAX = 64

/** Where a value is, for messages. */
export type ValuePath = readonly (string | number)[]

export interface Codec {
  /**
   * The value as it is at the call.
   * @param prior What was at its place before: shared where it is equal.
   * @throws VALUE_UNSUPPORTED
   */
  encode(value: unknown, at: ValuePath, prior: Slot | typeof ABSENT): Slot | Promise<Slot>
  /** A value of the caller's alone, but for what `shared` hands out again. */
  decode(slot: Slot, shared?: SharedValues): unknown
}

interface Memo {
  readonly shadow: Shadow
  readonly slot: Slot
}

/**
 * What one listing hands out: what two checkpoints share is one object in both. A history of a
 * thousand steps would else be made of half a million messages.
 */
export class SharedValues {
  readonly #values = new Map<string, object>()
  readonly #leaves = new WeakMap<ListBody, readonly unknown[]>()

  get(key: string): object | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: object): void {
    this.#values.set(key, value)
  }

  /** The elements of a part of a list, made once. */
  leaf(leaf: ListBody, make: () => readonly unknown[]): readonly unknown[] {
    let made = this.#leaves.get(leaf)
    if (made === undefined) {
      made = make()
      this.#leaves.set(leaf, made)
    }
    return made
  }
}

export class TreeCodec implements Codec {
  readonly #memos = new WeakMap<object, Memo>()
  /** What the text of a box was made from. */
  readonly #sources = new WeakMap<BoxNode, string>()

  constructor(readonly classes: AllowedClasses) {}

  encode(value: unknown, at: ValuePath, prior: Slot | typeof ABSENT): Slot {
    // A list is cut however short it is: it will grow.
    if (Array.isArray(value) && isPlainList(value)) return this.#list(value, at, prior)
    return this.#part(value, at, prior)
  }

  #part(value: unknown, at: ValuePath, prior: Slot | typeof ABSENT): Slot {
    switch (typeof value) {
      case 'string':
        return this.#string(value, prior)
      case 'number':
      case 'boolean':
      case 'undefined':
        return value
      case 'bigint':
        return bigintSlot(value)
      case 'object':
        return value === null ? null : this.#object(value, at, prior)
      default:
        return this.#text(value, at, prior)
    }
  }

  #string(value: string, prior: Slot | typeof ABSENT): Slot {
    const isBox = prior !== ABSENT && isNode(prior) && prior.kind === KIND.box
    if (isBox && this.#sources.get(prior) === value) return prior
    const slot = like(textSlot(JSON.stringify(value)), prior)
    if (isNode(slot) && slot.kind === KIND.box) this.#sources.set(slot, value)
    return slot
  }

  #object(value: object, at: ValuePath, prior: Slot | typeof ABSENT): Slot {
    const memo = this.#memos.get(value)
    if (memo !== undefined && isUnchanged(value, memo.shadow)) return memo.slot
    if (Object.getPrototypeOf(value) === Uint8Array.prototype) {
      return like(bytesSlot(value as Uint8Array), prior)
    }
    // Deeper than this only a value that holds itself: whoever writes texts says so.
    if (at.length < CUT_DEPTH_MAX && isPlain(value) && isLong(value)) {
      return Array.isArray(value)
        ? this.#list(value, at, prior)
        : this.#fields(value as Readonly<Record<string, unknown>>, at, prior)
    }
    const slot = this.#text(value, at, prior)
    const shadow = shadowOf(value)
    if (shadow !== undefined) this.#memos.set(value, { shadow, slot })
    return slot
  }

  #text(value: unknown, at: ValuePath, prior: Slot | typeof ABSENT): Slot {
    return like(textSlot(textOf(value, this.classes, at)), prior)
  }

  #list(list: readonly unknown[], at: ValuePath, prior: Slot | typeof ABSENT): Slot {
    const priorNode = prior === ABSENT ? undefined : containerIn(prior)
    const body = priorNode?.kind === KIND.list ? priorNode.body : undefined
    const size = body === undefined ? 0 : bodySize(body)
    const slots: Slot[] = []
    for (let i = 0; i < list.length; i += 1) {
      const member = list[i]
      const isObject = typeof member === 'object' && member !== null
      const memo = isObject ? this.#memos.get(member) : undefined
      if (memo !== undefined && isUnchanged(member as object, memo.shadow)) slots.push(memo.slot)
      else {
        const before = typeof member === 'string' && i < size ? bodyGet(body!, i) : ABSENT
        slots.push(this.#part(member, [...at, i], before))
      }
    }
    return listLike(priorNode, slots)
  }

  /** The fields, and the order of their keys where it is not the usual one. */
  #fields(
    value: Readonly<Record<string, unknown>>,
    at: ValuePath,
    prior: Slot | typeof ABSENT,
  ): Slot {
    const before = fieldsIn(prior === ABSENT ? undefined : containerIn(prior))
    const keys = Object.keys(value)
    const sorted = keys.toSorted()
    const slots = sorted.map((key) => {
      const held = before === undefined ? ABSENT : objectGet(before, key)
      return this.#part(value[key], [...at, key], held)
    })
    const fields = objectLike(before, sorted, slots)
    const isUsual = keys.every((key, i) => key === sorted[i])
    const priorNode = prior === ABSENT ? undefined : containerIn(prior)
    return isUsual
      ? objectLike(priorNode, [FIELDS], [fields])
      : objectLike(priorNode, [FIELDS, ORDER], [fields, textSlot(JSON.stringify(keys))])
  }

  decode(slot: Slot, shared?: SharedValues): unknown {
    if (typeof slot === 'string') return valueOfText(slot, this.classes)
    if (!isNode(slot)) return slot
    const node = openValue(slot)
    if (node.kind === KIND.box) return this.#unboxed(node, shared)
    if (node.kind === KIND.list) return this.#listOf(node, shared)
    return this.#recordOf(node, shared)
  }

  #unboxed(box: BoxNode, shared: SharedValues | undefined): unknown {
    if (box.type !== 'text') return unbox(box)
    const { hash } = box
    const known = hash === undefined ? undefined : shared?.get(hash)
    if (known !== undefined) return known
    const value = valueOfText(unbox(box) as string, this.classes)
    if (hash !== undefined && typeof value === 'object' && value !== null) shared?.set(hash, value)
    return value
  }

  #listOf(node: ListNode, shared: SharedValues | undefined): unknown[] {
    const list: unknown[] = []
    const work: ListChild[] = [node.body]
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      const part = openBody(next)
      if (part.kind === KIND.inner) {
        for (let i = part.slots.length - 1; i >= 0; i -= 1) work.push(part.slots[i] as ListChild)
        continue
      }
      const make = (): unknown[] => part.slots.map((member) => this.decode(member, shared))
      for (const value of shared?.leaf(part, make) ?? make()) list.push(value)
    }
    return list
  }

  #recordOf(node: ContainerNode, shared: SharedValues | undefined): object {
    const fields = fieldsIn(node)
    if (fields === undefined) throw notOurs()
    const slots = new Map<string, Slot>()
    objectEach(fields, (key, slot) => slots.set(key, slot))
    const order = objectGet(node as ObjectNode, ORDER)
    const keys =
      order === ABSENT ? [...slots.keys()].sort() : (JSON.parse(textIn(order)) as readonly string[])
    const value = {}
    for (const key of keys) setField(value, key, this.decode(slots.get(key), shared))
    return value
  }
}

function like(slot: Slot, prior: Slot | typeof ABSENT): Slot {
  return prior !== ABSENT && isNode(slot) && sameSlot(slot, prior) ? prior : slot
}

/** No holes, no fields of its own, no class. */
function isPlainList(list: readonly unknown[]): boolean {
  return (
    Object.getPrototypeOf(list) === Array.prototype &&
    Object.keys(list).length === list.length &&
    Object.getOwnPropertySymbols(list).length === 0
  )
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return isPlainList(value)
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  if (Object.getOwnPropertySymbols(value).length > 0) return false
  const properties = Object.values(Object.getOwnPropertyDescriptors(value))
  return properties.every(({ enumerable, get, set }) => enumerable && !get && !set)
}

/** Whether a value's text is about as long as is worth cutting: looks no further than it must. */
function isLong(value: object): boolean {
  let left = CUT_LENGTH_MIN
  const work: object[] = [value]
  for (let next = work.pop(); next !== undefined && left > 0; next = work.pop()) {
    for (const key in next) {
      const member = (next as Record<string, unknown>)[key]
      left -= key.length + (typeof member === 'string' ? member.length : 8)
      if (left <= 0) return true
      if (typeof member === 'object' && member !== null) {
        if (ArrayBuffer.isView(member)) left -= member.byteLength
        else work.push(member)
      }
    }
  }
  return left <= 0
}
