/**
 * The state tree: a JSON value as an immutable handle on shared nodes. A change makes a new handle
 * and as many nodes as lie on the way to it; a thousand versions cost about what one does.
 *
 * Equal values have equal roots, whatever edits made them. The order of an object's keys is not
 * part of its value and is not kept: what must keep it belongs in events, which are exact. Besides
 * JSON's values there are `undefined`, -0, NaN, the infinities, bigints, dates and bytes.
 * @see docs/format.md#trees
 */
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { slotOf } from './tree-convert.js'
import { slotChanges, type TreeChange } from './tree-diff.js'
import { updated } from './tree-draft.js'
import { bodySplice, spliceRange } from './tree-list.js'
import { ABSENT, bodySize, containerIn, KIND, ListNode, type Slot } from './tree-node.js'
import { objectSize } from './tree-object.js'
import { changedAt, findAt, removedAt, replacedAt } from './tree-path.js'
import { pointerStep, type TreePath } from './tree-pointer.js'
import { seal } from './tree-seal.js'
import type { TreeStore } from './tree-store.js'
import { copyOf, viewOf } from './tree-view.js'

export { type ObjectRef, treeChildren } from './tree-decode.js'
export type { TreeChange } from './tree-diff.js'
export type { PutObject } from './tree-long.js'
export type { TreePath } from './tree-pointer.js'
export { TREE_CACHE_BYTES_MAX, TreeStore, type TreeStoreOptions } from './tree-store.js'

/**
 * A tree over a plain value, which is copied. Throws VALUE_UNSUPPORTED, with the place as a JSON
 * pointer, on what could not be given back: functions, symbols, class instances, getters, holes,
 * fields on arrays, cycles.
 */
export function treeFrom(value: unknown): Tree {
  return new Tree(slotOf(value))
}

/**
 * The tree whose root object is `root`; the rest is read as it is needed. Any call on it may so
 * throw OBJECT_MISSING or OBJECT_CORRUPT, which name the object and who refers to it.
 * @param referrer Who refers to the root, for those messages: 'run x, seq 17'.
 */
export function loadTree(root: Hash, store: TreeStore, referrer = 'the caller'): Tree {
  return new Tree(store.readRoot(root, referrer), { hash: root, store })
}

/**
 * The changes that make `left` into `right`, none where they are equal. Walks only what differs, as
 * far as the caller goes on asking. The nodes of both are named for it, but not stored.
 */
export function* diffTrees(left: Tree, right: Tree): Generator<TreeChange, void, undefined> {
  if (left.hash() !== right.hash()) yield* slotChanges(left.root, right.root)
}

/**
 * An immutable value. Nothing but `commit` stores, and nothing but `commit`, `hash` and diffs hash.
 */
export class Tree {
  /** For the functions beside this class: nodes are not for users. */
  readonly root: Slot
  #hash: Hash | undefined
  /** Where all of it is. */
  #store: TreeStore | undefined

  /** `stored`: where all of it is, and under which name. */
  constructor(root: Slot, stored?: { readonly hash: Hash; readonly store: TreeStore }) {
    this.root = root
    this.#hash = stored?.hash
    this.#store = stored?.store
  }

  /** Keys or elements at the root; 0 for a scalar. */
  get size(): number {
    const node = containerIn(this.root)
    if (node === undefined) return 0
    return node.kind === KIND.list ? bodySize(node.body) : objectSize(node)
  }

  /** The value at `path` as in `view`, or undefined where there is none. */
  get(path: TreePath): unknown {
    const slot = findAt(this.root, path)
    return slot === ABSENT ? undefined : viewOf(slot)
  }

  has(path: TreePath): boolean {
    return findAt(this.root, path) !== ABSENT
  }

  /**
   * With `value`, copied, at `path`: a key, an index, or the index after the last. What lies around
   * it must be there (POINTER_NOT_FOUND). The value is compared with what was there and shares all
   * that is equal; this same tree comes back where all of it is.
   */
  set(path: TreePath, value: unknown): Tree {
    return this.#with(replacedAt(this.root, path, value))
  }

  /** Without the key, or the element, at `path`; the same tree where there is none. */
  delete(path: TreePath): Tree {
    return this.#with(removedAt(this.root, path))
  }

  /** With `values` at the end of the list at `path`. */
  push(path: TreePath, ...values: unknown[]): Tree {
    return this.splice(path, Number.POSITIVE_INFINITY, 0, ...values)
  }

  /** As `Array.prototype.splice` on the list at `path`. */
  splice(path: TreePath, start: number, deleteCount: number, ...values: unknown[]): Tree {
    const root = changedAt(this.root, path, (node, pointer) => {
      if (node.kind !== KIND.list) {
        throw new DaglogError('USAGE', `${pointer || 'the root'} is an object, not a list`, {
          pointer,
        })
      }
      const range = spliceRange(bodySize(node.body), start, deleteCount)
      const slots = values.map((value, i) =>
        slotOf(value, { pointer: () => pointer + pointerStep(range.start + i) }),
      )
      const body = bodySplice(node.body, range.start, range.count, slots)
      return body === node.body ? node : new ListNode(body)
    })
    return this.#with(root)
  }

  /**
   * As `change` leaves a draft of the root, which it may use like a plain object or array: assign,
   * delete, `in`, `Object.keys`, and every method of arrays. `__proto__` is a key like any other.
   * The draft ends with the call. The cost is that of what is touched; the same tree comes back if
   * nothing is changed. What `change` throws passes through and changes nothing.
   *
   * A plain value is copied when it is put in: change it through the draft afterwards. A date or
   * bytes are copies too: assign a new one to change it.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of a state is its user's.
  update<T = any>(change: (draft: T) => void): Tree {
    const node = containerIn(this.root)
    if (node === undefined) {
      throw new DaglogError('USAGE', 'only an object or a list has a draft; use set([], value)')
    }
    const next = updated(node, change as (draft: object) => void)
    return next === node ? this : this.#with(next)
  }

  /**
   * The value as frozen plain objects and arrays, each made once: what two versions share is `===`
   * in their views. Objects of more than 1024 keys are read-only proxies that load what is read.
   * A view put into a tree is taken over as it is. Costs what was not viewed before.
   */
  view(): unknown {
    return viewOf(this.root)
  }

  /**
   * The value as plain objects and arrays that are the caller's alone. `JSON.stringify` calls this.
   */
  toJSON(): unknown {
    return copyOf(this.root)
  }

  /** The name that `commit` would return. Names what is new, but stores nothing. */
  hash(): Hash {
    this.#hash ??= seal(this.root)
    return this.#hash
  }

  /**
   * Stores what the store does not have of this tree, children first. Returns the name of the
   * root's object; there is one even where the value is small.
   */
  commit(store: TreeStore): Hash {
    if (this.#store !== store || this.#hash === undefined) {
      this.#hash = store.write(this.root)
      this.#store = store
    }
    return this.#hash
  }

  #with(root: Slot): Tree {
    return root === this.root ? this : new Tree(root)
  }
}
