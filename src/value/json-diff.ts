/**
 * How two values differ, as places and what stands there.
 * Compares structure only: a text that differs is one change, and rendering it is for the caller.
 */
import { pointerStep } from '../core/pointer.js'
import { align, type Gap, gapsOf } from './align.js'
import { isContainer, isSameScalar, isSameValue, ValueClasses } from './value-class.js'

/** Changes listed unless told otherwise. */
export const CHANGES_MAX = 1000

/** One place that differs. `left` and `right` are the values themselves, not copies. */
export interface JsonChange {
  /**
   * Where: in the right value; for a `remove` in the left one. So each pointer can be looked up in
   * the value that has something there.
   */
  readonly pointer: string
  readonly op: 'add' | 'remove' | 'replace'
  /** Absent for an `add`. */
  readonly left?: unknown
  /** Absent for a `remove`. */
  readonly right?: unknown
  /** Of a `replace`: the place in the left value, where that is another. */
  readonly leftPointer?: string
}

export interface JsonDiff {
  /** In the order of the document; none where the values are equal. */
  readonly changes: readonly JsonChange[]
  /** Changes beyond the limit, counted only. */
  readonly more: number
  /**
   * True where two lists were too different to be aligned in the best way: all changes are true,
   * but fewer might do.
   */
  readonly cut: boolean
}

const SAME: JsonDiff = { changes: [], more: 0, cut: false }

/**
 * Compare two values: JSON, and what daglog records besides (undefined, NaN, -0, infinities,
 * bigint, Date, Uint8Array). The order of keys does not count. Elements of lists are aligned by
 * what they are.
 * Depth costs memory, not stack; values must not contain themselves.
 */
export function diffJson(
  left: unknown,
  right: unknown,
  options: { readonly limit?: number } = {},
): JsonDiff {
  if (isSameValue(left, right)) return SAME
  const { limit = CHANGES_MAX } = options
  const comparison = new Comparison()
  const changes: JsonChange[] = []
  let more = 0
  const open = [comparison.visit({ left, right, leftAt: '', rightAt: '' })]
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { done, value } = top.next()
    if (done === true) open.pop()
    else if (!('op' in value)) open.push(comparison.visit(value))
    else if (changes.length < limit) changes.push(value)
    else more += 1
  }
  return { changes, more, cut: comparison.cut }
}

/** A value on each side that stand for each other, and their places. */
interface Pair {
  readonly left: unknown
  readonly right: unknown
  readonly leftAt: string
  readonly rightAt: string
}

interface ListPair extends Pair {
  readonly left: readonly unknown[]
  readonly right: readonly unknown[]
}

type Found = JsonChange | Pair

class Comparison {
  cut = false
  readonly #classes = new ValueClasses()

  /** The changes of a pair, and the pairs inside it that are to be visited, in order. */
  visit(pair: Pair): Generator<Found, void> {
    const { left, right } = pair
    if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right))
      return compare(pair)
    return Array.isArray(left) ? this.#elements(pair as ListPair) : members(pair)
  }

  *#elements(pair: ListPair): Generator<Found, void> {
    const left = pair.left.map((element) => this.#classes.of(element))
    const right = pair.right.map((element) => this.#classes.of(element))
    const alignment = align(left, right)
    this.cut ||= alignment.cut
    for (const gap of gapsOf(alignment, right.length)) yield* this.#gap(pair, gap)
  }

  /** Elements that have no equal: first those that are of one kin, then by position. */
  *#gap(pair: ListPair, gap: Gap): Generator<Found, void> {
    const left = pair.left.slice(gap.leftFrom, gap.leftTo)
    const right = pair.right.slice(gap.rightFrom, gap.rightTo)
    const place = (i: number, j: number) => elementPair(pair, gap.leftFrom + i, gap.rightFrom + j)
    const alignment = align(
      left.map((element) => this.#classes.of(kinOf(element))),
      right.map((element) => this.#classes.of(kinOf(element))),
    )
    this.cut ||= alignment.cut
    let i = 0
    let j = 0
    for (let at = 0; at <= left.length; at++) {
      const to = at === left.length ? right.length : alignment.partner[at]!
      if (to < 0) continue
      while (i < at && j < to) yield* compare(place(i++, j++))
      while (i < at) yield removal(place(i++, j))
      while (j < to) yield addition(place(i, j++))
      if (at < left.length) yield* compare(place(i++, j++))
    }
  }
}

function elementPair(pair: ListPair, i: number, j: number): Pair {
  return {
    left: pair.left[i],
    right: pair.right[j],
    leftAt: pair.leftAt + pointerStep(i),
    rightAt: pair.rightAt + pointerStep(j),
  }
}

function* members(pair: Pair): Generator<Found, void> {
  const left = pair.left as Record<string, unknown>
  const right = pair.right as Record<string, unknown>
  const member = (key: string): Pair => ({
    left: left[key],
    right: right[key],
    leftAt: pair.leftAt + pointerStep(key),
    rightAt: pair.rightAt + pointerStep(key),
  })
  for (const key of Object.keys(left)) {
    if (Object.hasOwn(right, key)) yield* compare(member(key))
    else yield removal(member(key))
  }
  for (const key of Object.keys(right)) {
    if (!Object.hasOwn(left, key)) yield addition(member(key))
  }
}

/** The change between two values, or the pair itself where the change is inside it. */
function* compare(pair: Pair): Generator<Found, void> {
  const { left, right, leftAt, rightAt } = pair
  if (Object.is(left, right)) return
  if (isContainer(left) && isContainer(right) && Array.isArray(left) === Array.isArray(right)) {
    yield pair
  } else if (!isSameScalar(left, right)) {
    const moved = leftAt === rightAt ? {} : { leftPointer: leftAt }
    yield { pointer: rightAt, op: 'replace', left, right, ...moved }
  }
}

function removal({ left, leftAt }: Pair): JsonChange {
  return { pointer: leftAt, op: 'remove', left }
}

function addition({ right, rightAt }: Pair): JsonChange {
  return { pointer: rightAt, op: 'add', right }
}

/** Members that tell what an element is rather than what it says. */
const KIN_KEYS = ['id', 'key', 'name', 'role', 'type'] as const
const KIN_TEXT_LENGTH_MAX = 256

/** What elements have in common that are versions of the same thing, as text. */
function kinOf(element: unknown): string {
  if (!isContainer(element)) return 'scalar'
  if (Array.isArray(element)) return 'list'
  const marks = KIN_KEYS.map((key) => {
    const mark = Object.hasOwn(element, key) ? (element as Record<string, unknown>)[key] : undefined
    const short = typeof mark === 'string' && mark.length <= KIN_TEXT_LENGTH_MAX
    return short || typeof mark === 'number' ? mark : null
  })
  return JSON.stringify(marks)
}
