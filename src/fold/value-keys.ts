/**
 * Values inside a value, each under a key that equals another's exactly where their digests do
 * (`core/canonical.ts`): the order of members does not count.
 * A key is made of the keys inside, so all of a payload costs one pass; only values that tell where
 * they came from are given out. Knows no step.
 */
import type { Ref } from '../core/body.js'
import { sha256 } from '../core/hash.js'
import { pointerStep } from '../core/pointer.js'

/** Texts and numbers written shorter than this are alike by chance. */
export const TELLING_SCALAR_LENGTH_MIN = 12
/** An object or list without such a member counts from this length of its JSON text on. */
export const TELLING_CONTAINER_LENGTH_MIN = 24
/** Values looked at in one payload; what is left is not looked at, and that is said. */
export const KEYED_VALUES_MAX = 100_000
/** Values nested deeper than this are not looked at, and that is said. */
export const KEYED_DEPTH_MAX = 64
/** Texts of JSON up to this long are looked into. */
const PARSED_LENGTH_MAX = 256 * 1024
/** Keys up to this long are kept as they are, longer ones as their hash. */
const KEY_LENGTH_MAX = 96

export interface KeyedValue {
  readonly key: string
  /** Whether it is an object or a list. */
  readonly container: boolean
  /**
   * Where it is, from the payload on; of something inside a text of JSON: behind the text's own
   * pointer.
   */
  pointer(): string
}

/** What a visitor makes of a value; undefined where it knows nothing of it. */
export type Visit<T> = (value: KeyedValue) => T | undefined

export interface KeyOptions {
  /** Out of line: hash of what stands at a pointer, where the value has `null`. */
  readonly refs?: readonly Ref[]
  /** Whether a text this long may be known; where not, neither it nor what holds it is hashed. */
  readonly knows?: (length: number) => boolean
  /** Called once for each text that counts, with its length. */
  readonly onText?: (length: number) => void
}

export interface Visited<T> {
  /** What was made of values, of the largest only: nothing inside one that gave something. */
  readonly hits: readonly T[]
  /** Whether all of the value was looked at. */
  readonly whole: boolean
}

/** Visit what counts inside `value`, and `value` itself; the inside before the outside. */
export function visitValues<T>(
  value: unknown,
  visit: Visit<T>,
  options: KeyOptions = {},
): Visited<T> {
  const walk = new KeyWalk(visit, options)
  walk.value(value, 0)
  return walk
}

interface Keyed {
  /** Undefined where nobody can know it. */
  readonly key: string | undefined
  /** Of its JSON text, about. */
  readonly length: number
  readonly telling: boolean
}

const TRIVIAL_LENGTH = 4

class KeyWalk<T> implements Visited<T> {
  readonly hits: T[] = []
  whole = true
  readonly #visit: Visit<T>
  readonly #options: KeyOptions
  readonly #refs: ReadonlyMap<string, Ref>
  readonly #path: (string | number)[] = []
  #left = KEYED_VALUES_MAX

  constructor(visit: Visit<T>, options: KeyOptions) {
    this.#visit = visit
    this.#options = options
    this.#refs = new Map((options.refs ?? []).map((ref) => [ref.pointer, ref]))
  }

  value(value: unknown, depth: number): Keyed {
    this.#left -= 1
    if (this.#left < 0 || depth > KEYED_DEPTH_MAX) return this.#unseen()
    if (this.#refs.size > 0 && value === null) {
      const ref = this.#refs.get(this.#pointer())
      if (ref !== undefined) return this.#outOfLine(ref)
    }
    if (typeof value === 'string') return this.#text(value, depth)
    if (typeof value === 'object' && value !== null) {
      if (value instanceof Uint8Array) return this.#scalar(`B${sha256(value)}`, value.length)
      if (!(value instanceof Date)) return this.#container(value, depth)
      return this.#scalar(`D${value.getTime()}`, 24)
    }
    return this.#plain(value)
  }

  #plain(value: unknown): Keyed {
    const text = Object.is(value, -0) ? '-0' : String(value)
    if (typeof value === 'number') return this.#scalar(`d${text}`, text.length)
    if (typeof value === 'bigint') return this.#scalar(`i${text}`, text.length)
    return { key: `c${text}`, length: TRIVIAL_LENGTH, telling: false }
  }

  #outOfLine({ kind, sha256: hash, size }: Ref): Keyed {
    if (kind === 'text') {
      this.#options.onText?.(size)
      return this.#scalar(`S${hash}`, size)
    }
    if (kind === 'bytes') return this.#scalar(`B${hash}`, size)
    // The bytes of a JSON text have its members in the order of writing: no key can be had of them.
    return this.#unseen()
  }

  #text(text: string, depth: number): Keyed {
    const { length } = text
    const mark = this.hits.length
    if (length >= TELLING_SCALAR_LENGTH_MIN && length <= PARSED_LENGTH_MAX && isJson(text))
      this.#inside(text, depth)
    // Lone surrogates have no UTF-8 of their own: written as escapes they stay apart.
    if (!text.isWellFormed())
      return this.#scalar(shortened(`j${JSON.stringify(text)}`), length, mark)
    if (length <= KEY_LENGTH_MAX) return this.#scalar(`s${text}`, length, mark)
    const bytes = Buffer.byteLength(text)
    this.#options.onText?.(bytes)
    if (this.#options.knows?.(bytes) === false) return { key: undefined, length, telling: true }
    return this.#scalar(`S${sha256(Buffer.from(text))}`, length, mark)
  }

  /** Look into a text of JSON; what is in there is a value like any other. */
  #inside(text: string, depth: number): void {
    try {
      this.value(JSON.parse(text), depth + 1)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
    }
  }

  #scalar(key: string, length: number, mark = this.hits.length): Keyed {
    const telling = length >= TELLING_SCALAR_LENGTH_MIN
    if (telling) this.#give(key, false, mark)
    return { key, length, telling }
  }

  #container(value: object, depth: number): Keyed {
    const isList = Array.isArray(value)
    const names = isList ? undefined : Object.keys(value).sort()
    const count = names?.length ?? (value as readonly unknown[]).length
    const mark = this.hits.length
    let key: string | undefined = isList ? '[' : '{'
    let length = 2
    let telling = false
    for (let at = 0; at < count; at++) {
      const name = names === undefined ? at : names[at]!
      this.#path.push(name)
      const member = this.value((value as Record<string | number, unknown>)[name], depth + 1)
      this.#path.pop()
      length += member.length + 1
      telling ||= member.telling
      if (member.key === undefined) key = undefined
      if (names !== undefined) {
        length += names[at]!.length + 3
        if (key !== undefined) key += `${JSON.stringify(name)}:`
      }
      // Keys differ in length and may hold anything: what is before one says where it ends.
      if (key !== undefined) key += `${member.key!.length} ${member.key}`
    }
    telling ||= length >= TELLING_CONTAINER_LENGTH_MIN
    if (key === undefined) return { key, length, telling }
    const short = shortened(key)
    if (telling) this.#give(short, true, mark)
    return { key: short, length, telling }
  }

  #give(key: string, container: boolean, mark: number): void {
    const hit = this.#visit({ key, container, pointer: () => this.#pointer() })
    if (hit === undefined) return
    this.hits.length = mark
    this.hits.push(hit)
  }

  #unseen(): Keyed {
    this.whole = false
    return { key: undefined, length: TELLING_CONTAINER_LENGTH_MIN, telling: true }
  }

  #pointer(): string {
    let pointer = ''
    for (const step of this.#path) pointer += pointerStep(String(step))
    return pointer
  }
}

function shortened(key: string): string {
  return key.length <= KEY_LENGTH_MAX ? key : `#${sha256(Buffer.from(key))}`
}

/** Whether a text may be an object or a list. */
function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text)
}
