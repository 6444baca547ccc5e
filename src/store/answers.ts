/**
 * Who answers the steps of a run: its bodies, as ever, or a log, where a function is run again.
 * The step runner asks; which log, and when a result is let out, is the business of `agent/`.
 */
import type { Hash } from '../core/hash.js'
import type { CallSite } from './call-site.js'
import type { Run } from './run.js'
import type { StepOutcome } from './step-outcome.js'
import type { Step, StepOptions } from './steps.js'

/** A step that was called just now. */
export interface StepAsk {
  readonly run: Run
  readonly name: string
  /** As the caller gave it; it may change it later. */
  readonly input: unknown
  /** Of the input without what `ignore` names. */
  readonly inputDigest: Hash
  /** '' at the top. */
  readonly parentKey: string
  readonly options: StepOptions
}

/** The same with its identity. */
export interface KnownAsk extends StepAsk {
  readonly key: string
  /** Where in the code it was called: `agent.ts:12:5`. */
  readonly site: CallSite | undefined
}

/** The body runs. */
export interface LiveAnswer {
  readonly how: 'live'
  /** Another input than the caller's, which is recorded and given to the body as `step.input`. */
  readonly edited?: { readonly input: unknown; readonly onRead: () => void }
  /** It may have been done before: ask the step's own `check` first. */
  readonly inDoubt?: boolean
}

/** The body does not run. */
export interface RecordedAnswer {
  readonly how: 'recorded'
  /** Whether start and end are written into this run; not where they are in it already. */
  readonly write: boolean
  /** Nobody waits until these are written: they say nothing that another log does not. */
  readonly gather?: boolean
  /** Resolves when the outcome may go to the caller; never, where there was none. */
  outcome(): Promise<StepOutcome<unknown>>
  /** Run the body all the same, and tell what came of it: it changes nothing. */
  readonly recheck?: (outcome: StepOutcome<unknown>) => void
}

export type StepAnswer = LiveAnswer | RecordedAnswer

/** A value that was drawn before. */
export interface RecordedTick {
  readonly value: unknown
  /** It is in this run's log already. */
  readonly inLog: boolean
}

export interface StepAnswerer {
  /** Of steps that have no other signal. */
  readonly signal: AbortSignal
  /** Whether it is to be said where in the code this step was called, which takes microseconds. */
  wantsSite(key: string): boolean
  /** True once the function has returned: what it left running is told nothing any more. */
  readonly over: boolean
  /**
   * The identity of a step, once per call, in the order of the calls. Synchronous, so that whatever
   * needs a recorded value at once (a clock, a random number) can have a key of the same space.
   */
  identify(ask: StepAsk): string
  /**
   * The value that was recorded under a key by `run.now` and its like; undefined: draw one, and
   * record it.
   */
  tick?(key: string): RecordedTick | undefined
  /** @throws what the caller is to be told instead of an outcome; nothing is recorded then. */
  answer(ask: KnownAsk): Promise<StepAnswer>
  /** Its start is in this run's log, at `seq`; undefined where nobody waited for that. */
  begun?(ask: KnownAsk, step: Step, seq: number | undefined): void
  /** An append that nobody waited for; whether it went well is to be known before the end. */
  gathered?(writing: Promise<unknown>): void
  /**
   * Its end is where it belongs, at `seq` of this run's log where it was written there. Resolves
   * when the caller may be told: outcomes go out one after the other, in the order of the log.
   */
  ended(ask: KnownAsk, seq: number | undefined): Promise<void>
}
