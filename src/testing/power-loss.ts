/**
 * What one file, or the names of one directory, may look like after a power loss.
 * Knows the choices of one such part; how parts combine is not its business.
 */
import { sha256 } from '../core/hash.js'
import { changed, type FileChange, type SimulatedFile } from './simulated-file.js'
import type { DirectoryOperation } from './simulated-tree.js'

/** A number in [0, 1), the next one at each call. */
export type Random = () => number

export interface FileOutcome {
  readonly file: SimulatedFile
  readonly bytes: Uint8Array
  /** Equal where the bytes are, among the outcomes of one file. */
  readonly key: string
}

/** Which pending operations of a directory survived, apart from the durable ones. */
export interface NameOutcome {
  readonly kept: readonly DirectoryOperation[]
}

/** The outcomes of one part. */
export interface Outcomes<T> {
  /** How many `all` yields; equal ones count each. */
  readonly count: number
  /** Nothing that was not durable survived. */
  readonly lost: T
  /** Everything did, as after a crash of the process alone. */
  readonly kept: T
  all(): Iterable<T>
  /** One that `all` would yield. */
  pick(random: Random): T
}

/** A pending change, or one page of it: what reaches the medium as a whole, or does not. */
interface Unit extends FileChange {
  readonly durable: boolean
}

/**
 * The length may stop growing after any unsynced unit; each unit before that survived or did not,
 * and a write that did not leaves zeros. Besides, the last write may be torn at each of its bytes
 * while all before it is in place.
 */
export class FileOutcomes implements Outcomes<FileOutcome> {
  readonly count: number
  readonly lost: FileOutcome
  readonly kept: FileOutcome
  readonly #file: SimulatedFile
  readonly #units: readonly Unit[]
  readonly #openCount: number
  readonly #tornAt: number
  readonly #certainBytes: number

  constructor(file: SimulatedFile, pageBytes: number) {
    this.#file = file
    this.#units = file.pending.flatMap((change) =>
      pagesOf(change, pageBytes).map((page) => ({ ...page, durable: change.state === 'durable' })),
    )
    this.#openCount = this.#units.filter(({ durable }) => !durable).length
    this.#tornAt = file.pending.findLastIndex(
      ({ bytes, state }) => bytes !== undefined && state !== 'durable',
    )
    this.#certainBytes = file.pending.reduce((a, { at }) => Math.min(a, at), file.durable.length)
    this.count = 2 ** (this.#openCount + 1) - 1 + this.#tornCount
    this.lost = this.#subset(0, () => false)
    this.kept = this.#subset(this.#openCount, () => true)
  }

  *all(): Iterable<FileOutcome> {
    for (let end = 0; end <= this.#openCount; end++) {
      for (let mask = 0; mask < 2 ** end; mask++) {
        yield this.#subset(end, (index) => Math.floor(mask / 2 ** index) % 2 === 1)
      }
    }
    for (let bytes = 1; bytes <= this.#tornCount; bytes++) yield this.#torn(bytes)
  }

  pick(random: Random): FileOutcome {
    // Neither kind may drown the other: a long write has many tears, many writes have more subsets.
    if (this.#tornCount > 0 && random() < 0.5) {
      return this.#torn(1 + Math.floor(random() * this.#tornCount))
    }
    const end = Math.floor(random() * (this.#openCount + 1))
    const isPrefix = random() < 0.5
    return this.#subset(end, () => isPrefix || random() < 0.5)
  }

  get #tornCount(): number {
    return Math.max(0, (this.#file.pending[this.#tornAt]?.bytes?.length ?? 0) - 1)
  }

  /** The open units before `end`, each kept or (a write) zero; those from `end` on are lost. */
  #subset(end: number, isKept: (index: number) => boolean): FileOutcome {
    const changes: FileChange[] = []
    let index = 0
    for (const unit of this.#units) {
      if (unit.durable) {
        changes.push(unit)
        continue
      }
      if (index < end) {
        if (isKept(index)) changes.push(unit)
        else if (unit.bytes) changes.push({ at: unit.at, bytes: new Uint8Array(unit.bytes.length) })
      }
      index += 1
    }
    return this.#outcome(changes)
  }

  /** All up to the last open write, and the first `bytes` of that. */
  #torn(bytes: number): FileOutcome {
    const { pending } = this.#file
    const write = pending[this.#tornAt]!
    return this.#outcome([
      ...pending.slice(0, this.#tornAt),
      { at: write.at, bytes: write.bytes!.subarray(0, bytes) },
      ...pending.slice(this.#tornAt + 1).filter(({ state }) => state === 'durable'),
    ])
  }

  #outcome(changes: readonly FileChange[]): FileOutcome {
    const bytes = changed(this.#file.durable, changes)
    return { file: this.#file, bytes, key: sha256(bytes.subarray(this.#certainBytes)) }
  }
}

/** Each open operation of one directory survived or did not, whatever became of the others. */
export class NameOutcomes implements Outcomes<NameOutcome> {
  readonly count: number
  readonly lost: NameOutcome = { kept: [] }
  readonly kept: NameOutcome
  readonly #open: readonly DirectoryOperation[]

  /** @param open - Operations of one directory that are not durable. */
  constructor(open: readonly DirectoryOperation[]) {
    this.#open = open
    this.count = 2 ** open.length
    this.kept = { kept: open }
  }

  *all(): Iterable<NameOutcome> {
    for (let mask = 0; mask < this.count; mask++) {
      yield { kept: this.#open.filter((_, index) => Math.floor(mask / 2 ** index) % 2 === 1) }
    }
  }

  pick(random: Random): NameOutcome {
    return { kept: this.#open.filter(() => random() < 0.5) }
  }
}

/** A write cut where pages of the file begin. A length is one piece. */
function pagesOf({ at, bytes }: FileChange, pageBytes: number): FileChange[] {
  if (bytes === undefined) return [{ at }]
  const pages: FileChange[] = []
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + pageBytes - ((at + from) % pageBytes))
    pages.push({ at: at + from, bytes: bytes.subarray(from, to) })
    from = to
  }
  return pages
}
