/**
 * What an event log means, as a fold: the contract, not the machinery that drives it.
 * @see docs/projections.md
 */
import type { RunEvent } from '../core/event.js'

/**
 * A named, versioned, pure fold over the events of a run.
 *
 * `apply` is synchronous, reads no clock and draws no random number. It returns the *same
 * reference* where an event does not concern it: that is how everything behind it knows that
 * nothing is to do. It never changes the state it is given, nor the event.
 */
export interface Projection<S, V = S> {
  /** One in a registry. Also the name of its snapshots. */
  readonly key: string
  /** Bumped whenever the meaning of a state changes; snapshots of another version are not used. */
  readonly version: number
  /** The only types that `apply` is called for; all unless given. A smaller choice is faster. */
  readonly types?: readonly string[]
  /**
   * Whether each event of `types` that is taken says the whole state, whatever came before it: then
   * a cold read asks for the last one and nothing else, and no snapshot is kept.
   */
  readonly whole?: boolean
  /**
   * Whether a fork begins with the state of its parent; true unless told. Totals of what a run
   * itself did say false.
   */
  readonly inherits?: boolean
  /** Whether a snapshot's state is one. A snapshot that it refuses is not used. */
  readonly schema?: StateSchema
  init(): S
  apply(state: S, event: RunEvent): S
  /**
   * What readers of the projection get; the state itself unless given. Pure, and called at most
   * once a state.
   */
  view?(state: S): V
}

/**
 * The part of Standard Schema (standardschema.dev, version 1) that is used: any of its validators
 * fits.
 */
export interface StateSchema {
  readonly '~standard': {
    readonly validate: (value: unknown) => unknown
  }
}

/** Any projection, whatever its state and view are. */
// biome-ignore lint/suspicious/noExplicitAny: a registry holds projections of all states.
export type AnyProjection = Projection<any, any>
