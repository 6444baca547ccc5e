/**
 * What a growing sequence of bodies remembers from one body to the next: the bytes of the last one
 * and, every few KB, all that the slicer knew there. A body that starts with the same bytes goes on
 * from the last such place, and comes to the same rope as it would without.
 * Knows nothing of what the state means.
 */
import { createHash, type Hash as Hasher } from 'node:crypto'
import type { Hash } from '../core/hash.js'
import type { SliceState } from './slice.js'

/** Longest start of a body that is remembered, in bytes. Its states take less than that again. */
export const MEMO_BYTES_MAX = 4 * 1024 * 1024

/** States lie at least this far apart, in bytes; the first one as far from the start. */
const STATE_DISTANCE_BYTES = 8 * 1024

interface Place {
  readonly state: SliceState
  /** SHA-256 of all bytes before the place, not ended. */
  readonly hasher: Hasher
}

/**
 * Give the same memo to each `writeRope` of a sequence whose bodies start alike, such as the
 * requests of one agent. It copies what it needs, so bodies may be overwritten afterwards.
 */
export class RopeMemo {
  private bytes = Buffer.alloc(0)
  private places: Place[] = []

  /** Forgets everything. */
  clear(): void {
    this.places = []
  }

  /** The last place that `bytes` share with the previous body; those after it are forgotten. */
  place(bytes: Uint8Array): SliceState | undefined {
    let from = 0
    let shared = 0
    for (const { state } of this.places) {
      if (state.pos > bytes.length) break
      if (this.bytes.compare(bytes, from, state.pos, from, state.pos) !== 0) break
      from = state.pos
      shared += 1
    }
    this.places.length = shared
    return this.places.at(-1)?.state
  }

  /** Where the next place may be, in bytes. */
  get nextAt(): number {
    const next = (this.places.at(-1)?.state.pos ?? 0) + STATE_DISTANCE_BYTES
    return next > MEMO_BYTES_MAX ? Number.POSITIVE_INFINITY : next
  }

  /** Adds a place in `bytes`, which share all places so far. Returns where the next one may be. */
  add(bytes: Uint8Array, state: SliceState): number {
    if (state.pos > MEMO_BYTES_MAX) return Number.POSITIVE_INFINITY
    const last = this.places.at(-1)
    const from = last?.state.pos ?? 0
    const hasher = last === undefined ? createHash('sha256') : last.hasher.copy()
    const added = bytes.subarray(from, state.pos)
    hasher.update(added)
    this.reserve(state.pos)
    this.bytes.set(added, from)
    this.places.push({ state, hasher })
    return this.nextAt
  }

  /** SHA-256 of `bytes`, which share all places. */
  sha256(bytes: Uint8Array): Hash {
    const last = this.places.at(-1)
    const hasher = last === undefined ? createHash('sha256') : last.hasher.copy()
    return hasher.update(bytes.subarray(last?.state.pos ?? 0)).digest('hex') as Hash
  }

  private reserve(bytes: number): void {
    if (bytes <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.min(MEMO_BYTES_MAX, Math.ceil(bytes * 1.5)))
    grown.set(this.bytes)
    this.bytes = grown
  }
}
