/**
 * A step: one unit of work, recorded with its input before and its outcome after it.
 * Nests by async context, and has an identity that does not depend on timing: parent, name, input and
 * how often that came before.
 * @see docs/format.md#steps
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { encodeData, joinData } from '../core/body.js'
import { stepKey, valueDigest } from '../core/canonical.js'
import { errorData } from '../core/error-data.js'
import { DaglogError } from '../core/errors.js'
import type { Effect } from '../core/event-map.js'
import type { NewEvent } from './new-event.js'
import type { Run } from './run.js'

export interface StepOptions {
  /** Ids of steps whose outcome this one uses. */
  readonly deps?: readonly string[]
  /** What the body does to the world; later re-execution decides by it. */
  readonly effect?: Effect
  readonly signal?: AbortSignal
  /** The step inside which this one runs, where async context cannot tell. */
  readonly parent?: Step
}

/** What a step's body is given. */
export interface Step {
  /** `n1`, `n2`, ... in its run. */
  readonly id: string
  /** Its stable identity. */
  readonly key: string
  readonly name: string
  readonly run: Run
  readonly signal: AbortSignal
  /** A step inside this one, also where async context got lost. */
  step<R>(name: string, input: unknown, body: StepBody<R>, options?: StepOptions): Promise<R>
}

export type StepBody<R> = (step: Step) => R | Promise<R>

const current = new AsyncLocalStorage<Step>()

/** The step that is running here, or undefined. */
export function currentStep(): Step | undefined {
  return current.getStore()
}

/**
 * A step of whatever run is active here, for library code; outside a run the body just runs.
 * `run.step(...)` makes a run active for everything its body calls.
 */
export function step<R>(
  name: string,
  input: unknown,
  body: StepBody<R>,
  options?: StepOptions,
): Promise<R> {
  const outer = current.getStore()
  if (outer === undefined) {
    throw new DaglogError(
      'USAGE',
      `step "${name}" is inside no run; try: call it inside a body of run.step(...)`,
      { name },
    )
  }
  return outer.run.step(name, input, body, options)
}

/** How a step went. */
export type StepOutcome<R> =
  | { readonly status: 'ok'; readonly output: R }
  | { readonly status: 'error' | 'cancelled'; readonly error: unknown }

/**
 * Session events that are one with a step: after a crash they are there together with its start or
 * its
 * end, or not at all. They are a function of what the step was given and gave, so that whoever
 * answers a
 * step from a log writes the same ones.
 */
export interface StepEvents<R> {
  /** Right after `step/start`. */
  readonly start?: readonly NewEvent[]
  /** Right before `step/end`. */
  readonly ended?: (outcome: StepOutcome<R>) => readonly NewEvent[]
}

export interface StepCall<R> {
  readonly run: Run
  readonly name: string
  readonly input: unknown
  readonly hasInput: boolean
  readonly body: StepBody<R>
  readonly options: StepOptions
  readonly events?: StepEvents<R>
}

export async function runStep<R>(call: StepCall<R>): Promise<R> {
  const { run, name, input, hasInput, body, options, events = {} } = call
  const outer = options.parent ?? current.getStore()
  const parent = outer?.run === run ? outer : undefined
  const parentKey = parent?.key ?? ''
  // The digest is taken now: the caller may change the input while we wait for the lock.
  const inputDigest = valueDigest(input)
  const frozen = encodeData(hasInput ? { input } : {})
  const id = await run.nextStepId()
  const keyOf = (occurrence: number): string =>
    stepKey({ parentKey, name, inputDigest, occurrence })
  const key = keyOf(run.nextOccurrence(keyOf(0), keyOf))
  const start = encodeData({
    id,
    key,
    name,
    ...(parent === undefined ? {} : { parent: parent.id }),
    ...(options.deps === undefined ? {} : { deps: options.deps }),
    ...(options.effect === undefined ? {} : { effect: options.effect }),
  })
  const begun = (events.start ?? []).map(({ type, data }) => run.encode(type, data))
  await run.appendEncoded([{ type: 'step/start', data: joinData(start, frozen) }, ...begun])
  const signal = options.signal ?? parent?.signal ?? new AbortController().signal
  const self: Step = {
    id,
    key,
    name,
    run,
    signal,
    step: (inner, innerInput, innerBody, innerOptions) =>
      run.step(inner, innerInput, innerBody, { ...innerOptions, parent: self }),
  }
  let output: R
  try {
    output = await current.run(self, async () => body(self))
  } catch (error) {
    const status = signal.aborted ? 'cancelled' : 'error'
    await run.appendAll([
      ...(events.ended?.({ status, error }) ?? []),
      { type: 'step/end', data: { id, status, error: errorData(error) } },
    ])
    throw error
  }
  return recordOutput(run, id, output, events)
}

/** The work is done; if its outcome cannot be recorded, the log says so before the caller hears of it. */
async function recordOutput<R>(run: Run, id: string, output: R, events: StepEvents<R>): Promise<R> {
  try {
    await run.appendAll([
      ...(events.ended?.({ status: 'ok', output }) ?? []),
      { type: 'step/end', data: { id, status: 'ok', ...(output === undefined ? {} : { output }) } },
    ])
    return output
  } catch (error) {
    if (!(error instanceof DaglogError) || error.kind === 'input') {
      await run.appendAll([
        ...(events.ended?.({ status: 'error', error }) ?? []),
        { type: 'step/end', data: { id, status: 'error', error: errorData(error) } },
      ])
    }
    throw error
  }
}
