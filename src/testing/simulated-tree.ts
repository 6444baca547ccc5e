/**
 * The directories of a simulated disk: the names a program sees, and the name changes that a power
 * loss may take back.
 * Knows nodes and names; not paths, errors or what is in a file.
 */
import { SimulatedFile } from './simulated-file.js'

export type SimulatedNode = SimulatedFile | SimulatedDirectory

export class SimulatedDirectory {
  /** As a program sees it. */
  readonly entries: Map<string, SimulatedNode>
  /** What certainly survives, before the tree's pending operations. */
  readonly durable: Map<string, SimulatedNode>

  /** A directory with these entries, durably. */
  constructor(entries: ReadonlyMap<string, SimulatedNode> = new Map()) {
    this.entries = new Map(entries)
    this.durable = new Map(entries)
  }
}

/** One name set to a node, or (undefined) to nothing. */
export interface EntryChange {
  readonly directory: SimulatedDirectory
  readonly name: string
  readonly node: SimulatedNode | undefined
}

/** Changes that survive together or not at all: one, or the two of a rename. */
export interface DirectoryOperation {
  readonly changes: readonly EntryChange[]
  /** Whose sync makes it durable. For a rename, the directory that gains the name. */
  readonly syncedBy: SimulatedDirectory
  durable: boolean
}

export class SimulatedTree {
  readonly root: SimulatedDirectory
  #pending: DirectoryOperation[] = []

  constructor(root: SimulatedDirectory = new SimulatedDirectory()) {
    this.root = root
  }

  /** Operations since the durable entries, in order; a durable one waits for others of its name. */
  get pending(): readonly DirectoryOperation[] {
    return this.#pending
  }

  set(directory: SimulatedDirectory, name: string, node: SimulatedNode | undefined): void {
    this.#do(directory, [{ directory, name, node }])
  }

  /** Atomic between directories too, as where both names are journaled in one transaction. */
  rename(from: EntryChange, to: EntryChange): void {
    this.#do(to.directory, [
      { ...from, node: undefined },
      { ...to, node: from.node },
    ])
  }

  sync(directory: SimulatedDirectory): void {
    for (const operation of this.#pending) {
      if (operation.syncedBy === directory) operation.durable = true
    }
    const waiting = new Map<SimulatedDirectory, Set<string>>()
    const mustWait = ({ directory, name }: EntryChange) =>
      waiting.get(directory)?.has(name) === true
    this.#pending = this.#pending.filter(({ durable, changes }) => {
      if (durable && !changes.some(mustWait)) {
        for (const change of changes) put(change.directory.durable, change)
        return false
      }
      for (const { directory, name } of changes) {
        const names = waiting.get(directory)
        if (names === undefined) waiting.set(directory, new Set([name]))
        else names.add(name)
      }
      return true
    })
  }

  /** The entries of each directory that `kept` and the durable operations change; no others. */
  entriesAfter(
    kept: ReadonlySet<DirectoryOperation>,
  ): Map<SimulatedDirectory, Map<string, SimulatedNode>> {
    const after = new Map<SimulatedDirectory, Map<string, SimulatedNode>>()
    for (const operation of this.#pending) {
      if (!operation.durable && !kept.has(operation)) continue
      for (const change of operation.changes) {
        let entries = after.get(change.directory)
        if (entries === undefined) {
          entries = new Map(change.directory.durable)
          after.set(change.directory, entries)
        }
        put(entries, change)
      }
    }
    return after
  }

  /** Every node that a name leads to, now or after some crash. */
  reachable(): Set<SimulatedNode> {
    const added = new Map<SimulatedDirectory, SimulatedNode[]>()
    for (const { directory, node } of this.#pending.flatMap(({ changes }) => changes)) {
      if (node === undefined) continue
      const nodes = added.get(directory)
      if (nodes === undefined) added.set(directory, [node])
      else nodes.push(node)
    }
    const found = new Set<SimulatedNode>([this.root])
    // A Set also walks what is added to it on the way.
    for (const node of found) {
      if (node instanceof SimulatedFile) continue
      for (const child of node.entries.values()) found.add(child)
      for (const child of node.durable.values()) found.add(child)
      for (const child of added.get(node) ?? []) found.add(child)
    }
    return found
  }

  /** An independent copy that shares the bytes of files, without what can no longer be reached. */
  clone(): SimulatedTree {
    const copies = new Map<SimulatedNode, SimulatedNode>()
    const directories = new Map<SimulatedDirectory, SimulatedDirectory>()
    for (const node of this.reachable()) {
      if (node instanceof SimulatedFile) {
        copies.set(node, node.clone())
      } else {
        const copy = new SimulatedDirectory()
        copies.set(node, copy)
        directories.set(node, copy)
      }
    }
    for (const [directory, copy] of directories) {
      for (const [name, node] of directory.entries) copy.entries.set(name, copies.get(node)!)
      for (const [name, node] of directory.durable) copy.durable.set(name, copies.get(node)!)
    }
    const tree = new SimulatedTree(directories.get(this.root))
    for (const { changes, syncedBy, durable } of this.#pending) {
      if (!changes.some(({ directory }) => directories.has(directory))) continue
      tree.#pending.push({
        // A rename may reach into a directory that is gone; a copy of its own stands in for that.
        changes: changes.map(({ directory, name, node }) => ({
          directory: directories.get(directory) ?? new SimulatedDirectory(),
          name,
          node: node && copies.get(node),
        })),
        syncedBy: directories.get(syncedBy) ?? new SimulatedDirectory(),
        durable,
      })
    }
    return tree
  }

  #do(syncedBy: SimulatedDirectory, changes: readonly EntryChange[]): void {
    for (const change of changes) put(change.directory.entries, change)
    this.#pending.push({ changes, syncedBy, durable: false })
  }
}

function put(entries: Map<string, SimulatedNode>, { name, node }: EntryChange): void {
  if (node === undefined) entries.delete(name)
  else entries.set(name, node)
}
