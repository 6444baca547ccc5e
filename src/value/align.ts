/**
 * Which elements of two sequences stand for each other.
 * Knows numbers only: the caller gives equal elements equal numbers (see `ValueClasses`).
 */

/**
 * Edits that one search may need before it settles for the best start it has. Bounds the time to
 * O(length * edits) and the memory to O(edits²).
 */
export const ALIGN_EDITS_MAX = 1000

export interface Alignment {
  /** For each left index its right partner, or -1; partners ascend. */
  readonly partner: Int32Array
  /** True where the bound was reached: more elements may be alike than are paired. */
  readonly cut: boolean
}

/** Neighbouring elements that have no partner; either side may be empty, never both. */
export interface Gap {
  readonly leftFrom: number
  readonly leftTo: number
  readonly rightFrom: number
  readonly rightTo: number
}

/**
 * Pair as many equal elements as can be, in order.
 * The search is Myers' (An O(ND) Difference Algorithm, 1986), kept short by what comes first: equal
 * starts and ends pair at once, and what one side does not have at all is left out.
 */
export function align(
  left: ArrayLike<number>,
  right: ArrayLike<number>,
  editsMax = ALIGN_EDITS_MAX,
): Alignment {
  const partner = new Int32Array(left.length).fill(-1)
  let start = 0
  const shorter = Math.min(left.length, right.length)
  while (start < shorter && left[start] === right[start]) {
    partner[start] = start
    start += 1
  }
  let leftEnd = left.length
  let rightEnd = right.length
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd -= 1
    rightEnd -= 1
    partner[leftEnd] = rightEnd
  }
  const leftKept = sharedIndexes(left, start, leftEnd, right, start, rightEnd)
  const rightKept = sharedIndexes(right, start, rightEnd, left, start, leftEnd)
  const search = new Search(
    leftKept.map((at) => left[at]!),
    rightKept.map((at) => right[at]!),
    (i, j) => {
      partner[leftKept[i]!] = rightKept[j]!
    },
  )
  return { partner, cut: search.run(Math.max(1, editsMax)) }
}

/** What lies between the pairs of an alignment, in order. */
export function* gapsOf(alignment: Alignment, rightLength: number): Generator<Gap> {
  const { partner } = alignment
  let leftFrom = 0
  let rightFrom = 0
  for (let at = 0; at <= partner.length; at++) {
    const to = at === partner.length ? rightLength : partner[at]!
    if (to < 0) continue
    if (leftFrom < at || rightFrom < to) yield { leftFrom, leftTo: at, rightFrom, rightTo: to }
    leftFrom = at + 1
    rightFrom = to + 1
  }
}

/** Indexes in `[from, to)` of elements that are anywhere in the given part of `other`. */
function sharedIndexes(
  elements: ArrayLike<number>,
  from: number,
  to: number,
  other: ArrayLike<number>,
  otherFrom: number,
  otherTo: number,
): Int32Array {
  const there = new Set<number>()
  for (let at = otherFrom; at < otherTo; at++) there.add(other[at]!)
  const kept: number[] = []
  for (let at = from; at < to; at++) if (there.has(elements[at]!)) kept.push(at)
  return Int32Array.from(kept)
}

/** No path of so many edits ends on this diagonal. */
const NOWHERE = -1

/**
 * Diagonal k holds the places (x, y) with x - y = k. Row d holds, for k = -d, -d + 2, ..., d, how
 * far (as x) a path of d edits gets on k; its i-th entry is k = 2i - d.
 */
class Search {
  readonly #left: Int32Array
  readonly #right: Int32Array
  readonly #pair: (i: number, j: number) => void
  /** Where this part of the search starts. */
  #leftFrom = 0
  #rightFrom = 0

  constructor(left: Int32Array, right: Int32Array, pair: (i: number, j: number) => void) {
    this.#left = left
    this.#right = right
    this.#pair = pair
  }

  /** @returns Whether the bound was reached, so that the pairs may not be the most there are. */
  run(editsMax: number): boolean {
    let cut = false
    while (!this.#part(editsMax)) cut = true
    return cut
  }

  /**
   * Search from the start on, up to the end or `editsMax` edits.
   * @returns Whether it got to the end.
   */
  #part(editsMax: number): boolean {
    const width = this.#left.length - this.#leftFrom
    const height = this.#right.length - this.#rightFrom
    const rows: Int32Array[] = []
    for (let d = 0; ; d++) {
      const row = this.#row(d, rows[d - 1], width, height)
      rows.push(row)
      const last = width - height + d
      // The end lies on diagonal width - height, which only every other row has.
      if (last >= 0 && last <= 2 * d && last % 2 === 0 && row[last / 2] === width) {
        this.#trace(rows, last / 2, width, height)
        return true
      }
      if (d === editsMax) {
        const best = furthest(row, d)
        const x = row[best]!
        this.#trace(rows, best, width, height)
        this.#leftFrom += x
        this.#rightFrom += x - (2 * best - d)
        return false
      }
    }
  }

  #row(d: number, previous: Int32Array | undefined, width: number, height: number): Int32Array {
    const row = new Int32Array(d + 1)
    for (let i = 0; i <= d; i++) {
      const k = 2 * i - d
      let x = previous === undefined ? 0 : entryOf(previous, i, d, width, height)
      if (x !== NOWHERE) {
        while (x < width && x - k < height && this.#same(x, x - k)) x += 1
      }
      row[i] = x
    }
    return row
  }

  #same(x: number, y: number): boolean {
    return this.#left[this.#leftFrom + x] === this.#right[this.#rightFrom + y]
  }

  /** Walk the path that ends in entry `i` of the last row backwards, pairing what it pairs. */
  #trace(rows: readonly Int32Array[], from: number, width: number, height: number): void {
    let i = from
    for (let d = rows.length - 1; d >= 0; d--) {
      const k = 2 * i - d
      const previous = rows[d - 1]
      const begin = previous === undefined ? 0 : entryOf(previous, i, d, width, height)
      for (let x = rows[d]![i]! - 1; x >= begin; x--) {
        this.#pair(this.#leftFrom + x, this.#rightFrom + x - k)
      }
      if (previous !== undefined && removed(previous, i, width) === begin) i -= 1
    }
  }
}

/** Where a path enters diagonal 2i - d with its d-th edit: the further of removing and adding. */
function entryOf(
  previous: Int32Array,
  i: number,
  d: number,
  width: number,
  height: number,
): number {
  return Math.max(removed(previous, i, width), added(previous, i, d, height))
}

function removed(previous: Int32Array, i: number, width: number): number {
  const x = i === 0 ? NOWHERE : previous[i - 1]!
  return x === NOWHERE || x === width ? NOWHERE : x + 1
}

function added(previous: Int32Array, i: number, d: number, height: number): number {
  const x = i === d ? NOWHERE : previous[i]!
  return x === NOWHERE || x - (2 * i - d) > height ? NOWHERE : x
}

/** The entry of a row whose place is furthest from the start, counting both sides. */
function furthest(row: Int32Array, d: number): number {
  let best = 0
  let bestSum = Number.NEGATIVE_INFINITY
  for (let i = 0; i <= d; i++) {
    const sum = row[i] === NOWHERE ? Number.NEGATIVE_INFINITY : 2 * row[i]! - (2 * i - d)
    if (sum > bestSum) {
      best = i
      bestSum = sum
    }
  }
  return best
}
