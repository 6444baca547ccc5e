/**
 * The sealed objects of all runs: a directory of packs and their indexes.
 * A pack appears whole under its name or not at all; an index can always be made again.
 * @see docs/format.md#packs
 */
import { join } from 'node:path'
import { DaglogError, systemCode } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { BLOCK_CACHE_BYTES_MAX, PACK_SMALL_BYTES_MAX, PACKS_SMALL_MAX } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import type { Codec } from '../value/pack.js'
import { BlockCache } from '../value/pack-cache.js'
import { PackReader, type PackSource } from '../value/pack-reader.js'
import { buildIndex } from '../value/pack-rebuild.js'
import { writePack } from '../value/pack-writer.js'
import type { Disk, DiskFile } from './disk.js'
import type { FsLayout } from './fs-layout.js'

/** Rounds of "a pack went while we looked". */
const LIST_ATTEMPTS_MAX = 8

const PACK_NAME = /^([0-9a-f]{64})\.pack$/

export class FsPacks {
  private readonly readers = new Map<Hash, { reader: PackReader; file: DiskFile }>()
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

  /** Whether a pack holds the object, its bytes hashed. A pack that cannot be read holds nothing. */
  has(hash: Hash): boolean {
    return this.search(hash, (reader) => (reader.has(hash) ? true : undefined)) ?? false
  }

  /** The same, and it would survive power loss: whoever made the pack may not have synced its name. */
  keeps(hash: Hash): boolean {
    if (!this.has(hash)) return false
    if (!this.namesSynced) this.disk.syncDir(this.layout.packs())
    this.namesSynced = true
    return true
  }

  /** @throws OBJECT_CORRUPT, PACK_INVALID where the object is known to be in a pack that is damaged. */
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

  /** Ask the packs that may hold the object; look at the directory again before saying no. */
  private search<R>(hash: Hash, ask: (reader: PackReader) => R | undefined): R | undefined {
    if (!this.listed) this.list()
    for (let round = 0; ; round += 1) {
      for (const { reader } of this.readers.values()) {
        if (!reader.mayHave(hash)) continue
        const answer = this.asked(reader, ask)
        if (answer !== undefined) return answer
      }
      if (round > 0 || !this.list()) return undefined
    }
  }

  private asked<R>(reader: PackReader, ask: (reader: PackReader) => R | undefined): R | undefined {
    try {
      return ask(reader)
    } catch (error) {
      this.onNotice(`pack ${reader.pack} is damaged; what is whole in it can still be read`, error)
      return undefined
    }
  }

  /** Open packs that are new, let go of those that are gone; true where anything is new. */
  private list(): boolean {
    this.listed = true
    let found = false
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
        const opened = this.open(name)
        if (opened === 'opened') this.namesSynced = false
        found ||= opened === 'opened'
        gone ||= opened === 'gone'
      }
      // A pack that went between listing and opening was merged into one that is there now.
      if (!gone) break
    }
    return found
  }

  private names(): Set<Hash> {
    const names = new Set<Hash>()
    for (const file of this.disk.list(this.layout.packs())) {
      const match = PACK_NAME.exec(file)
      if (match !== null) names.add(match[1] as Hash)
    }
    return names
  }

  private open(name: Hash): 'opened' | 'gone' | 'bad' {
    let file: DiskFile
    try {
      file = this.disk.openFile(this.path(name, 'pack'), 'read')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return 'gone'
      this.onNotice(`pack ${name} cannot be opened`, error)
      return 'bad'
    }
    try {
      this.readers.set(name, { reader: this.openReader(name, file), file })
      return 'opened'
    } catch (error) {
      file.close()
      this.onNotice(`pack ${name} cannot be read`, error)
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
      if (damage.length > 0)
        this.onNotice(`pack ${name} is damaged; what is whole in it can still be read`, damage[0])
      this.saveIndex(name, index)
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

  /** Write objects as one pack, durable and visible to all on return; undefined where there are none. */
  async add(objects: Iterable<StoredObject>): Promise<Hash | undefined> {
    const draft = this.draft()
    const file = this.disk.openFile(draft, 'create')
    try {
      const written = await writePack(objects, (bytes) => appendAll(file, bytes), {
        codec: this.codec,
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
   * Make one of many small packs. Whoever reads finds each object at every moment: the new pack is there
   * before the old ones go. Two processes that merge at once leave some objects twice, which costs room
   * until the next merge.
   */
  async mergeSmall(): Promise<void> {
    this.list()
    const small = [...this.readers.keys()]
      .filter((name) => this.sizeOf(name) < PACK_SMALL_BYTES_MAX)
      .sort()
    if (small.length >= PACKS_SMALL_MAX) await this.replace(small, () => true)
  }

  /** One new pack with the live objects of some old ones, which then go. */
  private async replace(names: readonly Hash[], isLive: (hash: Hash) => boolean): Promise<void> {
    const readers = names.map((name) => (this.readers.get(name) as { reader: PackReader }).reader)
    const added = await this.add(liveObjects(readers, isLive))
    for (const name of names) if (name !== added) this.removePack(name)
    this.disk.syncDir(this.layout.packs())
  }

  private removePack(name: Hash): void {
    this.readers.get(name)?.file.close()
    this.readers.delete(name)
    // The pack goes first: an index without a pack is nothing, a pack without an index is one to be indexed.
    this.disk.remove(this.path(name, 'pack'))
    this.disk.remove(this.path(name, 'idx'))
  }

  /**
   * Drop what nobody needs. Packs that are mostly dead are written anew without the dead.
   * @throws PACK_INVALID where a pack cannot be read whole; then nothing was dropped.
   */
  async sweep(
    isLive: (hash: Hash) => boolean,
    { dryRun }: { readonly dryRun: boolean },
  ): Promise<Swept> {
    this.list()
    const found = [...this.readers].map(([name, { reader }]) => ({
      name,
      ...weigh(reader, isLive),
    }))
    const worth = found.filter(
      ({ deadBytes, bytes }) => deadBytes > 0 && deadBytes >= bytes * DEAD_SHARE_MIN,
    )
    const before = this.bytes()
    if (!dryRun) {
      const gone = worth.filter(({ live }) => live === 0).map(({ name }) => name)
      for (const name of gone) this.removePack(name)
      const rest = worth.filter(({ live }) => live > 0).map(({ name }) => name)
      if (rest.length > 0) await this.replace(rest, isLive)
      this.disk.syncDir(this.layout.packs())
    }
    return {
      packs: found.length,
      live: sum(found, ({ live }) => live),
      dead: sum(found, ({ dead }) => dead),
      deadBytes: sum(found, ({ deadBytes }) => deadBytes),
      freedBytes: dryRun ? 0 : before - this.bytes(),
    }
  }

  private sizeOf(name: Hash): number {
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

  *objects(): Generator<StoredObject> {
    this.list()
    for (const { reader } of this.readers.values()) yield* reader.objects()
  }

  close(): void {
    for (const { file } of this.readers.values()) file.close()
    this.readers.clear()
    this.listed = false
  }
}

/** What a sweep found and did. Bytes of objects are as they are read; freed bytes are of files. */
export interface Swept {
  readonly packs: number
  readonly live: number
  readonly dead: number
  readonly deadBytes: number
  readonly freedBytes: number
}

/** A pack is written anew when at least this share of its bytes is dead. */
const DEAD_SHARE_MIN = 0.2

function* liveObjects(
  readers: readonly PackReader[],
  isLive: (hash: Hash) => boolean,
): Generator<StoredObject> {
  for (const reader of readers) {
    for (const object of reader.objects()) if (isLive(object.hash)) yield object
  }
}

function weigh(
  reader: PackReader,
  isLive: (hash: Hash) => boolean,
): { live: number; dead: number; bytes: number; deadBytes: number } {
  const weight = { live: 0, dead: 0, bytes: 0, deadBytes: 0 }
  for (const { hash, bytes } of reader.objects()) {
    weight.bytes += bytes.length
    if (isLive(hash)) {
      weight.live += 1
    } else {
      weight.dead += 1
      weight.deadBytes += bytes.length
    }
  }
  return weight
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
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
