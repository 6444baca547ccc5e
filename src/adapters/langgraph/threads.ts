/**
 * The threads that are being used: each is a run, opened when there is something to write and let
 * go of soon after, so that workers may take turns. Reading takes no lock.
 */
import { langgraphThread } from '../../fold/langgraph-thread.js'
import type { Run } from '../../store/run.js'
import type { RunView } from '../../store/run-view.js'
import type { Store } from '../../store/store.js'
import type { Slot } from '../../value/tree-node.js'
import { nameInId, nameOfId } from '../run-names.js'
import { ThreadIndex } from './thread-index.js'
import { ThreadReader } from './thread-reader.js'

export interface ThreadsOptions {
  /** How long to wait for another worker that writes to the same thread, in ms. */
  readonly lockWaitMs: number
  /** A thread that nothing was written to for this long is let go of, in ms. */
  readonly lockIdleMs: number
}

const PREFIX = 'langgraph/'

/**
 * Threads whose last values are kept in memory: without them a put hashes the inside of its lists.
 */
const THREADS_WARM_MAX = 8

/** Threads that are kept in memory though nobody writes to them. */
const THREADS_MAX = 64

export function runIdOfThread(thread: string): string {
  return PREFIX + nameInId(thread)
}

/** The thread that a run is; undefined where it is none. */
export async function threadOfRun(view: RunView): Promise<string | undefined> {
  if (!view.id.startsWith(PREFIX)) return undefined
  const name = nameOfId(view.id.slice(PREFIX.length))
  if (name !== undefined) return runIdOfThread(name) === view.id ? name : undefined
  const meta = (await view.last('run/meta'))?.data?.meta as { thread?: unknown } | null | undefined
  const told = meta?.thread
  return typeof told === 'string' && runIdOfThread(told) === view.id ? told : undefined
}

export function isThreadRun(id: string): boolean {
  return id.startsWith(PREFIX)
}

export class Thread {
  readonly runId: string
  readonly reader: ThreadReader
  /** The last slots of each namespace's channels: what a next value is compared with. */
  readonly last = new Map<string, Map<string, Slot>>()
  readonly #index = new ThreadIndex()
  #run: Promise<Run> | undefined
  #open: Run | undefined
  #view: RunView | undefined
  #uses = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    readonly store: Store,
    readonly id: string,
    readonly options: ThreadsOptions,
  ) {
    this.runId = runIdOfThread(id)
    this.reader = new ThreadReader(store, () => this.view())
  }

  get inUse(): boolean {
    return this.#uses > 0 || this.#open?.holding === true
  }

  async exists(): Promise<boolean> {
    return this.#open !== undefined || this.store.context.backend.hasRun(this.runId)
  }

  /** Whether there once was a run of this thread that was erased. */
  async wasErased(): Promise<boolean> {
    return (await this.store.context.heads.refresh()).hadDeleted(this.runId)
  }

  /** To read: the run that is being written, or what is in the store. */
  async view(): Promise<RunView> {
    if (this.#open?.holding === true) return this.#open
    this.#view ??= await this.store.inspectRun(this.runId)
    return this.#view
  }

  /** The checkpoints that there are now. */
  async index(): Promise<ThreadIndex> {
    return this.#index.follow(await (await this.view()).project(langgraphThread))
  }

  /** Do something while the lock is ours. @throws RUN_LOCKED */
  async write<R>(work: (run: Run) => Promise<R>): Promise<R> {
    this.#uses += 1
    clearTimeout(this.#timer)
    try {
      const run = await this.#opened()
      await run.acquire()
      return await work(run)
    } finally {
      this.#uses -= 1
      if (this.#uses === 0) this.#letGoSoon()
    }
  }

  #opened(): Promise<Run> {
    this.#run ??= this.#begin().catch((error: unknown) => {
      this.#run = undefined
      throw error
    })
    return this.#run
  }

  async #begin(): Promise<Run> {
    const { lockWaitMs } = this.options
    const run = await this.store.run(this.runId, {
      name: this.id.isWellFormed() ? this.id : 'thread',
      meta: { thread: this.id },
      lockWaitMs,
      restOnClose: true,
    })
    this.#open = run
    run.onClosed(() => {
      this.#run = undefined
      this.#open = undefined
    })
    return run
  }

  #letGoSoon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#uses > 0) return
      this.#open?.release().catch((error: unknown) => {
        const trouble = `thread ${this.id} could not be let go of cleanly`
        this.store.context.notices.report('heads', trouble, error)
      })
    }, this.options.lockIdleMs)
    this.#timer.unref()
  }

  /** After a failed write the run is not usable any more: the next write opens it again. */
  async renew(): Promise<void> {
    const run = this.#open
    this.#run = undefined
    this.#open = undefined
    await run?.close().catch(() => undefined)
  }

  /** Let go of it for good. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await (await this.#run?.catch(() => undefined))?.close()
  }
}

export class Threads {
  readonly #threads = new Map<string, Thread>()

  constructor(
    readonly store: Store,
    readonly options: ThreadsOptions,
  ) {}

  get(id: string): Thread {
    let thread = this.#threads.get(id)
    if (thread === undefined) thread = new Thread(this.store, id, this.options)
    else this.#threads.delete(id)
    this.#threads.set(id, thread)
    this.#forgetSome()
    return thread
  }

  /** The ids of all threads in the store, deleted ones too. */
  async ids(): Promise<string[]> {
    const ids: string[] = []
    for (const { id } of await this.store.runs()) {
      if (!isThreadRun(id)) continue
      const thread = await threadOfRun(await this.store.inspectRun(id))
      if (thread !== undefined) ids.push(thread)
    }
    return ids
  }

  async close(id: string): Promise<void> {
    const thread = this.#threads.get(id)
    this.#threads.delete(id)
    await thread?.close()
  }

  async closeAll(): Promise<void> {
    const results = await Promise.allSettled([...this.#threads.keys()].map((id) => this.close(id)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  #forgetSome(): void {
    let older = this.#threads.size - THREADS_WARM_MAX
    for (const thread of this.#threads.values()) {
      if (older <= 0) break
      thread.last.clear()
      older -= 1
    }
    if (this.#threads.size <= THREADS_MAX) return
    for (const [id, thread] of this.#threads) {
      if (this.#threads.size <= THREADS_MAX) return
      if (thread.inUse) continue
      this.#threads.delete(id)
      thread.close().catch((error: unknown) => {
        this.store.context.notices.report('heads', `thread ${id} could not be closed`, error)
      })
    }
  }
}
