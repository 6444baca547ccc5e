/**
 * Snapshots of folds: bytes in the cache that save reading a log from its start.
 * Never truth. One is used only if the frame it was taken at still stands, byte for byte, and every
 * trouble with the cache costs time and nothing else.
 */
import type { Backend } from '../backend/backend.js'
import { sha256 } from '../core/hash.js'
import type { LogReader } from './log-reader.js'
import type { LogShape } from './log-shape.js'
import { standsAt } from './log-tail.js'
import type { Head } from './log-walk.js'
import type { Notices } from './notices.js'

interface SnapshotFile {
  readonly head: Head
  readonly state: unknown
}

export class Snapshots {
  constructor(
    private readonly backend: Backend,
    private readonly notices: Notices,
  ) {}

  /**
   * The state under `key` and the head it was taken at; undefined where there is none that still
   * fits.
   */
  async read(key: string, reader: LogReader, shape: LogShape): Promise<SnapshotFile | undefined> {
    try {
      const bytes = await this.backend.readCache(key)
      if (bytes === undefined) return undefined
      const file = parse(Buffer.from(bytes))
      return file !== undefined && (await standsAt(reader, shape, file.head)) ? file : undefined
    } catch (error) {
      this.notices.report('cache', `snapshot ${key} could not be read and is not used`, error)
      return undefined
    }
  }

  async write(key: string, head: Head, state: unknown): Promise<void> {
    try {
      const { seq, hash, place } = head
      const text = Buffer.from(JSON.stringify({ head: { seq, hash, place }, state }))
      await this.backend.writeCache(key, Buffer.concat([Buffer.from(`${sha256(text)}\n`), text]))
    } catch (error) {
      this.notices.report(
        'cache',
        `snapshot ${key} could not be written; the next start reads more`,
        error,
      )
    }
  }
}

/**
 * The snapshot, or undefined where it is not as it was written: a changed number would be believed.
 */
function parse(bytes: Buffer): SnapshotFile | undefined {
  const end = bytes.indexOf('\n')
  const text = bytes.subarray(end + 1)
  if (end < 0 || bytes.toString('latin1', 0, end) !== sha256(text)) return undefined
  return JSON.parse(text.toString()) as SnapshotFile
}
