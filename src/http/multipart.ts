/**
 * The parts of a multipart body, hashed as they stream by: name, file name, type and bytes of each.
 * The boundary, which clients draw at random, is nowhere in it. Strict: whatever is not as RFC
 * 2046 has it is no multipart, and whoever asks goes by the bytes.
 */
import { createHash, type Hash as Hasher } from 'node:crypto'

/** Longest header of a part, in bytes. */
const PART_HEADER_BYTES_MAX = 64 * 1024

const CRLF2 = Buffer.from('\r\n\r\n')

export interface MultipartPart {
  readonly name: string
  readonly filename: string
  readonly type: string
  readonly sha256: string
}

/** The boundary that a content-type names, or undefined where it is no multipart. */
export function boundaryOf(type: string): string | undefined {
  if (!/^multipart\//i.test(type)) return undefined
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,200})"|([^;\s"]{1,200}))/i.exec(type) ?? []
  return quoted ?? plain
}

type State = 'preamble' | 'header' | 'body' | 'epilogue' | 'broken'

export class MultipartReader {
  readonly parts: MultipartPart[] = []
  private readonly mark: Buffer
  private pending: Buffer = Buffer.from('\r\n')
  private state: State = 'preamble'
  private hasher: Hasher = createHash('sha256')
  private header = { name: '', filename: '', type: '' }

  constructor(boundary: string) {
    this.mark = Buffer.from(`\r\n--${boundary}`)
  }

  push(bytes: Uint8Array): void {
    this.pending = Buffer.concat([this.pending, bytes])
    while (this.step());
  }

  /** Whether it came to its end as it should. */
  end(): boolean {
    return this.state === 'epilogue'
  }

  /** @returns Whether there may be more to do with what is pending. */
  private step(): boolean {
    if (this.state === 'header') return this.readHeader()
    if (this.state === 'preamble' || this.state === 'body') return this.readBody()
    this.pending = Buffer.alloc(0)
    return false
  }

  private readBody(): boolean {
    const at = this.pending.indexOf(this.mark)
    const behind = at + this.mark.length
    // What follows a boundary says whether it is the last one.
    if (at >= 0 && this.pending.length < behind + 2) return false
    if (at < 0) {
      this.take(Math.max(0, this.pending.length - this.mark.length + 1))
      return false
    }
    const follows = this.pending.toString('latin1', behind, behind + 2)
    this.take(at)
    this.pending = this.pending.subarray(this.mark.length + 2)
    if (this.state === 'body') {
      this.parts.push({ ...this.header, sha256: this.hasher.digest('hex') })
      this.hasher = createHash('sha256')
    }
    this.state = follows === '\r\n' ? 'header' : follows === '--' ? 'epilogue' : 'broken'
    // A header may be empty: then its end is the boundary's own.
    if (this.state === 'header') this.pending = Buffer.concat([Buffer.from('\r\n'), this.pending])
    return true
  }

  private take(bytes: number): void {
    if (this.state === 'body') this.hasher.update(this.pending.subarray(0, bytes))
    this.pending = this.pending.subarray(bytes)
  }

  private readHeader(): boolean {
    const end = this.pending.indexOf(CRLF2)
    if (end < 0) {
      if (this.pending.length > PART_HEADER_BYTES_MAX) this.state = 'broken'
      return this.state === 'broken'
    }
    const lines = this.pending.toString('utf8', 0, end).split('\r\n')
    const value = (name: string): string =>
      lines.find((line) => line.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1) ?? ''
    const disposition = value('content-disposition')
    this.header = {
      name: /[;\s]name="([^"]*)"/i.exec(disposition)?.[1] ?? '',
      filename: /[;\s]filename\*?="?([^";]*)"?/i.exec(disposition)?.[1] ?? '',
      type: value('content-type').trim(),
    }
    this.pending = this.pending.subarray(end + CRLF2.length)
    // An empty body begins with its boundary, whose line end is the header's.
    this.pending = Buffer.concat([Buffer.from('\r\n'), this.pending])
    if (!this.pending.subarray(0, this.mark.length).equals(this.mark)) {
      this.pending = this.pending.subarray(2)
    }
    this.state = 'body'
    return true
  }
}
