/**
 * Whole files of a store's directory: the manifest, evidence, the cache. Each appears at once under
 * its name, or not at all.
 */
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { systemCode } from '../core/errors.js'
import { sha256 } from '../core/hash.js'
import type { LogName } from './backend.js'
import type { Disk } from './disk.js'
import type { FsLayout } from './fs-layout.js'

export class FsFiles {
  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
  ) {}

  /** A path in `tmp/` that nobody else uses. */
  draftPath(stem: string): string {
    return join(this.layout.tmp(), `${stem}.${process.pid}.${randomBytes(8).toString('hex')}`)
  }

  /** A file that has no name yet but a temporary one; synced. */
  draft(bytes: Uint8Array): string {
    const path = this.draftPath('draft')
    const file = this.disk.openFile(path, 'create')
    try {
      for (let at = 0; at < bytes.length; ) at += file.append(bytes.subarray(at))
      file.syncNow()
    } finally {
      file.close()
    }
    return path
  }

  /**
   * Evidence is never overwritten: the same bytes are there already, or they get a name of their
   * own.
   */
  saveTorn(log: LogName, name: string, bytes: Uint8Array): void {
    const path = this.layout.torn(log, name)
    this.disk.makeDir(dirname(path))
    const draft = this.draft(bytes)
    if (!createIfMissing(() => this.disk.link(draft, path))) {
      createIfMissing(() => this.disk.link(draft, `${path}.${sha256(bytes).slice(0, 16)}`))
    }
    this.disk.remove(draft)
    this.disk.syncDir(dirname(path))
    this.disk.syncDir(this.layout.logDir(log))
  }

  readCache(key: string): Buffer | undefined {
    return this.read(this.cachePath(key))
  }

  writeCache(key: string, bytes: Uint8Array): void {
    const path = this.cachePath(key)
    this.disk.makeDir(dirname(path))
    this.disk.rename(this.draft(bytes), path)
  }

  /** Keys hold run ids, so they are hashed: any id, any length. */
  private cachePath(key: string): string {
    const name = sha256(Buffer.from(key))
    return join(this.layout.cache(), name.slice(0, 2), name.slice(2, 34))
  }

  /** All of a file, or undefined where there is none. */
  read(path: string): Buffer | undefined {
    if (!this.disk.exists(path)) return undefined
    const file = this.disk.openFile(path, 'read')
    try {
      const bytes = Buffer.alloc(file.size())
      let filled = 0
      while (filled < bytes.length) {
        const count = file.read(bytes.subarray(filled), filled)
        if (count === 0) break
        filled += count
      }
      return bytes.subarray(0, filled)
    } finally {
      file.close()
    }
  }
}

/** False where it was there already. */
export function createIfMissing(create: () => void): boolean {
  try {
    create()
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}
