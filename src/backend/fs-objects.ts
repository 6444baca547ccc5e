/**
 * The objects of a store's directory: each run's own, and the packs of all.
 * Knows where an object may be and how it moves; errors are the disk's or ours, as they come.
 * @see docs/format.md#objects
 */
import type { Hash } from '../core/hash.js'
import { DENSE_BLOCK_BYTES, PACK_BLOCK_BYTES } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import type { Codec } from '../value/pack.js'
import type { Disk } from './disk.js'
import { FsCompaction, type Swept } from './fs-compaction.js'
import type { FsFiles } from './fs-files.js'
import type { FsLayout } from './fs-layout.js'
import { FsOpenObjects } from './fs-open-objects.js'
import { FsPacks } from './fs-packs.js'

/** An object without its bytes. */
export interface ListedObject {
  readonly hash: Hash
  readonly kind: StoredObject['kind']
  readonly bytes: number
}

export class FsObjects {
  private readonly packs: FsPacks
  private readonly compaction: FsCompaction
  private readonly open = new Map<string, FsOpenObjects>()

  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly files: FsFiles,
    options: {
      readonly codec: Codec
      readonly onNotice: (message: string, cause?: unknown) => void
    },
  ) {
    this.packs = new FsPacks(disk, layout, options.onNotice, options.codec)
    this.compaction = new FsCompaction(this.packs, options.onNotice)
  }

  private of(run: string): FsOpenObjects {
    let open = this.open.get(run)
    if (open === undefined) {
      open = new FsOpenObjects(this.disk, this.layout.openObjects(run), this.layout.run(run))
      this.open.set(run, open)
    }
    return open
  }

  /** We have just become the run's writer: what we know of it and of packs may be long past. */
  writerOpened(run: string): void {
    this.open.get(run)?.reopen()
    this.packs.refresh()
  }

  /** The run's directory is no longer where it was. */
  forget(run: string): void {
    this.open.get(run)?.close()
    this.open.delete(run)
  }

  /** Keep objects, durably on return; those that are kept already are not written again. */
  async put(
    run: string,
    objects: readonly StoredObject[],
    { direct, dense = false }: { readonly direct: boolean; readonly dense?: boolean },
  ): Promise<void> {
    const open = this.of(run)
    let looked = false
    const isPacked = (hash: Hash): boolean => {
      const kept = this.packs.keeps(hash, !looked)
      looked = true
      return kept
    }
    const blockBytes = dense ? DENSE_BLOCK_BYTES : PACK_BLOCK_BYTES
    if (direct) {
      const fresh = objects.filter(({ hash }) => !open.has(hash) && !isPacked(hash))
      await this.packs.add(fresh, { blockBytes })
    } else await open.exclusive(() => open.put(objects, this.torn(run), isPacked))
  }

  private torn(run: string): (atByte: number, bytes: Buffer) => void {
    return (atByte, bytes) => this.files.saveTorn({ run }, `objects.${atByte}`, bytes)
  }

  get(hash: Hash, run: string | undefined): Uint8Array | undefined {
    if (run === undefined) return this.packs.get(hash)
    const open = this.of(run)
    // Most are where packs were known to be; that costs no look at the disk.
    const known = open.knows(hash) ? undefined : this.packs.getKnown(hash)
    if (known !== undefined) return known
    const found = open.get(hash) ?? this.packs.get(hash)
    return found === undefined && open.renewed() ? open.get(hash) : found
  }

  has(hash: Hash, run: string | undefined): boolean {
    if (run === undefined) return this.packs.has(hash)
    const open = this.of(run)
    return open.has(hash) || this.packs.has(hash) || (open.renewed() && open.has(hash))
  }

  /** Move the run's own objects into a pack, those that other packs do not hold yet. */
  async seal(run: string): Promise<void> {
    const open = this.of(run)
    await open.exclusive(async () => {
      const sealedBytes = open.bytes()
      if (sealedBytes === 0) return
      // The pack is durable and visible before the open file goes: at no moment is an object
      // nowhere.
      await this.packs.add(this.unpacked(open))
      // Whoever has taken over from us adds to it: then it is theirs to seal.
      if (open.bytes() !== sealedBytes) return
      open.remove(this.torn(run))
      await this.compaction.mergeSmall()
    })
  }

  private *unpacked(open: FsOpenObjects): Generator<StoredObject> {
    let again = true
    for (const object of open.objects()) {
      if (!this.packs.keeps(object.hash, again)) yield object
      again = false
    }
  }

  sweep(isLive: (hash: Hash) => boolean, options: { readonly dryRun: boolean }): Promise<Swept> {
    return this.compaction.sweep(isLive, options)
  }

  /** Bytes that objects take on the disk: the run's own, or all packs with their indexes. */
  bytes(run: string | undefined): number {
    return run === undefined ? this.packs.bytes() : this.of(run).bytes()
  }

  *list(run: string | undefined): Generator<ListedObject> {
    if (run !== undefined) {
      yield* this.of(run).list()
      return
    }
    for (const { hash, kind, bytes } of this.packs.objects())
      yield { hash, kind, bytes: bytes.length }
  }

  close(): void {
    for (const open of this.open.values()) open.close()
    this.packs.close()
  }
}
