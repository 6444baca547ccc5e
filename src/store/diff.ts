/**
 * How two runs differ: their steps aligned by what they are, then the events about no step.
 * Ids, seqs, times, salts, step keys, stacks and declared deps and effects never count, nor do the
 * names and ends of the runs themselves, unless both ended and ended differently.
 */
import { DaglogError, type ErrorCode } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { OddEvent, PayloadMember, StepNode } from '../fold/step-graph.js'
import { matchSteps, type StepPair } from '../fold/step-match.js'
import { DiffLineage } from './diff-lineage.js'
import { diffPayloads, type PayloadDiff } from './payload-diff.js'
import {
  comparable,
  type OutlinedView,
  outlineOf,
  type PayloadPrint,
  type RunOutline,
  withoutStack,
} from './run-outline.js'
import { type Suspect, suspectsOf } from './suspects.js'

/** Differences listed unless told otherwise. */
export const DIFFERENCES_MAX = 100

/**
 * `renamed`: the same input under another name. `missing`: on the left only; `extra`: on the right only.
 * `event`: an event that is about no step. `order`: steps that both have start in another order, which
 * alone makes no run differ.
 */
export type DifferenceKind =
  | 'input'
  | 'output'
  | 'error'
  | 'status'
  | 'missing'
  | 'extra'
  | 'renamed'
  | 'order'
  | 'event'

/** Where one side of a difference is. */
export interface DifferenceSide {
  /** Of the step; an event that is about none has none. */
  readonly id?: string
  readonly seq: number
  /** Of the exact bytes of the payload, where it lies out of line. */
  readonly sha256?: Hash
}

export interface Difference extends PayloadDiff {
  readonly kind: DifferenceKind
  /** Path of the step (the left one, where both are there); of an event its type. */
  readonly path: string
  readonly left?: DifferenceSide
  readonly right?: DifferenceSide
  /** Of a missing or extra step: how many steps are inside it; they are not listed. */
  readonly inside?: number
  /** It follows from an earlier difference. */
  readonly tainted?: true
  /** It makes no run differ. */
  readonly soft?: true
  /** Payloads that could not be read, so that `changes` says nothing. */
  readonly unreadable?: { readonly left?: Unreadable; readonly right?: Unreadable }
}

export interface Unreadable {
  readonly code: ErrorCode
  readonly message: string
}

export interface RunDiff {
  /** Whether no difference was found that counts. */
  readonly same: boolean
  /** The earliest one that counts, in the order of the left run. */
  readonly first?: Difference
  /** In the order of the left run. */
  readonly differences: readonly Difference[]
  /**
   * How many there are beyond those; absent where there are none. These are counted by their digests,
   * unread, so one that only has its keys in another order is among them.
   */
  readonly cut?: number
  /** Steps of each run, and pairs of steps without a difference. */
  readonly steps: { readonly left: number; readonly right: number; readonly same: number }
  /** What of either run could not be compared, since it does not fit or cannot be read. */
  readonly odd: { readonly left: readonly OddEvent[]; readonly right: readonly OddEvent[] }
  /** Set where the events were too different to be aligned in the best way. */
  readonly bounded?: true
}

export interface DiffOptions {
  readonly left: OutlinedView
  readonly right: OutlinedView
  /** Most differences to list; `DIFFERENCES_MAX` unless told. */
  readonly limit?: number
}

/** Compare two runs. Large values are read only where their hashes differ. */
export async function diffRuns(options: DiffOptions): Promise<RunDiff> {
  const { left, right, limit = DIFFERENCES_MAX } = options
  const leftRun = await outlineOf(left)
  const rightRun = await outlineOf(right)
  const match = matchSteps(leftRun.graph.nodes, rightRun.graph.nodes)
  const { suspects, bounded } = suspectsOf(leftRun, rightRun, match)
  const lineage = new DiffLineage({
    pairs: match.pairs,
    left: leftRun.graph,
    right: rightRun.graph,
  })
  const examiner = new Examiner({ left, right, lineage, limit })
  for (const suspect of suspects) await examiner.examine(suspect)
  const pairs = match.pairs.filter((pair) => pair.left !== undefined && pair.right !== undefined)
  return {
    ...examiner.report(),
    steps: {
      left: leftRun.graph.nodes.length,
      right: rightRun.graph.nodes.length,
      same: pairs.length - pairs.filter((pair) => lineage.hasChanged(pair)).length,
    },
    odd: { left: leftRun.graph.odd, right: rightRun.graph.odd },
    ...(bounded && { bounded }),
  }
}
