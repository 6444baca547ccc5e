/**
 * In which pieces a body came, and when: packed, and unpacked again.
 * @see docs/format.md#exchanges
 */

export interface Piece {
  readonly bytes: number
  /** Since the piece before, in us. */
  readonly waitUs: number
}

/** Takes pieces one by one. */
export class ChunkTable {
  private readonly packed: number[] = []

  add(bytes: number, waitUs: number): void {
    this.number(bytes)
    this.number(waitUs)
  }

  private number(value: number): void {
    let rest = Math.max(0, Math.round(value))
    while (rest >= 0x80) {
      this.packed.push((rest % 0x80) + 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.packed.push(rest)
  }

  end(): Uint8Array {
    return Uint8Array.from(this.packed)
  }
}

/** The pieces of a table; where it makes no sense, what is left of the body is one piece. */
export function* piecesOf(table: Uint8Array, size: number): Generator<Piece> {
  let at = 0
  let left = size
  const number = (): number => {
    let value = 0
    for (let scale = 1; at < table.length; scale *= 0x80) {
      const byte = table[at++] as number
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    return value
  }
  while (at < table.length) {
    const bytes = Math.min(left, number())
    yield { bytes, waitUs: number() }
    left -= bytes
  }
  if (left > 0) yield { bytes: left, waitUs: 0 }
}
