/**
 * The index of a pack, made again from the pack alone.
 * Knows how to get past damage: a block that is not whole costs its own objects, no others.
 */
import { createHash } from 'node:crypto'
import type { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import {
  asBuffer,
  BLOCK_BYTES_MAX,
  BLOCK_HEADER_BYTES,
  BLOCK_MARK,
  blockBytesOf,
  blockCrc,
  decodeBlockHeader,
  decodeFooter,
  FOOTER_BYTES,
  FOOTER_MARK,
  PACK_MAGIC,
  PACK_VERSION,
  packInvalid,
  packTooNew,
  type ReadBytes,
} from './pack.js'
import { decodeBlock, type PackBlock } from './pack-block.js'
import { HashList } from './pack-hashes.js'
import { type BlockSize, encodeIndex } from './pack-index.js'
import type { PackSource } from './pack-reader.js'

/** How much is read at once where no block says how long it is. */
const SCAN_BYTES = 1024 * 1024

/**
 * Bytes checked at most in search of the next whole block: a hostile pack could ask for far more.
 */
const SEARCH_BYTES_MAX = 1024 * 1024 * 1024

/** An index, and what was wrong with the pack it was made from. */
export interface RebuiltIndex {
  /** Exactly the bytes that were written with the pack, where nothing is damaged. */
  readonly index: Buffer
  /** PACK_INVALID each; empty where every byte is as it was written. */
  readonly damage: readonly DaglogError[]
}

/**
 * Make the index of a pack by reading all of it twice, about a second for 50 MB of transcripts.
 * Never fails for damage: objects in whole blocks are indexed, the rest is reported.
 * @throws FORMAT_TOO_NEW where a newer daglog wrote the pack.
 */
export function buildIndex({ pack, read }: PackSource): RebuiltIndex {
  const damage: DaglogError[] = []
  const head = asBuffer(read(0, PACK_MAGIC.length))
  const name = hashOf(read)
  if (name !== pack) damage.push(packInvalid({ pack }, `its bytes hash to ${name}`))
  // A pack that is as it was written: its version is no flipped bit.
  else if (isNewer(head)) throw packTooNew({ pack }, `format version ${head.at(-1)}`)
  const blocks: BlockSize[] = []
  const hashes = new HashList()
  const search = new BlockSearch(read)
  let atByte = PACK_MAGIC.length
  while (!search.endsAt(atByte)) {
    const found = decodeAt({ pack, read }, { block: blocks.length, atByte })
    if ('bytes' in found) {
      blocks.push({ bytes: found.bytes, objects: found.decoded.hashes.length })
      for (const hash of found.decoded.hashes) hashes.push(hash)
      atByte += found.bytes
      continue
    }
    damage.push(found.error)
    const nextAt = search.nextAfter(atByte)
    if (nextAt === undefined) break
    // A hole in the index, so that later blocks keep their place.
    for (let hole = nextAt - atByte; hole > 0; hole -= BLOCK_BYTES_MAX) {
      blocks.push({ bytes: Math.min(hole, BLOCK_BYTES_MAX), objects: 0 })
    }
    atByte = nextAt
  }
  return { index: encodeIndex(pack, blocks, hashes), damage }
}

function isNewer(head: Buffer): boolean {
  const magicBytes = PACK_MAGIC.length - 1
  const ours =
    head.length > magicBytes && head.compare(PACK_MAGIC, 0, magicBytes, 0, magicBytes) === 0
  return ours && head[magicBytes]! > PACK_VERSION
}

function hashOf(read: ReadBytes): Hash {
  const hashing = createHash('sha256')
  for (let atByte = 0; ; ) {
    const bytes = read(atByte, SCAN_BYTES)
    if (bytes.length === 0) return hashing.digest('hex') as Hash
    hashing.update(bytes)
    atByte += bytes.length
  }
}

/** The block here, and its length; or why there is none. */
function decodeAt(
  { pack, read }: PackSource,
  place: { block: number; atByte: number },
): { decoded: PackBlock; bytes: number } | { error: DaglogError } {
  const where = { pack, ...place }
  const head = asBuffer(read(place.atByte, BLOCK_HEADER_BYTES))
  const header = head.length < BLOCK_HEADER_BYTES ? undefined : decodeBlockHeader(head)
  if (header === undefined) return { error: packInvalid(where, 'no block begins here') }
  try {
    const bytes = asBuffer(read(place.atByte, blockBytesOf(header)))
    return { decoded: decodeBlock(bytes, where), bytes: bytes.length }
  } catch (error) {
    if ((error as DaglogError).code !== 'PACK_INVALID') throw error
    return { error: error as DaglogError }
  }
}

/** Finds where a pack goes on after damage, by the marks and checksums of what follows. */
class BlockSearch {
  private searchedBytes = 0

  constructor(private readonly read: ReadBytes) {}

  /** Whether the footer is here, and nothing after it. */
  endsAt(atByte: number): boolean {
    return decodeFooter(asBuffer(this.read(atByte, FOOTER_BYTES + 1))) !== undefined
  }

  /** Where the next whole block or the footer begins, or undefined where neither is found. */
  nextAfter(fromByte: number): number | undefined {
    for (let atByte = fromByte + 1; ; atByte += SCAN_BYTES) {
      // The scans overlap, so that a header that one cuts is whole in the next.
      const bytes = asBuffer(this.read(atByte, SCAN_BYTES + BLOCK_HEADER_BYTES))
      this.searchedBytes += bytes.length
      const end = Math.min(SCAN_BYTES, bytes.length)
      for (let at = 0; at < end; at++) {
        const mark = bytes[at]
        if (mark === FOOTER_MARK && this.endsAt(atByte + at)) return atByte + at
        if (mark === BLOCK_MARK && this.isBlock(bytes.subarray(at), atByte + at)) return atByte + at
      }
      if (bytes.length <= SCAN_BYTES || this.searchedBytes > SEARCH_BYTES_MAX) return undefined
    }
  }

  private isBlock(head: Buffer, atByte: number): boolean {
    const header = head.length < BLOCK_HEADER_BYTES ? undefined : decodeBlockHeader(head)
    if (header === undefined || this.searchedBytes > SEARCH_BYTES_MAX) return false
    const bytes = asBuffer(this.read(atByte, blockBytesOf(header)))
    this.searchedBytes += bytes.length
    return bytes.length === blockBytesOf(header) && blockCrc(bytes) === bytes.readUInt32LE(28)
  }
}
