/**
 * How far the frames of a walk are settled: known to be durable, and their atomic appends whole.
 */
import type { DaglogError } from '../core/errors.js'
import type { FrameReader } from '../core/frame.js'
import type { Place } from './log-reader.js'
import type { Head } from './log-walk.js'

export class Settled {
  head: Head | undefined
  /**
   * Values that are missing or wrong; what that means depends on whether their event is settled.
   */
  readonly broken: { readonly seq: number; readonly error: DaglogError }[] = []
  private durableSeq: number
  private candidate: Head | undefined

  constructor(before: Head | undefined, coveredSeq: number) {
    this.head = before
    this.durableSeq = coveredSeq
  }

  take(frame: FrameReader, place: Place): void {
    this.durableSeq = Math.max(this.durableSeq, frame.seq - frame.lag - 1)
    if (this.candidate !== undefined && this.candidate.seq <= this.durableSeq)
      this.head = this.candidate
    if (frame.left > 0) return
    const { seq, hash } = frame
    this.candidate = { seq, hash, place }
    if (seq <= this.durableSeq) this.head = this.candidate
  }
}
