/**
 * What was found to differ while a function is run again. The first divergence counts; whatever the
 * function makes of it (it may swallow its error), the verdict stands.
 */
import type { Divergence, ReplayReport, Uncovered } from '../fold/divergence.js'
import type { Attempt } from './attempt.js'

/** Divergences that are listed; of further ones only the number is kept. */
const LISTED_MAX = 100

export class Verdict {
  readonly divergences: Divergence[] = []
  readonly notes: Divergence[] = []
  readonly uncovered = new Map<string, Uncovered>()
  answered = 0
  complete = true
  private more = 0

  add(found: Omit<Divergence, 'tainted'>): Divergence {
    const divergence = { ...found, tainted: this.divergences.length > 0 }
    if (this.divergences.length < LISTED_MAX) this.divergences.push(divergence)
    else this.more += 1
    return divergence
  }

  /** One that is found afterwards, and took place at `seq` of the run that is written. */
  addAt(seq: number, found: Omit<Divergence, 'tainted'>): void {
    const first = this.divergences[0]
    const at = first?.now?.seq
    if (first === undefined || at === undefined || at < seq) {
      this.add(found)
      return
    }
    this.divergences[0] = { ...first, tainted: true }
    this.divergences.unshift({ ...found, tainted: false })
  }

  note(found: Omit<Divergence, 'tainted'>): void {
    if (this.notes.length < LISTED_MAX) {
      this.notes.push({ ...found, tainted: this.divergences.length > 0 })
    }
  }

  /** Something that a replay must not do was tried, whatever the function made of that. */
  attempt({ api, target, refused, step }: Attempt, run: string): void {
    if (refused) {
      const now = { run, ...(step === undefined ? {} : { name: step.name }) }
      const note = `${api} to ${target} was refused: a replay touches no network`
      this.add({ kind: 'traffic-miss', path: step?.name ?? '', now, note })
      return
    }
    const place = JSON.stringify([api, target])
    const known = this.uncovered.get(place)
    this.uncovered.set(place, { api, target, count: (known?.count ?? 0) + 1 })
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
      uncovered: [...this.uncovered.values()],
      answered: this.answered,
    }
  }
}
