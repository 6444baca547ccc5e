/**
 * The values of a run under audit: each object is read and hashed once, however many events refer
 * to it.
 */
import type { Ref } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { StoreContext } from './context.js'
import { loadValue, missing, valueObjects } from './values.js'

export class ValueAudit {
  /** Values that were read whole, by all that their ref says. */
  private readonly values = new Set<string>()
  private readonly nodes = new Set<Hash>()

  constructor(
    private readonly context: StoreContext,
    private readonly run: string,
  ) {}

  /** Values, and nodes of states, that are as they were written. */
  get count(): number {
    return this.values.size + this.nodes.size
  }

  /** What is wrong with the values of one event. */
  async check(refs: readonly Ref[], seq: number): Promise<readonly DaglogError[]> {
    const errors: DaglogError[] = []
    for (const ref of refs) {
      const known = `${ref.root} ${ref.sha256} ${ref.size}`
      if (this.values.has(known)) continue
      try {
        await this.read(ref, seq)
        // A tree's root is one of its nodes.
        if (ref.kind !== 'tree') this.values.add(known)
      } catch (error) {
        if (!(error instanceof DaglogError)) throw error
        errors.push(error)
      }
    }
    return errors
  }

  /** A state shares most of its nodes with the one before: each is read once. */
  private async read(ref: Ref, seq: number): Promise<void> {
    const { backend } = this.context
    const by = { run: this.run, seq }
    if (ref.kind !== 'tree') {
      await loadValue(backend, ref, by)
      return
    }
    for await (const { hash, object } of valueObjects(backend, ref, this.run, this.nodes)) {
      if (object !== undefined) continue
      // Whoever else refers to it is to be told of, too.
      this.nodes.delete(hash)
      throw missing(hash, ref, by)
    }
  }
}
