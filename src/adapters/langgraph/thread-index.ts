/**
 * The checkpoints of a thread by namespace and id, kept current row by row from its projection.
 * Knows where things are in the log, not what they hold.
 */
import type { Hash } from '../../core/hash.js'
import { type GrowingList, itemAt, lengthOf } from '../../fold/growing-list.js'
import { LAST, type ThreadRow, type ThreadRows } from '../../fold/langgraph-thread.js'

/** Where an event is: in which run (undefined for the thread's own), and at which seq. */
export interface EventPlace {
  readonly run: Hash | undefined
  readonly seq: number
}

export interface CheckpointEntry extends EventPlace {
  readonly ns: string
  readonly id: string
  readonly parent: string | undefined
  /** Events with its pending writes, in the order of the log. */
  readonly writes: readonly EventPlace[]
}

interface Namespace {
  readonly entries: Map<string, CheckpointEntry>
  /** Ids, ascending; undefined where they must be sorted again. */
  sorted: string[] | undefined
}

export class ThreadIndex {
  #namespaces = new Map<string, Namespace>()
  /** Writes for checkpoints: they may come before the checkpoint that they are for. */
  #writes = new Map<string, EventPlace[]>()
  readonly #deleted = new Set<string>()
  #rows: GrowingList<ThreadRow> | undefined
  #taken = 0
  #last = ''

  /** Take in what is new; all of it where the rows are not those that were seen before. */
  follow({ rows }: ThreadRows): this {
    if (this.#rows !== undefined && !goesOn(this.#rows, rows)) this.#begin()
    const length = lengthOf(rows)
    for (; this.#taken < length; this.#taken += 1) {
      this.#take(itemAt(rows, this.#taken) as ThreadRow)
    }
    this.#rows = rows
    return this
  }

  get isEmpty(): boolean {
    return this.#namespaces.size === 0
  }

  namespaces(): string[] {
    return [...this.#namespaces.keys()]
  }

  get(ns: string, id: string): CheckpointEntry | undefined {
    return this.#namespaces.get(ns)?.entries.get(id)
  }

  /** The entry with the highest id. */
  latest(ns: string): CheckpointEntry | undefined {
    const id = this.ids(ns).at(-1)
    return id === undefined ? undefined : this.get(ns, id)
  }

  /** Ascending by UTF-16 units. */
  ids(ns: string): readonly string[] {
    const namespace = this.#namespaces.get(ns)
    if (namespace === undefined) return []
    namespace.sorted ??= [...namespace.entries.keys()].sort()
    return namespace.sorted
  }

  entries(ns: string): Iterable<CheckpointEntry> {
    return this.#namespaces.get(ns)?.entries.values() ?? []
  }

  /** Whether there was such a checkpoint and it was deleted. */
  wasDeleted(ns: string, id: string): boolean {
    return this.#deleted.has(keyOf(ns, id)) && this.get(ns, id) === undefined
  }

  #begin(): void {
    this.#namespaces = new Map()
    this.#writes = new Map()
    this.#deleted.clear()
    this.#taken = 0
    this.#last = ''
  }

  #take(row: ThreadRow): void {
    if (row[0] === 'd') this.#delete(row[2])
    else if (row[0] === 'w') {
      const [, seq, run, ns, id] = row
      const place = { seq, run: run === 0 ? undefined : run }
      this.#writesOf(ns || '', id === LAST ? this.#last : id).push(place)
    } else {
      const [, seq, run, ns, id, parent] = row
      this.#put({
        seq,
        run: run === 0 ? undefined : run,
        ns: ns || '',
        id,
        parent: parent === 0 ? undefined : parent === LAST ? this.#last : parent,
        writes: this.#writesOf(ns || '', id),
      })
      this.#last = id
    }
  }

  #writesOf(ns: string, id: string): EventPlace[] {
    const key = keyOf(ns, id)
    let writes = this.#writes.get(key)
    if (writes === undefined) {
      writes = []
      this.#writes.set(key, writes)
    }
    return writes
  }

  #put(entry: CheckpointEntry): void {
    let namespace = this.#namespaces.get(entry.ns)
    if (namespace === undefined) {
      namespace = { entries: new Map(), sorted: [] }
      this.#namespaces.set(entry.ns, namespace)
    }
    const { entries, sorted } = namespace
    const isNew = !entries.has(entry.id)
    entries.set(entry.id, entry)
    if (!isNew || sorted === undefined) return
    const last = sorted.at(-1)
    if (last === undefined || last < entry.id) sorted.push(entry.id)
    else namespace.sorted = undefined
  }

  #delete(gone: readonly (readonly [string, string])[] | 0): void {
    if (gone !== 0) {
      for (const [ns, id] of gone) {
        this.#deleted.add(keyOf(ns, id))
        this.#writes.delete(keyOf(ns, id))
        const namespace = this.#namespaces.get(ns)
        namespace?.entries.delete(id)
        if (namespace !== undefined) namespace.sorted = undefined
        if (namespace?.entries.size === 0) this.#namespaces.delete(ns)
      }
      return
    }
    for (const [ns, { entries }] of this.#namespaces) {
      for (const id of entries.keys()) this.#deleted.add(keyOf(ns, id))
    }
    // Writes that came before a checkpoint which never did are of the deleted thread too.
    for (const key of this.#writes.keys()) this.#deleted.add(key)
    this.#namespaces = new Map()
    this.#writes = new Map()
  }
}

function keyOf(ns: string, id: string): string {
  return JSON.stringify([ns, id])
}

/** Whether one list is the beginning of the other, told by what they share. */
function goesOn(before: GrowingList<ThreadRow>, now: GrowingList<ThreadRow>): boolean {
  if (before === now) return true
  if (lengthOf(before) > lengthOf(now)) return false
  const isShared = before.full.every((chunk, at) => chunk === now.full[at])
  const chunk = now.full[before.full.length] ?? now.last
  return isShared && before.last.every((row, at) => row === chunk[at])
}
