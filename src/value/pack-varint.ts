/**
 * Whole numbers of one to seven bytes: seven bits a byte, low ones first, the high bit says that
 * more follow.
 * @see docs/format.md#varints
 */

const VARINT_BYTES_MAX = 7

/** Append `value`, a whole number below 2^49. */
export function pushVarint(into: number[], value: number): void {
  let rest = value
  while (rest > 0x7f) {
    into.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  into.push(rest)
}

/** Reads varints one after the other. */
export class VarintReader {
  private atByte = 0

  constructor(private readonly bytes: Uint8Array) {}

  /** The next number, or undefined where none is whole. */
  next(): number | undefined {
    let value = 0
    let scale = 1
    for (let count = 0; count < VARINT_BYTES_MAX; count++) {
      const byte = this.bytes[this.atByte]
      if (byte === undefined) return undefined
      this.atByte += 1
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    return undefined
  }

  /** Bytes not yet read. */
  get left(): number {
    return this.bytes.length - this.atByte
  }
}
