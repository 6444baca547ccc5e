/**
 * A step: one unit of work, recorded with its input before and its outcome after it.
 * Nests by async context, and has an identity that does not depend on timing: parent, name, input
 * and how often that came before.
 * @see docs/format.md#steps
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DaglogError } from '../core/errors.js'
import type { Effect } from '../core/event-map.js'
import type { Run } from './run.js'

export interface StepOptions {
  /** Ids of steps whose outcome this one uses. */
  readonly deps?: readonly string[]
  /** What the body does to the world; later re-execution decides by it. */
  readonly effect?: Effect
  readonly signal?: AbortSignal
  /** The step inside which this one runs, where async context cannot tell. */
  readonly parent?: Step
  /**
   * Its identity among steps of this name in its place, whatever its input: for loops over things
   * that have names of their own. The same one twice at once is refused.
   */
  readonly key?: string
  /** Places in the input that say nothing of what is asked (ids, times), as JSON pointers. */
  readonly ignore?: readonly string[]
  /**
   * Of a step that began and never ended, so that nobody knows whether it was done: look, and say.
   * Asked for when a run is resumed, before the body is run again.
   */
  readonly check?: (step: Step) => StepCheck | Promise<StepCheck>
}

/** What a look at the world says of a step in doubt. */
export type StepCheck =
  | { readonly done: false }
  | { readonly done: true; readonly output?: unknown }

/** What a step's body is given. */
export interface Step {
  /** `n1`, `n2`, ... in its run. */
  readonly id: string
  /** Its stable identity. */
  readonly key: string
  readonly name: string
  readonly run: Run
  readonly signal: AbortSignal
  /** What it was given; in a fork that edits it, what it is given there. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever its caller gave.
  readonly input: any
  /**
   * For services that take one: the same on each retry and resume of this step, another in a fork.
   * It does not make anything happen exactly once by itself.
   */
  readonly idempotencyKey: string
  /** A step inside this one, also where async context got lost. */
  step<R>(name: string, input: unknown, body: StepBody<R>, options?: StepOptions): Promise<R>
}

export type StepBody<R> = (step: Step) => R | Promise<R>

const current = new AsyncLocalStorage<Step>()

/** Do something as a part of a step: what it calls belongs to that. */
export function inside<R>(step: Step, work: () => R): R {
  return current.run(step, work)
}

/** The step that is running here, or undefined. */
export function currentStep(): Step | undefined {
  return current.getStore()
}

/**
 * A step of whatever run is active here, for library code: `run.step(...)` makes a run active for
 * everything its body calls.
 * @throws USAGE outside of a run
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
