/**
 * One run of a function on a run: gives its steps their identities, tells outcomes in the order of
 * the log, and knows what is still running when the function returns.
 */
import { errorData } from '../core/error-data.js'
import { DaglogError } from '../core/errors.js'
import type { AgentEnd, ErrorData } from '../core/event-map.js'
import type { KnownAsk, StepAnswer, StepAnswerer, StepAsk } from '../store/answers.js'
import type { NewEvent } from '../store/new-event.js'
import type { Run } from '../store/run.js'
import { keyMaker } from '../store/step-identity.js'
import type { Step } from '../store/steps.js'
import { Deliveries } from './deliveries.js'
import { withGlobals } from './globals.js'

/** How a function went. */
export type AgentOutcome =
  | { readonly status: 'ok'; readonly output: unknown }
  | { readonly status: 'error' | 'cancelled'; readonly error: unknown }

/** A plain async function over a run. */
export type AgentFunction<I, O> = (run: Run, input: I) => O | Promise<O>

export abstract class Execution implements StepAnswerer {
  /** Whether clock and random numbers of JavaScript itself are the run's. */
  globals = false
  over = false
  readonly signal: AbortSignal
  private readonly occurrences = new Map<string, number>()
  private readonly paths = new Map<string, string>()
  private readonly names = new Map<string, number>()
  protected readonly running = new Map<string, string>()
  protected readonly deliveries = new Deliveries()

  constructor(
    readonly run: Run,
    signal: AbortSignal | undefined,
  ) {
    this.signal = signal ?? new AbortController().signal
  }

  identify(ask: StepAsk): string {
    const keyOf = keyMaker(ask)
    const base = keyOf(0)
    const count = this.occurrence(base)
    const key = count === 0 ? base : keyOf(count)
    this.notePath(ask, key)
    return key
  }

  /** How often this was asked before. */
  protected occurrence(base: string): number {
    const count = this.occurrences.get(base) ?? 0
    this.occurrences.set(base, count + 1)
    return count
  }

  wantsSite(_key: string): boolean {
    return true
  }

  abstract answer(ask: KnownAsk): Promise<StepAnswer>

  begun(ask: KnownAsk, step: Step, _seq: number | undefined): void {
    this.running.set(ask.key, step.id)
  }

  async ended(ask: KnownAsk, seq: number | undefined): Promise<void> {
    this.running.delete(ask.key)
    // Only steps inside it would ask for its path.
    this.paths.delete(ask.key)
    if (seq !== undefined) await this.deliveries.next(seq)
    if (this.over) await never()
  }

  /** Names from the top down to a step that was identified here. */
  pathOf(key: string): string {
    return this.paths.get(key) ?? ''
  }

  private notePath({ parentKey, name }: StepAsk, key: string): void {
    const above = this.pathOf(parentKey)
    const place = `${parentKey}/${name}`
    const count = (this.names.get(place) ?? 0) + 1
    this.names.set(place, count)
    const own = count === 1 ? name : `${name}#${count}`
    this.paths.set(key, above === '' ? own : `${above}/${own}`)
  }

  /** Run the function to its end, and record that. */
  async drive<I, O>(agent: AgentFunction<I, O>, input: I): Promise<AgentOutcome> {
    this.run.answerSteps(this)
    try {
      const outcome = await this.outcome(agent, input)
      await this.beforeEnd(outcome)
      this.over = true
      await this.recordEnd(outcome)
      return outcome
    } finally {
      // It stays the one to ask: what was left running is told nothing.
      this.over = true
    }
  }

  protected async outcome<I, O>(agent: AgentFunction<I, O>, input: I): Promise<AgentOutcome> {
    try {
      return { status: 'ok', output: await this.call(agent, input) }
    } catch (error) {
      if (error instanceof DaglogError && UNWRITABLE.has(error.code)) throw error
      return { status: this.signal.aborted ? 'cancelled' : 'error', error }
    }
  }

  private async call<I, O>(agent: AgentFunction<I, O>, input: I): Promise<O> {
    const { run } = this
    return this.globals ? withGlobals(run, async () => agent(run, input)) : agent(run, input)
  }

  /** The function has returned; what it left running may still be told something. */
  protected async beforeEnd(_outcome: AgentOutcome): Promise<void> {}

  protected async recordEnd(outcome: AgentOutcome): Promise<void> {
    await this.run.appendAll([endOf(outcome), ...this.abandoned()])
    await this.run.end(
      outcome.status,
      outcome.status === 'ok' ? undefined : errorData(outcome.error),
    )
  }

  /** Steps that the function did not wait for: nobody will see how they end. */
  protected abandoned(): NewEvent[] {
    return [...this.running.values()]
      .reverse()
      .map((id) => ({ type: 'step/end', data: { id, status: 'interrupted' } }))
  }
}

/** What is waited for by whatever the function left running. */
function never(): Promise<never> {
  return new Promise(() => {})
}

const UNWRITABLE: ReadonlySet<string> = new Set(['WRITE_FAILED', 'WRITER_FENCED', 'CLOSED'])

function endOf(outcome: AgentOutcome): NewEvent {
  const data: AgentEnd =
    outcome.status === 'ok'
      ? { status: 'ok', ...(outcome.output === undefined ? {} : { output: outcome.output }) }
      : { status: outcome.status, error: errorData(outcome.error) }
  return { type: 'agent/end', data }
}

function abortData(reason: unknown): { readonly reason?: ErrorData } {
  return reason === undefined ? {} : { reason: errorData(reason) }
}

/** The first time: every body runs. */
export class FirstExecution extends Execution {
  private aborting: Promise<unknown> | undefined

  constructor(run: Run, signal: AbortSignal | undefined) {
    super(run, signal)
    // Where it lies among the ends of steps is where a replay aborts.
    const note = (): void => {
      this.aborting = run.append('agent/abort', abortData(this.signal.reason))
      // Who waits for the end of the function is told.
      this.aborting.catch(() => {})
    }
    if (this.signal.aborted) note()
    else this.signal.addEventListener('abort', note, { once: true })
  }

  protected override async beforeEnd(): Promise<void> {
    await this.aborting
  }

  async answer(): Promise<StepAnswer> {
    return { how: 'live' }
  }
}
