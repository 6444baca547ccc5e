/**
 * What stands around a hit in the exact bytes of a value, and on which line it is.
 * Reads what it shows and nothing else; lines are counted on from the hit before.
 */
import type { Found } from '../value/needle.js'

/** Bytes from one offset up to another, exclusive; where left out to the end. */
export type ReadRange = (from: number, to: number) => AsyncIterable<Uint8Array>

export interface Excerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

const AROUND_BYTES = 120
const MATCH_BYTES_MAX = 400
const LF = 0x0a

export class HitContext {
  private lines = 0
  private countedTo = 0

  constructor(private readonly read: ReadRange) {}

  /** Up to the ends of its line, shortened where that is long. */
  async excerpt({ at, length }: Found): Promise<Excerpt> {
    const from = Math.max(0, at - AROUND_BYTES)
    const shown = Math.min(length, MATCH_BYTES_MAX)
    const bytes = await whole(this.read(from, at + shown + AROUND_BYTES))
    return excerptOf(bytes, { at: at - from, length: shown })
  }

  /** The line that a hit is on, from 0. Hits must come in order. */
  async line({ at }: Found): Promise<number> {
    for await (const bytes of this.read(this.countedTo, at)) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (let end = buffer.indexOf(LF); end >= 0; end = buffer.indexOf(LF, end + 1))
        this.lines += 1
    }
    this.countedTo = at
    return this.lines
  }
}

/** The same in bytes that are at hand. */
export function excerptOf(bytes: Buffer, { at, length }: Found): Excerpt {
  const end = at + length
  const from = Math.max(at - AROUND_BYTES, bytes.lastIndexOf(LF, Math.max(0, at - 1)) + 1, 0)
  const next = bytes.indexOf(LF, end)
  const to = Math.min(end + AROUND_BYTES, next < 0 ? bytes.length : next)
  return {
    before: textOf(bytes, Math.min(from, at), at),
    match: bytes.toString('utf8', at, end),
    after: textOf(bytes, end, Math.max(end, to)),
  }
}

/** Characters that are cut off at an end are left out. */
function textOf(bytes: Buffer, from: number, to: number): string {
  let start = from
  while (start < to && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
  return bytes.toString('utf8', start, to).replace(/\ufffd+$/, '')
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}
