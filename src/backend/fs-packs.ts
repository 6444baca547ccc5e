/**
 * The sealed objects of all runs: a directory of packs and their indexes.
 * A pack appears whole under its name or not at all; an index can always be made again. Which packs
 * are worth keeping as they are is for `fs-compaction.ts`.
 * @see docs/format.md#packs
 */
import { join } from 'node:path'
import { DaglogError, systemCode } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { BLOCK_CACHE_BYTES_MAX, PACK_BLOCK_BYTES } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import { type Codec, decodeFooter, FOOTER_BYTES, packInvalid } from '../value/pack.js'
import { BlockCache } from '../value/pack-cache.js'
import { PackReader, type PackSource } from '../value/pack-reader.js'
import { buildIndex } from '../value/pack-rebuild.js'
import { writePack } from '../value/pack-writer.js'
import type { Disk, DiskFile } from './disk.js'
import type { FsLayout } from './fs-layout.js'

/** Rounds of "a pack went while we looked". */
const LIST_ATTEMPTS_MAX = 8

const PACK_NAME = /^([0-9a-f]{64})\.pack$/
const INDEX_NAME = /^([0-9a-f]{64})\.idx$/

export class FsPacks {
  private readonly readers = new Map<Hash, { reader: PackReader; file: DiskFile }>()
  /** Packs that are there and could not be opened, and why. */
  private unreadable = new Map<Hash, unknown>()
  private readonly cache = new BlockCache(BLOCK_CACHE_BYTES_MAX)
  private listed = false
  /** Whether the names of all packs that were listed would survive power loss. */
  private namesSynced = false
  private drafts = 0

  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly onNotice: (message: string, cause?: unknown) => void,
    private readonly codec: Codec,
  ) {}

  /**
   * Whether a pack holds the object, its bytes hashed. A damaged one holds what is whole in it;
   * where one cannot be opened, the answer is never no.
   * @throws the error of opening that pack.
   */
  has(hash: Hash): boolean {
    return this.search(hash, (reader) => (reader.has(hash) ? true : undefined)) ?? false
  }

  /**
   * Whether it need not be written again: a pack holds it, and would survive power loss, which
   * whoever made the pack may not have seen to. A pack that cannot be opened saves nobody any work.
   * @param again Whether to look for new packs before saying no; once is enough for many.
   */
  keeps(hash: Hash, again = true): boolean {
    try {
      if (this.search(hash, (reader) => reader.has(hash) || undefined, again) === undefined)
        return false
    } catch {
      return false
    }
    if (!this.namesSynced) this.disk.syncDir(this.layout.packs())
    this.namesSynced = true
    return true
  }

  /**
   * @throws OBJECT_CORRUPT, PACK_INVALID where the object is known to be in a pack that is damaged.
   */
  get(hash: Hash): Uint8Array | undefined {
    let damage: unknown
    const found = this.search(hash, (reader) => {
      try {
        return reader.read(hash)?.bytes
      } catch (error) {
        damage = error // Another pack may hold it whole.
        return undefined
      }
    })
    if (found === undefined && damage !== undefined) throw damage
    return found
  }

  /** The same from packs that are known; undefined where it takes another look, or is damaged. */
  getKnown(hash: Hash): Uint8Array | undefined {
    if (!this.listed) return undefined
    try {
      return this.search(hash, (reader) => reader.read(hash)?.bytes, false)
    } catch {
      // Whoever asks for it then is told what is wrong.
      return undefined
    }
  }

  /** Ask the packs that may hold the object; look at the directory again before saying no. */
  private search<R>(
    hash: Hash,
    ask: (reader: PackReader) => R | undefined,
    again = true,
  ): R | undefined {
    if (!this.listed) this.list()
    const trouble: unknown[] = []
    for (let round = 0; ; round += 1) {
      for (const { reader } of this.readers.values()) {
        if (!reader.mayHave(hash)) continue
        try {
          const answer = ask(reader)
          if (answer !== undefined) return answer
        } catch (error) {
          if (error instanceof DaglogError && error.kind === 'damage')
            this.onNotice(`pack ${reader.pack} is damaged; what is whole in it can be read`, error)
          else trouble.push(error)
        }
      }
      if (round > 0 || !again || !this.list()) break
    }
    for (const error of [...trouble, ...this.unreadable.values()]) throw error
    return undefined
  }

  /**
   * Look at the directory anew before anything is looked for. Whoever becomes a writer must: packs
   * that were let go of since are still open here, and what only they held would count as kept.
   */
  refresh(): void {
    this.listed = false
  }

  /** Open packs that are new, let go of those that are gone; true where anything is new. */
  private list(): boolean {
    this.listed = true
    let found = false
    const known = this.unreadable
    this.unreadable = new Map()
    for (let attempt = 1; attempt <= LIST_ATTEMPTS_MAX; attempt += 1) {
      const names = this.names()
      for (const [name, { file }] of this.readers) {
        if (names.has(name)) continue
        file.close()
        this.readers.delete(name)
      }
      let gone = false
      for (const name of names) {
        if (this.readers.has(name)) continue
        const opened = this.open(name, known)
        if (opened === 'opened') this.namesSynced = false
        found ||= opened === 'opened'
        gone ||= opened === 'gone'
      }
      // A pack that went between listing and opening was merged into one that is there now.
      if (!gone) break
    }
    return found
  }

  /** The packs there are. */
  names(): Set<Hash> {
    return this.namesLike(PACK_NAME)
  }

  private namesLike(pattern: RegExp): Set<Hash> {
    const names = new Set<Hash>()
    for (const file of this.disk.list(this.layout.packs())) {
      const match = pattern.exec(file)
      if (match !== null) names.add(match[1] as Hash)
    }
    return names
  }

  private open(name: Hash, known: ReadonlyMap<Hash, unknown>): 'opened' | 'gone' | 'bad' {
    let file: DiskFile | undefined
    try {
      file = this.disk.openFile(this.path(name, 'pack'), 'read')
      this.readers.set(name, { reader: this.openReader(name, file), file })
      return 'opened'
    } catch (error) {
      if (file === undefined && systemCode(error) === 'ENOENT') return 'gone'
      file?.close()
      this.unreadable.set(name, error)
      if (!known.has(name)) this.onNotice(`pack ${name} cannot be read`, error)
      return 'bad'
    }
  }

  private openReader(name: Hash, file: DiskFile): PackReader {
    const source: PackSource = {
      pack: name,
      read: (atByte, count) => readFrom(file, atByte, count),
    }
    const cache = this.cache
    try {
      return PackReader.open(source, { index: this.readIndex(name), cache })
    } catch (error) {
      if (error instanceof DaglogError && error.code === 'FORMAT_TOO_NEW') throw error
      const { index, damage } = buildIndex(source)
      // The index of a damaged pack would outlive the damage: who puts a good copy in its place
      // would miss objects.
      if (damage.length === 0) this.saveIndex(name, index)
      else this.onNotice(`pack ${name} is damaged; what is whole in it can be read`, damage[0])
      return PackReader.open(source, { index, cache })
    }
  }

  private readIndex(name: Hash): Buffer {
    const file = this.disk.openFile(this.path(name, 'idx'), 'read')
    try {
      return readFrom(file, 0, file.size())
    } finally {
      file.close()
    }
  }

  /** A store that cannot be written keeps the new index in memory only. */
  private saveIndex(name: Hash, index: Buffer): void {
    try {
      const draft = this.draft()
      this.write(draft, (file) => appendAll(file, index))
      this.disk.rename(draft, this.path(name, 'idx'))
    } catch (error) {
      this.onNotice(`the index of pack ${name} was made again but could not be saved`, error)
    }
  }

  /**
   * Write objects as one pack, durable and visible to all on return; undefined where there are
   * none.
   */
  async add(
    objects: Iterable<StoredObject>,
    { blockBytes = PACK_BLOCK_BYTES }: { readonly blockBytes?: number } = {},
  ): Promise<Hash | undefined> {
    const draft = this.draft()
    const file = this.disk.openFile(draft, 'create')
    try {
      const written = await writePack(objects, (bytes) => appendAll(file, bytes), {
        codec: this.codec,
        blockBytes,
      })
      if (written.objects === 0) return undefined
      await file.sync()
      this.saveIndex(written.name, written.index)
      this.disk.rename(draft, this.path(written.name, 'pack'))
      this.disk.syncDir(this.layout.packs())
      this.listed = false
      return written.name
    } finally {
      file.close()
      this.disk.remove(draft)
    }
  }

  /**
   * All objects of one pack, in the order they were written; their bytes are views of a block.
   * @throws PACK_INVALID before the first one, or after some, where any of it is not whole; the disk's
   *   `ENOENT` where it is gone.
   */
  *read(name: Hash): Generator<StoredObject> {
    // A file of its own: whoever looks at the directory meanwhile closes the files of packs that
    // are gone.
    const file = this.disk.openFile(this.path(name, 'pack'), 'read')
    try {
      const reader = this.openReader(name, file)
      const { footerAt, blocks, objects } = reader.index
      const footer = decodeFooter(readFrom(file, footerAt, FOOTER_BYTES + 1))
      // An index that was made from a damaged pack leaves out what is damaged.
      if (footer?.blocks !== blocks.length || footer.objects !== objects)
        throw packInvalid({ pack: name, atByte: footerAt }, 'its end is not as it was written')
      yield* reader.objects()
    } finally {
      file.close()
    }
  }

  /** Everything that can be read, pack by pack. */
  *objects(): Generator<StoredObject> {
    for (const name of this.names()) {
      try {
        yield* this.read(name)
      } catch (error) {
        this.onNotice(`pack ${name} cannot be read whole; the rest of it is left out`, error)
      }
    }
  }

  /** Remove a pack for good. */
  remove(name: Hash): void {
    this.readers.get(name)?.file.close()
    this.readers.delete(name)
    // The pack goes first: an index without a pack is nothing, a pack without an index is one to be
    // indexed.
    this.disk.remove(this.path(name, 'pack'))
    this.disk.remove(this.path(name, 'idx'))
  }

  /** Remove indexes without a pack, which only a crash leaves. Only while nobody adds packs. */
  removeStrayIndexes(): void {
    const names = this.names()
    for (const name of this.namesLike(INDEX_NAME))
      if (!names.has(name)) this.disk.remove(this.path(name, 'idx'))
  }

  /** Make it last that packs were removed. */
  syncNames(): void {
    this.disk.syncDir(this.layout.packs())
  }

  /** Length of a pack without its index, in bytes; 0 where it is gone. */
  bytesOf(name: Hash): number {
    return this.disk.sizeOf(this.path(name, 'pack')) ?? 0
  }

  private draft(): string {
    this.drafts += 1
    return join(this.layout.tmp(), `pack.${process.pid}.${performance.now()}.${this.drafts}`)
  }

  private write(path: string, fill: (file: DiskFile) => void): void {
    const file = this.disk.openFile(path, 'create')
    try {
      fill(file)
      file.syncNow()
    } finally {
      file.close()
    }
  }

  private path(name: Hash, ending: 'pack' | 'idx'): string {
    return join(this.layout.packs(), `${name}.${ending}`)
  }

  /** Bytes of all packs with their indexes. */
  bytes(): number {
    const dir = this.layout.packs()
    return this.disk
      .list(dir)
      .reduce((sum, name) => sum + (this.disk.sizeOf(join(dir, name)) ?? 0), 0)
  }

  close(): void {
    for (const { file } of this.readers.values()) file.close()
    this.readers.clear()
    this.listed = false
  }
}

function appendAll(file: DiskFile, bytes: Uint8Array): void {
  let written = 0
  while (written < bytes.length) {
    const count = file.append(bytes.subarray(written))
    if (count <= 0) throw new Error('the disk took no bytes')
    written += count
  }
}

function readFrom(file: DiskFile, atByte: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Math.max(0, count))
  let filled = 0
  while (filled < bytes.length) {
    const read = file.read(bytes.subarray(filled), atByte + filled)
    if (read === 0) break
    filled += read
  }
  return bytes.subarray(0, filled)
}
