/**
 * The state of a run that is being written: what it is now, and what of it was acknowledged.
 * A change is shown as soon as it is on its way, so that the next one builds on it; where it comes
 * to nothing, the state is again what it was. Knows neither logs nor events.
 */
import type { Backend } from '../backend/backend.js'
import type { EncodedData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { STATE_TYPE } from '../fold/run-index.js'
import { Tree, treeFrom } from '../value/tree.js'
import { StateStore } from './state-store.js'

/** A state, none yet, or why nobody knows it. */
type Known = Tree | undefined | DaglogError

const EMPTY = treeFrom({})

export class RunState {
  private latest: Known
  private settled: Known
  private nodes: StateStore

  constructor(
    private readonly backend: Backend,
    private readonly run: string,
  ) {
    this.nodes = new StateStore(backend, run)
  }

  /** Where the nodes of states are; what was put there counts as stored. */
  get store(): StateStore {
    return this.nodes
  }

  /**
   * The state now; `{}` where none was written.
   * @throws OBJECT_MISSING, OBJECT_CORRUPT, RUN_NOT_FOUND
   */
  get tree(): Tree {
    if (this.latest instanceof DaglogError) throw this.latest
    return this.latest ?? EMPTY
  }

  /**
   * Start anew from what the log says. A state that cannot be read stops nothing but its own use.
   * @param load May read through `store`.
   */
  async begin(load: () => Promise<Tree | undefined>): Promise<void> {
    this.become(undefined)
    try {
      this.settled = await load()
    } catch (error) {
      if (!(error instanceof DaglogError)) throw error
      this.settled = error
    }
    this.latest = this.settled
  }

  /**
   * Nodes that were named but did not get to the disk must not be counted on: they are forgotten.
   */
  private become(known: Known): void {
    this.nodes = new StateStore(this.backend, this.run)
    this.latest = known
  }

  /**
   * The state that an event would write, or undefined where it writes none.
   * @throws VALUE_UNSUPPORTED
   */
  stateOf(type: string, data: unknown): Tree | undefined {
    if (type !== STATE_TYPE || !isStateData(data)) return undefined
    if (data.value instanceof Tree) return data.value
    const near = this.latest instanceof Tree ? this.latest : EMPTY
    return near.set([], data.value)
  }

  /**
   * Make `tree` the state. What is returned must be handed on at once, or the mark before be gone
   * back to.
   */
  encode(tree: Tree): EncodedData {
    const large = [this.nodes.prepare(tree, '/value')]
    this.latest = tree
    return { inline: '{"value":null}', large, tags: [] }
  }

  /** What to call should that which was encoded from now on not be taken. */
  mark(): () => void {
    const { latest } = this
    return () => this.become(latest)
  }

  /**
   * `appending` writes `tree`: that becomes what was acknowledged, or nothing on its way will be.
   */
  async follow<R>(tree: Tree, appending: Promise<R>): Promise<R> {
    try {
      const result = await appending
      this.settled = tree
      return result
    } catch (error) {
      this.become(this.settled)
      throw error
    }
  }
}

/** Just a value: then it is kept as a tree, and later ones share with it. */
function isStateData(data: unknown): data is { readonly value: unknown } {
  return typeof data === 'object' && data !== null && Object.keys(data).join() === 'value'
}
