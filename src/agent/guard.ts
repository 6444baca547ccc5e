/**
 * While a replay runs, what runs inside it touches no network: an attempt is refused with
 * `REPLAY_BLOCKED`, and told; child processes and worker threads are told only. Whatever else runs
 * in the process is left alone: who is inside a replay is known by async context.
 * Installed while at least one replay runs, taken away exactly afterwards.
 * @see docs/guard.md for what it does not cover
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DaglogError } from '../core/errors.js'
import { currentStep } from '../store/steps.js'
import type { Attempt, AttemptApi, Installed } from './attempt.js'
import { installGuard } from './guard-install.js'

export interface GuardScope {
  /** Told of each attempt as it is made. Must not throw. */
  readonly onAttempt: (attempt: Attempt) => void
}

interface Entered extends GuardScope {
  /** The replay that this one runs in. */
  readonly outer: Entered | undefined
}

const entered = new AsyncLocalStorage<Entered | undefined>()
let running = 0
let installed: Installed | undefined

/** Do `work` guarded, with all that it begins. May be nested, and be running many times at once. */
export async function guarded<R>({ onAttempt }: GuardScope, work: () => Promise<R>): Promise<R> {
  running += 1
  installed ??= installGuard({ refuse, tell })
  try {
    return await entered.run({ onAttempt, outer: entered.getStore() }, work)
  } finally {
    running -= 1
    if (running === 0) {
      installed.remove()
      installed = undefined
    }
  }
}

/**
 * Do `work` inside a replay as if it were outside: a step that is run live, a store that is far
 * away.
 */
export function unguarded<R>(work: () => R): R {
  return entered.run(undefined, work)
}

function refuse(api: AttemptApi, target: () => string): DaglogError | undefined {
  const attempt = attemptOf(api, target, true)
  if (attempt === undefined) return undefined
  const { step } = attempt
  const where = step === undefined ? 'outside of any step' : `in step ${step.id} (${step.name})`
  return new DaglogError(
    'REPLAY_BLOCKED',
    `a replay touches no network: ${api} to ${attempt.target} was refused ${where}; try: do it in the body of a step, whose outcome is then in the log, or through run.fetch`,
    { api, target: attempt.target, ...(step === undefined ? {} : { step: step.id }) },
  )
}

function tell(api: AttemptApi, target: () => string): void {
  attemptOf(api, target, false)
}

/** An attempt, told to whom it concerns; undefined outside of replays. */
function attemptOf(api: AttemptApi, target: () => string, refused: boolean): Attempt | undefined {
  const scope = entered.getStore()
  if (scope === undefined) return undefined
  const step = currentStep()
  const attempt: Attempt = {
    api,
    target: target(),
    refused,
    ...(step === undefined ? {} : { step: { id: step.id, name: step.name } }),
  }
  for (let one: Entered | undefined = scope; one !== undefined; one = one.outer)
    one.onAttempt(attempt)
  return attempt
}
