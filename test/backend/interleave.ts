/**
 * Every order in which the disk calls of several processes can fall.
 * A process is a function of a disk. It is run again and again from its start: what its earlier
 * calls returned is given to it again, then it goes one call further, and is stopped. So code that
 * blocks can be stopped between any two of its calls, as the kernel may.
 */
import { createHash } from 'node:crypto'
import type { Disk, DiskFile } from '../../src/backend/disk.js'
import { sha256 } from '../../src/core/hash.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { restartRandom } from './repeatable-random.js'

export type Program<R> = (disk: Disk) => R | Promise<R>
export type Outcome<R> = { readonly value: R } | { readonly error: unknown }

interface Call {
  readonly result?: unknown
  readonly error?: unknown
}

const STOPPED = new Error('stopped between two calls; a test must never see this')

/** A process that can be stopped between any two calls to the disk. */
export class SteppedProcess<R> {
  outcome: Outcome<R> | undefined
  readonly #calls: Call[] = []
  readonly #files: DiskFile[] = []
  #at = 0
  #budget = 0
  #stopped = false

  constructor(
    readonly name: string,
    private readonly disk: Disk,
    private readonly program: Program<R>,
    /**
     * Calls that another process can see the effect of, or that see another's; it stops only before
     * these.
     */
    private readonly isShared: (name: string, path: string) => boolean = () => true,
  ) {}

  /** Calls made so far. */
  get callCount(): number {
    return this.#calls.length
  }

  /** What the process has seen: equal where it can only go on the same way. */
  history = ''

  /** Go `calls` shared calls further, or to the end. */
  async step(calls = 1): Promise<void> {
    if (this.outcome !== undefined) return
    this.#at = 0
    this.#budget = calls
    this.#stopped = false
    restartRandom(this.name)
    let outcome: Outcome<R>
    try {
      outcome = { value: await this.program(this.#view()) }
    } catch (error) {
      outcome = { error }
    }
    if (!this.#stopped) this.outcome = outcome
  }

  run(): Promise<void> {
    return this.step(Number.POSITIVE_INFINITY)
  }

  #call<T>(name: string, path: string, act: () => T): T {
    if (this.#stopped) throw STOPPED
    let call = this.#calls[this.#at]
    if (call === undefined) {
      if (this.isShared(name, path)) {
        if (this.#budget === 0) {
          this.#stopped = true
          throw STOPPED
        }
        this.#budget -= 1
      }
      call = attempt(act)
      this.#calls.push(call)
      this.history = sha256(Buffer.from(`${this.history}${JSON.stringify(call)}`))
    }
    this.#at += 1
    if ('error' in call) throw call.error
    return call.result as T
  }

  #view(): Disk {
    const { disk } = this
    let opened = 0
    return {
      openFile: (path, mode) => {
        const index = opened
        this.#call('openFile', path, () => {
          this.#files[index] = disk.openFile(path, mode)
          return index
        })
        opened += 1
        return this.#fileView(index, path)
      },
      exists: (path) => this.#call('exists', path, () => disk.exists(path)),
      sizeOf: (path) => this.#call('sizeOf', path, () => disk.sizeOf(path)),
      list: (dir) => this.#call('list', dir, () => disk.list(dir)),
      makeDir: (dir) => this.#call('makeDir', dir, () => disk.makeDir(dir)),
      link: (from, to) => this.#call('link', to, () => disk.link(from, to)),
      rename: (from, to) => this.#call('rename', to, () => disk.rename(from, to)),
      remove: (path) => this.#call('remove', path, () => disk.remove(path)),
      removeTree: (dir) => this.#call('removeTree', dir, () => disk.removeTree(dir)),
      syncDir: (dir) => this.#call('syncDir', dir, () => disk.syncDir(dir)),
    }
  }

  #fileView(index: number, path: string): DiskFile {
    const file = this.#files[index] as DiskFile
    return {
      append: (bytes) => this.#call('append', path, () => file.append(bytes)),
      read: (into, atByte) => {
        const bytes = this.#call('read', path, () => {
          const count = file.read(into, atByte)
          return Buffer.from(into.subarray(0, count)).toString('latin1')
        })
        return Buffer.from(into.buffer, into.byteOffset).write(bytes, 'latin1')
      },
      size: () => this.#call('size', path, () => file.size()),
      truncate: (bytes) => this.#call('truncate', path, () => file.truncate(bytes)),
      sync: async () => this.#call('sync', path, () => file.syncNow()),
      syncNow: () => this.#call('syncNow', path, () => file.syncNow()),
      // Nobody can see a close, so it is no place to stop; a stopped process must not close what it
      // goes on with.
      close: () => {},
    }
  }
}

function attempt(act: () => unknown): Call {
  try {
    return { result: act() }
  } catch (error) {
    return { error }
  }
}

export interface Exploration {
  /** Different states that were met: what is on disk, and what each process has seen. */
  readonly states: number
  /** Orders that were run to their end. */
  readonly ends: number
}

/**
 * Run the processes in every order of their calls. States that were met before, on disk and in each
 * process, are not gone into again.
 * @param start - A fresh disk with its processes, the same each time.
 * @param statesMax - Where to stop; the states that are left are those with the earliest changes of process.
 * @param begun - Order of the calls that are made before anything is tried.
 * @param check - Called when all processes are done, with the order that led there.
 */
export async function explore<R>(
  start: () => { disk: SimulatedDisk; processes: SteppedProcess<R>[] },
  begun: readonly number[],
  check: (end: {
    disk: SimulatedDisk
    outcomes: Outcome<R>[]
    order: readonly number[]
  }) => void | Promise<void>,
  statesMax = Number.POSITIVE_INFINITY,
): Promise<Exploration> {
  const seen = new Set<string>()
  const waiting: number[][] = [[...begun]]
  let ends = 0
  for (let order = waiting.pop(); order && seen.size < statesMax; order = waiting.pop()) {
    const { disk, processes } = start()
    for (const burst of bursts(order)) await processes[burst.process]?.step(burst.calls)
    for (;;) {
      const key = stateOf(disk, processes)
      if (seen.has(key)) break
      seen.add(key)
      const [next, ...others] = [...processes.keys()].filter((at) => !processes[at]?.outcome)
      if (next === undefined) {
        ends += 1
        const outcomes = processes.map(({ outcome }) => outcome as Outcome<R>)
        await check({ disk, outcomes, order })
        break
      }
      for (const other of others) waiting.push([...order, other])
      order.push(next)
      // Alone it has only one way to go.
      await processes[next]?.step(others.length > 0 ? 1 : Number.POSITIVE_INFINITY)
    }
  }
  return { states: seen.size, ends }
}

function bursts(order: readonly number[]): { process: number; calls: number }[] {
  const found: { process: number; calls: number }[] = []
  for (const process of order) {
    const last = found.at(-1)
    if (last?.process === process) last.calls += 1
    else found.push({ process, calls: 1 })
  }
  return found
}

function stateOf(disk: SimulatedDisk, processes: readonly SteppedProcess<unknown>[]): string {
  const hashing = createHash('sha256')
  for (const [path, bytes] of [...disk.dump()].sort(([a], [b]) => (a < b ? -1 : 1)))
    hashing.update(`${path}\0${bytes.length}\0`).update(bytes)
  for (const { history, outcome } of processes) hashing.update(`\0${history}${outcome && 'done'}`)
  return hashing.digest('hex')
}
