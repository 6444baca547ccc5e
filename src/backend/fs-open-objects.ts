/**
 * A run's own new objects: one append-only file, written under the run's lock, sealed into a pack
 * later.
 * @see docs/format.md#open-objects
 */
import { DaglogError, systemCode } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import {
  encodeObjectRecords,
  type ObjectRecord,
  RECORD_HEADER_BYTES,
  readObjectRecord,
  scanObjectRecords,
} from '../value/object-record.js'
import type { Disk, DiskFile } from './disk.js'

export class FsOpenObjects {
  private readonly records = new Map<Hash, ObjectRecord>()
  /** How far the file has been read, in bytes. */
  private scannedBytes = 0
  private file: DiskFile | undefined
  private failure: unknown
  private turn: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly disk: Disk,
    private readonly path: string,
    private readonly dir: string,
  ) {}

  /** One at a time: what is appended while the file is sealed away would be lost with it. */
  async exclusive<R>(use: () => Promise<R>): Promise<R> {
    const mine = this.turn.then(use)
    this.turn = mine.catch(() => undefined)
    return mine
  }

  /** Length of the file, in bytes; 0 where there is none. */
  bytes(): number {
    return this.disk.sizeOf(this.path) ?? 0
  }

  has(hash: Hash): boolean {
    if (this.records.has(hash)) return true
    this.refresh()
    return this.records.has(hash)
  }

  /** @throws OBJECT_CORRUPT */
  get(hash: Hash): Uint8Array | undefined {
    if (!this.has(hash)) return undefined
    return this.withFile(
      (read) => readObjectRecord(read, this.records.get(hash) as ObjectRecord).bytes,
    )
  }

  list(): IterableIterator<ObjectRecord> {
    this.refresh()
    return this.records.values()
  }

  /** All objects in the order they were written. */
  *objects(): Generator<StoredObject> {
    for (const record of this.list()) yield this.withFile((read) => readObjectRecord(read, record))
  }

  /**
   * Append those that are new, durably on return. What a crash left half-written at the end is cut first,
   * through `keepTorn`: nobody was ever told that it is there.
   */
  async put(
    objects: readonly StoredObject[],
    keepTorn: (atByte: number, bytes: Buffer) => void,
  ): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    const fresh = objects.filter(({ hash }) => !this.has(hash))
    if (fresh.length === 0) return
    try {
      await this.append(encodeObjectRecords(fresh), keepTorn)
    } catch (error) {
      // As with the log: after a failed write or sync nobody knows what the disk holds.
      this.failure = error
      this.close()
      this.forget()
      throw error
    }
    this.refresh()
  }

  private async append(
    bytes: Buffer,
    keepTorn: (atByte: number, bytes: Buffer) => void,
  ): Promise<void> {
    const file = this.open()
    this.refresh()
    if (file.size() > this.scannedBytes) this.cutTorn(file, keepTorn)
    const from = this.scannedBytes
    let written = 0
    try {
      while (written < bytes.length) {
        const count = file.append(written === 0 ? bytes : bytes.subarray(written))
        if (count <= 0) throw new Error('the disk took no bytes')
        written += count
      }
      await file.sync()
    } catch (error) {
      // Also after a failed sync: no later one writes these bytes, so nobody may find an object in them.
      if (written > 0) file.truncate(from)
      throw error
    }
  }

  private open(): DiskFile {
    if (this.file !== undefined) return this.file
    if (this.disk.exists(this.path)) {
      this.file = this.disk.openFile(this.path, 'append')
    } else {
      this.file = this.disk.openFile(this.path, 'create')
      this.disk.syncDir(this.dir)
    }
    return this.file
  }

  private cutTorn(file: DiskFile, keepTorn: (atByte: number, bytes: Buffer) => void): void {
    const torn = Buffer.alloc(file.size() - this.scannedBytes)
    file.read(torn, this.scannedBytes)
    keepTorn(this.scannedBytes, torn)
    file.truncate(this.scannedBytes)
    file.syncNow()
  }

  /** Take in what has been appended since; start again where the file was sealed away. */
  private refresh(): void {
    const size = this.bytes()
    if (size < this.scannedBytes) this.forget()
    if (size === this.scannedBytes) return
    this.withFile((read) => {
      const scan = scanObjectRecords(read, this.scannedBytes, size)
      for (let next = scan.next(); ; next = scan.next()) {
        if (next.done === true) {
          this.scannedBytes = next.value
          return
        }
        this.records.set(next.value.hash, next.value)
      }
    })
  }

  private forget(): void {
    this.records.clear()
    this.scannedBytes = 0
  }

  private withFile<R>(use: (read: (atByte: number, count: number) => Buffer) => R): R {
    if (this.file !== undefined) return use(readerOf(this.file))
    let file: DiskFile
    try {
      file = this.disk.openFile(this.path, 'read')
    } catch (cause) {
      throw new DaglogError(
        'READ_FAILED',
        `${this.path}: ${systemCode(cause)}`,
        { path: this.path },
        { cause },
      )
    }
    try {
      return use(readerOf(file))
    } finally {
      file.close()
    }
  }

  /** Remove the file: everything in it is in a pack now. */
  remove(): void {
    this.close()
    this.disk.remove(this.path)
    this.disk.syncDir(this.dir)
    this.forget()
  }

  close(): void {
    this.file?.close()
    this.file = undefined
  }

  /** The file was opened anew by another writer: start without an old failure. */
  reopen(): void {
    this.close()
    this.failure = undefined
  }

  static readonly recordOverheadBytes = RECORD_HEADER_BYTES
}

function readerOf(file: DiskFile): (atByte: number, count: number) => Buffer {
  return (atByte, count) => {
    const bytes = Buffer.allocUnsafe(Math.max(0, count))
    let filled = 0
    while (filled < bytes.length) {
      const read = file.read(bytes.subarray(filled), atByte + filled)
      if (read === 0) break
      filled += read
    }
    return bytes.subarray(0, filled)
  }
}
