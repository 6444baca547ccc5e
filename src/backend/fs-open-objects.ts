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
  findObjectRecord,
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
  /** Whether there are bytes before that which are no record. */
  private damaged = false
  /** Its first bytes, by which a file that was begun anew is told from the one that was read. */
  private beginning: Buffer = Buffer.alloc(0)
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

  /** Whether it was there when we last looked. */
  knows(hash: Hash): boolean {
    return this.records.has(hash)
  }

  has(hash: Hash): boolean {
    if (this.records.has(hash)) return true
    this.refresh()
    return this.records.has(hash)
  }

  /** @throws OBJECT_CORRUPT */
  get(hash: Hash): Uint8Array | undefined {
    if (!this.has(hash)) return undefined
    try {
      return this.read(hash)
    } catch (error) {
      if (!this.renewed()) throw error
      return this.has(hash) ? this.read(hash) : undefined
    }
  }

  private read(hash: Hash): Uint8Array {
    const record = this.records.get(hash) as ObjectRecord
    return this.withFile((read) => readObjectRecord(read, record).bytes)
  }

  /**
   * Whether the file was sealed away, and perhaps begun anew, since it was read; then it is read
   * again.
   * Whoever does not write the run must ask before it takes an object for missing.
   */
  renewed(): boolean {
    const { beginning } = this
    if (beginning.length === 0 || beginning.equals(this.readBeginning(beginning.length)))
      return false
    this.close()
    this.forget()
    return true
  }

  private readBeginning(bytes: number): Buffer {
    let file: DiskFile
    try {
      file = this.disk.openFile(this.path, 'read')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return Buffer.alloc(0)
      throw error
    }
    try {
      return readerOf(file)(0, bytes)
    } finally {
      file.close()
    }
  }

  list(): IterableIterator<ObjectRecord> {
    this.renewed()
    this.refresh()
    return this.records.values()
  }

  /** All objects in the order they were written. */
  *objects(): Generator<StoredObject> {
    for (const record of this.list()) yield this.withFile((read) => readObjectRecord(read, record))
  }

  /**
   * Append those that are neither here nor `elsewhere`, durably on return. What a crash left
   * half-written at the end is cut first, through `keepTorn`: nobody was ever told that it is
   * there.
   */
  async put(
    objects: readonly StoredObject[],
    keepTorn: (atByte: number, bytes: Buffer) => void,
    elsewhere: (hash: Hash) => boolean,
  ): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.refresh()
    const fresh = objects.filter(({ hash }) => !this.records.has(hash) && !elsewhere(hash))
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
      this.checkNamed(file)
    } catch (error) {
      // Also after a failed sync: no later one writes these bytes, so nobody may find an object in
      // them.
      if (written > 0) file.truncate(from)
      throw error
    }
  }

  /** A writer that was fenced and does not know it may have sealed the file away under us. */
  private checkNamed(file: DiskFile): void {
    if (this.bytes() >= file.size()) return
    throw new DaglogError(
      'WRITER_FENCED',
      `${this.path} was sealed away by another writer; try: open the run again`,
      { path: this.path },
    )
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
    const torn = readerOf(file)(this.scannedBytes, file.size() - this.scannedBytes)
    keepTorn(this.scannedBytes, torn)
    file.truncate(this.scannedBytes)
    file.syncNow()
  }

  /** Take in what has been appended since; start again where the file was sealed away. */
  private refresh(): void {
    const size = this.bytes()
    if (size < this.scannedBytes) {
      this.close()
      this.forget()
    }
    if (size === this.scannedBytes) return
    this.withFile((read) => {
      if (this.scannedBytes === 0) this.beginning = read(0, RECORD_HEADER_BYTES)
      let from: number | undefined = this.scannedBytes
      while (from !== undefined) {
        const end: number = this.takeRecords(scanObjectRecords(read, from, size))
        if (from > this.scannedBytes) this.damaged = true
        this.scannedBytes = end
        // What is whole behind a bad record was acknowledged all the same; only after the last one
        // is torn.
        from = end < size ? findObjectRecord(read, end + 1, size) : undefined
      }
    })
  }

  /** @returns Where the last whole record ends. */
  private takeRecords(scan: Generator<ObjectRecord, number>): number {
    for (let next = scan.next(); ; next = scan.next()) {
      if (next.done === true) return next.value
      this.records.set(next.value.hash, next.value)
    }
  }

  private forget(): void {
    this.records.clear()
    this.scannedBytes = 0
    this.damaged = false
    this.beginning = Buffer.alloc(0)
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

  /** Remove the file: everything whole in it is in a pack now; the rest is kept as evidence. */
  remove(keepTorn: (atByte: number, bytes: Buffer) => void): void {
    if (this.damaged) this.withFile((read) => keepTorn(0, read(0, this.bytes())))
    else if (this.bytes() > this.scannedBytes) this.cutTorn(this.open(), keepTorn)
    this.close()
    this.disk.remove(this.path)
    this.disk.syncDir(this.dir)
    this.forget()
  }

  close(): void {
    this.file?.close()
    this.file = undefined
  }

  /** We are the writer from now on: start without an old failure, and with what is there now. */
  reopen(): void {
    this.close()
    this.forget()
    this.failure = undefined
  }
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
