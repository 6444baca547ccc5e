/**
 * The layout of a pack and its index: marks, field offsets, limits, and the two fixed-size headers.
 * Knows neither what is inside a block nor where files live.
 *
 *   pack     'dagpack' | version u8 | blocks | footer
 *   block    'B' | codec u8 | 0 u16 | key id u32 | objects u32 | refs u32 | table bytes u32
 *            | payload bytes u32 | stored bytes u32 | crc u32 | table | stored payload
 *   footer   'E' | 0, 3 bytes | blocks u32 | objects u32 | bytes of all objects u64 | crc u32
 *
 * Integers are little-endian. A CRC-32 covers all of its block or footer but itself. A pack is
 * named by the SHA-256 of its bytes.
 * @see docs/format.md#packs
 */
import { crc32 } from 'node:zlib'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { OBJECT_KINDS, type ObjectKind, type StoredObject } from '../core/object.js'

/**
 * Positioned read, like `pread`: exactly `byteCount` bytes, or fewer where the file ends before.
 */
export type ReadBytes = (fromByte: number, byteCount: number) => Uint8Array

/**
 * Largest object, in bytes. Ropes keep objects at a few KiB; one this large has a block of its own.
 */
export const OBJECT_BYTES_MAX = 256 * 1024 * 1024

/** Most objects in one block. */
export const PACK_BLOCK_OBJECTS_MAX = 4096

/** @throws LIMIT_EXCEEDED for an object larger than OBJECT_BYTES_MAX. */
export function assertObjectFits({ hash, bytes }: StoredObject): void {
  if (bytes.length <= OBJECT_BYTES_MAX) return
  throw new DaglogError(
    'LIMIT_EXCEEDED',
    `object ${hash} has ${bytes.length} bytes; an object holds ${OBJECT_BYTES_MAX} at most. Store it as a rope.`,
    { hash, bytes: bytes.length, bytesMax: OBJECT_BYTES_MAX },
  )
}

/** How the payload of a block is compressed. */
export const CODECS = { stored: 0, deflate: 1, brotli: 2 } as const
export type Codec = keyof typeof CODECS

/** The version of pack and index alike; the last byte of both magics. */
export const PACK_VERSION = 1
export const PACK_MAGIC = Buffer.from(`dagpack${String.fromCharCode(PACK_VERSION)}`, 'latin1')
export const INDEX_MAGIC = Buffer.from(`dagindx${String.fromCharCode(PACK_VERSION)}`, 'latin1')

export const BLOCK_HEADER_BYTES = 32
export const FOOTER_BYTES = 24
export const BLOCK_MARK = 0x42 // B
export const FOOTER_MARK = 0x45 // E

/**
 * Longest block that `decodeBlockHeader` accepts, in bytes: one object of the largest size, and
 * room.
 */
export const BLOCK_BYTES_MAX = OBJECT_BYTES_MAX + 64 * 1024

/** Where in which pack something is, for errors. */
export interface PackPlace {
  readonly pack: Hash
  readonly block?: number
  readonly atByte?: number
  readonly part?: 'index'
  /** The object that was looked for. */
  readonly hash?: Hash
}

/** An error that names the place; `what` is a whole clause, `next` what to try. */
export function packInvalid(
  place: PackPlace,
  what: string,
  {
    next = 'Restore the pack from a backup; its other blocks stay readable.',
    cause,
  }: PackAdvice = {},
): DaglogError {
  const file = place.part === 'index' ? 'index of pack' : 'pack'
  const block = place.block === undefined ? '' : `, block ${place.block}`
  const byte = place.atByte === undefined ? '' : `, byte ${place.atByte}`
  const sought = place.hash === undefined ? '' : ` (looking for object ${place.hash})`
  const message = `${file} ${place.pack}${block}${byte}${sought}: ${what}. ${next}`
  return new DaglogError('PACK_INVALID', message, { ...place }, { cause })
}

interface PackAdvice {
  readonly next?: string
  readonly cause?: unknown
}

/** An error for bytes that a newer daglog wrote. */
export function packTooNew(place: PackPlace, what: string): DaglogError {
  const message = `pack ${place.pack}: ${what}. Upgrade daglog to read it.`
  return new DaglogError('FORMAT_TOO_NEW', message, { ...place })
}

/** The kind with this stored number, or undefined. */
export function kindOf(code: number): ObjectKind | undefined {
  return KIND_BY_CODE[code]
}

const KIND_BY_CODE: (ObjectKind | undefined)[] = []
for (const [kind, code] of Object.entries(OBJECT_KINDS)) KIND_BY_CODE[code] = kind as ObjectKind

/** The fixed part of a block. The table, then the stored payload follow it. */
export interface BlockHeader {
  readonly codec: number
  /** Names the key of an encrypted payload; 0 is none. Reserved. */
  readonly keyId: number
  readonly objects: number
  /** Hashes that were lifted out of the payload; see `pack-block.ts`. */
  readonly refs: number
  readonly tableBytes: number
  /** Length of the payload before compression. */
  readonly payloadBytes: number
  readonly storedBytes: number
}

/** One whole block: header, table, stored payload, and a CRC-32 over all of it but itself. */
export function frameBlock(header: BlockHeader, table: Uint8Array, stored: Uint8Array): Buffer {
  const block = Buffer.alloc(BLOCK_HEADER_BYTES + table.length + stored.length)
  block[0] = BLOCK_MARK
  block[1] = header.codec
  block.writeUInt32LE(header.keyId, 4)
  block.writeUInt32LE(header.objects, 8)
  block.writeUInt32LE(header.refs, 12)
  block.writeUInt32LE(header.tableBytes, 16)
  block.writeUInt32LE(header.payloadBytes, 20)
  block.writeUInt32LE(header.storedBytes, 24)
  block.set(table, BLOCK_HEADER_BYTES)
  block.set(stored, BLOCK_HEADER_BYTES + table.length)
  block.writeUInt32LE(blockCrc(block), 28)
  return block
}

/**
 * The header at the start of `bytes` (at least BLOCK_HEADER_BYTES of them), or undefined where its
 * fields cannot be those of a block. Lengths are bounded, but nothing is proven before `blockCrc`.
 */
export function decodeBlockHeader(bytes: Buffer): BlockHeader | undefined {
  if (bytes[0] !== BLOCK_MARK || bytes.readUInt16LE(2) !== 0) return undefined
  const header = {
    codec: bytes[1]!,
    keyId: bytes.readUInt32LE(4),
    objects: bytes.readUInt32LE(8),
    refs: bytes.readUInt32LE(12),
    tableBytes: bytes.readUInt32LE(16),
    payloadBytes: bytes.readUInt32LE(20),
    storedBytes: bytes.readUInt32LE(24),
  }
  const plausible =
    header.objects > 0 &&
    header.objects <= PACK_BLOCK_OBJECTS_MAX &&
    // A varint of a length is five bytes at most.
    header.tableBytes <= header.objects * 5 &&
    header.payloadBytes <= OBJECT_BYTES_MAX &&
    header.storedBytes <= header.payloadBytes
  return plausible ? header : undefined
}

/** Length of the whole block, in bytes. */
export function blockBytesOf(header: BlockHeader): number {
  return BLOCK_HEADER_BYTES + header.tableBytes + header.storedBytes
}

/** The checksum that a whole block should carry. */
export function blockCrc(block: Buffer): number {
  return crc32(block.subarray(BLOCK_HEADER_BYTES), crc32(block.subarray(0, 28)))
}

/** What stands at the end of a pack, so that a cut at the end of a block is noticed. */
export interface PackFooter {
  readonly blocks: number
  readonly objects: number
  /** Lengths of all objects, summed. */
  readonly bytesRaw: number
}

export function encodeFooter(footer: PackFooter): Buffer {
  const bytes = Buffer.alloc(FOOTER_BYTES)
  bytes[0] = FOOTER_MARK
  bytes.writeUInt32LE(footer.blocks, 4)
  bytes.writeUInt32LE(footer.objects, 8)
  bytes.writeBigUInt64LE(BigInt(footer.bytesRaw), 12)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 20)), 20)
  return bytes
}

/** The footer that `bytes` is, or undefined where it is not exactly one. */
export function decodeFooter(bytes: Buffer): PackFooter | undefined {
  if (bytes.length !== FOOTER_BYTES || bytes.readUInt32LE(0) !== FOOTER_MARK) return undefined
  if (bytes.readUInt32LE(20) !== crc32(bytes.subarray(0, 20))) return undefined
  return {
    blocks: bytes.readUInt32LE(4),
    objects: bytes.readUInt32LE(8),
    bytesRaw: Number(bytes.readBigUInt64LE(12)),
  }
}

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
