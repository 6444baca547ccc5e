/**
 * What raw events mean as session events: the contract of a reader.
 * Raw lines of a transcript and recorded exchanges are kept as they are; what they mean is derived
 * each time they are read, so that a better reader improves the past. Nothing derived is ever
 * stored.
 */
import type { RunEvent } from '../core/event.js'

/** A session event that a reader found inside a raw one. */
export interface Derived {
  /**
   * Where inside the raw event, from 0, not falling; several may share a line. Its address is
   * `SEQ.LINE`.
   */
  readonly line: number
  /** Milliseconds since 1970, as the source says; that of the raw event where it says nothing. */
  readonly time?: number
  readonly type: string
  readonly data: unknown
}

/**
 * A named, versioned, pure function from raw events to session events, which may remember what it
 * read before: it is a fold that also puts out events.
 * The state is plain data (JSON); it goes into snapshots together with the states of projections.
 */
export interface Reader<S> {
  readonly key: string
  /** Bumped whenever it would derive something else from the same bytes. */
  readonly version: number
  /** The only types that `read` is called for. */
  readonly types: readonly string[]
  init(): S
  /**
   * Never throws on what the raw event says: what makes no sense is derived as a `note` that says
   * so.
   */
  read(state: S, event: RunEvent): { readonly state: S; readonly events: readonly Derived[] }
}

// biome-ignore lint/suspicious/noExplicitAny: a list holds readers of all states.
export type AnyReader = Reader<any>
