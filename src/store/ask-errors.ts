/**
 * What can be wrong with a question to a person, or with its answer.
 */
import { DaglogError } from '../core/errors.js'

/** Nobody asks that. */
export function askNotFound(run: string, name: string, open: readonly string[]): DaglogError {
  const others = open.length === 0 ? 'no question is open there' : `open are: ${open.join(', ')}`
  return new DaglogError(
    'ASK_NOT_FOUND',
    `run ${run} does not ask "${name}" (any more): ${others}; try: daglog events ${run} --type ask/question`,
    { run, name, open },
  )
}

export function severalAsk(run: string, name: string, steps: readonly string[]): DaglogError {
  return new DaglogError(
    'USAGE',
    `run ${run} asks "${name}" more than once at a time; try: the id of the step instead of the name: ${steps.join(', ')}`,
    { run, name, steps },
  )
}

export function askTimedOut(run: string, name: string, timeoutMs: number): DaglogError {
  return new DaglogError(
    'ASK_TIMEOUT',
    `nobody answered "${name}" of run ${run} within ${timeoutMs} ms; try: a longer timeoutMs, or asking again`,
    { run, name, timeoutMs },
  )
}

export function askClosed(run: string, name: string): DaglogError {
  return new DaglogError(
    'CLOSED',
    `run ${run} was closed while it asked "${name}"; try: open it again, and ask again`,
    { run, name },
  )
}
