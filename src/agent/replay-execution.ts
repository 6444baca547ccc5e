/**
 * A function replayed: every step is answered from the recording, no body runs, and what the
 * function asks in another way than recorded is a divergence. Writes a run of its own.
 */
import { valueDigest } from '../core/canonical.js'
import { errorData } from '../core/error-data.js'
import { DaglogError } from '../core/errors.js'
import type { AgentEnd, ErrorData } from '../core/event-map.js'
import type { Divergence } from '../fold/divergence.js'
import type { KnownAsk, RecordedTick, StepAnswer } from '../store/answers.js'
import type { StepOutcome } from '../store/step-outcome.js'
import type { Step } from '../store/steps.js'
import { diffJson } from '../value/json-diff.js'
import { AgainExecution } from './again.js'
import type { AgentFunction, AgentOutcome } from './execution.js'
import { classify, recordedSide } from './nearest.js'
import type { RecordedStep } from './recording.js'

/** A step that the recording does not know, waiting for what is said of it. */
interface Unknown {
  readonly ask: KnownAsk
  readonly tell: (error: DaglogError) => void
}

export class ReplayExecution extends AgainExecution {
  verifyPure = false
  private unknown: Unknown[] = []
  /** Steps whose recorded outcome never came. */
  private stuck = 0
  private stalled: (() => void) | undefined
  private returned = false
  private drained: (() => void) | undefined
  private readonly seqs = new Map<string, number>()
  private readonly rechecks: Promise<void>[] = []
  private readonly writing = new Set<Promise<unknown>>()

  /** Another input than the recorded one is the first thing that differs. */
  compareInputs(recorded: unknown, now: unknown): void {
    const [then, today] = [valueDigest(recorded), valueDigest(now)]
    const { began } = this.recording
    if (then === today || began === undefined) return
    const { changes, more } = diffJson(recorded, now)
    this.verdict.add({
      kind: 'input-changed',
      path: '',
      recorded: { run: began.view.id, seq: began.seq, digest: then },
      now: { run: this.run.id, digest: today },
      changes,
      ...(more === 0 ? {} : { more }),
    })
  }

  protected isAnswered(step: RecordedStep): boolean {
    return step.end !== undefined
  }

  /** No body runs, also of those that never ended. */
  protected override isEntered(): boolean {
    return false
  }

  override begun(ask: KnownAsk, step: Step, seq: number | undefined): void {
    super.begun(ask, step, seq)
    if (seq !== undefined && !this.recording.steps.has(ask.key)) this.seqs.set(ask.key, seq)
  }

  gathered(writing: Promise<unknown>): void {
    this.writing.add(writing)
    writing.then(
      () => this.writing.delete(writing),
      // It stays among those that are waited for, which tells.
      () => {},
    )
  }

  /** What was not drawn then is drawn now, and told. */
  tick(key: string): RecordedTick | undefined {
    const known = this.recording.ticks.get(key)
    if (known !== undefined) return { value: known.value, inLog: false }
    if (!this.returned) {
      const note = 'a time, a random number or an id is drawn here that was not drawn then'
      this.verdict.add({ kind: 'extra', path: this.pathOf(key), now: { run: this.run.id }, note })
    }
    return undefined
  }

  /** Only what differs, or is made anew and compared, says where it was called. */
  override wantsSite(key: string): boolean {
    const step = this.recording.steps.get(key)
    return this.verifyPure || step === undefined || step.asked
  }

  async answer(ask: KnownAsk): Promise<StepAnswer> {
    this.gate.move()
    const step = this.recording.steps.get(ask.key)
    // What a branch asks that nobody waits for any more was not recorded, since the function had
    // returned.
    if (step === undefined && this.returned) return new Promise<never>(() => {})
    if (step === undefined || step.asked) return this.answerUnknown(ask)
    step.asked = true
    if (this.isWithin(step)) {
      return { how: 'recorded', write: true, outcome: () => this.outcomes.read(step) }
    }
    if (step.end === undefined) {
      this.stuck += 1
      this.gate.wantQuiet(true)
      return { how: 'recorded', write: true, outcome: () => new Promise(() => {}) }
    }
    const answer = { ...this.recorded(ask, step, true), gather: true }
    if (!this.verifyPure || ask.options.effect !== 'none') return answer
    return { ...answer, recheck: this.recheckOf(ask, step) }
  }

  private answerUnknown(asked: KnownAsk): StepAnswer {
    // It is looked at later, and the caller may change what it gave.
    const ask = { ...asked, input: structuredClone(asked.input) }
    this.gate.wantQuiet(true)
    const outcome = new Promise<StepOutcome<unknown>>((resolve) => {
      const tell = (error: DaglogError): void => resolve({ status: 'error', error })
      this.unknown.push({ ask, tell })
    })
    return { how: 'recorded', write: true, outcome: () => outcome }
  }

  /** The output of a pure step, made anew, is held against what was recorded of it. */
  private recheckOf(ask: KnownAsk, step: RecordedStep): (now: StepOutcome<unknown>) => void {
    let done = (_compared: Promise<void>): void => {}
    const compared = new Promise<void>((resolve) => (done = resolve))
    // Whoever ends the replay is told; until then nobody may call it unhandled.
    compared.catch(() => {})
    this.rechecks.push(compared)
    return (now) => done(this.compare(ask, step, now))
  }

  private async compare(
    { key, site: at }: KnownAsk,
    step: RecordedStep,
    now: StepOutcome<unknown>,
  ): Promise<void> {
    const recorded = resultOf(await this.outcomes.read(step))
    const found = differing(recorded, resultOf(now))
    if (found === undefined) return
    const site = at?.()
    const seq = this.seqs.get(key)
    this.verdict.add({
      ...found,
      path: step.path,
      recorded: {
        ...(await recordedSide(step)),
        digest: recorded.digest,
        ...(step.end === undefined ? {} : { seq: step.end }),
      },
      now: {
        run: this.run.id,
        ...(seq === undefined ? {} : { seq }),
        name: step.name,
        digest: resultOf(now).digest,
        ...(site === undefined ? {} : { site }),
      },
    })
  }

  protected async onQuiet(): Promise<boolean> {
    if (this.unknown.length > 0) {
      for (const one of this.unknown.splice(0)) await this.diverge(one)
      return true
    }
    if (this.gate.size === 0) {
      if (this.returned) this.drained?.()
      else if (this.stuck > 0) this.stalled?.()
      return true
    }
    return false
  }

  private async diverge({ ask, tell }: Unknown): Promise<void> {
    const now = { path: this.pathOf(ask.key), run: this.run, seq: this.seqs.get(ask.key) }
    const { divergence, taken } = await classify(this.recording, ask, now)
    if (taken !== undefined) {
      taken.asked = true
      if (taken.place >= 0) this.gate.skip(taken.place)
    }
    const found = this.verdict.add(divergence)
    this.gate.wantQuiet(false)
    tell(divergedError(this.recording.view.id, found))
  }

  protected override async outcome<I, O>(
    agent: AgentFunction<I, O>,
    input: I,
  ): Promise<AgentOutcome> {
    const stalled = new Promise<AgentOutcome>((resolve) => {
      this.stalled = () => {
        this.verdict.complete = false
        const error = new DaglogError(
          'REPLAY_DIVERGED',
          `the recording of run ${this.recording.view.id} ends before the function does; try: store.resume("${this.recording.view.id}", agent)`,
          { run: this.recording.view.id },
        )
        resolve({ status: 'cancelled', error })
      }
    })
    const outcome = super.outcome(agent, input).finally(() => {
      this.returned = true
    })
    return Promise.race([outcome, stalled])
  }

  /** What was recorded before the end is let out as well: it may ask for more. */
  protected override async beforeEnd(outcome: AgentOutcome): Promise<void> {
    this.returned = true
    if (this.verdict.complete) {
      await new Promise<void>((resolve) => {
        this.drained = resolve
        this.gate.wantQuiet(true)
      })
    }
    this.gate.close()
    await Promise.all([...this.rechecks, ...this.writing])
    await this.outcomes.close()
    await this.findMisses()
    if (!this.verdict.complete) return
    await this.findMissing()
    await this.compareEnds(outcome)
  }

  /** Requests between the steps that were not recorded. */
  private async findMisses(): Promise<void> {
    for await (const { seq, data } of this.run.events({ types: ['http/miss'] })) {
      const { method, url, kind, step, key } = data
      this.verdict.addAt(seq, {
        kind: 'traffic-miss',
        path: step ?? '',
        now: { run: this.run.id, seq, name: `${method} ${url}`, digest: key },
        note: kind,
      })
    }
  }

  private async findMissing(): Promise<void> {
    const last = this.recording.ended?.seq ?? Number.POSITIVE_INFINITY
    for (const step of this.recording.steps.values()) {
      if (step.asked || step.start > last || this.isWithin(step)) continue
      this.verdict.add({ kind: 'missing', path: step.path, recorded: await recordedSide(step) })
    }
  }

  /** What the function gave in the end is held against what it gave then. */
  private async compareEnds(outcome: AgentOutcome): Promise<void> {
    const { ended } = this.recording
    if (ended === undefined || !this.verdict.ok) return
    const then = (await ended.view.event(ended.seq))?.data as AgentEnd
    const recorded = endResult(then)
    const now = resultOf(outcome)
    const found = differing(recorded, now)
    if (found === undefined) return
    this.verdict.add({
      ...found,
      path: '',
      recorded: { run: ended.view.id, seq: ended.seq, digest: recorded.digest },
      now: { run: this.run.id, digest: now.digest },
      note: 'what the function itself gave: something that it does outside of its steps is not the same each time',
    })
  }
}

interface Result {
  readonly ok: boolean
  readonly value: unknown
  readonly digest: ReturnType<typeof valueDigest>
}

/** An outcome as a value: of an error what identifies it, which its stack does not. */
function resultOf(outcome: StepOutcome<unknown>): Result {
  if (outcome.status === 'ok') {
    return { ok: true, value: outcome.output, digest: valueDigest(outcome.output) }
  }
  return errorResult(errorData(outcome.error))
}

function endResult({ status, output, error }: AgentEnd): Result {
  if (status === 'ok') return { ok: true, value: output, digest: valueDigest(output) }
  return errorResult(error ?? { name: 'Error', message: '' })
}

function errorResult({ stack: _, ...value }: ErrorData): Result {
  return { ok: false, value, digest: valueDigest(value) }
}

function differing(
  recorded: Result,
  now: Result,
): Pick<Divergence, 'kind' | 'changes' | 'more'> | undefined {
  if (recorded.ok === now.ok && recorded.digest === now.digest) return undefined
  const { changes, more } = diffJson(recorded.value, now.value)
  return {
    kind: recorded.ok && now.ok ? 'output-changed' : 'error-changed',
    changes,
    ...(more === 0 ? {} : { more }),
  }
}

/** The one error that tells a function that it does not do what was recorded. */
function divergedError(run: string, { kind, path, changes }: Divergence): DaglogError {
  const where = changes?.[0]?.pointer
  const at = where === undefined ? '' : ` at ${where === '' ? 'its top' : where}`
  return new DaglogError(
    'REPLAY_DIVERGED',
    `step "${path}" is not as recorded in run ${run}: ${kind}${at}; try: the report of the replay, or store.resume or store.forkRun, which run steps`,
    { run, path, kind },
  )
}
