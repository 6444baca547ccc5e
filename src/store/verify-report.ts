/**
 * What an audit of a run says.
 */
import type { Hash } from '../core/hash.js'
import type { Place } from './log-reader.js'
import type { Stray } from './log-shape.js'
import { type Damage, FAULTS, type Torn } from './log-tail.js'
import type { BadLine } from './log-walk.js'

/**
 * How much is proven. `self-consistent`: no edit, reorder or removal inside by someone who could
 * not recompute the chain. `head-log`: also no cut and no rewrite of what the head covers, by
 * someone who could not edit the store's log too. `anchored`: the same against a head kept
 * elsewhere.
 */
export type VerifyLevel = 'none' | 'self-consistent' | 'head-log' | 'anchored'

/** Something that is not as it was written. */
export interface Problem {
  readonly kind: 'frame' | 'medium' | 'object' | 'redaction' | 'head' | 'identity' | 'parent'
  readonly seq: number
  readonly segment?: number
  readonly byte?: number
  readonly reason: string
  readonly expected?: string
  readonly found?: string
}

export interface RunReport {
  readonly run: string
  readonly ok: boolean
  readonly level: VerifyLevel
  readonly events: number
  /** Objects that were read and hashed, each once. */
  readonly objects: number
  readonly bytes: number
  readonly head: { readonly seq: number; readonly hash: Hash } | undefined
  /** Up to which seq the level holds; behind it the run is self-consistent. */
  readonly coveredSeq: number
  readonly problems: readonly Problem[]
  /** Problems beyond `VERIFY_PROBLEMS_MAX`, counted only. */
  readonly problemsMore: number
  /** What is missing without being wrong: an open turn, a torn end. */
  readonly incomplete: readonly string[]
  /** Redacted events that a `redaction` event names. */
  readonly redacted: readonly number[]
  /** Bytes that a fenced writer left behind; never acknowledged. */
  readonly stray: readonly Stray[]
  readonly parent?: {
    readonly run: Hash
    readonly seq: number
    readonly id?: string
    readonly checked: boolean
  }
}

/** A head that was kept outside the store. */
export interface KnownHead {
  readonly seq: number
  readonly hash: Hash
}

export const VERIFY_PROBLEMS_MAX = 20

/** A line that is not the frame that belongs there, and how far reading jumps. */
export function frameProblem(
  bad: BadLine,
  damage: Damage | undefined,
  next: Place | undefined,
): Problem {
  const { seq, segment, from, expected, found } = bad
  const gap = next === undefined ? '' : `; ${next.from - from} bytes are skipped`
  return {
    kind: 'frame',
    seq,
    segment,
    byte: from,
    reason: `${damage?.reason ?? FAULTS[bad.fault]}${gap}`,
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
  }
}

/** What is said of a torn end. */
export function tornText(torn: Torn | undefined): string[] {
  if (torn === undefined) return []
  const doubt = torn.maybeAcknowledged
    ? '; they may have been acknowledged: nothing tells torn from tampered here'
    : ''
  return [`${torn.bytes} torn bytes at ${torn.offset} of segment ${torn.segment}${doubt}`]
}
