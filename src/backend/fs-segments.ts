/**
 * The segments of a log as files: text that is appended to, and parts laid to rest.
 * A segment is a row of pieces, each named after the offset it begins at (`log.000000.jsonl`,
 * `log.000000.z`, `log.000000.8192.jsonl`). The last is always text. Where one offset has both, the text
 * is meant: the other was being made. What a piece does not give up to where the next one begins
 * reads as zeros, as a gap: nothing behind it moves.
 * @see docs/format.md#segments
 */
import { basename, join } from 'node:path'
import type { ColdPlace } from '../core/cold-block.js'
import { systemCode } from '../core/errors.js'
import { READ_BYTES } from '../core/limits.js'
import { ColdReader, FOOTER_BYTES, readFooter, writeCold } from '../value/cold-segment.js'
import type { LogName, Segment } from './backend.js'
import type { Disk, DiskFile } from './disk.js'
import type { FsLayout, PieceName } from './fs-layout.js'

/** Rounds of "somebody laid it to rest while we looked". */
const READ_ATTEMPTS_MAX = 8

interface Piece extends PieceName {
  readonly path: string
}

interface Cold {
  readonly reader: ColdReader
  /** The last bytes of the file, which name the head of what it holds. */
  readonly mark: Buffer
}

export class FsSegments {
  private readonly cold = new Map<string, Cold>()

  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly onNotice: (message: string, cause?: unknown) => void,
  ) {}

  list(log: LogName): Segment[] {
    return this.retrying(() =>
      [...this.pieces(log)]
        .map(([number, pieces]) => ({
          number,
          bytes: this.bytesOf(pieces),
          // What is behind the last text's beginning was laid to rest, and that was synced first.
          durable: (pieces.at(-1) as Piece).base,
        }))
        .sort((a, b) => a.number - b.number),
    )
  }

  /** What all segments take on the disk, in bytes. */
  storedBytes(log: LogName): number {
    return this.retrying(() => {
      let bytes = 0
      for (const pieces of this.pieces(log).values())
        for (const { path } of pieces) bytes += sizeOf(this.disk, path)
      return bytes
    })
  }

  /** Numbers of the segments there are; lengths are not looked at. */
  numbers(log: LogName): number[] {
    return [...this.pieces(log).keys()]
  }

  read(log: LogName, segment: number, fromByte: number, length: number): Buffer {
    return this.retrying(() => {
      const pieces = this.pieces(log).get(segment) ?? []
      const parts: Buffer[] = []
      let at = fromByte
      const to = fromByte + length
      const take = (bytes: Buffer): void => {
        parts.push(bytes)
        at += bytes.length
      }
      for (const [index, piece] of pieces.entries()) {
        const next = pieces[index + 1]?.base
        if (next !== undefined && next <= at) continue
        if (piece.base > at) take(Buffer.alloc(Math.min(to, piece.base) - at))
        if (at >= to) break
        const end = Math.min(to, next ?? to)
        take(this.readPiece(piece, at - piece.base, end - at))
        if (next !== undefined && at < end) take(Buffer.alloc(end - at))
      }
      return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    })
  }

  /** The text that is appended to, and the offset it begins at. */
  openTail(log: LogName, segment: number): { file: DiskFile; base: number; path: string } {
    const pieces = this.pieces(log).get(segment) ?? []
    this.undoRest(log, pieces)
    const last = pieces.at(-1)
    if (last?.form === 'jsonl') {
      return { file: this.disk.openFile(last.path, 'append'), base: last.base, path: last.path }
    }
    // Laid to rest, and then the power went: its text goes on behind it.
    const base = last === undefined ? 0 : last.base + this.coldReader(last).original
    const path = this.layout.piece(log, { segment, base, form: 'jsonl' })
    const file = this.disk.openFile(path, 'create')
    this.disk.syncDir(this.layout.logDir(log))
    return { file, base, path }
  }

  /** Two texts at the end: the second is of a rest that did not come to its end. */
  private undoRest(log: LogName, pieces: Piece[]): void {
    const [before, last] = pieces.slice(-2)
    if (before?.form !== 'jsonl' || last === undefined || this.disk.sizeOf(last.path) !== 0) return
    this.disk.remove(last.path)
    // Should the name come back, it would hide what is now appended to the first.
    this.disk.syncDir(this.layout.logDir(log))
    pieces.pop()
  }

  /**
   * What is wrong with parts at rest, where reading gets around it: a footer is made again from its
   * blocks.
   */
  faults(log: LogName): string[] {
    const faults: string[] = []
    for (const [segment, pieces] of this.pieces(log)) {
      if (pieces[0]?.base !== 0)
        faults.push(`segment ${segment} has no file for its first ${pieces[0]?.base} bytes`)
      for (const [index, piece] of pieces.entries()) {
        const { form, path, base } = piece
        const next = pieces[index + 1]?.base
        const bytes = next === undefined ? undefined : this.bytesIn(piece)
        if (next !== undefined && base + (bytes as number) !== next)
          faults.push(`${basename(path)}: it holds ${bytes} bytes, and ${next - base} belong there`)
        if (form !== 'z') continue
        const file = (atByte: number, count: number): Buffer =>
          readText(this.disk, path, atByte, count)
        try {
          readFooter(file, sizeOf(this.disk, path))
        } catch (error) {
          faults.push(`${basename(path)}: ${(error as Error).message}`)
        }
      }
    }
    return faults
  }

  /** Sync whatever text there is. */
  syncAll(log: LogName): void {
    for (const pieces of this.pieces(log).values()) {
      for (const { form, path } of pieces) {
        if (form === 'jsonl' && (this.disk.sizeOf(path) ?? 0) > 0) syncFile(this.disk, path)
      }
    }
  }

  /**
   * Lay the last text of a segment to rest: packed under its own name first, the new, empty text
   * next, the old text removed last. A reader finds all bytes at every moment, and so does whoever
   * comes after a crash.
   * @param start Where the segment's first frame stands.
   */
  async rest(log: LogName, segment: number, start: ColdPlace): Promise<void> {
    const pieces = this.pieces(log).get(segment) ?? []
    const last = pieces.at(-1)
    const bytes = last === undefined ? 0 : (this.disk.sizeOf(last.path) ?? 0)
    if (last === undefined || last.form !== 'jsonl' || bytes === 0) return
    const before = pieces.at(-2)
    if (before?.form === 'jsonl') return
    const place = before === undefined ? start : this.coldReader(before).end
    const draft = join(this.layout.tmp(), `cold.${process.pid}.${performance.now()}`)
    await this.writeDraft(draft, this.text(last.path, bytes), place)
    const path = this.layout.piece(log, { segment, base: last.base, form: 'z' })
    this.publish(draft, path)
    const next = this.layout.piece(log, { segment, base: last.base + bytes, form: 'jsonl' })
    this.disk.openFile(next, 'create').close()
    this.disk.syncDir(this.layout.logDir(log))
    this.disk.remove(last.path)
    this.disk.syncDir(this.layout.logDir(log))
  }

  private publish(draft: string, path: string): void {
    try {
      this.disk.rename(draft, path)
    } catch (error) {
      this.disk.remove(draft)
      throw error
    }
  }

  private async writeDraft(
    draft: string,
    lines: AsyncIterable<Buffer>,
    place: ColdPlace,
  ): Promise<void> {
    const file = this.disk.openFile(draft, 'create')
    try {
      await writeCold(lines, place, (bytes) => {
        for (let at = 0; at < bytes.length; ) {
          const count = file.append(bytes.subarray(at))
          if (count <= 0) throw new Error('the disk took no bytes')
          at += count
        }
      })
      await file.sync()
    } catch (error) {
      this.disk.remove(draft)
      throw error
    } finally {
      file.close()
    }
  }

  private async *text(path: string, bytes: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes; ) {
      const block = readText(this.disk, path, at, Math.min(READ_BYTES, bytes - at))
      if (block.length === 0) return
      yield block
      at += block.length
    }
  }

  private pieces(log: LogName): Map<number, Piece[]> {
    const dir = this.layout.logDir(log)
    const found = new Map<number, Piece[]>()
    for (const name of this.disk.list(dir)) {
      const piece = this.layout.pieceOf(log, name)
      if (piece === undefined) continue
      const pieces = found.get(piece.segment) ?? []
      pieces.push({ ...piece, path: join(dir, name) })
      found.set(piece.segment, pieces)
    }
    for (const [segment, pieces] of found) {
      if (pieces.length > 1) found.set(segment, inOrder(pieces))
    }
    return found
  }

  private bytesOf(pieces: readonly Piece[]): number {
    const last = pieces.at(-1) as Piece
    return last.base + this.bytesIn(last)
  }

  private bytesIn(piece: Piece): number {
    return piece.form === 'z' ? this.coldReader(piece).original : sizeOf(this.disk, piece.path)
  }

  private readPiece(piece: Piece, from: number, length: number): Buffer {
    if (piece.form === 'jsonl') return readText(this.disk, piece.path, from, length)
    return this.coldReader(piece).read(from, length)
  }

  private coldReader({ path }: Piece): ColdReader {
    const bytes = sizeOf(this.disk, path)
    const file = (atByte: number, count: number): Buffer => readText(this.disk, path, atByte, count)
    const mark = file(Math.max(0, bytes - FOOTER_BYTES), FOOTER_BYTES)
    const known = this.cold.get(path)
    // The run may have been deleted and made anew meanwhile, by whomever.
    if (known?.mark.equals(mark)) return known.reader
    const reader = ColdReader.open(file, bytes, (reason) =>
      this.onNotice(`${path}: ${reason}; it reads as a gap`),
    )
    this.cold.delete(path)
    this.cold.set(path, { reader, mark })
    const oldest = this.cold.keys().next().value
    if (this.cold.size > COLD_READERS_MAX && oldest !== undefined) this.cold.delete(oldest)
    return reader
  }

  private retrying<R>(use: () => R): R {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return use()
      } catch (error) {
        if (systemCode(error) !== 'ENOENT' || attempt === READ_ATTEMPTS_MAX) throw error
      }
    }
  }
}

/** Cold files whose footers are kept in memory. */
const COLD_READERS_MAX = 64

/** Text before what is packed of it, by offset; of two at one offset only the text. */
function inOrder(pieces: readonly Piece[]): Piece[] {
  const byBase = new Map<number, Piece>()
  for (const piece of pieces) {
    if (piece.form === 'jsonl' || !byBase.has(piece.base)) byBase.set(piece.base, piece)
  }
  return [...byBase.values()].sort((a, b) => a.base - b.base)
}

function sizeOf(disk: Disk, path: string): number {
  const size = disk.sizeOf(path)
  if (size === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
  return size
}

function readText(disk: Disk, path: string, fromByte: number, length: number): Buffer {
  const file = disk.openFile(path, 'read')
  try {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, file.size() - fromByte)))
    let filled = 0
    while (filled < bytes.length) {
      const count = file.read(bytes.subarray(filled), fromByte + filled)
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  } finally {
    file.close()
  }
}

export function syncFile(disk: Disk, path: string): void {
  const file = disk.openFile(path, 'append')
  try {
    file.syncNow()
  } finally {
    file.close()
  }
}
