/**
 * Which differences follow from earlier ones.
 * Goes by evidence: the parent or a dep differs, a step inside differs, or the same change was seen
 * in an earlier payload. Being later alone is no evidence.
 */
import { valueDigest } from '../core/canonical.js'
import type { StepGraph } from '../fold/step-graph.js'
import type { StepPair } from '../fold/step-match.js'
import { isContainer } from '../value/value-class.js'
import type { PayloadDiff } from './payload-diff.js'
import type { PayloadPrint } from './run-outline.js'

type Pair = StepPair<PayloadPrint>

/** Texts and numbers written shorter than this are alike by chance. */
const TELLING_LENGTH_MIN = 4
/** Texts shorter than this are not looked for inside others. */
const CARRIED_LENGTH_MIN = 12
/** Characters that one comparison of runs may search for carried texts. */
const SEARCH_LENGTH_MAX = 256 * 1024 * 1024

export interface Lineages {
  readonly pairs: readonly Pair[]
  readonly left: StepGraph<PayloadPrint>
  readonly right: StepGraph<PayloadPrint>
}

export class DiffLineage {
  /** Pairs with a difference of their own. */
  readonly #changed = new Set<Pair>()
  /** Pairs with a difference somewhere inside. */
  readonly #within = new Set<Pair>()
  readonly #pairOfLeft = new Map<string, Pair>()
  readonly #pairOfRight = new Map<string, Pair>()
  readonly #carried = new Set<string>()
  readonly #texts: { readonly left: string; readonly right: string }[] = []
  #searchable = SEARCH_LENGTH_MAX
  readonly #graphs: Lineages

  constructor(graphs: Lineages) {
    this.#graphs = graphs
    for (const pair of graphs.pairs) {
      if (pair.left !== undefined) this.#pairOfLeft.set(pair.left.id, pair)
      if (pair.right !== undefined) this.#pairOfRight.set(pair.right.id, pair)
    }
  }

  /** Whether a step has a difference of its own. */
  hasChanged(pair: Pair): boolean {
    return this.#changed.has(pair)
  }

  /**
   * Whether a difference of a step follows from those noted so far; `ending`: it shows as the step
   * ends.
   */
  follows(pair: Pair, ending: boolean): boolean {
    if (this.#changed.has(pair) || (ending && this.#within.has(pair))) return true
    for (let above = pair.above; above !== undefined; above = above.above)
      if (this.#changed.has(above)) return true
    const { left, right } = this.#graphs
    return (
      this.#anyChanged(pair.left?.deps ?? [], left, this.#pairOfLeft) ||
      this.#anyChanged(pair.right?.deps ?? [], right, this.#pairOfRight)
    )
  }

  #anyChanged(
    deps: readonly string[],
    graph: StepGraph<PayloadPrint>,
    pairs: ReadonlyMap<string, Pair>,
  ): boolean {
    return deps.some((dep) => {
      // A step inside one that only one side has is paired as part of that one.
      let id: string | undefined = dep
      while (id !== undefined && !pairs.has(id)) id = graph.node(id)?.parent
      const pair = id === undefined ? undefined : pairs.get(id)
      return pair !== undefined && this.#changed.has(pair)
    })
  }

  note(pair: Pair): void {
    this.#changed.add(pair)
    for (let above = pair.above; above !== undefined; above = above.above) {
      if (this.#within.has(above)) break
      this.#within.add(above)
    }
  }

  /**
   * Whether a change in `diff` was carried here: the same one was seen before, or is inside its
   * texts.
   */
  carries(diff: PayloadDiff): boolean {
    return changesOf(diff).some(
      ([left, right]) =>
        isTelling(left) &&
        isTelling(right) &&
        (this.#carried.has(valueDigest([left, right])) || this.#isInside(left, right)),
    )
  }

  noteValues(diff: PayloadDiff): void {
    for (const [left, right] of changesOf(diff)) {
      if (!isTelling(left) || !isTelling(right)) continue
      const key = valueDigest([left, right])
      if (this.#carried.has(key)) continue
      this.#carried.add(key)
      if (typeof left !== 'string' || typeof right !== 'string') continue
      if (Math.min(left.length, right.length) >= CARRIED_LENGTH_MIN)
        this.#texts.push({ left, right })
    }
  }

  #isInside(left: unknown, right: unknown): boolean {
    if (typeof left !== 'string' || typeof right !== 'string') return false
    return this.#texts.some((text) => {
      if (left.length < text.left.length || right.length < text.right.length) return false
      this.#searchable -= left.length + right.length
      return this.#searchable >= 0 && left.includes(text.left) && right.includes(text.right)
    })
  }
}

/** What became what; what was only added or removed is not carried anywhere as a change. */
function changesOf(diff: PayloadDiff): (readonly [left: unknown, right: unknown])[] {
  if (diff.text !== undefined) return [[diff.text.left, diff.text.right]]
  return diff.changes.flatMap((change) =>
    change.op === 'replace' ? [[change.left, change.right] as const] : [],
  )
}

/** Whether finding this value again says where it came from. */
function isTelling(value: unknown): boolean {
  if (isContainer(value)) return Object.keys(value).length > 0
  if (value instanceof Date) return true
  if (value === null || value === undefined || typeof value === 'boolean') return false
  return String(value).length >= TELLING_LENGTH_MIN
}
