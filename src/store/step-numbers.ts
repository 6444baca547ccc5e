/**
 * Ids and occurrences of the steps of one run: what has been given out here, on top of what the log
 * knows.
 */
import type { RunIndex } from '../fold/run-index.js'

export class StepNumbers {
  private issued = 0
  private readonly occurrences = new Map<string, number>()

  nextId(index: RunIndex): string {
    this.issued = Math.max(this.issued + 1, index.nextStep)
    return `n${this.issued}`
  }

  /** How often a step with this base identity was begun before, counting this call as the next. */
  nextOccurrence(index: RunIndex, base: string, keyOf: (occurrence: number) => string): number {
    const count = this.occurrences.get(base) ?? firstFree((at) => index.hasStepKey(keyOf(at)))
    this.occurrences.set(base, count + 1)
    return count
  }
}

/** The first number that is not taken, where all before it are: doubling, then halving. */
function firstFree(isTaken: (at: number) => boolean): number {
  let low = 0
  let high = 1
  while (isTaken(high - 1)) {
    low = high
    high *= 2
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isTaken(middle)) low = middle + 1
    else high = middle
  }
  return low
}
