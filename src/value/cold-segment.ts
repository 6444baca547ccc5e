/**
 * A part of a log at rest: its lines in compressed blocks, and where each lies.
 * Gives back the exact bytes at any offset, a block at a time. A block that is not as it was
 * written reads as zeros of its length: to whoever reads the log that is a gap, and what lies
 * around it stays readable.
 *
 *   "dagcold" 1 | block ... | footer
 *   block:  "B", codec, u16 0, u32 original, u32 rest, u32 salts, u32 stored, u32 crc,
 *           u64 seq, prev (32 bytes) | salts | stored
 * footer: u32 (original, bytes) of each block, u64 seq, hash (32 bytes), u32 blocks, u32 crc,
 * "dagcold" E
 * @see docs/format.md#cold-segments
 */
import { promisify } from 'node:util'
import { crc32, deflateRaw, inflateRawSync } from 'node:zlib'
import { type ColdPlace, packLines, unpackLines } from '../core/cold-block.js'
import { DaglogError } from '../core/errors.js'
import { GENESIS, type Hash, isHash } from '../core/hash.js'
import { COLD_BLOCK_BYTES, FRAME_BYTES_MAX } from '../core/limits.js'
import { asBuffer, type ReadBytes } from './pack.js'

const deflate = promisify(deflateRaw)

const MAGIC = Buffer.from('dagcold\u0001', 'latin1')
const END_MAGIC = Buffer.from('dagcoldE', 'latin1')
const BLOCK_MARK = 0x42
const CODECS = { stored: 0, deflate: 1 } as const
const HEADER_BYTES = 64
const CRC_AT = 20
const SEQ_AT = 24
const PREV_AT = 32
/**
 * Footer without its table, in bytes: place, count, crc, magic. No two files that differ end alike.
 */
export const FOOTER_BYTES = 8 + 32 + 4 + 4 + END_MAGIC.length
const ROW_BYTES = 8
const LF = 0x0a

export interface ColdWritten {
  readonly blocks: number
  /** Bytes of the lines, and of the file. */
  readonly original: number
  readonly bytes: number
  readonly end: ColdPlace
}

/**
 * Write lines to rest. `lines` may come in any pieces; `place` is where the first of them stands.
 * @param sink Takes the file's bytes in order: write, sync, rename.
 */
export async function writeCold(
  lines: AsyncIterable<Buffer>,
  place: ColdPlace,
  sink: (bytes: Uint8Array) => void,
): Promise<ColdWritten> {
  const rows: { original: number; bytes: number }[] = []
  let next = place
  let bytes = MAGIC.length
  sink(MAGIC)
  for await (const block of lineBlocks(lines)) {
    const packed = packLines(block, next)
    const deflated = await deflate(packed.rest)
    const codec = deflated.length < packed.rest.length ? 'deflate' : 'stored'
    const stored = codec === 'deflate' ? deflated : packed.rest
    const header = headerOf({
      codec,
      original: block.length,
      rest: packed.rest.length,
      salts: packed.salts.length,
      stored: stored.length,
      place: next,
    })
    header.writeUInt32LE(crcOf(header, packed.salts, stored), CRC_AT)
    for (const part of [header, packed.salts, stored]) sink(part)
    const row = {
      original: block.length,
      bytes: header.length + packed.salts.length + stored.length,
    }
    rows.push(row)
    bytes += row.bytes
    next = packed.next
  }
  const footer = footerOf(rows, next)
  sink(footer)
  const original = rows.reduce((sum, row) => sum + row.original, 0)
  return { blocks: rows.length, original, bytes: bytes + footer.length, end: next }
}

/** Whole lines, gathered to about a block's size; a longer line is a block of its own. */
async function* lineBlocks(lines: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer = Buffer.alloc(0)
  for await (const piece of lines) {
    pending = pending.length === 0 ? piece : Buffer.concat([pending, piece])
    while (pending.length >= COLD_BLOCK_BYTES) {
      const cut = pending.lastIndexOf(LF, COLD_BLOCK_BYTES - 1) + 1 || pending.indexOf(LF) + 1
      if (cut === 0) break // A line that goes on in the next piece.
      yield pending.subarray(0, cut)
      pending = pending.subarray(cut)
    }
  }
  if (pending.length > 0) yield pending
}

interface Header {
  readonly codec: keyof typeof CODECS
  readonly original: number
  readonly rest: number
  readonly salts: number
  readonly stored: number
  readonly place: ColdPlace
}

function headerOf({ codec, original, rest, salts, stored, place }: Header): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = BLOCK_MARK
  header[1] = CODECS[codec]
  header.writeUInt32LE(original, 4)
  header.writeUInt32LE(rest, 8)
  header.writeUInt32LE(salts, 12)
  header.writeUInt32LE(stored, 16)
  writePlace(header, SEQ_AT, place)
  return header
}

function writePlace(into: Buffer, at: number, { seq, prev }: ColdPlace): void {
  into.writeBigUInt64LE(BigInt(seq), at)
  into.write(prev, at + PREV_AT - SEQ_AT, 'hex')
}

function readPlace(from: Buffer, at: number): ColdPlace {
  const prevAt = at + PREV_AT - SEQ_AT
  return {
    seq: Number(from.readBigUInt64LE(at)),
    prev: from.toString('hex', prevAt, prevAt + 32) as Hash,
  }
}

function crcOf(header: Buffer, ...rest: readonly Uint8Array[]): number {
  let crc = crc32(header.subarray(SEQ_AT), crc32(header.subarray(0, CRC_AT)))
  for (const part of rest) crc = crc32(part, crc)
  return crc
}

function footerOf(rows: readonly { original: number; bytes: number }[], end: ColdPlace): Buffer {
  const footer = Buffer.alloc(rows.length * ROW_BYTES + FOOTER_BYTES)
  rows.forEach((row, index) => {
    footer.writeUInt32LE(row.original, index * ROW_BYTES)
    footer.writeUInt32LE(row.bytes, index * ROW_BYTES + 4)
  })
  const at = rows.length * ROW_BYTES
  writePlace(footer, at, end)
  footer.writeUInt32LE(rows.length, at + 40)
  footer.writeUInt32LE(crc32(footer.subarray(0, at + 44)), at + 44)
  footer.set(END_MAGIC, at + 48)
  return footer
}

interface BlockPlace {
  /** Offset in the lines, and in the file. */
  readonly from: number
  readonly original: number
  readonly atByte: number
  readonly bytes: number
}

/**
 * @throws FRAME_INVALID where the footer, or the file's first bytes, are not as they were written.
 */
export function readFooter(
  file: ReadBytes,
  bytes: number,
): { blocks: BlockPlace[]; end: ColdPlace } {
  const tail = asBuffer(file(Math.max(0, bytes - FOOTER_BYTES), Math.min(bytes, FOOTER_BYTES)))
  const count = tail.length === FOOTER_BYTES ? tail.readUInt32LE(40) : 0
  const tableBytes = count * ROW_BYTES
  const isWhole =
    END_MAGIC.equals(tail.subarray(48)) && tableBytes + FOOTER_BYTES + MAGIC.length <= bytes
  if (!isWhole || !MAGIC.equals(asBuffer(file(0, MAGIC.length)))) throw invalid('it has no footer')
  const footer = asBuffer(file(bytes - FOOTER_BYTES - tableBytes, tableBytes + FOOTER_BYTES))
  if (crc32(footer.subarray(0, tableBytes + 44)) !== footer.readUInt32LE(tableBytes + 44)) {
    throw invalid('its footer is damaged')
  }
  const blocks: BlockPlace[] = []
  for (let index = 0; index < count; index += 1) {
    const original = footer.readUInt32LE(index * ROW_BYTES)
    blocks.push(placeAfter(blocks.at(-1), original, footer.readUInt32LE(index * ROW_BYTES + 4)))
  }
  const last = blocks.at(-1)
  const blocksEnd = last === undefined ? MAGIC.length : last.atByte + last.bytes
  if (blocksEnd + footer.length !== bytes)
    throw invalid('its blocks are not as long as its footer says')
  return { blocks, end: readPlace(footer, tableBytes) }
}

/** The blocks that follow each other from the start of the file. */
function findBlocks(file: ReadBytes, bytes: number): { blocks: BlockPlace[]; end: ColdPlace } {
  const blocks: BlockPlace[] = []
  let end: ColdPlace = { seq: 0, prev: GENESIS }
  for (let at = MAGIC.length; at + HEADER_BYTES <= bytes; ) {
    const header = asBuffer(file(at, HEADER_BYTES))
    const length = HEADER_BYTES + header.readUInt32LE(12) + header.readUInt32LE(16)
    if (header[0] !== BLOCK_MARK || at + length > bytes) break
    const block = asBuffer(file(at, length))
    try {
      end = decodeBlock(block).next
    } catch {
      break // Not a block, or not as it was written: nothing says where the next one is.
    }
    blocks.push(placeAfter(blocks.at(-1), header.readUInt32LE(4), length))
    at += length
  }
  return { blocks, end }
}

function placeAfter(before: BlockPlace | undefined, original: number, bytes: number): BlockPlace {
  if (before === undefined) return { from: 0, original, atByte: MAGIC.length, bytes }
  return {
    from: before.from + before.original,
    original,
    atByte: before.atByte + before.bytes,
    bytes,
  }
}

/** Decoded blocks that one reader keeps. */
const BLOCKS_KEPT = 4

export class ColdReader {
  /** Length of the lines, in bytes. */
  readonly original: number
  /** Where the log goes on behind it. */
  readonly end: ColdPlace
  private readonly kept = new Map<number, Buffer>()

  private constructor(
    private readonly file: ReadBytes,
    private readonly blocks: readonly BlockPlace[],
    end: ColdPlace,
    private readonly onDamage: (reason: string) => void,
  ) {
    this.end = end
    const last = blocks.at(-1)
    this.original = last === undefined ? 0 : last.from + last.original
  }

  /**
   * Never refuses: where the footer is damaged the blocks are found one after the other, up to the
   * first that cannot be. What `file` throws passes through, here and in `read`.
   * @param onDamage Told of a damaged footer, and of each block that reads as zeros.
   */
  static open(file: ReadBytes, bytes: number, onDamage: (reason: string) => void): ColdReader {
    try {
      const { blocks, end } = readFooter(file, bytes)
      return new ColdReader(file, blocks, end, onDamage)
    } catch (error) {
      if (!(error instanceof DaglogError)) throw error
      onDamage(error.message)
      const { blocks, end } = findBlocks(file, bytes)
      return new ColdReader(file, blocks, end, onDamage)
    }
  }

  /** Up to `length` bytes of the lines from an offset; shorter only at the end. */
  read(fromByte: number, length: number): Buffer {
    const to = Math.min(fromByte + length, this.original)
    const parts: Buffer[] = []
    for (let at = fromByte; at < to; ) {
      const index = this.blockAt(at)
      const { from, original } = this.blocks[index] as BlockPlace
      const end = Math.min(to, from + original)
      parts.push(this.block(index).subarray(at - from, end - from))
      at = end
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }

  private blockAt(offset: number): number {
    let low = 0
    let high = this.blocks.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.blocks[middle] as BlockPlace).from <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  private block(index: number): Buffer {
    const kept = this.kept.get(index)
    if (kept !== undefined) return kept
    const lines = this.decode(index)
    this.kept.set(index, lines)
    const oldest = this.kept.keys().next().value
    if (this.kept.size > BLOCKS_KEPT && oldest !== undefined) this.kept.delete(oldest)
    return lines
  }

  private decode(index: number): Buffer {
    const { original, atByte, bytes } = this.blocks[index] as BlockPlace
    // Read first: a disk that cannot be read says nothing about what is on it.
    const block = asBuffer(this.file(atByte, bytes))
    const expected = index + 1 < this.blocks.length ? this.placeOf(index + 1) : this.end
    try {
      const { lines, next } = decodeBlock(block)
      // What is computed again is always consistent in itself: only its neighbours can tell that it
      // is not what was there.
      if (lines.length === original && next.seq === expected.seq && next.prev === expected.prev)
        return lines
      this.onDamage(`block ${index} does not lead to the block after it`)
    } catch (error) {
      this.onDamage(`block ${index}: ${(error as Error).message}`)
    }
    return Buffer.alloc(original)
  }

  private placeOf(index: number): ColdPlace {
    return readPlace(
      asBuffer(this.file((this.blocks[index] as BlockPlace).atByte, HEADER_BYTES)),
      SEQ_AT,
    )
  }
}

function decodeBlock(block: Buffer): { lines: Buffer; next: ColdPlace } {
  if (block.length < HEADER_BYTES || block[0] !== BLOCK_MARK || block.readUInt16LE(2) !== 0)
    throw invalid('no block is here')
  const header = block.subarray(0, HEADER_BYTES)
  const salts = block.subarray(HEADER_BYTES, HEADER_BYTES + header.readUInt32LE(12))
  const stored = block.subarray(HEADER_BYTES + salts.length)
  if (
    stored.length !== header.readUInt32LE(16) ||
    crcOf(header, salts, stored) !== header.readUInt32LE(CRC_AT)
  ) {
    throw invalid('its checksum does not match')
  }
  const place = readPlace(header, SEQ_AT)
  if (!isHash(place.prev) || !Number.isSafeInteger(place.seq)) throw invalid('it stands nowhere')
  return unpackLines({ salts, rest: restOf(header, stored) }, place)
}

function restOf(header: Buffer, stored: Buffer): Buffer {
  const length = header.readUInt32LE(8)
  if (header[1] === CODECS.stored) return stored
  if (header[1] !== CODECS.deflate || length > REST_BYTES_MAX)
    throw invalid('its codec is not known')
  const rest = inflateRawSync(stored, { maxOutputLength: Math.max(1, length) })
  if (rest.length !== length) throw invalid('it is not as long as it says')
  return rest
}

/** The longest line makes the longest block. */
const REST_BYTES_MAX = FRAME_BYTES_MAX + COLD_BLOCK_BYTES

function invalid(why: string): DaglogError {
  return new DaglogError('FRAME_INVALID', `a cold segment cannot be read: ${why}`)
}
