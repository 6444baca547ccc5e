/**
 * A function run again over a recording: what its steps have in common, whoever answers the rest.
 * Recorded results go out in the order in which they were recorded; see `order-gate.ts`.
 */
import { reviveError } from '../core/error-revive.js'
import type { KnownAsk, RecordedAnswer } from '../store/answers.js'
import type { Run } from '../store/run.js'
import type { StepOutcome } from '../store/step-outcome.js'
import { Execution } from './execution.js'
import { OrderGate } from './order-gate.js'
import { OutcomeReader } from './outcome-reader.js'
import { Quiet } from './quiet.js'
import type { RecordedStep, Recording } from './recording.js'
import { Verdict } from './verdict.js'

export abstract class AgainExecution extends Execution {
  readonly verdict = new Verdict()
  protected readonly gate: OrderGate
  protected readonly outcomes = new OutcomeReader()
  private readonly quiet = new Quiet()
  private readonly gated = new Set<string>()
  private readonly abort: AbortController
  private aborted = 0

  constructor(
    run: Run,
    protected readonly recording: Recording,
    signal: AbortSignal | undefined,
  ) {
    const abort = new AbortController()
    signal?.addEventListener('abort', () => abort.abort(signal.reason), { once: true })
    if (signal?.aborted === true) abort.abort(signal.reason)
    super(run, abort.signal)
    this.globals = recording.began?.data.globals === true
    this.abort = abort
    this.gate = new OrderGate({
      places: recording.order.length,
      onQuiet: () => this.onQuiet(),
      onRelease: (place) => this.onRelease(place),
      isQuiet: () => this.isQuiet(),
    })
  }

  /** Counted where the recording has it, which a table of a hundred thousand keys would repeat. */
  protected override occurrence(base: string): number {
    const step = this.recording.steps.get(base)
    if (step === undefined) return super.occurrence(base)
    step.asks += 1
    return step.asks - 1
  }

  /** Whether its result goes out: not what ran inside of a step that is answered as a whole. */
  protected isWithin(step: RecordedStep): boolean {
    for (let above = step.parent; above !== undefined; above = above.parent)
      if (!this.isEntered(above)) return true
    return false
  }

  /** Whether the body of a recorded step runs, so that the steps inside it are asked for. */
  protected isEntered(step: RecordedStep): boolean {
    return !this.isAnswered(step)
  }

  /** Whether a step is answered from the recording, its body left alone. */
  protected abstract isAnswered(step: RecordedStep): boolean

  /** To be called before the function: notes the places of results that nobody will ask for. */
  begin(): void {
    for (const step of this.recording.order)
      if (!this.isAnswered(step) || this.isWithin(step)) this.gate.skip(step.place)
  }

  /** The outcome of a recorded step, in its turn. */
  protected recorded(ask: KnownAsk, step: RecordedStep, write: boolean): RecordedAnswer {
    return { how: 'recorded', write, outcome: () => this.release(ask, step) }
  }

  protected async release(ask: KnownAsk, step: RecordedStep): Promise<StepOutcome<unknown>> {
    const release = await this.gate.wait(step.place)
    this.gated.add(ask.key)
    this.verdict.answered += 1
    if (release === 'early') {
      this.verdict.note({
        kind: 'order',
        path: step.path,
        recorded: {
          run: step.view.id,
          name: step.name,
          ...(step.end === undefined ? {} : { seq: step.end }),
          ...(step.site === undefined ? {} : { site: step.site }),
        },
        note: 'one that was recorded before it was never asked for',
      })
    }
    return this.outcomes.read(step)
  }

  override async ended(ask: KnownAsk, seq: number | undefined): Promise<void> {
    if (!this.gated.delete(ask.key)) return super.ended(ask, seq)
    // Its place in the order is the gate's business, which lets out one in a turn.
    await super.ended(ask, undefined)
    this.gate.delivered()
  }

  protected isGated({ key }: KnownAsk): boolean {
    return this.gated.has(key)
  }

  /** The signal is aborted where it was when this was recorded. */
  private onRelease(place: number): void {
    for (;;) {
      const next = this.recording.aborts[this.aborted]
      if (next === undefined || next.after > place) return
      this.aborted += 1
      this.abort.abort(next.reason === undefined ? undefined : reviveError(next.reason))
    }
  }

  protected abstract onQuiet(): Promise<boolean>

  /** Whether nothing is on its way that may call for more. */
  protected isQuiet(): boolean {
    return this.quiet.now()
  }
}
