/**
 * The runs that sessions are being written to: opened when there is something to write, and let go
 * of soon after, so that another process gets its turn.
 */
import { DaglogError } from '../core/errors.js'
import type { Run } from '../store/run.js'
import type { Store } from '../store/store.js'
import { runIdOf, type SessionKey } from './claude-session-key.js'

/** The SDK gives up after 60 s, and sends batches every 100 ms. */
const LOCK_WAIT_MS = 20_000
const LET_GO_AFTER_MS = 1000

interface Used {
  readonly run: Promise<Run>
  /** Uses go one after the other. */
  last: Promise<unknown>
  timer: NodeJS.Timeout | undefined
}

export class OpenRuns {
  private readonly used = new Map<string, Used>()

  constructor(private readonly store: Store) {}

  /** Do something with the run of a session, which is begun where there is none. */
  async use<R>(key: SessionKey, work: (run: Run) => Promise<R>): Promise<R> {
    const id = runIdOf(key)
    const used = this.used.get(id) ?? this.open(id, key)
    clearTimeout(used.timer)
    const result = used.last.then(async () => work(await used.run))
    used.last = result.catch(() => undefined)
    try {
      return await result
    } finally {
      this.letGoSoon(used)
    }
  }

  private open(id: string, key: SessionKey): Used {
    const run = this.begin(id, key)
    const used: Used = { run, last: Promise.resolve(), timer: undefined }
    this.used.set(id, used)
    // The next one tries again.
    run.then(
      (opened) => opened.onClosed(() => this.forget(id, used)),
      () => this.forget(id, used),
    )
    return used
  }

  private forget(id: string, used: Used): void {
    clearTimeout(used.timer)
    if (this.used.get(id) === used) this.used.delete(id)
  }

  private async begin(id: string, key: SessionKey): Promise<Run> {
    const { projectKey, sessionId, subpath } = key
    const beginning = { name: subpath ?? sessionId, meta: { ...key } }
    const lock = { lockWaitMs: LOCK_WAIT_MS }
    if (subpath === undefined) return this.store.run(id, { ...beginning, ...lock })
    if (await this.store.context.backend.hasRun(id)) return this.store.run(id, lock)
    return this.use({ projectKey, sessionId }, async (parent) => {
      try {
        return await parent.child({ id, ...beginning })
      } catch (error) {
        if (!(error instanceof DaglogError) || error.code !== 'RUN_EXISTS') throw error
        return this.store.run(id, lock)
      }
    })
  }

  private letGoSoon(used: Used): void {
    clearTimeout(used.timer)
    used.timer = setTimeout(() => {
      const letGo = used.last.then(async () => (await used.run).release())
      used.last = letGo.catch((error: unknown) => {
        this.store.context.notices.report('heads', 'a session could not be released cleanly', error)
      })
    }, LET_GO_AFTER_MS)
    used.timer.unref()
  }

  async close(id: string): Promise<void> {
    const used = this.used.get(id)
    if (used === undefined) return
    this.forget(id, used)
    await used.last
    await (await used.run.catch(() => undefined))?.close()
  }

  async closeAll(): Promise<void> {
    for (const id of [...this.used.keys()]) await this.close(id)
  }
}
