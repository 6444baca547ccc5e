/**
 * What an audit of a run says.
 */
import type { Hash } from '../core/hash.js'
import type { Stray } from './log-reader.js'

/**
 * How much is proven. `self-consistent`: no edit, reorder or removal inside by someone who could not
 * recompute the chain. `head-log`: also no cut and no rewrite of what the head covers, by someone who
 * could not edit the store's log too. `anchored`: the same against a head kept elsewhere.
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
