/**
 * Plain values into slots. Takes JSON's values, `undefined`, every number, integers of any size,
 * dates and bytes; refuses everything that it could not give back, with its place.
 * Iterative: depth is bounded by memory. Knows nothing of drafts but that they may be in a value.
 */
import { types } from 'node:util'
import { DaglogError } from '../core/errors.js'
import { bodyGet } from './tree-list.js'
import {
  ABSENT,
  bodySize,
  type ContainerNode,
  containerIn,
  isNode,
  KIND,
  type Slot,
  TREE_RECORD_KEYS_MAX,
} from './tree-node.js'
import { objectGet } from './tree-object.js'
import { pointerStep } from './tree-pointer.js'
import { listLike, objectLike } from './tree-reuse.js'
import { bigintSlot, bytesSlot, dateSlot, sameSlot, textSlot } from './tree-scalar.js'
import { nodeOfView } from './tree-view.js'

/** A value that is still being changed: it stands where its slot will be. */
export abstract class Alias {
  abstract readonly isAlias: true
}

export interface AliasRoom {
  /** The alias that `value` is, if it is one. */
  find(value: object): Alias | undefined
  /** An alias for a new container that has others in it, at the keys or indexes given. */
  enclose(node: ContainerNode, held: ReadonlyMap<string | number, Alias>): Alias
}

export interface ConvertOptions {
  /** JSON pointer of the place that the value is for; asked for once something is refused. */
  readonly pointer?: () => string
  /** What is in that place: shared where it is equal. */
  readonly prior?: Slot | typeof ABSENT
  readonly room?: AliasRoom
}

/** The slot for a plain value. Throws VALUE_UNSUPPORTED, naming the place in it. */
export function slotOf(value: unknown, options: Omit<ConvertOptions, 'room'> = {}): Slot {
  return slotOrAlias(value, options) as Slot
}

/** The same for a value that may have aliases in it, or be one. */
export function slotOrAlias(value: unknown, options: ConvertOptions): Slot | Alias {
  // Most values that are set are short texts and numbers.
  return primitiveSlot(value) ?? new Converter(options).run(value)
}

/** The slot of a primitive; undefined for `undefined` and for what is none. */
function primitiveSlot(value: unknown): Slot {
  switch (typeof value) {
    case 'string':
      return textSlot(value)
    case 'number':
    case 'boolean':
      return value
    case 'bigint':
      return bigintSlot(value)
    default:
      return undefined
  }
}

interface Frame {
  readonly source: object
  /** Undefined for a list. */
  readonly keys: readonly string[] | undefined
  readonly values: readonly unknown[]
  readonly slots: Slot[]
  readonly prior: Slot | typeof ABSENT
  readonly priorNode: ContainerNode | undefined
  held: Map<string | number, Alias> | undefined
}

/** Marks a container whose inside is being converted. */
const OPEN = Symbol('open')

class Converter {
  readonly #frames: Frame[] = []
  /** Containers seen: one that stands in many places is converted once. */
  readonly #seen = new Map<object, Slot | Alias | typeof OPEN>()
  #lastKeys: readonly string[] = []

  constructor(readonly options: ConvertOptions) {}

  run(value: unknown): Slot | Alias {
    let result = this.#enter(value, this.options.prior ?? ABSENT)
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      if (result !== OPEN) fill(frame, result)
      const at = frame.slots.length
      if (at < frame.values.length) {
        result = this.#enter(frame.values[at], priorAt(frame, at))
        continue
      }
      result = this.#finish(frame)
      this.#seen.set(frame.source, result)
      this.#frames.pop()
    }
    return result as Slot | Alias
  }

  /** The slot for `value`, or OPEN once there is a frame for it. */
  #enter(value: unknown, prior: Slot | typeof ABSENT): Slot | Alias | typeof OPEN {
    if (value === undefined || value === null) return value
    const slot = primitiveSlot(value)
    if (slot === undefined) {
      if (typeof value !== 'object') this.#refuse(`a ${typeof value}`)
      return this.#enterObject(value, prior)
    }
    return isNode(slot) && prior !== ABSENT && sameSlot(slot, prior) ? prior : slot
  }

  #enterObject(value: object, prior: Slot | typeof ABSENT): Slot | Alias | typeof OPEN {
    const seen = this.#seen.get(value)
    if (seen === OPEN) this.#refuse('a container that holds itself')
    if (seen !== undefined) return seen
    const known = nodeOfView(value) ?? this.options.room?.find(value)
    if (known !== undefined) return known
    const slot = this.#boxed(value)
    if (slot !== undefined) return prior !== ABSENT && sameSlot(slot, prior) ? prior : slot
    const keys = Array.isArray(value) ? undefined : this.#keysOf(value)
    const values = keys === undefined ? this.#elements(value) : this.#fields(value, keys)
    const priorNode = prior === ABSENT ? undefined : containerIn(prior)
    this.#frames.push({
      source: value,
      keys,
      values,
      slots: [],
      prior,
      priorNode,
      held: undefined,
    })
    this.#seen.set(value, OPEN)
    return OPEN
  }

  #finish(frame: Frame): Slot | Alias {
    const { keys, priorNode, slots } = frame
    const node =
      keys === undefined ? listLike(priorNode, slots) : objectLike(priorNode, keys, slots)
    if (frame.held !== undefined) return this.options.room!.enclose(node, frame.held)
    // What was there may be a stub, which has less to hold in memory.
    return node === priorNode ? (frame.prior as Slot) : node
  }

  /** Dates and bytes; undefined for what must be a plain object or array. */
  #boxed(value: object): Slot {
    if (types.isDate(value)) {
      if (!isBuiltIn(value, 'Date') || Reflect.ownKeys(value).length > 0)
        this.#refuseInstance(value)
      return dateSlot(value)
    }
    return types.isUint8Array(value) ? bytesSlot(value) : undefined
  }

  #keysOf(value: object): readonly string[] {
    const prototype = Reflect.getPrototypeOf(value)
    const isPlain = prototype === null || prototype === Object.prototype || isOtherRealm(prototype)
    if (!isPlain) this.#refuseInstance(value)
    const keys = Reflect.ownKeys(value)
    for (const key of keys) if (typeof key === 'symbol') this.#refuse('a key that is a symbol', key)
    if (keys.length <= TREE_RECORD_KEYS_MAX) keys.sort()
    // Rows of one table share their keys.
    const last = this.#lastKeys
    const isSame = keys.length === last.length && keys.every((key, i) => key === last[i])
    if (!isSame) this.#lastKeys = keys as string[]
    return this.#lastKeys
  }

  #fields(value: object, keys: readonly string[]): unknown[] {
    return keys.map((key) => this.#read(value, key))
  }

  #elements(value: object): unknown[] {
    if (!isBuiltIn(value, 'Array')) this.#refuseInstance(value)
    const list = value as unknown[]
    const values: unknown[] = []
    for (let i = 0; i < list.length; i++) values.push(this.#read(list, i))
    for (const key of Reflect.ownKeys(list).slice(list.length)) {
      if (key !== 'length') this.#refuse('a field of an array', key)
    }
    return values
  }

  #read(value: object, key: string | number): unknown {
    const property = Reflect.getOwnPropertyDescriptor(value, key)
    if (property === undefined) this.#refuse('a hole in an array', key)
    if (property.get !== undefined || property.set !== undefined) this.#refuse('a getter', key)
    if (!property.enumerable) this.#refuse('a field that is not enumerable', key)
    return property.value
  }

  #refuseInstance(value: object): never {
    const name: unknown = value.constructor?.name
    this.#refuse(typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an instance')
  }

  /** `key`: where in the container that is being entered. */
  #refuse(what: string, key?: PropertyKey): never {
    const steps = this.#frames.map(({ keys, slots }) => keys?.[slots.length] ?? slots.length)
    if (key !== undefined) steps.push(typeof key === 'symbol' ? String(key) : key)
    const pointer = (this.options.pointer?.() ?? '') + steps.map(pointerStep).join('')
    throw new DaglogError(
      'VALUE_UNSUPPORTED',
      `${pointer === '' ? 'the value' : pointer} is ${what}, which can not be kept. ` +
        'Use plain objects, arrays, JSON scalars, undefined, bigints, dates or Uint8Array.',
      { pointer },
    )
  }
}

function fill(frame: Frame, result: Slot | Alias): void {
  if (result instanceof Alias) {
    frame.held ??= new Map()
    frame.held.set(frame.keys?.[frame.slots.length] ?? frame.slots.length, result)
    frame.slots.push(null)
  } else frame.slots.push(result)
}

function priorAt(frame: Frame, at: number): Slot | typeof ABSENT {
  const { keys, priorNode } = frame
  if (priorNode === undefined) return ABSENT
  if (priorNode.kind !== KIND.list) {
    return keys === undefined ? ABSENT : objectGet(priorNode, keys[at]!)
  }
  const isInside = keys === undefined && at < bodySize(priorNode.body)
  return isInside ? bodyGet(priorNode.body, at) : ABSENT
}

/**
 * Whether `value`, made by the built-in `name` of some realm, is not of a class derived from it.
 */
function isBuiltIn(value: object, name: 'Array' | 'Date'): boolean {
  const prototype = Reflect.getPrototypeOf(value)
  if (prototype === globalThis[name].prototype) return true
  if (prototype === null || !Object.hasOwn(prototype, 'constructor')) return false
  const above = Reflect.getPrototypeOf(prototype)
  return prototype.constructor.name === name && above !== null && isOtherRealm(above)
}

/** Whether `prototype` is the Object.prototype of another realm, as in a `vm` context. */
function isOtherRealm(prototype: object): boolean {
  return (
    Reflect.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf') &&
    Object.hasOwn(prototype, 'constructor')
  )
}
