/**
 * Where in a pack an object is: `<sha>.idx`, derived from the pack and rebuildable from it.
 * Knows names and positions only; it reads no pack.
 *
 *   magic, 7 bytes | version u8 | pack name, 32 bytes | blocks u32 | objects u32
 *   per block        length u32 | objects u32
 *   fan-out          256 varints: objects whose name begins with this byte
 *   per object       bytes 1 to 15 of its name | its number in the pack, in as few bytes as the
 *                    highest number takes; sorted by name
 *   crc u32          CRC-32 of all before
 *
 * Objects are numbered through the pack in the order they were written. Integers are little-endian.
 * A prefix of 16 bytes finds candidates; the object's bytes decide.
 * @see docs/format.md#pack-index
 */
import { crc32 } from 'node:zlib'
import type { Hash } from '../core/hash.js'
import {
  asBuffer,
  BLOCK_BYTES_MAX,
  INDEX_MAGIC,
  PACK_BLOCK_OBJECTS_MAX,
  PACK_MAGIC,
  PACK_VERSION,
  type PackPlace,
  packInvalid,
  packTooNew,
} from './pack.js'
import type { HashList } from './pack-hashes.js'
import { pushVarint, VarintReader } from './pack-varint.js'

/** How much of a name the index holds; the first byte is in the fan-out. */
export const INDEX_PREFIX_BYTES = 16
const REST_BYTES = INDEX_PREFIX_BYTES - 1
const HEAD_BYTES = 48
const CRC_BYTES = 4

/** Length and number of objects of one block, in the order of the pack. */
export interface BlockSize {
  readonly bytes: number
  readonly objects: number
}

/** Where a block is, and the number of its first object. */
export interface BlockPlace extends BlockSize {
  readonly block: number
  readonly atByte: number
  readonly numberFirst: number
}

/** The bytes of the index of the pack `pack`: a pure function of what the pack holds. */
export function encodeIndex(pack: Hash, blocks: readonly BlockSize[], hashes: HashList): Buffer {
  const head = Buffer.alloc(HEAD_BYTES + blocks.length * 8)
  INDEX_MAGIC.copy(head)
  head.write(pack, 8, 'hex')
  head.writeUInt32LE(blocks.length, 40)
  head.writeUInt32LE(hashes.length, 44)
  blocks.forEach(({ bytes, objects }, block) => {
    head.writeUInt32LE(bytes, HEAD_BYTES + block * 8)
    head.writeUInt32LE(objects, HEAD_BYTES + block * 8 + 4)
  })
  const counts = new Uint32Array(256)
  const numberBytes = numberBytesOf(hashes.length)
  const entries = Buffer.alloc(hashes.length * (REST_BYTES + numberBytes))
  let atByte = 0
  for (const number of hashes.sorted()) {
    const hash = hashes.at(number)
    counts[hash[0]!]! += 1
    hash.copy(entries, atByte, 1, INDEX_PREFIX_BYTES)
    entries.writeUIntLE(number, atByte + REST_BYTES, numberBytes)
    atByte += REST_BYTES + numberBytes
  }
  const fanOut: number[] = []
  for (const count of counts) pushVarint(fanOut, count)
  const index = Buffer.concat([head, Buffer.from(fanOut), entries, Buffer.alloc(CRC_BYTES)])
  index.writeUInt32LE(crc32(index.subarray(0, -CRC_BYTES)), index.length - CRC_BYTES)
  return index
}

/** Bytes that the highest number of a pack with this many objects takes. */
function numberBytesOf(objects: number): number {
  let numberBytes = 1
  while (256 ** numberBytes < objects) numberBytes += 1
  return numberBytes
}

/** An index, checked. Keeps the bytes it was opened from. */
export class PackIndex {
  /** Number of entries before each first byte; `[256]` is all. */
  private readonly fanOut = new Uint32Array(257)
  private readonly entries: Buffer
  private readonly numberBytes: number
  readonly blocks: readonly BlockPlace[]
  readonly objects: number
  /** Length of the pack up to its footer. */
  readonly footerAt: number

  /**
   * @throws PACK_INVALID with `part: 'index'` where any byte is not as it was written, or it belongs
   *   to another pack: rebuild it then. FORMAT_TOO_NEW where a newer daglog wrote it.
   */
  constructor(
    readonly pack: Hash,
    bytes: Uint8Array,
  ) {
    const index = asBuffer(bytes)
    this.checkWhole(index)
    const blockCount = index.readUInt32LE(40)
    this.objects = index.readUInt32LE(44)
    const fanOutAt = HEAD_BYTES + blockCount * 8
    if (fanOutAt + 256 + CRC_BYTES > index.length) throw this.invalid('its blocks do not fit')
    this.blocks = this.placeBlocks(index.subarray(HEAD_BYTES, fanOutAt))
    const last = this.blocks.at(-1)
    this.footerAt = last === undefined ? PACK_MAGIC.length : last.atByte + last.bytes
    const varints = new VarintReader(index.subarray(fanOutAt, -CRC_BYTES))
    for (let first = 0; first < 256; first++) {
      const count = varints.next() ?? Number.POSITIVE_INFINITY
      if (count > this.objects - this.fanOut[first]!) throw this.invalid('its fan-out does not fit')
      this.fanOut[first + 1] = this.fanOut[first]! + count
    }
    this.numberBytes = numberBytesOf(this.objects)
    this.entries = index.subarray(index.length - CRC_BYTES - varints.left, -CRC_BYTES)
    const entriesBytes = this.objects * (REST_BYTES + this.numberBytes)
    const objects = last === undefined ? 0 : last.numberFirst + last.objects
    if (this.entries.length !== entriesBytes || this.fanOut[256] !== this.objects) {
      throw this.invalid('its entries do not fit')
    }
    if (objects !== this.objects) throw this.invalid('its blocks hold other objects')
  }

  private invalid(what: string): Error {
    const place: PackPlace = { pack: this.pack, part: 'index' }
    return packInvalid(place, what, { next: 'Delete it: it is rebuilt from the pack.' })
  }

  private checkWhole(index: Buffer): void {
    const magicBytes = INDEX_MAGIC.length - 1
    const named = index.length >= HEAD_BYTES + 256 + CRC_BYTES
    if (!named || index.compare(INDEX_MAGIC, 0, magicBytes, 0, magicBytes) !== 0) {
      throw this.invalid('this is no index')
    }
    const crcStated = index.readUInt32LE(index.length - CRC_BYTES)
    if (crc32(index.subarray(0, -CRC_BYTES)) !== crcStated) {
      throw this.invalid('its checksum does not match')
    }
    // Only now: a flipped bit in the version is damage, not a newer format.
    const version = index[magicBytes]!
    if (version > PACK_VERSION) throw packTooNew({ pack: this.pack }, `format version ${version}`)
    if (version !== PACK_VERSION) throw this.invalid(`it has the version ${version}`)
    if (index.toString('hex', 8, 40) !== this.pack) throw this.invalid('it names another pack')
  }

  private placeBlocks(sizes: Buffer): BlockPlace[] {
    const blocks: BlockPlace[] = []
    let atByte = PACK_MAGIC.length
    let numberFirst = 0
    for (let at = 0; at < sizes.length; at += 8) {
      const bytes = sizes.readUInt32LE(at)
      const objects = sizes.readUInt32LE(at + 4)
      if (objects > PACK_BLOCK_OBJECTS_MAX || bytes > BLOCK_BYTES_MAX) {
        throw this.invalid(`block ${blocks.length} is too large`)
      }
      blocks.push({ block: blocks.length, atByte, bytes, objects, numberFirst })
      atByte += bytes
      numberFirst += objects
    }
    return blocks
  }

  /**
   * Numbers of the objects whose names share the first 16 bytes of `hash`: none or one, unless
   * somebody made two such objects.
   */
  find(hash: Buffer): number[] {
    const entryBytes = REST_BYTES + this.numberBytes
    let low = this.fanOut[hash[0]!]!
    const end = this.fanOut[hash[0]! + 1]!
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.compareEntry(middle * entryBytes, hash) < 0) low = middle + 1
      else high = middle
    }
    const numbers: number[] = []
    while (low < end && this.compareEntry(low * entryBytes, hash) === 0) {
      numbers.push(this.entries.readUIntLE(low * entryBytes + REST_BYTES, this.numberBytes))
      low += 1
    }
    return numbers
  }

  private compareEntry(atByte: number, hash: Buffer): number {
    const { entries } = this
    for (let k = 0; k < REST_BYTES; k++) {
      const difference = entries[atByte + k]! - hash[k + 1]!
      if (difference !== 0) return difference
    }
    return 0
  }

  /** The block that holds the object with this number. */
  blockOf(number: number): BlockPlace {
    let low = 0
    let high = this.blocks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const { numberFirst, objects } = this.blocks[middle]!
      if (numberFirst + objects <= number) low = middle + 1
      else high = middle
    }
    const place = this.blocks[low]
    if (place === undefined) throw this.invalid(`it names object ${number}, which is in no block`)
    return place
  }
}
