/**
 * A function that goes on where a log ends: finished steps are answered from there, the rest runs.
 * Resumed, it goes on in the same run; forked, in a new one that begins inside the old, with one
 * thing changed.
 */
import { DaglogError } from '../core/errors.js'
import type { Effect } from '../core/event-map.js'
import type { KnownAsk, RecordedTick, StepAnswer } from '../store/answers.js'
import type { Run } from '../store/run.js'
import type { StepOutcome } from '../store/step-outcome.js'
import { AgainExecution } from './again.js'
import type { AgentFunction, AgentOutcome } from './execution.js'
import type { RecordedStep, Recording } from './recording.js'

/** A step that had begun and of which nobody knows whether it was done. */
export interface Doubt {
  readonly path: string
  readonly effect: Effect | undefined
  /**
   * It was run again, after its own `check` where it has one; or it was not, and the function told
   * so.
   */
  readonly went: 'again' | 'checked' | 'refused'
}

abstract class GoingOn extends AgainExecution {
  readonly doubts: Doubt[] = []
  /** What stopped the function, whatever it made of that. */
  protected refusal: DaglogError | undefined

  /** While bodies run something is always on its way. */
  protected override isQuiet(): boolean {
    return this.running.size > 0 || super.isQuiet()
  }

  protected async onQuiet(): Promise<boolean> {
    return false
  }

  /** What runs now ends after all that had ended before. */
  override async ended(ask: KnownAsk, seq: number | undefined): Promise<void> {
    if (!this.isGated(ask)) await this.gate.done()
    return super.ended(ask, seq)
  }

  protected refuse(error: DaglogError): never {
    this.refusal ??= error
    throw error
  }

  protected override async outcome<I, O>(
    agent: AgentFunction<I, O>,
    input: I,
  ): Promise<AgentOutcome> {
    const outcome = await super.outcome(agent, input)
    return this.refusal === undefined ? outcome : { status: 'error', error: this.refusal }
  }

  protected override async beforeEnd(): Promise<void> {
    this.gate.close()
    await this.outcomes.close()
  }
}

export class ResumeExecution extends GoingOn {
  tick(key: string): RecordedTick | undefined {
    const known = this.recording.ticks.get(key)
    return known === undefined ? undefined : { value: known.value, inLog: true }
  }

  protected isAnswered({ status }: RecordedStep): boolean {
    return status === 'ok' || status === 'error'
  }

  async answer(ask: KnownAsk): Promise<StepAnswer> {
    this.gate.move()
    const step = this.recording.steps.get(ask.key)
    if (step === undefined || step.asked) return { how: 'live' }
    step.asked = true
    if (this.isAnswered(step)) return this.recorded(ask, step, false)
    // The function came to its end without it, so nobody waits for it now either.
    if (this.recording.ended?.data.status === 'ok') return new Promise<never>(() => {})
    const effect = ask.options.effect ?? step.effect
    const { check } = ask.options
    const { path } = step
    if (effect === 'write' && check === undefined) {
      this.doubts.push({ path, effect, went: 'refused' })
      this.refuse(inDoubt(this.run.id, step))
    }
    this.doubts.push({ path, effect, went: check === undefined ? 'again' : 'checked' })
    return { how: 'live', inDoubt: true }
  }

  /** A run that came to its end before, with nothing new, is not ended again. */
  protected override async recordEnd(outcome: AgentOutcome): Promise<void> {
    const { ended } = this.recording
    const head = await this.run.head()
    const since = ended === undefined ? undefined : (head?.seq ?? 0) - ended.seq
    if (ended?.data.status === outcome.status && since !== undefined && since <= ENDING_EVENTS) {
      await this.run.close()
      return
    }
    await super.recordEnd(outcome)
  }
}

/** `agent/end` and the `run/end` behind it. */
const ENDING_EVENTS = 1

function inDoubt(run: string, { path, start }: RecordedStep): DaglogError {
  return new DaglogError(
    'STEP_IN_DOUBT',
    `step "${path}" of run ${run} began (seq ${start}) and never ended, and it writes: it may have been done. Look, then try: { check } on the step, which says whether it was, or { effect: 'read' } where doing it again does no harm`,
    { run, path, seq: start },
  )
}

/** What a fork does in another way than its parent. */
export interface ForkEdit {
  readonly target: RecordedStep | undefined
  readonly input?: ((input: unknown) => unknown) | undefined
  readonly output?: ((output: unknown) => unknown) | undefined
  /** Last seq of the parent that the fork begins with. */
  readonly cut: number
  /**
   * Whether steps behind the cut whose input is what it was are answered from the parent as well.
   */
  readonly hybrid: boolean
  /** Names or paths of steps behind the cut that may write. */
  readonly allow: true | readonly string[]
}

export class ForkExecution extends GoingOn {
  /** What became of the edit. */
  edit: 'made' | 'unread' | 'unreached' = 'unreached'
  private readonly entered = new Set<string>()

  constructor(
    run: Run,
    recording: Recording,
    signal: AbortSignal | undefined,
    private readonly changed: ForkEdit,
  ) {
    super(run, recording, signal)
    for (let step = changed.target?.parent; step !== undefined; step = step.parent)
      this.entered.add(step.key)
  }

  /** Behind the cut, a fork that goes its own way draws its own. */
  tick(key: string): RecordedTick | undefined {
    const known = this.recording.ticks.get(key)
    if (known === undefined) return undefined
    const inLog = known.seq <= this.changed.cut
    return inLog || this.changed.hybrid ? { value: known.value, inLog } : undefined
  }

  protected isAnswered({ key, end, status }: RecordedStep): boolean {
    if (end === undefined || status === 'cancelled' || this.entered.has(key)) return false
    if (key === this.changed.target?.key) return this.changed.output !== undefined
    return end <= this.changed.cut || this.changed.hybrid
  }

  async answer(ask: KnownAsk): Promise<StepAnswer> {
    this.gate.move()
    const step = this.recording.steps.get(ask.key)
    const fresh = step !== undefined && !step.asked ? step : undefined
    if (fresh !== undefined) fresh.asked = true
    if (fresh !== undefined && this.isAnswered(fresh)) {
      if (fresh === this.changed.target) return this.editedOutput(ask, fresh)
      return this.recorded(ask, fresh, (fresh.end ?? 0) > this.changed.cut)
    }
    if (ask.options.effect === 'write' && !this.isAllowed(ask)) this.refuse(this.notAllowed(ask))
    const { input } = this.changed
    if (fresh === undefined || fresh !== this.changed.target || input === undefined) {
      return { how: 'live' }
    }
    this.edit = 'unread'
    const onRead = (): void => {
      this.edit = 'made'
    }
    return { how: 'live', edited: { input: input(structuredClone(ask.input)), onRead } }
  }

  private editedOutput(ask: KnownAsk, step: RecordedStep): StepAnswer {
    const answer = this.recorded(ask, step, true)
    const outcome = async (): Promise<StepOutcome<unknown>> => {
      const recorded = await answer.outcome()
      const before = recorded.status === 'ok' ? recorded.output : undefined
      this.edit = 'made'
      return { status: 'ok', output: this.changed.output?.(before) }
    }
    return { ...answer, outcome }
  }

  private isAllowed({ name, key }: KnownAsk): boolean {
    const { allow } = this.changed
    return allow === true || allow.includes(name) || allow.includes(this.pathOf(key))
  }

  private notAllowed({ key, name }: KnownAsk): DaglogError {
    const path = this.pathOf(key)
    return new DaglogError(
      'WRITE_NOT_ALLOWED',
      `step "${path}" writes, and lies behind the place where the fork ${this.run.id} begins; try: { allow: ['${name}'] }, or { allow: true } for all`,
      { run: this.run.id, path },
    )
  }
}
