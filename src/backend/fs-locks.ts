/**
 * Lock files: who may write to which segment of a log.
 * A lock belongs to one segment and is never stolen. Whoever takes over from a dead holder moves on
 * to the next number, so the old holder's leavings can be neither mistaken for the new one's lock
 * nor removed by it. The lock is a courtesy that keeps processes from fencing each other; what
 * makes two writers impossible is the higher segment (`fs-log.ts`).
 * @see docs/format.md#locks
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { systemCode } from '../core/errors.js'
import type { Holder } from './backend.js'
import type { Disk } from './disk.js'
import type { FsLayout, LockName } from './fs-layout.js'
import type { Liveness, ProcessIdentity, ProcessTable } from './process-identity.js'
import { runIdOfName } from './run-path.js'

interface LockFile extends ProcessIdentity {
  readonly program: string
  readonly token: string
}

export interface HeldLock {
  readonly holder: Holder
  readonly liveness: Liveness
}

/** A holder in words. */
export function named({ holder }: HeldLock): string {
  return `pid ${holder.pid} on ${holder.host} (${holder.program})`
}

/** The same for an error's data. */
export function factsOf({ holder, liveness }: HeldLock): Readonly<Record<string, unknown>> {
  const { pid, host, program } = holder
  return { pid, host, program, alive: liveness === 'alive' ? true : undefined }
}

export class FsLocks {
  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly processes: ProcessTable,
  ) {}

  /** Numbers of the locks that a log has, unsorted. */
  numbers(log: LockName): number[] {
    return this.disk
      .list(this.layout.locks())
      .map((name) => this.layout.lockNumber(log, name))
      .filter((number) => number !== undefined)
  }

  /** Take the lock of a segment; undefined where it is taken. The token releases it again. */
  acquire(log: LockName, segment: number, program: string): string | undefined {
    const token = randomBytes(8).toString('hex')
    const file: LockFile = { ...this.processes.self(), program, token }
    const path = this.layout.lock(log, segment)
    const draft = join(this.layout.tmp(), `lock.${token}`)
    try {
      // A link makes the whole content appear at once: nobody ever reads half a lock.
      this.write(draft, file, { sync: mustSurvive(log) })
      this.disk.link(draft, path)
      return token
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return undefined
      throw error
    } finally {
      this.discard(draft)
    }
  }

  private discard(draft: string): void {
    try {
      this.disk.remove(draft)
    } catch {
      // It stays in tmp/, where nobody looks; a lock that nobody knows to be his would stay for
      // good.
    }
  }

  /** Complete what `acquire` began: from now on a power loss leaves the lock, as a kill does. */
  settle(log: LockName): void {
    if (mustSurvive(log)) this.disk.syncDir(this.layout.locks())
  }

  private write(path: string, file: LockFile, { sync }: { readonly sync: boolean }): void {
    const out = this.disk.openFile(path, 'create')
    try {
      const bytes = Buffer.from(`${JSON.stringify(file)}\n`)
      for (let at = 0; at < bytes.length; ) at += out.append(bytes.subarray(at))
      if (sync) out.syncNow()
    } finally {
      out.close()
    }
  }

  /** Who holds a segment's lock; undefined where it is free. */
  inspect(log: LockName, segment: number): HeldLock | undefined {
    return this.inspectFile(this.layout.lock(log, segment))
  }

  private inspectFile(path: string): HeldLock | undefined {
    const file = this.read(path)
    if (file === undefined) return undefined
    const holder = { pid: file.pid, host: file.host, program: file.program }
    return { holder, liveness: file === TORN ? 'dead' : this.processes.liveness(file) }
  }

  /**
   * A lock of a log whose holder is not known to be dead, apart from one; undefined where there is
   * none.
   */
  live(log: LockName, except?: number): HeldLock | undefined {
    for (const number of this.numbers(log)) {
      const held = number === except ? undefined : this.inspect(log, number)
      if (held !== undefined && held.liveness !== 'dead') return held
    }
    return undefined
  }

  /** The same of all runs, and which run it is. */
  liveOfRuns(): (HeldLock & { readonly run: string }) | undefined {
    for (const name of this.disk.list(this.layout.locks())) {
      if (name.startsWith('~')) continue
      const held = this.inspectFile(join(this.layout.locks(), name))
      if (held === undefined || held.liveness === 'dead') continue
      const stem = name.replace(/\.\d+\.lock$/, '')
      return { ...held, run: runIdOfName(stem) ?? stem }
    }
    return undefined
  }

  /** Give a lock back. One that is no longer ours stays. */
  release(log: LockName, segment: number, token: string): void {
    const path = this.layout.lock(log, segment)
    if (this.isOurs(path, token)) this.disk.remove(path)
  }

  private isOurs(path: string, token: string): boolean {
    try {
      return this.read(path)?.token === token
    } catch {
      // Most likely it is. Kept, it would lock everybody out for as long as we live; gone, it costs
      // courtesy only.
      return true
    }
  }

  /** Remove the locks of segments that a higher one has made meaningless. */
  removeBelow(log: LockName, segment: number): void {
    for (const number of this.numbers(log)) {
      if (number < segment) this.disk.remove(this.layout.lock(log, number))
    }
  }

  private read(path: string): LockFile | undefined {
    try {
      const file = this.disk.openFile(path, 'read')
      try {
        const bytes = Buffer.alloc(file.size())
        file.read(bytes, 0)
        return parseLock(bytes)
      } finally {
        file.close()
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
  }
}

/**
 * The lock of a dead holder is how others learn that it did not finish, and close its turn and
 * steps.
 * In the store's own log nothing is ever left open.
 */
function mustSurvive(log: LockName): boolean {
  return log !== 'store'
}

/**
 * A lock that says nothing we know is held by nobody we can ask: never taken over automatically.
 */
const UNREADABLE: LockFile = {
  pid: 0,
  start: '',
  boot: '',
  namespace: '',
  host: 'unknown (the lock file is unreadable)',
  program: 'unknown',
  token: '',
}

/**
 * A lock appears whole, so only a power loss leaves half of one, and its holder did not survive
 * that.
 */
const TORN: LockFile = { ...UNREADABLE, host: 'unknown (the lock file is torn)' }

function parseLock(bytes: Buffer): LockFile {
  let file: Partial<LockFile> | null
  try {
    file = JSON.parse(bytes.toString())
  } catch {
    return TORN
  }
  return typeof file?.pid === 'number' && typeof file.host === 'string'
    ? { ...UNREADABLE, ...file }
    : UNREADABLE
}
