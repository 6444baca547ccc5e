/**
 * What drafts of objects and of lists have in common.
 */
import { DaglogError } from '../core/errors.js'
import { Alias, type AliasRoom, slotOrAlias } from './tree-convert.js'
import { type ABSENT, type ContainerNode, isNode, KIND, openValue, type Slot } from './tree-node.js'
import { pointerStep } from './tree-pointer.js'
import { unbox } from './tree-scalar.js'

/** One update: its drafts are of use as long as it is open. */
export interface DraftSession extends AliasRoom {
  readonly isOpen: boolean
  /** A draft of `node`, which was found as `origin`. */
  draft(node: ContainerNode, origin: Slot, parent: Draft | undefined): Draft
}

/** A draft in its place. */
export interface Held {
  readonly draft: Draft
  /** Whether it was put there, rather than handed out from there. */
  readonly isPut: boolean
}

/** Every draft by its proxy. */
const drafts = new WeakMap<object, Draft>()

/** The draft whose proxy `value` is, or undefined. */
export function draftOf(value: object): Draft | undefined {
  return drafts.get(value)
}

export abstract class Draft extends Alias {
  readonly isAlias = true
  /** What the user's code holds. */
  abstract readonly proxy: object
  /** The container so far; what `drafts` says goes over it. */
  abstract readonly node: ContainerNode

  constructor(
    readonly session: DraftSession,
    /** What its place held when it was handed out: a node, or a stub for it. */
    readonly origin: Slot,
    /** For messages: where it was handed out. */
    public parent: Draft | undefined,
  ) {
    super()
  }

  /** Makes what the user's code holds: an array for a list, so that `Array.isArray` is true. */
  protected proxied(target: object, handler: ProxyHandler<object>): object {
    const proxy = new Proxy(target, handler)
    drafts.set(proxy, this)
    return proxy
  }

  /** The drafts below it, by where they are now. */
  abstract entries(): Iterable<[string | number, Held]>
  /** Has a draft stand where a slot is. */
  abstract hold(key: string | number, held: Held): void
  /** Takes what the drafts below have become into `node`; they are finished. */
  abstract finish(): void
  /** Whether it is as it was handed out. */
  abstract readonly isSame: boolean

  /** What its place gets. */
  result(): Slot {
    return this.isSame ? this.origin : this.node
  }

  pointer(): string {
    let pointer = ''
    for (let at: Draft | undefined = this; at?.parent !== undefined; at = at.parent) {
      const place = [...at.parent.entries()].find(([, { draft }]) => draft === at)
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
    this.hold(key, { draft, isPut: false })
    return draft.proxy
  }

  /** The value of a property that is being defined; only plain ones can be. */
  plain(property: PropertyDescriptor): unknown {
    const { configurable = true, enumerable = true, writable = true } = property
    const isPlain = 'value' in property && configurable && enumerable && writable
    if (!isPlain) this.refuse('have a property that is not plain')
    return property.value
  }
}
