/**
 * Events on their way into a log. Types only.
 */
import type { EncodedData } from '../core/body.js'
import type { Tree } from '../value/tree.js'

/** An event to append together with others. */
export interface NewEvent extends AppendOptions {
  readonly type: string
  readonly data: unknown
}

/** An event with values that share all they can with those before them. */
export interface TreeEvent extends Omit<NewEvent, 'op'> {
  /** By pointer; `data` has `null` there. */
  readonly trees: ReadonlyMap<string, Tree>
}

export interface AppendOptions {
  /**
   * A name of your own for this append: the same one again, after whatever went wrong, is the same
   * event.
   */
  readonly op?: string | undefined
}

/** The same, its data taken as it was. */
export interface EncodedEvent {
  readonly type: string
  readonly data: EncodedData
  /** When it happened, where that was earlier. */
  readonly time?: number
  /** The state that it writes, instead of `data`: what is new of it is known once it is written. */
  readonly state?: Tree | undefined
  /** Values in it that are trees, by pointer; `data` has `null` there. */
  readonly trees?: ReadonlyMap<string, Tree>
  readonly op?: string | undefined
}
