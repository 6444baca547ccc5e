/**
 * Drafts: a tree that is changed as plain JavaScript is, for the length of one function. A draft
 * keeps the node that it stands for and the drafts handed out below it; only those are looked at in
 * the end, so an update costs what it touches.
 *
 * As in plain JavaScript a draft put into a second place, or taken out and put back, is the same
 * object in both. A plain value is copied when it is put in. Dates and bytes are handed out as copies.
 */
import { DaglogError } from '../core/errors.js'
import { Alias, type AliasRoom, slotOrAlias } from './tree-convert.js'
import { bodyGet, bodySet, bodySplice } from './tree-list.js'
import {
  ABSENT,
  bodySize,
  type ContainerNode,
  isNode,
  KIND,
  ListNode,
  type ObjectNode,
  openValue,
  type Slot,
} from './tree-node.js'
import { objectDelete, objectGet, objectKeys, objectSet } from './tree-object.js'
import { indexOfStep, pointerStep } from './tree-pointer.js'
import { unbox } from './tree-scalar.js'

/**
 * Runs `change` on a draft of `root`. Returns the node after it: `root` itself if nothing changed.
 * What `change` throws passes through, and its result is ignored, unless it is a promise (USAGE).
 */
export function updated(
  root: ContainerNode,
  change: (draft: never) => unknown,
): ContainerNode {
  const session = new Session()
  const draft = session.draft(root, root, undefined)
  try {
    const result = change(draft.proxy as never)
    if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
      throw new DaglogError(
        'USAGE',
        'the function that changes a draft returned a promise; await first, then update with the result.',
      )
    }
    return finished(draft)
  } finally {
    session.isOpen = false
  }
}

/** Every draft by its proxy. */
const drafts = new WeakMap<object, Draft>()

/** One call of `updated`. */
class Session implements AliasRoom {
  isOpen = true

  /** A draft of `node`, which was found as `origin`. */
  draft(node: ContainerNode, origin: Slot, parent: Draft | undefined): Draft {
    const draft =
      node.kind === KIND.list
        ? new ListDraft(this, origin, parent, node)
        : new ObjectDraft(this, origin, parent, node)
    drafts.set(draft.proxy, draft)
    return draft
  }

  find(value: object): Draft | undefined {
    const draft = drafts.get(value)
    // A draft of another update is a plain value here: it may go on changing there.
    return draft?.session === this ? draft : undefined
  }

  enclose(node: ContainerNode, held: ReadonlyMap<string | number, Alias>): Draft {
    const draft = this.draft(node, node, undefined)
    for (const [key, alias] of held) draft.hold(key, alias as Draft)
    return draft
  }
}

abstract class Draft extends Alias {
  readonly isAlias = true
  /** What the user's code holds. */
  abstract readonly proxy: object
  /** The container so far; what `drafts` says goes over it. */
  abstract readonly node: ContainerNode

  constructor(
    readonly session: Session,
    /** What its place held when it was handed out: a node, or a stub for it. */
    readonly origin: Slot,
    /** For messages: where it was handed out. */
    public parent: Draft | undefined,
  ) {
    super()
  }

  /** The drafts below it, by where they are now. */
  abstract entries(): Iterable<[string | number, Draft]>
  /** Puts a draft where a slot is. */
  abstract hold(key: string | number, draft: Draft): void
  /** Takes what the drafts below have become into `node`; they are finished. */
  abstract finish(): void
  /** What its place gets: the origin again if nothing changed. */
  abstract result(): Slot

  pointer(): string {
    let pointer = ''
    for (let at: Draft | undefined = this; at?.parent !== undefined; at = at.parent) {
      const place = [...at.parent.entries()].find(([, draft]) => draft === at)
      pointer = (place === undefined ? '' : pointerStep(place[0])) + pointer
    }
    return pointer
  }

  /** Throws once the update that handed this draft out is over. */
  check(): void {
    if (this.session.isOpen) return
    throw new DaglogError(
      'CLOSED',
      'a draft was used after its update ended; read from the tree that the update returned.',
    )
  }

  refuse(what: string): never {
    const pointer = this.pointer()
    throw new DaglogError(
      'VALUE_UNSUPPORTED',
      `${pointer === '' ? 'the draft' : pointer} can not ${what}: a tree holds plain data only.`,
      { pointer },
    )
  }

  /** The slot, or the draft, for a value that is to stand at `key`, where `prior` is now. */
  take(key: string | number, value: unknown, prior: Slot | typeof ABSENT): Slot | Draft {
    const pointer = () => this.pointer() + pointerStep(key)
    const taken = slotOrAlias(value, { pointer, prior, room: this.session })
    if (!(taken instanceof Draft)) return taken as Slot
    taken.parent ??= this
    return taken
  }

  /** What the user's code gets for a slot. Containers become drafts. */
  give(key: string | number, slot: Slot): unknown {
    if (!isNode(slot)) return slot
    const node = openValue(slot)
    if (node.kind === KIND.box) return unbox(node)
    const draft = this.session.draft(node, slot, this)
    this.hold(key, draft)
    return draft.proxy
  }
}

class ObjectDraft extends Draft implements ProxyHandler<object> {
  readonly proxy: object = new Proxy({}, this)
  readonly #held = new Map<string, Draft>()
  readonly #base: ObjectNode

  constructor(
    session: Session,
    origin: Slot,
    parent: Draft | undefined,
    public node: ObjectNode,
  ) {
    super(session, origin, parent)
    this.#base = node
  }

  entries(): Iterable<[string, Draft]> {
    return this.#held
  }

  hold(key: string | number, draft: Draft): void {
    this.#held.set(String(key), draft)
  }

  finish(): void {
    for (const [key, draft] of this.#held) this.node = objectSet(this.node, key, draft.result())
  }

  result(): Slot {
    return this.node === this.#base ? this.origin : this.node
  }

  get(_: object, key: PropertyKey): unknown {
    this.check()
    if (typeof key === 'string') {
      const held = this.#held.get(key)
      if (held !== undefined) return held.proxy
      const slot = objectGet(this.node, key)
      if (slot !== ABSENT) return this.give(key, slot)
    }
    return Reflect.get(Object.prototype, key, this.proxy)
  }

  has(_: object, key: PropertyKey): boolean {
    this.check()
    return this.#owns(key) || key in Object.prototype
  }

  ownKeys(): string[] {
    this.check()
    return objectKeys(this.node)
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    this.check()
    if (!this.#owns(key)) return undefined
    return { value: this.get(target, key), writable: true, enumerable: true, configurable: true }
  }

  set(_: object, key: PropertyKey, value: unknown): boolean {
    this.check()
    if (typeof key === 'symbol') this.refuse('have a symbol as a key')
    const name = String(key)
    const held = objectGet(this.node, name)
    const taken = this.take(name, value, held)
    if (taken instanceof Draft) {
      if (held === ABSENT) this.node = objectSet(this.node, name, null)
      this.#held.set(name, taken)
    } else {
      this.node = objectSet(this.node, name, taken)
      this.#held.delete(name)
    }
    return true
  }

  deleteProperty(_: object, key: PropertyKey): boolean {
    this.check()
    if (typeof key !== 'string') return true
    this.node = objectDelete(this.node, key)
    this.#held.delete(key)
    return true
  }

  defineProperty(target: object, key: PropertyKey, property: PropertyDescriptor): boolean {
    return defined(this, property) && this.set(target, key, property.value)
  }

  preventExtensions(): never {
    this.refuse('be frozen, sealed or closed to new keys')
  }

  setPrototypeOf(): never {
    this.refuse('have a prototype of its own')
  }

  #owns(key: PropertyKey): boolean {
    return typeof key === 'string' && objectGet(this.node, key) !== ABSENT
  }
}

class ListDraft extends Draft implements ProxyHandler<unknown[]> {
  readonly proxy: object = new Proxy([], this)
  /** By index plus `#offset`, so that drafts need not be moved when elements before all go. */
  #held = new Map<number, Draft>()
  #offset = 0
  readonly #base: ListNode

  constructor(
    session: Session,
    origin: Slot,
    parent: Draft | undefined,
    public node: ListNode,
  ) {
    super(session, origin, parent)
    this.#base = node
  }

  get size(): number {
    return bodySize(this.node.body)
  }
}
