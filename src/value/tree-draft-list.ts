/**
 * Drafts of lists: arrays in every way but that they have neither holes nor fields.
 */
import { Draft, type DraftSession, draftOf, type Held } from './tree-draft-node.js'
import { bodyGet, bodySet, bodySplice, spliceRange } from './tree-list.js'
import { bodySize, ListNode, type Slot } from './tree-node.js'
import { indexOfStep } from './tree-pointer.js'

export class ListDraft extends Draft implements ProxyHandler<object> {
  readonly proxy: object = this.proxied([], this)
  /** By index plus `#offset`: so what lies behind does not move when the first elements go. */
  #held = new Map<number, Held>()
  #offset = 0
  readonly #base: ListNode

  constructor(
    session: DraftSession,
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

  *entries(): Iterable<[number, Held]> {
    for (const [at, held] of this.#held) yield [at - this.#offset, held]
  }

  hold(key: string | number, held: Held): void {
    this.#held.set(Number(key) + this.#offset, held)
  }

  finish(): void {
    let { body } = this.node
    for (const [index, { draft, isPut }] of this.entries()) {
      if (isPut || !draft.isSame) body = bodySet(body, index, draft.result())
    }
    this.#become(body)
  }

  get isSame(): boolean {
    return this.node === this.#base
  }

  /** As in `Array.prototype.splice`; `start` and `count` are inside. Returns what was taken out. */
  splice(start: number, count: number, values: readonly unknown[]): unknown[] {
    const removed = Array.from({ length: count }, (_, i) => this.#item(start + i))
    this.replace(start, count, values)
    return removed
  }

  /** The same, where what goes is not asked for: it is not even looked at. */
  replace(start: number, count: number, values: readonly unknown[]): void {
    const taken = values.map((value, i) => this.take(start + i, value, undefined))
    const slots = taken.map((slot) => (slot instanceof Draft ? null : slot))
    this.#move(start, count, values.length)
    this.#become(bodySplice(this.node.body, start, count, slots))
    for (const [i, draft] of taken.entries())
      if (draft instanceof Draft) this.hold(start + i, { draft, isPut: true })
  }

  get(_: object, key: PropertyKey): unknown {
    this.check()
    if (key === 'length') return this.size
    const index = typeof key === 'string' ? indexOfStep(key) : undefined
    if (index !== undefined) return index < this.size ? this.#item(index) : undefined
    if (typeof key === 'string' && Object.hasOwn(METHODS, key)) {
      return METHODS[key as keyof typeof METHODS]
    }
    return Reflect.get(Array.prototype, key, this.proxy)
  }

  has(_: object, key: PropertyKey): boolean {
    this.check()
    return key === 'length' || this.#owns(key) || key in Array.prototype
  }

  ownKeys(): string[] {
    this.check()
    return [...Array.from({ length: this.size }, (_, i) => String(i)), 'length']
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    this.check()
    const isLength = key === 'length'
    if (!isLength && !this.#owns(key)) return undefined
    const value = this.get(target, key)
    return { value, writable: true, enumerable: !isLength, configurable: !isLength }
  }

  set(_: object, key: PropertyKey, value: unknown): boolean {
    this.check()
    const index = typeof key === 'string' ? indexOfStep(key) : undefined
    if (key === 'length') this.#resize(value)
    else if (index === undefined) this.refuse(`have a field '${String(key)}', being a list`)
    else if (index > this.size) this.refuse(`have an element ${index} without those before it`)
    else if (index === this.size) this.replace(index, 0, [value])
    else this.#put(index, value)
    return true
  }

  deleteProperty(_: object, key: PropertyKey): boolean {
    this.check()
    if (this.#owns(key)) this.refuse('have a hole; use splice')
    return key !== 'length'
  }

  defineProperty(target: object, key: PropertyKey, property: PropertyDescriptor): boolean {
    return this.set(target, key, this.plain(property))
  }

  preventExtensions(): never {
    this.refuse('be frozen, sealed or closed to new elements')
  }

  setPrototypeOf(): never {
    this.refuse('have a prototype of its own')
  }

  #owns(key: PropertyKey): boolean {
    const index = typeof key === 'string' ? indexOfStep(key) : undefined
    return index !== undefined && index < this.size
  }

  #item(index: number): unknown {
    const held = this.#held.get(index + this.#offset)
    return held === undefined ? this.give(index, bodyGet(this.node.body, index)) : held.draft.proxy
  }

  #put(index: number, value: unknown): void {
    const taken = this.take(index, value, bodyGet(this.node.body, index))
    if (taken instanceof Draft) this.hold(index, { draft: taken, isPut: true })
    else {
      this.#held.delete(index + this.#offset)
      this.#become(bodySet(this.node.body, index, taken))
    }
  }

  #resize(length: unknown): void {
    if (typeof length !== 'number' || indexOfStep(length) === undefined) {
      this.refuse(`have a length of ${String(length)}`)
    }
    if (length > this.size) this.refuse('be longer than its elements; push them')
    this.replace(length, this.size - length, [])
  }

  /** Drafts go, stay or move with their elements. */
  #move(start: number, gone: number, come: number): void {
    const after = start + gone
    const staysBehind = gone === come || start === 0 || after === this.size
    if (staysBehind && gone <= this.#held.size) {
      // The common ones: at either end, and a few in place.
      for (let index = start; index < after; index++) this.#held.delete(index + this.#offset)
      if (start === 0 && after < this.size) this.#offset += gone - come
      return
    }
    const moved = new Map<number, Held>()
    for (const [index, held] of this.entries()) {
      if (index < start) moved.set(index, held)
      else if (index >= after) moved.set(index - gone + come, held)
    }
    this.#held = moved
    this.#offset = 0
  }

  #become(body: ListNode['body']): void {
    if (body !== this.node.body) this.node = new ListNode(body)
  }
}

/** The methods that would move each element, or leave a hole on the way, were they Array's own. */
const METHODS = {
  push(this: object, ...values: unknown[]): number {
    const list = listOf(this)
    list.replace(list.size, 0, values)
    return list.size
  },
  pop(this: object): unknown {
    const list = listOf(this)
    return list.size === 0 ? undefined : list.splice(list.size - 1, 1, [])[0]
  },
  shift(this: object): unknown {
    const list = listOf(this)
    return list.size === 0 ? undefined : list.splice(0, 1, [])[0]
  },
  unshift(this: object, ...values: unknown[]): number {
    const list = listOf(this)
    list.replace(0, 0, values)
    return list.size
  },
  splice(this: object, ...args: [start?: number, count?: number, ...values: unknown[]]): unknown[] {
    const list = listOf(this)
    const [start, count, ...values] = args
    const range = spliceRange(list.size, start, args.length === 1 ? list.size : count)
    return args.length === 0 ? [] : list.splice(range.start, range.count, values)
  },
}

function listOf(proxy: object): ListDraft {
  const draft = draftOf(proxy)
  if (!(draft instanceof ListDraft)) throw new TypeError('not the draft of a list')
  draft.check()
  return draft
}
