/**
 * A transcript file in pieces: whole records, a few megabytes at a time, or one longer record.
 * Memory is bounded by that. What is read ends where the file ended when it was opened; what it
 * grows by meanwhile is for the next time.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { unpacked } from './zstd.js'

/** Bytes of some lines, and where they begin in the source. */
export interface Piece {
  readonly from: number
  readonly lines: number
  readonly bytes: Buffer
  /** True of what comes after the last line end. It is a piece of its own. */
  readonly tail: boolean
}

/** Pieces are about this long. */
export const PIECE_BYTES = 2 * 1024 * 1024
/** A piece that no record begins in for so long is cut at any line end. */
const PIECE_BYTES_FORCED = 32 * 1024 * 1024

const LF = 0x0a

export class SourceFile {
  private constructor(
    readonly path: string,
    /** Bytes on the disk when it was opened. */
    readonly size: number,
    /** In ms since 1970. */
    readonly mtime: number,
    private readonly file: FileHandle,
    readonly packing: 'zstd' | undefined,
  ) {}

  /** @throws what the system says */
  static async open(path: string): Promise<SourceFile> {
    const file = await open(path, 'r')
    try {
      const { size, mtimeMs } = await file.stat()
      const packing = path.endsWith('.zst') ? 'zstd' : undefined
      return new SourceFile(path, size, Math.trunc(mtimeMs), file, packing)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** The first bytes, for telling what it is. */
  async head(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let bytes = 0
    for await (const chunk of this.chunks(0, length)) {
      parts.push(Buffer.from(chunk))
      bytes += chunk.length
      if (bytes >= length) break
    }
    return Buffer.concat(parts)
  }

  /** Whole records from an offset on, which must be where one begins. */
  async *pieces(from = 0): AsyncGenerator<Piece> {
    let at = from
    let held = new Held()
    for await (const chunk of this.chunks(from)) {
      held.add(chunk)
      for (;;) {
        const bytes = held.take()
        if (bytes === undefined) break
        yield { from: at, lines: count(bytes), bytes, tail: false }
        at += bytes.length
      }
    }
    const rest = held.rest()
    held = new Held()
    const end = rest.lastIndexOf(LF) + 1
    if (end > 0) {
      const bytes = rest.subarray(0, end)
      yield { from: at, lines: count(bytes), bytes, tail: false }
    }
    if (end < rest.length) yield { from: at + end, lines: 1, bytes: rest.subarray(end), tail: true }
  }

  /** The file's bytes from an offset on, unpacked, in chunks that are good until the next. */
  async *chunks(from: number, length = READ_BYTES): AsyncGenerator<Buffer> {
    if (this.packing === undefined) {
      yield* this.stored(from, length)
      return
    }
    let at = 0
    for await (const chunk of unpacked(this.stored(0))) {
      const skip = Math.min(Math.max(0, from - at), chunk.length)
      at += chunk.length
      if (skip < chunk.length) yield chunk.subarray(skip)
    }
  }

  private async *stored(from: number, length = READ_BYTES): AsyncGenerator<Buffer> {
    if (from >= this.size) return
    const chunk = Buffer.allocUnsafe(Math.min(READ_BYTES, length, this.size - from))
    for (let at = from; at < this.size; ) {
      const wanted = Math.min(chunk.length, this.size - at)
      const { bytesRead } = await this.file.read(chunk, 0, wanted, at)
      if (bytesRead === 0) return // It became shorter while we read.
      yield chunk.subarray(0, bytesRead)
      at += bytesRead
    }
  }

  close(): Promise<void> {
    return this.file.close()
  }
}

const READ_BYTES = 1024 * 1024

/** Bytes that were read and are no whole piece yet. */
class Held {
  private bytes = Buffer.allocUnsafe(0)
  private length = 0
  /** Up to here there is no place to cut. */
  private searched = 0
  private readonly cut = { at: 0 }

  add(chunk: Buffer): void {
    const needed = this.length + chunk.length
    if (needed > this.bytes.length) {
      // Doubling: a line of 90 MB is copied a few times, not ninety.
      const larger = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2))
      this.bytes.copy(larger, 0, 0, this.length)
      this.bytes = larger
    }
    chunk.copy(this.bytes, this.length)
    this.length = needed
  }

  /** A piece, as memory of its own; undefined until there is a whole one. */
  take(): Buffer | undefined {
    if (this.length < PIECE_BYTES) return undefined
    const at = this.findCut()
    if (at === 0) return undefined
    const piece = Buffer.from(this.bytes.subarray(0, at))
    this.bytes.copy(this.bytes, 0, at, this.length)
    this.length -= at
    this.searched = 0
    this.cut.at = 0
    return piece
  }

  /**
   * Behind the first line end from `PIECE_BYTES` on that a record follows, as far as can be seen.
   */
  private findCut(): number {
    const held = this.bytes.subarray(0, this.length)
    let at = Math.max(this.searched, PIECE_BYTES - 1)
    for (;;) {
      const end = held.indexOf(LF, at)
      // What follows the last line end is not known yet.
      if (end < 0 || end + 1 >= held.length) break
      if (held[end + 1] === 0x7b || end >= PIECE_BYTES_FORCED) return end + 1
      at = end + 1
    }
    this.searched = Math.max(at, held.length - 1)
    return 0
  }

  rest(): Buffer {
    return this.bytes.subarray(0, this.length)
  }
}

function count(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) lines += 1
  return lines
}

/** Whatever can be read in order. */
export type Chunks = AsyncIterable<Buffer> | Readable
