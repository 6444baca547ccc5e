/**
 * Answers to the questions of a run that come from other processes. Who asks holds the run's lock,
 * so they lie in a run of their own below it: a child like any other, with one `ask/answer` each.
 */

import type { AskAnswer } from '../core/agent-events.js'
import { DaglogError } from '../core/errors.js'
import { Notices } from './notices.js'
import { RunView } from './run-view.js'

const ANSWERS_ID = /\.answers-[0-9a-f]{8}$/

/**
 * The run that holds the answers of a run; its identity, so that a run of the same id has others.
 */
export async function answersId(view: RunView): Promise<string> {
  const identity = await view.identity()
  if (identity === undefined) throw new DaglogError('INVARIANT', `run ${view.id} has no frame 0`)
  return `${view.id}.answers-${identity.slice(0, 8)}`
}

/** Whether a run is there for the answers of another. */
export function holdsAnswers(id: string, parentKind: string | undefined): boolean {
  return parentKind === 'child' && ANSWERS_ID.test(id)
}

/** Looks for answers again and again, and reads only what is new. */
export class AnswersReader {
  private bytes = 0
  /** Where its end could not be read. */
  private tornBytes = 0
  private readonly known = new Map<string, AskAnswer>()

  constructor(private readonly run: RunView) {}

  /** The answer to the question of a step, if there is one. */
  async find(step: string): Promise<AskAnswer | undefined> {
    const { backend, notices } = this.run.context
    const id = await answersId(this.run)
    if (!(await backend.hasRun(id))) return undefined
    const segments = await backend.segments({ run: id })
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0)
    if (bytes === this.bytes) return this.known.get(step)
    // Its end may be half an event just now; what still is at the next look is told.
    let whole = true
    const quiet = new Notices((notice) => {
      whole &&= notice.about !== 'gap'
      if (notice.about !== 'gap' || bytes === this.tornBytes)
        notices.report(notice.about, notice.message, notice.cause)
    })
    await this.read(new RunView({ ...this.run.context, notices: quiet }, id))
    if (whole || bytes === this.tornBytes) this.bytes = bytes
    else this.tornBytes = bytes
    return this.known.get(step)
  }

  private async read(view: RunView): Promise<void> {
    for await (const { type, data } of view.events({ types: ['ask/answer'] })) {
      if (type !== 'ask/answer' || this.known.has(data.step)) continue
      this.known.set(data.step, data)
    }
  }
}
