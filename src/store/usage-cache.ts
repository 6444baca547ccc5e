/**
 * What runs took, as it was found the last time: a note for each run in the cache.
 * Never truth. A note is used only where the run ends with the same frame, and was made by the same
 * readers; every trouble with the cache costs time and nothing else.
 */
import { sha256 } from '../core/hash.js'
import { builtInReaders } from '../fold/readers.js'
import { type ModelUsage, usage } from '../fold/usage.js'
import type { StoreContext } from './context.js'
import type { RunInfo } from './run-infos.js'

interface Note {
  readonly made: string
  readonly hash: string
  readonly usage: ModelUsage
}

export class UsageCache {
  private constructor(
    private readonly context: StoreContext,
    /** What a note depends on beside the run. */
    private readonly made: string,
  ) {}

  static async of(context: StoreContext): Promise<UsageCache> {
    const readers = (await builtInReaders()).map(({ key, version }) => `${key} ${version}`)
    return new UsageCache(context, `usage ${usage.version}; ${readers.join('; ')}`)
  }

  /** Undefined where nothing is noted that still fits. */
  async read(info: RunInfo): Promise<ModelUsage | undefined> {
    if (!isSettled(info)) return undefined
    try {
      const bytes = await this.context.backend.readCache(keyOf(info))
      const note = bytes === undefined ? undefined : parsed(Buffer.from(bytes))
      const fits = note?.made === this.made && note.hash === info.head?.hash
      return fits ? note.usage : undefined
    } catch (error) {
      this.report(info, 'read and is not used', error)
      return undefined
    }
  }

  async write(info: RunInfo, found: ModelUsage): Promise<void> {
    if (!isSettled(info)) return
    try {
      const note = { made: this.made, hash: info.head?.hash, usage: found }
      const text = Buffer.from(JSON.stringify(note))
      const bytes = Buffer.concat([Buffer.from(`${sha256(text)}\n`), text])
      await this.context.backend.writeCache(keyOf(info), bytes)
    } catch (error) {
      this.report(info, 'written; the next look reads the run again', error)
    }
  }

  private report({ id }: RunInfo, what: string, error: unknown): void {
    this.context.notices.report('cache', `the usage of run ${id} could not be ${what}`, error)
  }
}

/** Whether the run ends where the store's log says: only then its last frame is known unread. */
function isSettled({ head, current }: RunInfo): boolean {
  return head !== undefined && current
}

function keyOf({ id }: RunInfo): string {
  return `usage/${id}`
}

/** Undefined where it is not as it was written: a changed number would be believed. */
function parsed(bytes: Buffer): Note | undefined {
  const end = bytes.indexOf('\n')
  const text = bytes.subarray(end + 1)
  if (end < 0 || bytes.toString('latin1', 0, end) !== sha256(text)) return undefined
  return JSON.parse(text.toString()) as Note
}
