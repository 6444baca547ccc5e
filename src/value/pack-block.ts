/**
 * One block of a pack: whole objects, compressed together.
 * Knows neither other blocks nor the index.
 *
 * A block stores no object's name. Names follow from the bytes, so a block that is read is hashed
 * whole, and what it yields is proven. Names inside objects (what a rope or tree node refers to)
 * are the other bytes that do not compress: where the object meant lies earlier in the same block,
 * the 32 bytes are lifted out and their position and the object's number kept instead.
 *
 *   table    per object one varint: length * 4 + kind
 *   payload  the objects' bytes without the lifted hashes; then per lifted hash two varints: bytes
 *            since the end of the one before (in whole objects), and the zigzag distance of the
 *            object's number from that of the one before, plus one
 *
 * The table is not compressed: lengths and kinds can be listed without the codec.
 * @see docs/format.md#packs
 */
import {
  type BrotliOptions,
  brotliCompress,
  brotliDecompressSync,
  deflateRaw,
  inflateRawSync,
  type ZlibOptions,
  constants as zlib,
} from 'node:zlib'
import { type Hash, sha256 } from '../core/hash.js'
import { DENSE_BLOCK_BYTES } from '../core/limits.js'
import { OBJECT_KINDS, type ObjectKind, type StoredObject } from '../core/object.js'
import {
  asBuffer,
  BLOCK_HEADER_BYTES,
  type BlockHeader,
  blockBytesOf,
  blockCrc,
  CODECS,
  type Codec,
  decodeBlockHeader,
  frameBlock,
  kindOf,
  OBJECT_BYTES_MAX,
  type PackPlace,
  packInvalid,
  packTooNew,
} from './pack.js'
import { pushVarint, VarintReader } from './pack-varint.js'

const HASH_BYTES = 32

/** The objects of one block, each proven to be what its name says. */
export class PackBlock {
  constructor(
    /** In the order they were written. */
    readonly hashes: readonly Hash[],
    private readonly kinds: readonly ObjectKind[],
    /** Object `n` ends at `ends[n]` and begins where the one before ends. */
    private readonly ends: Uint32Array,
    private readonly bytes: Buffer,
  ) {}

  /**
   * The object with this number. Its bytes are a view of the block: not to be written, copied to be
   * kept.
   */
  at(number: number): StoredObject {
    const start = number === 0 ? 0 : this.ends[number - 1]!
    return {
      hash: this.hashes[number]!,
      kind: this.kinds[number]!,
      bytes: this.bytes.subarray(start, this.ends[number]!),
    }
  }

  /** About what it holds in memory, in bytes. */
  get weightBytes(): number {
    return this.bytes.length + this.hashes.length * 128 + 256
  }
}

/**
 * The bytes of a block with `objects` in this order. Compresses off the main thread; reads the
 * objects' bytes before it returns its promise only. A payload that does not shrink is stored.
 */
export async function encodeBlock(objects: readonly StoredObject[], codec: Codec): Promise<Buffer> {
  const table: number[] = []
  for (const { kind, bytes } of objects) pushVarint(table, bytes.length * 4 + OBJECT_KINDS[kind])
  const { payload, refs } = liftRefs(objects)
  const packed = await compress(payload, codec)
  const shrunk = packed.length < payload.length
  const stored = shrunk ? packed : payload
  const header: BlockHeader = {
    codec: shrunk ? CODECS[codec] : CODECS.stored,
    keyId: 0,
    objects: objects.length,
    refs,
    tableBytes: table.length,
    payloadBytes: payload.length,
    storedBytes: stored.length,
  }
  return frameBlock(header, Buffer.from(table), stored)
}

function compress(payload: Buffer, codec: Codec): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, packed: Buffer): void => {
      if (error === null) resolve(packed)
      else reject(error)
    }
    if (codec === 'stored') resolve(payload)
    else if (codec === 'deflate') deflateRaw(payload, done)
    else brotliCompress(payload, { params: brotliParams(payload), chunkSize: 64 * 1024 }, done)
  })
}

function brotliParams(payload: Buffer): Record<number, number> {
  return {
    [zlib.BROTLI_PARAM_QUALITY]: 5,
    [zlib.BROTLI_PARAM_LGWIN]: 22,
    [zlib.BROTLI_PARAM_SIZE_HINT]: payload.length,
  }
}

/** The payload of a block, and how many hashes were lifted out of it. */
function liftRefs(objects: readonly StoredObject[]): { payload: Buffer; refs: number } {
  const earlier = new EarlierHashes()
  const pieces: Uint8Array[] = []
  const lifted: number[] = []
  let refs = 0
  let gapBytes = 0
  let numberExpected = 0
  for (const { hash, kind, bytes } of objects) {
    let keptFrom = 0
    // A blob holds what users wrote: nothing in there is meant as a reference.
    let ref = kind === 'blob' ? undefined : earlier.findIn(bytes, 0)
    while (ref !== undefined) {
      pieces.push(bytes.subarray(keptFrom, ref.atByte))
      pushVarint(lifted, gapBytes + ref.atByte - keptFrom)
      pushVarint(lifted, zigzag(ref.number - numberExpected))
      numberExpected = ref.number + 1
      refs += 1
      gapBytes = 0
      keptFrom = ref.atByte + HASH_BYTES
      ref = earlier.findIn(bytes, keptFrom)
    }
    pieces.push(bytes.subarray(keptFrom))
    gapBytes += bytes.length - keptFrom
    earlier.add(hash)
  }
  pieces.push(Buffer.from(lifted))
  return { payload: Buffer.concat(pieces), refs }
}

/** The names of a block's objects so far, to be found inside later objects. */
class EarlierHashes {
  private readonly hashes: Hash[] = []
  /** Numbers by the first four bytes of the hash. */
  private readonly byHead = new Map<number, number[]>()
  /** Whether any hash begins with these two bytes: most positions are ruled out by one look. */
  private readonly begins = new Uint8Array(65_536)

  add(hash: Hash): void {
    const head = Number.parseInt(hash.slice(0, 8), 16)
    const numbers = this.byHead.get(head)
    if (numbers === undefined) this.byHead.set(head, [this.hashes.length])
    else numbers.push(this.hashes.length)
    this.begins[head >>> 16] = 1
    this.hashes.push(hash)
  }

  /** The first place at or after `fromByte` where one of them stands. */
  findIn(bytes: Uint8Array, fromByte: number): { atByte: number; number: number } | undefined {
    const lastAt = bytes.length - HASH_BYTES
    for (let at = fromByte; at <= lastAt; at++) {
      const two = (bytes[at]! << 8) | bytes[at + 1]!
      if (this.begins[two] === 0) continue
      const head = two * 65_536 + ((bytes[at + 2]! << 8) | bytes[at + 3]!)
      for (const number of this.byHead.get(head) ?? []) {
        const here = asBuffer(bytes).toString('hex', at, at + HASH_BYTES)
        if (here === this.hashes[number]) return { atByte: at, number }
      }
    }
    return undefined
  }
}

/**
 * Read a whole block.
 * @param bytes Exactly the block; `place` names it in errors.
 * @throws PACK_INVALID where any byte is not as it was written; FORMAT_TOO_NEW for a codec or an
 *   encryption that this version does not know.
 */
export function decodeBlock(bytes: Buffer, place: PackPlace): PackBlock {
  const header = bytes.length < BLOCK_HEADER_BYTES ? undefined : decodeBlockHeader(bytes)
  if (header === undefined || blockBytesOf(header) !== bytes.length) {
    throw packInvalid(place, `no block of ${bytes.length} bytes is here`)
  }
  if (blockCrc(bytes) !== bytes.readUInt32LE(28)) {
    throw packInvalid(place, 'the checksum of the block does not match')
  }
  const tableEnd = BLOCK_HEADER_BYTES + header.tableBytes
  const { kinds, ends } = decodeTable(bytes.subarray(BLOCK_HEADER_BYTES, tableEnd), header, place)
  const payload = decompress(bytes.subarray(tableEnd), header, place)
  return placeRefs(payload, { header, kinds, ends, place })
}

interface BlockTable {
  readonly kinds: ObjectKind[]
  readonly ends: Uint32Array
}

/**
 * Kinds and ends of all objects. What they add up to is bounded before anything that large is made.
 */
function decodeTable(table: Buffer, header: BlockHeader, place: PackPlace): BlockTable {
  const kinds: ObjectKind[] = []
  const ends = new Uint32Array(header.objects)
  const varints = new VarintReader(table)
  let bytesRaw = 0
  for (let number = 0; number < header.objects; number++) {
    const entry = varints.next()
    const kind = entry === undefined ? undefined : kindOf(entry % 4)
    if (entry === undefined || kind === undefined) {
      throw packInvalid(place, `object ${number} of the block's table is not one`)
    }
    bytesRaw += Math.floor(entry / 4)
    kinds.push(kind)
    ends[number] = bytesRaw
  }
  const bytesMax = header.objects === 1 ? OBJECT_BYTES_MAX : DENSE_BLOCK_BYTES
  if (varints.left !== 0 || bytesRaw > bytesMax) {
    throw packInvalid(place, `the block's table does not fit: ${bytesRaw} bytes of objects`)
  }
  return { kinds, ends }
}

/** The payload: exactly as long as declared, whatever the stored bytes would unfold to. */
function decompress(stored: Buffer, header: BlockHeader, place: PackPlace): Buffer {
  const { codec, keyId, payloadBytes } = header
  const unfold = UNFOLD[codec]
  if (keyId !== 0) throw packTooNew(place, `block ${place.block} is encrypted with key ${keyId}`)
  if (unfold === undefined) throw packTooNew(place, `block ${place.block} has the codec ${codec}`)
  let payload: Buffer
  try {
    payload = unfold(stored, {
      maxOutputLength: Math.max(payloadBytes, 1),
      // One piece of output for a common block; a huge one grows as real bytes arrive.
      chunkSize: Math.min(payloadBytes + 64, 1024 * 1024),
    })
  } catch (cause) {
    throw packInvalid(place, `the block does not unfold to ${payloadBytes} bytes`, { cause })
  }
  if (payload.length === payloadBytes) return payload
  throw packInvalid(place, `the block unfolds to ${payload.length} of ${payloadBytes} bytes`)
}

const UNFOLD: ((stored: Buffer, bounds: ZlibOptions & BrotliOptions) => Buffer)[] = []
UNFOLD[CODECS.stored] = (stored) => stored
UNFOLD[CODECS.deflate] = inflateRawSync
UNFOLD[CODECS.brotli] = brotliDecompressSync

interface BlockParts extends BlockTable {
  readonly header: BlockHeader
  readonly place: PackPlace
}

/** Put the lifted hashes back, object after object, and hash each: a later one may refer to it. */
function placeRefs(payload: Buffer, { header, kinds, ends, place }: BlockParts): PackBlock {
  const bytesRaw = ends[ends.length - 1]!
  const keptBytes = bytesRaw - header.refs * HASH_BYTES
  if (keptBytes < 0 || keptBytes > payload.length) {
    throw packInvalid(place, `a payload of ${payload.length} bytes cannot hold ${header.refs} refs`)
  }
  const lifted = new VarintReader(payload.subarray(keptBytes))
  const bytes = header.refs === 0 ? payload.subarray(0, bytesRaw) : Buffer.allocUnsafe(bytesRaw)
  const hashes: Hash[] = []
  let refsLeft = header.refs
  let atByte = 0
  let keptAt = 0
  let numberExpected = 0
  /** Where the next lifted hash stands; past the end where there is none. */
  const nextRefAt = (): number => (refsLeft === 0 ? Infinity : atByte + (lifted.next() ?? Infinity))
  const copyTo = (endByte: number): void => {
    const keptEnd = keptAt + endByte - atByte
    if (keptEnd > keptBytes) throw packInvalid(place, 'refs of the block lie too far apart')
    payload.copy(bytes, atByte, keptAt, keptEnd)
    keptAt = keptEnd
    atByte = endByte
  }
  let refAt = nextRefAt()
  let startByte = 0
  for (const endByte of ends) {
    while (refAt + HASH_BYTES <= endByte) {
      copyTo(refAt)
      const number = numberExpected + unzigzag(lifted.next() ?? Number.NaN)
      const hash = hashes[number]
      if (hash === undefined) throw packInvalid(place, `a ref names object ${number}, not yet read`)
      bytes.write(hash, atByte, 'hex')
      atByte += HASH_BYTES
      numberExpected = number + 1
      refsLeft -= 1
      refAt = nextRefAt()
    }
    if (refAt < endByte) throw packInvalid(place, 'a ref crosses the end of an object')
    if (header.refs > 0) copyTo(endByte)
    hashes.push(sha256(bytes.subarray(startByte, endByte)))
    startByte = endByte
  }
  if (refsLeft !== 0 || lifted.left !== 0) {
    throw packInvalid(place, `${refsLeft} refs of the block are left over`)
  }
  return new PackBlock(hashes, kinds, ends, bytes)
}

function zigzag(n: number): number {
  return n < 0 ? -2 * n - 1 : 2 * n
}

function unzigzag(n: number): number {
  return n % 2 === 0 ? n / 2 : -(n + 1) / 2
}
