/**
 * Logs as files: one writer at a time, by lock and by segment.
 * A writer writes, syncs, looks for a higher segment, and only then acknowledges. Whoever takes
 * over first creates that higher segment, exclusively, and only then reads how long the old one is.
 * So what was ever acknowledged lies inside the length that the new writer names, whatever the old
 * one does when it wakes.
 * @see docs/format.md#one-writer
 */
import type { ColdPlace } from '../core/cold-block.js'
import { DaglogError, systemCode } from '../core/errors.js'
import type { LogName, LogWriter, WriterOptions } from './backend.js'
import type { Disk, DiskFile } from './disk.js'
import type { FsExclusion } from './fs-exclusion.js'
import type { FsLayout } from './fs-layout.js'
import { type FsLocks, factsOf, type HeldLock, named } from './fs-locks.js'
import { type FsSegments, syncFile } from './fs-segments.js'

/** Rounds of "somebody was quicker" before we call it a lock. */
const OPEN_ATTEMPTS_MAX = 64

export class FsLogs {
  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly locks: FsLocks,
    private readonly segments: FsSegments,
    private readonly exclusion: FsExclusion,
  ) {}

  holder(log: LogName): HeldLock | undefined {
    const top = Math.max(this.newest(log), ...this.locks.numbers(log))
    return this.locks.inspect(log, top)
  }

  /** Create segment 0, so that the log exists. */
  create(log: LogName): void {
    this.disk.openFile(this.layout.segment(log, 0), 'create').close()
    this.disk.syncDir(this.layout.logDir(log))
  }

  openWriter(log: LogName, options: WriterOptions): LogWriter {
    for (let attempt = 0; attempt < OPEN_ATTEMPTS_MAX; attempt += 1) {
      const newest = this.newest(log)
      const top = Math.max(newest, ...this.locks.numbers(log))
      const held = this.locks.inspect(log, top)
      // A lock above the segments we saw, gone by now: its holder came and went between our looks.
      if (held === undefined && top !== newest) continue
      if (held !== undefined && held.liveness !== 'dead' && options.force !== true)
        throw locked(log, held)
      const writer =
        held === undefined
          ? this.takeTurn(log, newest, options)
          : this.takeOver(log, top + 1, options)
      if (writer !== undefined) return writer
    }
    throw locked(log, this.holder(log))
  }

  /** Remove what dead writers left of a log that is no more. */
  removeDead(log: LogName): void {
    for (const number of this.locks.numbers(log)) {
      if (this.locks.inspect(log, number)?.liveness === 'dead')
        this.disk.remove(this.layout.lock(log, number))
    }
  }

  /** The writer before let go: go on in its segment. */
  private takeTurn(log: LogName, segment: number, options: WriterOptions): LogWriter | undefined {
    const token = this.locks.acquire(log, segment, options.program)
    if (token === undefined) return undefined
    return this.holding(log, segment, token, () => {
      // Between our look and our lock somebody may have taken over.
      if (
        this.newest(log) !== segment ||
        this.locks.numbers(log).some((number) => number > segment)
      ) {
        this.locks.release(log, segment, token)
        return undefined
      }
      return this.writer(log, segment, token, 'clean')
    })
  }

  /**
   * The writer before is gone, or is to be fenced: make the next segment, then read nothing before
   * that.
   */
  private takeOver(log: LogName, segment: number, options: WriterOptions): LogWriter | undefined {
    const token = this.locks.acquire(log, segment, options.program)
    if (token === undefined) return undefined
    return this.holding(log, segment, token, () => {
      // A takeover that died may have left its lock and no segment: a writer looks only one number
      // up, so fill the gap.
      for (let number = this.newest(log) + 1; number < segment; number += 1)
        this.createSegment(log, number)
      const created = this.createSegment(log, segment)
      if (!created || this.newest(log) !== segment) {
        this.locks.release(log, segment, token)
        return undefined
      }
      this.locks.removeBelow(log, segment)
      return this.writer(log, segment, token, 'taken')
    })
  }

  /**
   * A lock that comes to nothing must not outlive the attempt: its holder would be alive, and be
   * us.
   */
  private holding<R>(log: LogName, segment: number, token: string, use: () => R): R {
    try {
      this.locks.settle(log)
      // Before anything is made: a segment that is left behind would make the next writer's opening
      // clean.
      if (log !== 'store') this.exclusion.check()
      return use()
    } catch (error) {
      this.locks.release(log, segment, token)
      throw error
    }
  }

  private createSegment(log: LogName, number: number): boolean {
    try {
      this.disk.openFile(this.layout.segment(log, number), 'create').close()
      return true
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false
      throw error
    }
  }

  private writer(
    log: LogName,
    segment: number,
    token: string,
    opened: 'clean' | 'taken',
  ): LogWriter {
    this.syncAll(log)
    const tail = this.segments.openTail(log, segment)
    // Looked for after each commit, so made once; a run is not moved while it has a writer.
    const next = this.pathsOf(log, segment + 1)
    return new FsLogWriter(tail, segment, opened, {
      successor: () =>
        next.some((path) => this.disk.exists(path))
          ? successorOf(log, this.holder(log))
          : undefined,
      release: () => this.locks.release(log, segment, token),
      rest: (start) => this.segments.rest(log, segment, start),
      syncAll: () => this.syncAll(log),
    })
  }

  /**
   * A killed writer leaves bytes and names that no sync has seen; what we write next counts on them
   * all.
   */
  private syncAll(log: LogName): void {
    const { disk, layout } = this
    disk.syncDir(layout.logDir(log))
    this.segments.syncAll(log)
    if (log === 'store') return
    disk.syncDir(layout.runs())
    disk.syncDir(layout.packs())
    if (disk.exists(layout.openObjects(log.run))) syncFile(disk, layout.openObjects(log.run))
  }

  /** Where a segment can be: as text, or laid to rest. */
  private pathsOf(log: LogName, segment: number): string[] {
    const atRest = this.layout.piece(log, { segment, base: 0, form: 'z' })
    return [this.layout.segment(log, segment), atRest]
  }

  private newest(log: LogName): number {
    return Math.max(0, ...this.segments.numbers(log))
  }
}

interface WriterTies {
  /** The error that says who took over, where somebody did. */
  successor(): DaglogError | undefined
  release(): void
  rest(start: ColdPlace): Promise<void>
  syncAll(): void
}

class FsLogWriter implements LogWriter {
  private expectedBytes: number
  private syncedBytes: number
  private dead: DaglogError | undefined
  private readonly file: DiskFile
  /** Offset in the segment at which the file begins. */
  private readonly base: number

  constructor(
    tail: { readonly file: DiskFile; readonly base: number },
    readonly segment: number,
    readonly opened: 'clean' | 'taken',
    private readonly ties: WriterTies,
  ) {
    this.file = tail.file
    this.base = tail.base
    this.expectedBytes = this.file.size()
    this.syncedBytes = this.expectedBytes
  }

  async commit(bytes: Uint8Array, { sync }: { readonly sync: boolean }): Promise<void> {
    if (this.dead !== undefined) throw this.dead
    const promisedBytes = this.expectedBytes
    try {
      this.write(bytes)
      if (sync) await this.sync(promisedBytes)
      const fenced = this.ties.successor()
      if (fenced !== undefined) throw fenced
    } catch (cause) {
      throw this.die(cause instanceof DaglogError ? cause : writeFailed(cause))
    }
  }

  private write(bytes: Uint8Array): void {
    const size = this.file.size()
    if (size !== this.expectedBytes) {
      throw new DaglogError(
        'WRITER_FENCED',
        `segment ${this.segment} is ${size} bytes long, ${this.expectedBytes} expected: somebody else wrote; try: open the run again`,
        { segment: this.segment, expected: this.expectedBytes, found: size },
      )
    }
    let written = 0
    try {
      // A full disk may take a part without a word; only the next call fails.
      while (written < bytes.length) {
        const count = this.file.append(written === 0 ? bytes : bytes.subarray(written))
        if (count <= 0) throw new Error('the disk took no bytes')
        written += count
      }
    } catch (error) {
      if (written > 0) this.takeBack(this.expectedBytes, this.expectedBytes)
      throw error
    }
    this.expectedBytes += bytes.length
  }

  /**
   * The first failed sync is the last: the kernel may have dropped the pages and call the next one
   * a success.
   */
  private async sync(promisedBytes: number): Promise<void> {
    try {
      await this.file.sync()
    } catch (error) {
      this.takeBack(this.syncedBytes, promisedBytes)
      throw error
    }
    this.syncedBytes = this.expectedBytes
  }

  /**
   * Leave nothing that no sync will ever write, or whoever opens the log next would build on it:
   * cut the file, and write what was promised to outlive the process anew, as pages that are still
   * to be synced.
   */
  private takeBack(cutBytes: number, promisedBytes: number): void {
    try {
      // A new writer has counted these bytes already; they are stray, and no longer ours to cut.
      if (this.ties.successor() !== undefined) return
      const promised = Buffer.alloc(promisedBytes - cutBytes)
      const count = this.file.read(promised, cutBytes)
      this.file.truncate(cutBytes)
      if (count > 0) this.file.append(promised.subarray(0, count))
    } catch {
      // The first error is the one to report; recovery cuts the rest when the log is opened again.
    }
  }

  private die(error: DaglogError): DaglogError {
    this.dead = error
    return error
  }

  async settle(): Promise<void> {
    try {
      this.ties.syncAll()
    } catch (cause) {
      throw this.die(writeFailed(cause))
    }
  }

  async cut(bytes: number): Promise<void> {
    // Whoever has taken over counts these bytes.
    const fenced = this.ties.successor()
    if (fenced !== undefined) throw this.die(fenced)
    try {
      this.file.truncate(bytes - this.base)
      await this.file.sync()
    } catch (cause) {
      throw this.die(writeFailed(cause))
    }
    this.expectedBytes = bytes - this.base
    this.syncedBytes = this.expectedBytes
  }

  get textBytes(): number {
    return this.expectedBytes
  }

  async rest(start: ColdPlace): Promise<void> {
    await this.ties.rest(start)
    this.dead ??= new DaglogError('CLOSED', 'this segment was laid to rest')
  }

  async release(): Promise<void> {
    this.dead ??= new DaglogError('CLOSED', 'this writer was released')
    try {
      this.file.close()
    } finally {
      this.letGo()
    }
  }

  private letGo(): void {
    try {
      this.ties.release()
    } catch (cause) {
      throw writeFailed(cause)
    }
  }
}

function writeFailed(cause: unknown): DaglogError {
  const code = systemCode(cause) ?? 'unknown'
  return new DaglogError(
    'WRITE_FAILED',
    `the log could not be written (${code}); nothing unacknowledged counts. Try: free the cause, then open the run again`,
    { code },
    { cause },
  )
}

function describe(log: LogName): string {
  return log === 'store' ? "the store's log" : `run ${log.run}`
}

function locked(log: LogName, held: HeldLock | undefined): DaglogError {
  const code = log === 'store' ? 'STORE_LOCKED' : 'RUN_LOCKED'
  if (held === undefined) {
    return new DaglogError(code, `${describe(log)} is opened by many at once; try: again`, {})
  }
  const advice =
    held.liveness === 'alive'
      ? 'try: wait until it is done, or close it there'
      : 'it cannot be asked whether it lives (another machine or container); if you know it is gone, try: take over by force'
  const what = `${describe(log)} is being written by ${named(held)}; ${advice}`
  return new DaglogError(code, what, factsOf(held))
}

function successorOf(log: LogName, held: HeldLock | undefined): DaglogError {
  const who =
    held === undefined ? 'another writer' : `pid ${held.holder.pid} on ${held.holder.host}`
  return new DaglogError(
    'WRITER_FENCED',
    `${who} has taken over ${describe(log)}; what was not acknowledged does not count. Try: open the run again`,
    held === undefined ? {} : { pid: held.holder.pid, host: held.holder.host },
  )
}
