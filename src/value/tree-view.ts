/**
 * Trees as plain JavaScript: frozen views that are made once for each node, so that what did not
 * change is `===` from one version to the next, and fresh copies.
 * Iterative: depth is bounded by memory.
 */

import { inspect } from 'node:util'
import { setField } from '../core/set-field.js'
import { bodyEach } from './tree-list.js'
import { childrenAt, mapGet } from './tree-map.js'
import {
  ABSENT,
  type ContainerNode,
  isNode,
  KIND,
  keepOpen,
  type ListBody,
  type MapChild,
  type MapNode,
  openBody,
  openMap,
  openValue,
  type Slot,
} from './tree-node.js'
import { objectEach, objectKeys } from './tree-object.js'
import { unbox } from './tree-scalar.js'

/**
 * An object of more keys than this is viewed through a proxy, so that a view costs what is read.
 */
export const TREE_VIEW_PLAIN_KEYS_MAX = 1024

/** The node behind each view: a view that is put into a tree is taken over as it is. */
const nodes = new WeakMap<object, ContainerNode>()

/** The container that `value` is a view of, or undefined. */
export function nodeOfView(value: object): ContainerNode | undefined {
  return nodes.get(value)
}

/**
 * A slot as plain JavaScript: containers are frozen, the same object each time, and in memory as
 * long as their node; dates and bytes are copies for this view alone, so changing one changes no
 * tree. Keys come sorted in objects of few keys and in an order of their own in larger ones.
 */
export function viewOf(slot: Slot): unknown {
  if (!isNode(slot)) return slot
  const node = openValue(slot)
  if (node.kind === KIND.box) return unbox(node)
  return node.view ?? new Viewer().run(node)
}

/** A slot as plain JavaScript that is the caller's alone. */
export function copyOf(slot: Slot): unknown {
  const work: { node: ContainerNode; out: object }[] = []
  const start = (child: Slot): unknown => {
    if (!isNode(child)) return child
    const node = openValue(child)
    if (node.kind === KIND.box) return unbox(node)
    const out = node.kind === KIND.list ? [] : {}
    work.push({ node, out })
    return out
  }
  const result = start(slot)
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const { node, out } = next
    if (node.kind === KIND.list)
      bodyEach(node.body, (child) => (out as unknown[]).push(start(child)))
    else objectEach(node, (key, child) => setField(out, key, start(child)))
  }
  return result
}

class Viewer {
  readonly #made: ContainerNode[] = []
  readonly #work: ContainerNode[] = []

  run(root: ContainerNode): object {
    try {
      const view = this.#start(root)
      for (let node = this.#work.pop(); node !== undefined; node = this.#work.pop())
        this.#fill(node)
      return view
    } catch (error) {
      // Something could not be loaded: what is half made must not be found again.
      for (const node of this.#made) node.view = undefined
      throw error
    }
  }

  #start(node: ContainerNode): object {
    const isWide = node.kind === KIND.map && node.size > TREE_VIEW_PLAIN_KEYS_MAX
    const view = isWide ? wideView(node) : node.kind === KIND.list ? [] : {}
    node.view = view
    nodes.set(view, node)
    this.#made.push(node)
    if (!isWide) this.#work.push(node)
    return view
  }

  #fill(node: ContainerNode): void {
    const view = node.view as object
    if (node.kind === KIND.list) this.#fillList(view as unknown[], node.body)
    else if (node.kind === KIND.map) this.#fillMap(view, node)
    else {
      for (const [i, key] of node.keys.entries()) setField(view, key, this.#at(node.slots, i))
    }
    Object.freeze(view)
  }

  #fillList(view: unknown[], body: ListBody): void {
    if (body.kind === KIND.leaf) {
      for (let i = 0; i < body.slots.length; i++) view.push(this.#at(body.slots, i))
      return
    }
    for (const [i, child] of body.slots.entries()) {
      const open = openBody(child)
      body.slots[i] = open
      this.#fillList(view, open)
    }
  }

  #fillMap(view: object, map: MapNode): void {
    const { slots } = map
    const childrenFrom = childrenAt(map)
    for (let i = 0; i < childrenFrom; i += 2)
      setField(view, slots[i] as string, this.#at(slots, i + 1))
    for (let i = childrenFrom; i < slots.length; i++) {
      const open = openMap(slots[i] as MapChild)
      slots[i] = open
      this.#fillMap(view, open)
    }
  }

  #at(slots: Slot[], at: number): unknown {
    const slot = keepOpen(slots, at)
    if (!isNode(slot)) return slot
    const node = openValue(slot)
    if (node.kind === KIND.box) return unbox(node)
    return node.view ?? this.#start(node)
  }
}

/**
 * A read-only object over a wide map. It refuses changes as a frozen object does, but is not one
 * for `Object.isFrozen`, and `structuredClone` does not take it: that would cost all of it each
 * time.
 */
function wideView(map: MapNode): object {
  const target = {}
  // Node prints what lies behind a proxy, which is nothing.
  const print = { value: () => ({ ...view }), configurable: true }
  Object.defineProperty(target, inspect.custom, print)
  const view = new Proxy<object>(target, {
    get: (_, key) => {
      const slot = typeof key === 'string' ? mapGet(map, key, true) : ABSENT
      return slot === ABSENT ? Reflect.get(Object.prototype, key, view) : viewOf(slot)
    },
    has: (_, key) =>
      (typeof key === 'string' && mapGet(map, key) !== ABSENT) || key in Object.prototype,
    ownKeys: () => objectKeys(map),
    getOwnPropertyDescriptor: (_, key) => {
      const slot = typeof key === 'string' ? mapGet(map, key, true) : ABSENT
      if (slot === ABSENT) return undefined
      // A proxy may not call a property fixed that its target does not have.
      return { value: viewOf(slot), enumerable: true, writable: false, configurable: true }
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    preventExtensions: () => false,
    setPrototypeOf: () => false,
  })
  return view
}
