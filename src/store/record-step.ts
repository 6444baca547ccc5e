/**
 * A step that is over already, recorded in one piece: by a shell script, or by a program in another
 * language, that did the work itself.
 * It gets the same id and the same identity as one that `run.step` ran at the top of the run.
 */
import { encodeData, joinData } from '../core/body.js'
import { stepKey, valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { ErrorData } from '../core/event-map.js'
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
  // Taken now: the caller may change what it gave while we wait for the lock.
  const inputDigest = valueDigest(input)
  const given = encodeData(input === undefined ? {} : { input })
  const outcome = encodeData({
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
  })
  await checkDeps(run, deps)
  const id = await run.nextStepId()
  const keyOf = (occurrence: number): string =>
    stepKey({ parentKey: '', name, inputDigest, occurrence })
  const key = keyOf(run.nextOccurrence(keyOf(0), keyOf))
  const begin = encodeData({ id, key, name, ...(deps.length === 0 ? {} : { deps }) })
  const finish = encodeData({ id, status: error === undefined ? 'ok' : 'error' })
  const [, end] = await run.appendEncoded([
    { type: 'step/start', data: joinData(begin, given) },
    { type: 'step/end', data: joinData(finish, outcome) },
  ])
  return { id, key, end: end as Appended }
}

/** The last step is found by index, which is what most chains of steps need; others by reading. */
async function checkDeps(run: Run, deps: readonly string[]): Promise<void> {
  const missing = new Set(deps)
  if (missing.size === 0) return
  const last = await run.last('step/start')
  if (last !== undefined) missing.delete(last.data.id)
  if (missing.size === 0) return
  for await (const { data } of run.events({ types: ['step/start'], refs: true })) {
    // A gap is given whatever types were asked for; it names no step.
    missing.delete(data?.id)
    if (missing.size === 0) return
  }
  const ids = [...missing]
  throw new DaglogError(
    'EVENT_INVALID',
    `run ${run.id} has no step ${ids.join(', ')} to depend on; try: daglog show ${run.id}`,
    { run: run.id, steps: ids },
  )
}
