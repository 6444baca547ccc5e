/**
 * The bytes of one object in a run's `objects.open`, and how a file of them is walked.
 * Knows framing only: whether a bad record is torn or damaged is the caller's business, for it
 * knows what was acknowledged.
 *
 *   length u32le | crc u32le | hash, 32 bytes | kind u8 | the object's bytes
 *
 * The CRC-32 covers all other fields, length included: a record that says another length is bad
 * even where the bytes it would span happen to be whole.
 * @see docs/format.md#open-objects
 */
import { crc32 } from 'node:zlib'
import { assert, DaglogError } from '../core/errors.js'
import { type Hash, isHash, sha256 } from '../core/hash.js'
import { OBJECT_KINDS, type ObjectKind, type StoredObject } from '../core/object.js'
import { asBuffer, assertObjectFits, kindOf, type ReadBytes } from './pack.js'

/** Length of a record before the object's bytes. */
export const RECORD_HEADER_BYTES = 41

/** How much a scan reads at once, in bytes. */
const SCAN_BYTES = 256 * 1024

/** Bytes checked at most in search of a record: hostile bytes could ask for far more. */
const SEARCH_BYTES_MAX = 1024 * 1024 * 1024

const CRC_AT = 4
const HASH_AT = 8
const KIND_AT = 40

/** A whole record in a file. Its checksum held; its hash was not recomputed. */
export interface ObjectRecord {
  readonly hash: Hash
  readonly kind: ObjectKind
  /** Where the object's bytes begin; the record begins RECORD_HEADER_BYTES before. */
  readonly atByte: number
  /** Length of the object, in bytes. */
  readonly bytes: number
}

/** Length of the record of an object, in bytes. */
export function objectRecordBytes(object: StoredObject): number {
  return RECORD_HEADER_BYTES + object.bytes.length
}

/**
 * The records of `objects`, one after the other, in memory of their own.
 * @throws LIMIT_EXCEEDED for an object larger than OBJECT_BYTES_MAX.
 */
export function encodeObjectRecords(objects: readonly StoredObject[]): Buffer {
  let byteCount = 0
  for (const object of objects) {
    assertObjectFits(object)
    byteCount += objectRecordBytes(object)
  }
  const records = Buffer.allocUnsafe(byteCount)
  let atByte = 0
  for (const object of objects) atByte = writeRecord(records, atByte, object)
  return records
}

/** The record of one object, in memory of its own. */
export function encodeObjectRecord(object: StoredObject): Buffer {
  return encodeObjectRecords([object])
}

function writeRecord(into: Buffer, atByte: number, { hash, kind, bytes }: StoredObject): number {
  assert(isHash(hash), `an object is named by a hash, not by ${String(hash).slice(0, 80)}`)
  const endByte = atByte + RECORD_HEADER_BYTES + bytes.length
  into.writeUInt32LE(bytes.length, atByte)
  into.write(hash, atByte + HASH_AT, 'hex')
  into[atByte + KIND_AT] = OBJECT_KINDS[kind]
  into.set(bytes, atByte + RECORD_HEADER_BYTES)
  into.writeUInt32LE(recordCrc(into.subarray(atByte, endByte)), atByte + CRC_AT)
  return endByte
}

/** The checksum of a record, whole or only its first part: the rest may be added to it. */
function recordCrc(record: Buffer): number {
  return crc32(record.subarray(HASH_AT), crc32(record.subarray(0, CRC_AT)))
}

/**
 * Walk the whole, good records of a file from `fromByte`, where one must begin, up to `toByte`.
 * Memory is bounded by SCAN_BYTES, whatever a record claims.
 * @returns Where the first bad or incomplete record begins; `toByte` where there is none.
 */
export function* scanObjectRecords(
  read: ReadBytes,
  fromByte: number,
  toByte: number,
): Generator<ObjectRecord, number> {
  let atByte = fromByte
  let window: Buffer = Buffer.alloc(0)
  let windowAt = fromByte
  /** The `byteCount` bytes at `from`, or fewer where the file ends. */
  const look = (from: number, byteCount: number): Buffer => {
    if (from < windowAt || from + byteCount > windowAt + window.length) {
      window = asBuffer(read(from, Math.min(Math.max(byteCount, SCAN_BYTES), toByte - from)))
      windowAt = from
    }
    return window.subarray(from - windowAt, from - windowAt + byteCount)
  }
  while (atByte + RECORD_HEADER_BYTES <= toByte) {
    const header = look(atByte, RECORD_HEADER_BYTES)
    if (header.length < RECORD_HEADER_BYTES) break // The file is shorter than the caller thought.
    const byteCount = header.readUInt32LE(0)
    const crcStated = header.readUInt32LE(CRC_AT)
    const kind = kindOf(header[KIND_AT]!)
    const bytesAt = atByte + RECORD_HEADER_BYTES
    if (kind === undefined || bytesAt + byteCount > toByte) break
    const hash = header.toString('hex', HASH_AT, KIND_AT) as Hash
    let crc = recordCrc(header)
    let at = bytesAt
    while (at < bytesAt + byteCount) {
      const piece = look(at, Math.min(SCAN_BYTES, bytesAt + byteCount - at))
      if (piece.length === 0) break
      crc = crc32(piece, crc)
      at += piece.length
    }
    if (at !== bytesAt + byteCount || crc !== crcStated) break
    yield { hash, kind, atByte: bytesAt, bytes: byteCount }
    atByte = at
  }
  return atByte
}

/**
 * Where the next whole, good record begins, at or after `fromByte`; undefined where none is found.
 * For reading on after damage: a scan stops there, but what lies behind it may be whole.
 */
export function findObjectRecord(
  read: ReadBytes,
  fromByte: number,
  toByte: number,
): number | undefined {
  let searchedBytes = 0
  for (let windowAt = fromByte; windowAt < toByte; windowAt += SCAN_BYTES) {
    // Windows overlap, so that a header that one cuts is whole in the one before.
    const windowBytes = Math.min(SCAN_BYTES + RECORD_HEADER_BYTES, toByte - windowAt)
    const window = asBuffer(read(windowAt, windowBytes))
    for (let at = 0; at < SCAN_BYTES && at + RECORD_HEADER_BYTES <= window.length; at++) {
      if (kindOf(window[at + KIND_AT]!) === undefined) continue
      const endByte = windowAt + at + RECORD_HEADER_BYTES + window.readUInt32LE(at)
      if (endByte > toByte) continue
      if (scanObjectRecords(read, windowAt + at, endByte).next().done !== true) return windowAt + at
      searchedBytes += endByte - windowAt - at
      if (searchedBytes > SEARCH_BYTES_MAX) return undefined
    }
  }
  return undefined
}

/**
 * The object of a record that `scanObjectRecords` found.
 * @throws OBJECT_CORRUPT where its bytes are not what its name says.
 */
export function readObjectRecord(read: ReadBytes, record: ObjectRecord): StoredObject {
  const { hash, kind, atByte } = record
  const bytes = read(atByte, record.bytes)
  if (bytes.length !== record.bytes || sha256(bytes) !== hash) {
    throw new DaglogError(
      'OBJECT_CORRUPT',
      `open object ${hash}, byte ${atByte}: its bytes hash to something else. Restore the run's objects.open from a backup.`,
      { hash, atByte, bytes: record.bytes },
    )
  }
  return { hash, kind, bytes }
}
