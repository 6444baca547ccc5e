/**
 * Every tree that may be left after a power loss, or a fair sample where there are too many.
 * Knows how the outcomes of files and directories combine; not what a disk is.
 */
import { assert } from '../core/errors.js'
import {
  type FileOutcome,
  FileOutcomes,
  type NameOutcome,
  NameOutcomes,
  type Outcomes,
  type Random,
} from './power-loss.js'
import { SimulatedFile } from './simulated-file.js'
import {
  type DirectoryOperation,
  SimulatedDirectory,
  type SimulatedNode,
  type SimulatedTree,
} from './simulated-tree.js'

const LIMIT_DEFAULT = 1000
/** A sample ends early after this many picks in a row, times the limit, that were nothing new. */
const IDLE_PICKS_PER_STATE_MAX = 4

export interface CrashStatesOptions {
  /** Most states to visit; 1,000 by default. */
  readonly limit?: number
  /** Of the sample, where there is one. The same history, limit and seed give the same states. */
  readonly seed?: number
  /** What reaches the medium, or does not, as a whole. */
  readonly pageBytes: number
}

/**
 * How much of all there is was visited.
 * `all`: every combination.
 * `each`: every outcome of each file and of each directory, while the other files are all lost or
 * all kept, and the other directories too; of the further combinations a sample.
 * `sample`: not even that; raise the limit.
 */
export type Coverage = 'all' | 'each' | 'sample'

type Outcome = FileOutcome | NameOutcome
type State = readonly Outcome[]

/**
 * Iterable again and again, each time the same states in the same order. No two are equal, unless
 * different files of equal content came to stand at one name.
 */
export class CrashStates<T> implements Iterable<T> {
  readonly coverage: Coverage
  readonly #tree: SimulatedTree
  readonly #files: readonly FileOutcomes[]
  readonly #names: readonly NameOutcomes[]
  readonly #parts: readonly Outcomes<Outcome>[]
  readonly #extremes: readonly State[]
  readonly #limit: number
  readonly #seed: number
  readonly #make: (root: SimulatedDirectory) => T
  readonly #fileNumbers = new Map<SimulatedFile, number>()
  #visited = 0

  /**
   * @param tree - Must not change while this is in use.
   * @param make - Turns the root of what survived, all of it durable, into what is yielded.
   */
  constructor(
    tree: SimulatedTree,
    make: (root: SimulatedDirectory) => T,
    { limit = LIMIT_DEFAULT, seed = 1, pageBytes }: CrashStatesOptions,
  ) {
    assert(Number.isSafeInteger(limit) && limit > 0, 'limit of crash states is a positive integer')
    this.#tree = tree
    this.#make = make
    this.#limit = limit
    this.#seed = seed
    for (const node of tree.reachable()) {
      if (node instanceof SimulatedFile) this.#fileNumbers.set(node, this.#fileNumbers.size)
    }
    this.#files = [...this.#fileNumbers.keys()]
      .filter(({ pending }) => pending.length > 0)
      .map((file) => new FileOutcomes(file, pageBytes))
    this.#names = byDirectory(tree.pending).map((open) => new NameOutcomes(open))
    this.#parts = [...this.#files, ...this.#names]
    this.#extremes = this.#extremeStates()
    this.coverage = this.#coverageWithin(limit)
  }

  /** How many states the latest iteration has yielded so far. */
  get visited(): number {
    return this.#visited
  }

  *[Symbol.iterator](): Iterator<T> {
    this.#visited = 0
    const seen = new Set<string>()
    for (const state of this.#states(seen)) {
      const { root, key } = this.#survivor(state)
      if (seen.has(key)) continue
      seen.add(key)
      this.#visited += 1
      yield this.#make(root)
      if (seen.size === this.#limit) return
    }
  }

  /**
   * States to visit, the most telling first; some are equal.
   * @param seen - Keys of the states visited so far; grows while this runs.
   */
  *#states(seen: ReadonlySet<string>): Iterable<State> {
    yield* this.#extremes
    if (this.coverage === 'all') {
      yield* product(this.#parts)
      return
    }
    const random = randomFrom(this.#seed)
    const share = Math.floor(this.#limit / (this.#parts.length * this.#extremes.length))
    for (const [index, part] of this.#parts.entries()) {
      const isWhole = this.coverage === 'each' || part.count <= share
      for (const outcome of isWhole ? part.all() : picks(part, share, random)) {
        for (const extreme of this.#extremes) yield extreme.with(index, outcome)
      }
    }
    const idlePicksMax = IDLE_PICKS_PER_STATE_MAX * this.#limit
    for (let idlePicks = 0; idlePicks < idlePicksMax; idlePicks++) {
      const seenCount = seen.size
      yield this.#parts.map((part) => part.pick(random))
      if (seen.size > seenCount) idlePicks = 0
    }
  }

  /** All files kept or lost, all names kept or lost: four states, or fewer if a kind is settled. */
  #extremeStates(): State[] {
    const ends = ['kept', 'lost'] as const
    const fileEnds = this.#files.length > 0 ? ends : (['kept'] as const)
    const nameEnds = this.#names.length > 0 ? ends : (['kept'] as const)
    return nameEnds.flatMap((nameEnd) =>
      fileEnds.map((fileEnd) => [
        ...this.#files.map((part) => part[fileEnd]),
        ...this.#names.map((part) => part[nameEnd]),
      ]),
    )
  }

  #coverageWithin(limit: number): Coverage {
    const counts = this.#parts.map(({ count }) => count)
    if (counts.reduce((a, b) => a * b, 1) <= limit) return 'all'
    const eachCount = counts.reduce((a, b) => a + b, 0) * this.#extremes.length
    return eachCount <= limit ? 'each' : 'sample'
  }

  /** What is left in this state, and a key that is equal where that is equal. */
  #survivor(state: State): { root: SimulatedDirectory; key: string } {
    const contents = new Map<SimulatedFile, FileOutcome>()
    const kept = new Set<DirectoryOperation>()
    for (const outcome of state) {
      if ('file' in outcome) contents.set(outcome.file, outcome)
      else for (const operation of outcome.kept) kept.add(operation)
    }
    const changedEntries = this.#tree.entriesAfter(kept)
    const copies = new Map<SimulatedFile, SimulatedFile>()
    let key = ''
    const visit = (directory: SimulatedDirectory): SimulatedDirectory => {
      const entries = new Map<string, SimulatedNode>()
      const names = changedEntries.get(directory) ?? directory.durable
      // Unambiguous, because a name holds neither '/' nor NUL.
      for (const [name, node] of [...names].sort(byName)) {
        if (node instanceof SimulatedDirectory) {
          key += `${name}/`
          entries.set(name, visit(node))
          key += '/'
        } else {
          const outcome = contents.get(node)
          key += `${name}\0${outcome?.key ?? this.#fileNumbers.get(node)}\0`
          const copy = copies.get(node) ?? new SimulatedFile(outcome?.bytes ?? node.durable)
          copies.set(node, copy)
          entries.set(name, copy)
        }
      }
      return new SimulatedDirectory(entries)
    }
    return { root: visit(this.#tree.root), key }
  }
}

/** Open operations, grouped by the directory whose sync they wait for. */
function byDirectory(pending: readonly DirectoryOperation[]): DirectoryOperation[][] {
  const groups = new Map<SimulatedDirectory, DirectoryOperation[]>()
  for (const operation of pending) {
    if (operation.durable) continue
    const group = groups.get(operation.syncedBy)
    if (group === undefined) groups.set(operation.syncedBy, [operation])
    else group.push(operation)
  }
  return [...groups.values()]
}

function* product(parts: readonly Outcomes<Outcome>[]): Iterable<State> {
  const [first, ...rest] = parts
  if (first === undefined) {
    yield []
    return
  }
  for (const outcome of first.all()) {
    for (const others of product(rest)) yield [outcome, ...others]
  }
}

function* picks(part: Outcomes<Outcome>, count: number, random: Random): Iterable<Outcome> {
  for (let picked = 0; picked < count; picked++) yield part.pick(random)
}

/** Xorshift, 32 bits: small, fast, and the same everywhere. */
function randomFrom(seed: number): Random {
  // Multiplied, because small seeds would give small first numbers; zero would give only zeros.
  let state = Math.imul(seed + 1, 0x9e3779b1) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
