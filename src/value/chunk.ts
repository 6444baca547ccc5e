/**
 * Content-defined cuts in bytes that have no structure: FastCDC, a gear hash with two thresholds.
 * Knows bytes only: neither what they mean nor what becomes of a chunk.
 * @see docs/format.md#ropes
 */

/** Chunk sizes of a run: nothing is cut below `min`, a cut is forced at `max`. */
export interface ChunkSizes {
  readonly minBytes: number
  readonly averageBytes: number
  readonly maxBytes: number
  /** Below the average, a cut is where these bits of the hash are 0: four times too rarely. */
  readonly rareMask: number
  /** Above it: four times too often. Both together pull the sizes towards the average. */
  readonly frequentMask: number
}

/** Sizes around `2 ** bits` bytes. The high bits of a gear hash are those that see most bytes. */
const sizesAround = (bits: number): ChunkSizes => ({
  minBytes: 2 ** (bits - 2),
  averageBytes: 2 ** bits,
  maxBytes: 2 ** (bits + 2),
  rareMask: -1 << (32 - (bits + 2)),
  frequentMask: -1 << (32 - (bits - 2)),
})

/** A run is cut finely in its first bytes and coarsely after them: a rule that needs no total. */
export const CHUNK_FINE_BYTES_MAX = 16 * 1024 * 1024

const FINE = sizesAround(14)
const COARSE = sizesAround(16)

/** The sizes to cut at, `atByte` bytes after the start of a run. */
export function chunkSizes(atByte: number): ChunkSizes {
  return atByte < CHUNK_FINE_BYTES_MAX ? FINE : COARSE
}

/** 256 fixed, well spread numbers (splitmix32 from 0). Other ones would cut other ropes. */
const GEAR = gearTable()

function gearTable(): Int32Array {
  const table = new Int32Array(256)
  for (let i = 0; i < table.length; i++) {
    let z = Math.imul(i + 1, 0x9e3779b9)
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    table[i] = z ^ (z >>> 15)
  }
  return table
}

/**
 * Where the chunk that starts at `from` ends: at most `to`, which must be the end of the run or lie
 * `sizes.maxBytes` ahead. The answer depends on the bytes from `from` on and on nothing else.
 */
export function cutPoint(bytes: Uint8Array, from: number, to: number, sizes: ChunkSizes): number {
  const { minBytes, rareMask, frequentMask } = sizes
  if (to - from <= minBytes) return to
  const turn = Math.min(to, from + sizes.averageBytes)
  const stop = Math.min(to, from + sizes.maxBytes)
  let hash = 0
  let at = from + minBytes
  // The oldest byte leaves a 32-bit gear hash after 32 steps: start that much before the minimum.
  for (let i = at - 32; i < at; i++) hash = ((hash << 1) + GEAR[bytes[i]!]!) | 0
  for (; at < turn; at++) {
    hash = ((hash << 1) + GEAR[bytes[at]!]!) | 0
    if ((hash & rareMask) === 0) return at + 1
  }
  for (; at < stop; at++) {
    hash = ((hash << 1) + GEAR[bytes[at]!]!) | 0
    if ((hash & frequentMask) === 0) return at + 1
  }
  return stop
}
