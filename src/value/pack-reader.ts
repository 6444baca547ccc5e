/**
 * Objects of one sealed pack, found by name.
 * Knows the pack through a positioned read only; whether other packs hold the object is the
 * caller's business.
 *
 * Nothing is returned that was not hashed: a block is hashed object by object when it is decoded,
 * so a wrong index, a damaged block or a wrong file give an error or no object, never wrong bytes.
 * @see docs/format.md#packs
 */
import { createHash } from 'node:crypto'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { ObjectKind, StoredObject } from '../core/object.js'
import {
  asBuffer,
  decodeFooter,
  FOOTER_BYTES,
  PACK_MAGIC,
  type PackPlace,
  packInvalid,
  type ReadBytes,
} from './pack.js'
import { decodeBlock, type PackBlock } from './pack-block.js'
import type { BlockCache } from './pack-cache.js'
import { type BlockPlace, INDEX_PREFIX_BYTES, PackIndex } from './pack-index.js'

const INDEX_PREFIX_HEX = INDEX_PREFIX_BYTES * 2

export interface PackSource {
  /** The pack's name, as its file is called. */
  readonly pack: Hash
  /** Reads the pack. What it returns is kept, and must not change. */
  readonly read: ReadBytes
}

/** What `verify` found in one block, or at last in the whole pack. */
export interface PackFinding {
  /** Undefined for the whole: its first bytes, its footer, its length, its name. */
  readonly block: number | undefined
  /** Objects that were hashed. */
  readonly objects: number
  /** What is wrong, each PACK_INVALID; empty where nothing is. */
  readonly damage: readonly DaglogError[]
}

/** Where an object is. */
export interface PackLocation {
  readonly block: number
  readonly kind: ObjectKind
  /** Length of the object, in bytes. */
  readonly bytes: number
}

export class PackReader {
  private constructor(
    readonly index: PackIndex,
    private readonly readPack: ReadBytes,
    private readonly cache: BlockCache,
  ) {}

  /**
   * Reads nothing of the pack: one with a damaged block opens, and its other blocks are read.
   * @param index The bytes of its index, kept by the reader.
   * @throws PACK_INVALID with `part: 'index'` where the index is bad: `buildIndex` then.
   *   FORMAT_TOO_NEW where a newer daglog wrote it.
   */
  static open(
    { pack, read }: PackSource,
    { index, cache }: { readonly index: Uint8Array; readonly cache: BlockCache },
  ): PackReader {
    return new PackReader(new PackIndex(pack, index), read, cache)
  }

  /** The pack's name. */
  get pack(): Hash {
    return this.index.pack
  }

  /**
   * Whether the index names the first half of `hash`. No is certain; a yes is for `has` to prove.
   */
  mayHave(hash: Hash): boolean {
    return this.index.find(Buffer.from(hash, 'hex')).length > 0
  }

  /** Whether the object is here, its bytes hashed. Throws as `read` does. */
  has(hash: Hash): boolean {
    return this.locate(hash) !== undefined
  }

  /** Where the object is, its bytes hashed, or undefined. Throws as `read` does. */
  find(hash: Hash): PackLocation | undefined {
    const found = this.locate(hash)
    if (found === undefined) return undefined
    const { kind, bytes } = found.object
    return { block: found.block, kind, bytes: bytes.length }
  }

  /**
   * The object, in memory of its own, or undefined where this pack does not hold it.
   * @throws PACK_INVALID where the object's block is damaged; OBJECT_CORRUPT where the block is
   *   whole but holds something else in its place. Both name pack, block and hash.
   */
  read(hash: Hash): StoredObject | undefined {
    const found = this.locate(hash)
    if (found === undefined) return undefined
    // A copy: a view would keep 256 KiB in memory for a few hundred bytes, uncounted.
    return { ...found.object, bytes: Buffer.from(found.object.bytes) }
  }

  private locate(hash: Hash): { block: number; object: StoredObject } | undefined {
    for (const number of this.index.find(Buffer.from(hash, 'hex'))) {
      const place = this.index.blockOf(number)
      const key = `${this.pack}/${place.block}`
      let block = this.cache.get(key)
      if (block === undefined) {
        block = this.decode(place, this.readBlock(place), hash)
        this.cache.set(key, block)
      }
      const object = block.at(number - place.numberFirst)
      if (object.hash === hash) return { block: place.block, object }
      // Two objects that share 16 bytes of their names: somebody went to great lengths.
      if (object.hash.startsWith(hash.slice(0, INDEX_PREFIX_HEX))) continue
      throw this.corrupt(place, hash, object.hash)
    }
    return undefined
  }

  private readBlock({ atByte, bytes }: BlockPlace): Buffer {
    return asBuffer(this.readPack(atByte, bytes))
  }

  private decode(place: BlockPlace, bytes: Buffer, hash?: Hash): PackBlock {
    const { block, atByte } = place
    const where: PackPlace = { pack: this.pack, block, atByte, hash }
    const decoded = decodeBlock(bytes.subarray(0, place.bytes), where)
    if (decoded.hashes.length === place.objects) return decoded
    throw packInvalid(where, `${decoded.hashes.length} objects are here, ${place.objects} expected`)
  }

  private corrupt({ block, atByte }: BlockPlace, hash: Hash, hashActual: Hash): DaglogError {
    return new DaglogError(
      'OBJECT_CORRUPT',
      `pack ${this.pack}, block ${block}: in the place of object ${hash} is one that hashes to ${hashActual}. Rebuild the index; if that does not help, restore the pack from a backup.`,
      { pack: this.pack, block, atByte, hash, hashActual },
    )
  }

  /**
   * All objects in the order they were written, one block in memory at a time. Their bytes are
   * views of it. Throws PACK_INVALID at the first damaged block.
   */
  *objects(): Generator<StoredObject> {
    for (const place of this.index.blocks) {
      if (place.objects === 0) continue // Left out when the index was rebuilt from a damaged pack.
      const block = this.decode(place, this.readBlock(place))
      for (let number = 0; number < place.objects; number++) yield block.at(number)
    }
  }

  /**
   * All names in the order the objects were written. Decodes every block, for packs store no names.
   */
  *hashes(): Generator<Hash> {
    for (const { hash } of this.objects()) yield hash
  }

  /**
   * Check every byte: one finding for each block, then one for the whole. Work is done between two
   * steps of the iteration, so that a caller can report or pause after each. Throws FORMAT_TOO_NEW
   * for a block that this version cannot read.
   */
  *verify(): Generator<PackFinding> {
    const { pack, index } = this
    const hashing = createHash('sha256')
    const damage: DaglogError[] = []
    const head = this.readPack(0, PACK_MAGIC.length)
    hashing.update(head)
    if (!PACK_MAGIC.equals(head))
      damage.push(packInvalid({ pack, atByte: 0 }, 'it begins unlike a pack'))
    let bytesRaw = 0
    for (const place of index.blocks) {
      const bytes = this.readBlock(place)
      hashing.update(bytes)
      const found = this.verifyBlock(place, bytes)
      bytesRaw += found.bytesRaw
      yield { block: place.block, objects: found.objects, damage: found.damage }
    }
    // One more than there should be: bytes after the footer are no part of the pack.
    const tail = asBuffer(this.readPack(index.footerAt, FOOTER_BYTES + 1))
    hashing.update(tail)
    const footer = decodeFooter(tail)
    const footerHolds =
      footer?.blocks === index.blocks.length &&
      footer.objects === index.objects &&
      footer.bytesRaw === bytesRaw
    const atByte = index.footerAt
    if (!footerHolds) damage.push(packInvalid({ pack, atByte }, 'its end is not as it was written'))
    const name = hashing.digest('hex')
    if (name !== pack) damage.push(packInvalid({ pack }, `its bytes hash to ${name}`))
    yield { block: undefined, objects: 0, damage }
  }

  private verifyBlock(
    place: BlockPlace,
    bytes: Buffer,
  ): { objects: number; bytesRaw: number; damage: DaglogError[] } {
    const damage: DaglogError[] = []
    let bytesRaw = 0
    try {
      const block = this.decode(place, bytes)
      for (let number = 0; number < place.objects; number++) {
        const { hash, bytes } = block.at(number)
        bytesRaw += bytes.length
        const found = this.index.find(Buffer.from(hash, 'hex'))
        if (found.includes(place.numberFirst + number)) continue
        const where: PackPlace = { pack: this.pack, block: place.block, part: 'index', hash }
        const next = 'Delete the index: it is rebuilt from the pack.'
        damage.push(packInvalid(where, 'it does not name the object', { next }))
      }
      return { objects: place.objects, bytesRaw, damage }
    } catch (error) {
      if (!(error instanceof DaglogError) || error.code !== 'PACK_INVALID') throw error
      return { objects: 0, bytesRaw: 0, damage: [error] }
    }
  }
}
