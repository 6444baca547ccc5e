/**
 * Live values of a graph as what JSON can say, exactly or not at all. What JSON cannot say stands
 * under the key `$`, and so does a user's own object that has this key: nothing that a user wrote
 * is ever taken for one of ours.
 * @see docs/langgraph.md#values
 */

import { types } from 'node:util'
import { ERROR_CLASSES } from '../../core/error-revive.js'
import { DaglogError } from '../../core/errors.js'
import { setField } from '../../core/set-field.js'
import { type AllowedClasses, classOfMessage, isDelta, type MessageClass } from './classes.js'
import { MARK } from './stored-values.js'

/** Deepest nesting that is kept: JSON itself is read and written recursively. */
const VALUE_DEPTH_MAX = 1000

type Path = readonly (string | number)[]

/** Typed arrays whose bytes are kept, by name. */
export const VIEWS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const

/** The JSON text of a value. @throws VALUE_UNSUPPORTED naming the place, `at` in front of it. */
export function textOf(value: unknown, classes: AllowedClasses, at: Path): string {
  return JSON.stringify(plainOf(value, classes, at))
}

/**
 * A value as what JSON can say: the same one where it is that already.
 * @throws VALUE_UNSUPPORTED
 */
export function plainOf(value: unknown, classes: AllowedClasses, at: Path): unknown {
  return new Plain(classes, at).of(value)
}

class Plain {
  readonly #path: (string | number)[]
  readonly #open = new Set<object>()
  readonly #rootDepth: number

  constructor(
    readonly classes: AllowedClasses,
    at: Path,
  ) {
    this.#path = [...at]
    this.#rootDepth = at.length
  }

  of(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : marked('number', String(Object.is(value, -0) ? '-0' : value))
      case 'undefined':
        return marked('undefined')
      case 'bigint':
        return marked('bigint', value.toString())
      case 'object':
        return value === null ? null : this.#object(value)
      default:
        return this.#refuse(`a ${typeof value}`)
    }
  }

  #object(value: object): unknown {
    if (this.#open.has(value)) this.#refuse('a container that holds itself')
    if (this.#path.length - this.#rootDepth > VALUE_DEPTH_MAX) {
      this.#refuse(`nested deeper than ${VALUE_DEPTH_MAX} levels`)
    }
    this.#open.add(value)
    const plain = Array.isArray(value) ? this.#array(value) : this.#record(value)
    this.#open.delete(value)
    return plain
  }

  #at(key: string | number, value: unknown): unknown {
    this.#path.push(key)
    const plain = this.of(value)
    this.#path.pop()
    return plain
  }

  #array(list: readonly unknown[]): unknown {
    if (Object.getPrototypeOf(list) !== Array.prototype && !isArrayOfAnotherRealm(list)) {
      return this.#instance(list)
    }
    let copy: unknown[] | undefined
    let found = 0
    for (let i = 0; i < list.length; i += 1) {
      const value = list[i]
      const isHole = value === undefined && !Object.hasOwn(list, i)
      const plain = isHole ? marked('hole') : this.#at(i, value)
      if (!isHole) found += 1
      if (copy !== undefined) copy.push(plain)
      else if (plain !== value) copy = [...list.slice(0, i), plain]
    }
    const keys = Object.keys(list)
    if (keys.length > found) this.#refuse('a field of an array', keys[found])
    this.#checkSymbols(list)
    return copy ?? list
  }

  #record(value: object): unknown {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && !isObjectPrototype(prototype)) {
      if (prototype === null) return marked('bare', this.#fields(value))
      return this.#instance(value)
    }
    this.#checkSymbols(value)
    if (!Object.hasOwn(value, MARK)) return this.#fields(value)
    const entries = Object.entries(this.#fields(value) as object)
    return marked('object', entries)
  }

  /** Own fields; the same object where all of them are plain. */
  #fields(value: object): unknown {
    let copy: Record<string, unknown> | undefined
    const keys = Object.keys(value)
    if (Object.getOwnPropertyNames(value).length > keys.length) {
      this.#refuse('an object with fields that are not enumerable')
    }
    for (const [i, key] of keys.entries()) {
      const member = fieldOf(value, key)
      if (member === ACCESSOR) this.#refuse('a getter', key)
      const plain = this.#at(key, member)
      if (copy === undefined) {
        // An own `toJSON` would be called in place of what it is a field of; it is a function, so
        // it was refused.
        if (plain === member) continue
        copy = {}
        for (const before of keys.slice(0, i)) setField(copy, before, fieldOf(value, before))
      }
      setField(copy, key, plain)
    }
    return copy ?? (Object.getPrototypeOf(value) === null ? { ...value } : value)
  }

  #checkSymbols(value: object): void {
    const [symbol] = Object.getOwnPropertySymbols(value)
    if (symbol !== undefined) this.#refuse('a key that is a symbol', String(symbol))
  }

  #instance(value: object): unknown {
    const builtIn = this.#builtIn(value)
    if (builtIn !== undefined) return builtIn
    const message = classOfMessage(value)
    if (message !== undefined) return this.#message(value, message)
    if (isDelta(value)) return marked('delta', this.#at('value', value.value))
    // Sent to a node: other savers keep it as what it holds too, and LangGraph takes it so.
    if ((value as { readonly lg_name?: unknown }).lg_name === 'Send') return this.#send(value)
    const name = this.classes.nameOf(value)
    if (name !== undefined) return marked('class', name, { ...(this.#fields(value) as object) })
    const called = (value.constructor?.name ?? '') || 'a class without a name'
    this.#refuse(`an instance of ${called}`, undefined, called)
  }

  #send(value: object): unknown {
    const { node, args, timeout } = value as Record<string, unknown>
    return this.of({ node, args, ...(timeout === undefined ? {} : { timeout }) })
  }

  #builtIn(value: object): unknown {
    if (types.isDate(value)) {
      const time = value.getTime()
      return marked('date', Number.isNaN(time) ? null : time)
    }
    if (types.isMap(value)) {
      const entries = [...value].map(([key, member], i) => [this.#at(i, key), this.#at(i, member)])
      return marked('map', entries)
    }
    if (types.isSet(value))
      return marked(
        'set',
        [...value].map((member, i) => this.#at(i, member)),
      )
    if (types.isRegExp(value)) return marked('regexp', value.source, value.flags, value.lastIndex)
    if (types.isNativeError(value)) return this.#error(value)
    if (Buffer.isBuffer(value)) return marked('buffer', value.toString('base64'))
    if (types.isAnyArrayBuffer(value)) return marked('arraybuffer', base64(new Uint8Array(value)))
    if (ArrayBuffer.isView(value)) return this.#view(value)
    if (value instanceof URL) return marked('url', value.href)
    return undefined
  }

  #view(value: ArrayBufferView): unknown {
    const name = value.constructor.name
    if (!Object.hasOwn(VIEWS, name) && name !== 'DataView') return undefined
    const { buffer, byteOffset, byteLength } = value
    return marked('view', name, base64(new Uint8Array(buffer, byteOffset, byteLength)))
  }

  #error(error: Error): unknown {
    const own: Record<string, unknown> = {}
    for (const key of ['message', 'stack', 'cause', 'errors', ...Object.keys(error)]) {
      if (!Object.hasOwn(error, key) || key === 'name') continue
      setField(own, key, this.#at(key, (error as unknown as Record<string, unknown>)[key]))
    }
    const name = Object.hasOwn(ERROR_CLASSES, error.name) ? error.name : 'Error'
    return marked('error', name, error.name, own)
  }

  /**
   * What it was made of, as it is now, and what was set on it since: a constructor makes the rest.
   */
  #message(value: object, { name, constant }: MessageClass): unknown {
    const live = value as Readonly<Record<string, unknown>>
    const kwargs = (live.lc_kwargs ?? {}) as Readonly<Record<string, unknown>>
    const given: Record<string, unknown> = {}
    for (const key of Object.keys(kwargs)) {
      setField(given, key, this.#at(key, key in live ? live[key] : kwargs[key]))
    }
    let own: Record<string, unknown> | undefined
    for (const key of Object.keys(live)) {
      if (key === 'lc_kwargs' || Object.hasOwn(kwargs, key)) continue
      if (isConstant(live[key], constant, key)) continue
      own ??= {}
      setField(own, key, this.#at(key, live[key]))
    }
    return own === undefined ? marked('message', name, given) : marked('message', name, given, own)
  }

  /** `called`: the class to allow. */
  #refuse(what: string, key?: string, called?: string): never {
    const steps = key === undefined ? this.#path : [...this.#path, key]
    const path = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
    const hint =
      called === undefined
        ? 'plain objects, arrays, messages, dates, maps, sets, errors or bytes'
        : `new DaglogSaver(store, { classes: [${called}] }), or a plain object`
    throw new DaglogError(
      'VALUE_UNSUPPORTED',
      `${path.replace(/^\./, '') || 'the value'} is ${what}, which can not be kept, and nothing was written; try: ${hint}`,
      { path: steps },
    )
  }
}

function isConstant(value: unknown, constant: MessageClass['constant'], key: string): boolean {
  if (!Object.hasOwn(constant, key)) return false
  const usual = constant[key]
  if (Object.is(value, usual)) return true
  return Array.isArray(value) && Array.isArray(usual) && value.join('\0') === usual.join('\0')
}

export type Marked = { readonly [MARK]: readonly [tag: string, ...payload: unknown[]] }

function marked(tag: string, ...payload: unknown[]): Marked {
  return { [MARK]: [tag, ...payload] }
}

const ACCESSOR = Symbol('accessor')

function fieldOf(value: object, key: string): unknown {
  const property = Object.getOwnPropertyDescriptor(value, key)
  return property?.get === undefined && property?.set === undefined ? property?.value : ACCESSOR
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** The Object.prototype of another realm, as in a `vm` context. */
function isObjectPrototype(prototype: unknown): boolean {
  return (
    typeof prototype === 'object' &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf')
  )
}

function isArrayOfAnotherRealm(list: readonly unknown[]): boolean {
  const prototype: object = Object.getPrototypeOf(list)
  return Array.isArray(prototype) && isObjectPrototype(Object.getPrototypeOf(prototype))
}
