/**
 * How a step went, and how that is written.
 */
import { errorData } from '../core/error-data.js'
import type { StepEnd } from '../core/event-map.js'

/** How a step went. */
export type StepOutcome<R> =
  | { readonly status: 'ok'; readonly output: R }
  | {
      readonly status: 'error' | 'cancelled'
      readonly error: unknown
      /** What came of it before it broke off, where the step keeps that. */
      readonly partial?: unknown
    }

/** Data of `step/end`. */
export function endOf(id: string, outcome: StepOutcome<unknown>): StepEnd {
  const { status } = outcome
  const output = outcome.status === 'ok' ? outcome.output : outcome.partial
  return {
    id,
    status,
    ...(output === undefined ? {} : { output }),
    ...(outcome.status === 'ok' ? {} : { error: errorData(outcome.error) }),
  }
}
