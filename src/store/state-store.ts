/**
 * The states of one run: trees whose nodes are objects, shared between versions.
 * Knows trees and where their nodes are; when a state is written is the run's business.
 * @see docs/format.md#trees
 */
import type { Backend } from '../backend/backend.js'
import type { PreparedValue, Ref } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import { loadTree, type Tree, TreeStore } from '../value/tree.js'
import { type Referrer, valueObjects } from './values.js'

export class StateStore {
  private fresh: StoredObject[] = []
  private readonly trees: TreeStore
  /** Nodes that were fetched ahead, where the medium cannot read without waiting. */
  private readonly ahead = new Map<Hash, Uint8Array>()

  constructor(
    private readonly backend: Backend,
    private readonly run: string,
  ) {
    this.trees = new TreeStore({
      load: (hash) => this.ahead.get(hash) ?? this.readNow(hash),
      put: (object) => this.fresh.push({ ...object, bytes: Buffer.from(object.bytes) }),
    })
  }

  private readNow(hash: Hash): Uint8Array | undefined {
    const { getObjectNow } = this.backend
    if (getObjectNow === undefined)
      throw new DaglogError('INVARIANT', `object ${hash} was not fetched ahead`)
    return getObjectNow.call(this.backend, hash, this.run)
  }

  /**
   * Name what is new of a state. The caller must store `objects` with the event; where that fails,
   * this store counts on objects that are not there and must be dropped.
   */
  prepare(tree: Tree, pointer: string): PreparedValue {
    this.fresh = []
    const root = tree.commit(this.trees)
    const ref: Ref = { pointer, sha256: root, root, size: 0, kind: 'tree' }
    const objects = this.fresh
    // A first state may be many megabytes, which nobody needs once they are written.
    this.fresh = []
    return { pointer, ref, objects }
  }

  /** The state under a root; its nodes are read as they are needed. */
  async load(root: Hash, by: Referrer): Promise<Tree> {
    if (this.backend.getObjectNow === undefined) await this.fetch(root)
    return loadTree(root, this.trees, `run ${by.run}, seq ${by.seq}`)
  }

  private async fetch(root: Hash): Promise<void> {
    const ref: Ref = { pointer: '', sha256: root, root, size: 0, kind: 'tree' }
    for await (const { object } of valueObjects(
      this.backend,
      ref,
      this.run,
      new Set(this.ahead.keys()),
    )) {
      if (object !== undefined) this.ahead.set(object.hash, object.bytes)
    }
  }
}
