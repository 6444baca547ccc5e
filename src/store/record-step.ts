/**
 * A step that is over already, recorded in one piece: by a shell script, or by a program in another
 * language, that did the work itself.
 * It gets the same id and the same identity as one that `run.step` ran at the top of the run.
 */
import { encodeData } from '../core/body.js'
import { stepKey, valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { ErrorData } from '../core/event.js'
import type { Appended } from './appender.js'
import type { Run } from './run.js'

/** `undefined` stands for what there was none of. */
export interface FinishedStep {
  readonly name: string
  readonly input?: unknown
  readonly output?: unknown
  /** What went wrong; the step then ends with status `error`. */
  readonly error?: ErrorData | undefined
  /** Ids of recorded steps whose outcome this one used. */
  readonly deps?: readonly string[]
}

export interface RecordedStep {
  /** `n1`, `n2`, ... in the run. */
  readonly id: string
  readonly key: string
  /** What its end made the head; the start lies before it in the same atomic append. */
  readonly end: Appended
}

/**
 * Append start and end of a step as one atomic unit. Resolves once both would survive power loss.
 * @throws EVENT_INVALID where a dep is no step of the run; what `Run.append` throws.
 */
export async function recordStep(run: Run, step: FinishedStep): Promise<RecordedStep> {
  const { name, input, output, error, deps = [] } = step
  // As in `run.step`: what is recorded is what was given, whatever the caller changes meanwhile.
  const inputDigest = valueDigest(input)
  const given = { ...(input === undefined ? {} : { input }) }
  const outcome = encodeData({
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
  })
  await checkDeps(run, deps)
  const id = await run.nextStepId()
  const keyOf = (occurrence: number): string =>
    stepKey({ parentKey: '', name, inputDigest, occurrence })
  const key = keyOf(run.nextOccurrence(keyOf(0), keyOf))
  return { id, key, end: end as Appended }
}
