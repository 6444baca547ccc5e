/**
 * What a function did in another way than its recording says. Data only.
 */
import type { Hash } from '../core/hash.js'
import type { JsonChange } from '../value/json-diff.js'

/** `order` is soft: results went out in another order, and nothing else is known to differ. */
export type DivergenceKind =
  | 'input-changed'
  | 'missing'
  | 'extra'
  | 'renamed'
  | 'output-changed'
  | 'error-changed'
  | 'traffic-miss'
  | 'order'

/** One side of a divergence. */
export interface DivergenceSide {
  /** Id of the run that `seq` counts in. */
  readonly run: string
  readonly seq?: number
  readonly name?: string
  /** Of what differs: the input, or the output. */
  readonly digest?: Hash
  /** Where in the code the step was called. */
  readonly site?: string
}

export interface Divergence {
  readonly kind: DivergenceKind
  /** Names from the top down to the step, `plan/llm#2`; '' is the function itself. */
  readonly path: string
  /** It follows another one, and may be nothing but its consequence. */
  readonly tainted: boolean
  readonly recorded?: DivergenceSide
  readonly now?: DivergenceSide
  /** What differs, as JSON pointers; `left` is what was recorded, `right` what is now. */
  readonly changes?: readonly JsonChange[]
  /** Changes beyond those listed. */
  readonly more?: number
  /** More in words, where there is more to say. */
  readonly note?: string
}

/** What a replay let happen and cannot see into: a child process, a thread. */
export interface Uncovered {
  readonly api: string
  readonly target: string
  /** How often. */
  readonly count: number
}

/** The verdict over a function that was run again. */
export interface ReplayReport {
  /** Nothing was asked, given or thrown in another way than recorded. Soft notes do not count. */
  readonly ok: boolean
  /** The function came to its end; false where the recording ends before it. */
  readonly complete: boolean
  /** The one that counts. */
  readonly first?: Divergence
  /** In the order in which they were found. */
  readonly divergences: readonly Divergence[]
  /** Divergences beyond those listed. */
  readonly more: number
  /** Results that went out in another order than recorded. */
  readonly notes: readonly Divergence[]
  /** What it started that no recording answers. */
  readonly uncovered: readonly Uncovered[]
  /** Steps that were answered from the recording. */
  readonly answered: number
}
