/**
 * The writing side of a run: takes its lock, recovers it, keeps its index as the log grows, and
 * lets go of the lock when nothing has happened for a while.
 * Knows how a run is opened and left; what is appended is `Run`'s business.
 */
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { RunIndex } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import type { Draft } from './appender.js'
import { closers } from './closers.js'
import type { StoreContext } from './context.js'
import type { EventSource } from './event-reader.js'
import type { StandingFrame } from './log-tail.js'
import type { Head } from './log-walk.js'
import { type OpenedLog, openLog } from './open-log.js'
import { openWork } from './open-work.js'
import { firstDrafts, metaOf, type RunBeginning } from './run-beginning.js'
import { RunKeeping } from './run-keeping.js'
import { snapshotKey } from './run-view.js'

export interface OpenRunOptions {
  /** Take the lock even from a holder that may be alive; safe, since that one is fenced. */
  readonly force?: boolean
  /** How long to wait for another writer, in ms; the store's `lockWaitMs` unless told. */
  readonly lockWaitMs?: number
  /** Pack its objects and its log once it is closed, though it has not ended. */
  readonly restOnClose?: boolean
}

/** What the writing side asks of its run. */
export interface WrittenRun {
  readonly id: string
  identity(): Promise<Hash | undefined>
  source(): Promise<EventSource>
  /** The log is open and ours, but nothing that a crash left open is closed yet. */
  opening(index: RunIndex): Promise<void>
  /** The log is not the one that was known. */
  reset(): void
  /** A frame stands now. */
  committed(frame: StandingFrame): void
  /** Before the lock is let go of. */
  leaving(): Promise<void>
}

export class RunWriter {
  index = new RunIndex()
  indexed: Head | undefined
  held: OpenedLog | undefined
  keeping: RunKeeping | undefined
  private opening: Promise<OpenedLog> | undefined
  /** Whether something was appended. */
  unrested = false
  private closing = false
  private resting = false
  private identityHash: Hash | undefined
  private releasing: Promise<void> = Promise.resolve()
  private idleTimer: NodeJS.Timeout | undefined
  private holds = 0

  constructor(
    private readonly context: StoreContext,
    private readonly run: WrittenRun,
    private readonly beginning: RunBeginning | undefined,
    private readonly options: OpenRunOptions,
  ) {}

  /** Let go of the lock until the next append. */
  release(): Promise<void> {
    this.releasing = this.letGo()
    return this.releasing
  }

  /** For good: nothing is opened any more. */
  close(): Promise<void> {
    if (this.options.restOnClose === true && this.unrested) return this.closeToRest()
    const released = this.release()
    this.closing = true
    return released
  }

  private async closeToRest(): Promise<void> {
    try {
      await this.opened()
    } catch (error) {
      // Whoever writes to it now lays it to rest.
      if (!(error instanceof DaglogError) || error.code !== 'RUN_LOCKED') throw error
    }
    this.resting = true
    const released = this.release()
    this.closing = true
    await released
  }

  private async letGo(): Promise<void> {
    clearTimeout(this.idleTimer)
    this.idleTimer = undefined
    const log = this.held ?? (await this.opening?.catch(() => undefined))
    if (log === undefined) return
    this.held = undefined
    this.opening = undefined
    try {
      await log.appender.idle()
      await this.run.leaving()
      await this.keeping?.leave(this.resting)
    } finally {
      await log.writer.release()
    }
  }

  /** The log, open and ours. @throws CLOSED, RUN_LOCKED, CHAIN_BROKEN */
  opened(): Promise<OpenedLog> {
    if (this.closing) return Promise.reject(this.closedError())
    // Whoever appends while we let go waits for that: our own lock would refuse it.
    this.opening ??= this.releasing
      .then(() => this.openNow())
      .catch((error: unknown) => {
        this.opening = undefined
        throw error
      })
    return this.opening
  }

  private async openNow(): Promise<OpenedLog> {
    const { context, options } = this
    const { id } = this.run
    if (context.readOnly !== undefined) throw new DaglogError('FORMAT_TOO_NEW', context.readOnly)
    const noted = (await context.heads.refresh()).head(id)
    const log = await openLog({
      backend: context.backend,
      log: { run: id },
      notices: context.notices,
      snapshots: context.snapshots,
      snapshotKey: snapshotKey(id),
      known: this.indexed,
      fold: {
        restore: (state) => this.adopt(RunIndex.fromJSON(state)),
        reset: () => this.adopt(new RunIndex()),
        apply: (frame) => this.apply(frame),
      },
      genesis: () => firstDrafts(id, this.beginning ?? {}, context.now()),
      covered: noted === undefined ? undefined : coveredHead(noted),
      program: context.program,
      now: context.now,
      force: options.force ?? false,
      lockWaitMs: options.lockWaitMs ?? context.lockWaitMs,
    })
    try {
      await this.begin(log, noted?.seq ?? -1)
    } catch (error) {
      // Nobody gets to have the run, so nobody else would let go of it.
      await log.writer.release()
      throw error
    }
    return log
  }

  private async begin(log: OpenedLog, notedSeq: number): Promise<void> {
    this.indexed = log.head()
    await this.run.opening(this.index)
    this.keeping = this.keep(log, notedSeq)
    await this.closeOpenWork(log)
    await this.keeping.introduce()
    this.held = log
    this.touch()
  }

  private adopt(index: RunIndex | undefined): boolean {
    if (index === undefined) return false
    this.index = index
    this.indexed = undefined
    this.run.reset()
    return true
  }

  private apply(frame: StandingFrame): void {
    this.index.apply(frame)
    const { seq, hash, place } = frame
    this.indexed = { seq, hash, place }
    if (seq === 0) this.identityHash = hash
    this.run.committed(frame)
  }

  /** A writer that did not let go left turns, steps and tool calls that nobody will finish. */
  private async closeOpenWork(log: OpenedLog): Promise<void> {
    const left = log.takenOver || log.torn !== undefined
    const events = left ? closers(await openWork(this.index, await this.run.source())) : []
    const { closing = [] } = this.beginning ?? {}
    const isNew = log.head().seq === closing.length
    const meta = isNew ? metaOf(this.beginning ?? {}) : undefined
    if (meta !== undefined) events.push({ type: 'run/meta', data: meta })
    const time = this.context.now()
    const drafts = events.map(({ type, data }): Draft => ({ type, time, data: encodeData(data) }))
    if (drafts.length > 0) await log.appender.append(drafts, { sync: true })
  }

  private keep(log: OpenedLog, notedSeq: number): RunKeeping {
    const run = {
      id: this.run.id,
      index: () => this.index,
      identity: async () => {
        this.identityHash ??= await this.run.identity()
        return this.identityHash
      },
    }
    return new RunKeeping(this.context, run, log, notedSeq)
  }

  /** Something happens: the lock is kept for another while. */
  touch(): void {
    if (this.idleTimer !== undefined) {
      this.idleTimer.refresh()
      return
    }
    this.idleTimer = setTimeout(() => this.releaseIfIdle(), this.context.lockIdleMs)
    this.idleTimer.unref()
  }

  /** The lock stays until the result is called. */
  keepHeld(): () => void {
    this.holds += 1
    let held = true
    return () => {
      if (held) this.holds -= 1
      held = false
    }
  }

  /**
   * An open turn or step is ours to finish: the lock stays, or another process would call it
   * abandoned.
   */
  private releaseIfIdle(): void {
    const { turn, steps, calls } = this.index.open()
    if (this.holds > 0 || turn !== undefined || steps.length > 0 || calls.size > 0) {
      this.touch()
      return
    }
    this.release().catch((error: unknown) => {
      this.context.notices.report(
        'heads',
        `run ${this.run.id} could not be released cleanly`,
        error,
      )
    })
  }

  closedError(): DaglogError {
    return new DaglogError('CLOSED', `run ${this.run.id} was closed; try: open it again`)
  }
}

function coveredHead(noted: RunHead): Head {
  const [seq, segment, from, to] = noted.at
  return { seq, hash: noted.hash, place: { segment, from, to } }
}
