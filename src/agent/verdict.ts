/**
 * What was found to differ while a function is run again. The first divergence counts; whatever the
 * function makes of it (it may swallow its error), the verdict stands.
 */
import type { Divergence, ReplayReport } from '../fold/divergence.js'

/** Divergences that are listed; of further ones only the number is kept. */
const LISTED_MAX = 100

export class Verdict {
  readonly divergences: Divergence[] = []
  readonly notes: Divergence[] = []
  answered = 0
  complete = true
  private more = 0

  add(found: Omit<Divergence, 'tainted'>): Divergence {
    const divergence = { ...found, tainted: this.divergences.length > 0 }
    if (this.divergences.length < LISTED_MAX) this.divergences.push(divergence)
    else this.more += 1
    return divergence
  }

  note(found: Omit<Divergence, 'tainted'>): void {
    if (this.notes.length < LISTED_MAX) {
      this.notes.push({ ...found, tainted: this.divergences.length > 0 })
    }
  }

  get ok(): boolean {
    return this.divergences.length === 0
  }

  report(): ReplayReport {
    const [first] = this.divergences
    return {
      ok: this.ok,
      complete: this.complete,
      ...(first === undefined ? {} : { first }),
      divergences: this.divergences,
      more: this.more,
      notes: this.notes,
      answered: this.answered,
    }
  }
}
