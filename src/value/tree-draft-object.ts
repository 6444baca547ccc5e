/**
 * Drafts of objects. `__proto__` is a key like any other here, assigned or defined.
 */
import { Draft, type DraftSession, type Held } from './tree-draft-node.js'
import { ABSENT, type ObjectNode, type Slot } from './tree-node.js'
import { objectDelete, objectGet, objectKeys, objectSet } from './tree-object.js'

export class ObjectDraft extends Draft implements ProxyHandler<object> {
  readonly proxy: object = this.proxied({}, this)
  readonly #held = new Map<string, Held>()
  readonly #base: ObjectNode

  constructor(
    session: DraftSession,
    origin: Slot,
    parent: Draft | undefined,
    public node: ObjectNode,
  ) {
    super(session, origin, parent)
    this.#base = node
  }

  entries(): Iterable<[string, Held]> {
    return this.#held
  }

  hold(key: string | number, held: Held): void {
    this.#held.set(String(key), held)
  }

  finish(): void {
    for (const [key, { draft, isPut }] of this.#held) {
      if (isPut || !draft.isSame) this.node = objectSet(this.node, key, draft.result())
    }
  }

  get isSame(): boolean {
    return this.node === this.#base
  }

  get(_: object, key: PropertyKey): unknown {
    this.check()
    if (typeof key === 'string') {
      const held = this.#held.get(key)
      if (held !== undefined) return held.draft.proxy
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
      this.#held.set(name, { draft: taken, isPut: true })
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
    return this.set(target, key, this.plain(property))
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
