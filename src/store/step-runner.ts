/**
 * Runs a step: records its start before the work and its end after it, or takes what came of it out
 * of a log, whoever answers.
 * @see docs/format.md#steps
 */
import { type EncodedData, encodeData, joinData } from '../core/body.js'
import { valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { withoutPointers } from '../core/pointer.js'
import type { KnownAsk, LiveAnswer, RecordedAnswer, StepAnswerer } from './answers.js'
import type { Appended } from './appender.js'
import { callSite } from './call-site.js'
import type { NewEvent } from './new-event.js'
import type { Run } from './run.js'
import { enterKey, idempotencyKey, keyMaker, lineageOf } from './step-identity.js'
import { endOf, type StepOutcome } from './step-outcome.js'
import { currentStep, inside, type Step, type StepBody, type StepOptions } from './steps.js'

/**
 * Session events that are one with a step: after a crash they are there together with its start or
 * its end, or not at all. They are a function of what the step was given and gave, so that whoever
 * answers a step from a log writes the same ones.
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
  /** Asked when the body has thrown: what came of it until then; undefined where nothing did. */
  readonly partial?: () => R | undefined
}

/** A call as it was when it was made: what the caller changes later does not reach it. */
interface TakenCall<R> extends StepCall<R> {
  readonly parent: Step | undefined
  readonly inputDigest: Hash
  readonly given: EncodedData
}

export async function runStep<R>(call: StepCall<R>): Promise<R> {
  const { run, options } = call
  const taken = take(call)
  const { key } = options
  const leave =
    key === undefined ? undefined : enterKey({ ...taken, parentKey: taken.parent?.key ?? '', key })
  try {
    return run.answerer === undefined
      ? await runRecorded(taken)
      : await runAnswered(taken, run.answerer)
  } finally {
    leave?.()
  }
}

function take<R>(call: StepCall<R>): TakenCall<R> {
  const { run, input, hasInput, options } = call
  const outer = options.parent ?? currentStep()
  return {
    ...call,
    parent: outer?.run === run ? outer : undefined,
    inputDigest: valueDigest(
      options.ignore === undefined ? input : withoutPointers(input, options.ignore),
    ),
    given: encodeData(hasInput ? { input } : {}),
  }
}

/** As ever: the body runs, and how often the log has had such a step is part of its identity. */
async function runRecorded<R>(call: TakenCall<R>): Promise<R> {
  const { run, parent, name, inputDigest, options } = call
  const id = await run.nextStepId()
  const keyOf = keyMaker({ parentKey: parent?.key ?? '', name, inputDigest, options })
  const key = run.nextOccurrence(keyOf(0), keyOf)
  return runBody(call, { id, key: keyOf(key) }, { how: 'live' })
}

async function runAnswered<R>(call: TakenCall<R>, answerer: StepAnswerer): Promise<R> {
  const { run, name, input, inputDigest, parent, options } = call
  // The function has returned, and nothing is recorded of what it left running.
  if (answerer.over) return new Promise<never>(() => {})
  const asked = { run, name, input, inputDigest, parentKey: parent?.key ?? '', options }
  const key = answerer.identify(asked)
  // Before anything is awaited: afterwards the caller is not on the stack.
  const ask: KnownAsk = { ...asked, key, site: answerer.wantsSite(key) ? callSite() : undefined }
  const answer = await answerer.answer(ask)
  if (answer.how === 'live') {
    const id = await run.nextStepId()
    return runBody(call, { id, key: ask.key, ask, answerer }, answer)
  }
  return takeOutcome(call, ask, answer, answerer)
}

/** Under what a step is written. */
interface Begun {
  readonly id: string
  readonly key: string
  readonly ask?: KnownAsk
  readonly answerer?: StepAnswerer
}

async function runBody<R>(call: TakenCall<R>, begun: Begun, answer: LiveAnswer): Promise<R> {
  const { run, body } = call
  const { ask, answerer } = begun
  const input = answer.edited === undefined ? call.input : answer.edited.input
  const self = stepOf(call, begun, input, await lineageOf(run), answer.edited?.onRead)
  const given = answer.edited === undefined ? call.given : encodeData({ input })
  const seq = await writeStart(call, self, given, { site: ask?.site })
  if (ask !== undefined) answerer?.begun?.(ask, self, seq)
  let outcome: StepOutcome<R>
  try {
    const known = answer.inDoubt === true ? await call.options.check?.(self) : undefined
    const output =
      known?.done === true ? (known.output as R) : await inside(self, async () => body(self))
    outcome = { status: 'ok', output }
  } catch (error) {
    const partial = call.partial?.()
    outcome = {
      status: self.signal.aborted ? 'cancelled' : 'error',
      error,
      ...(partial === undefined ? {} : { partial }),
    }
  }
  return tell(call, begun, outcome)
}

function stepOf<R>(
  { run, name, parent, options }: TakenCall<R>,
  { id, key, answerer }: Begun,
  input: unknown,
  lineage: Hash,
  onRead?: () => void,
): Step {
  const self: Step = {
    id,
    key,
    name,
    run,
    get input() {
      onRead?.()
      return input
    },
    signal: options.signal ?? parent?.signal ?? answerer?.signal ?? new AbortController().signal,
    idempotencyKey: idempotencyKey(lineage, key),
    step: (inner, innerInput, innerBody, innerOptions) =>
      run.step(inner, innerInput, innerBody, { ...innerOptions, parent: self }),
  }
  return self
}

/** @returns The seq of the start. */
async function writeStart<R>(
  { run, name, parent, options, events = {} }: TakenCall<R>,
  { id, key }: Pick<Step, 'id' | 'key'>,
  given: EncodedData,
  { site, gather = false }: { readonly site?: KnownAsk['site']; readonly gather?: boolean } = {},
): Promise<number> {
  const at = site?.()
  const start = encodeData({
    id,
    key,
    name,
    ...(parent === undefined ? {} : { parent: parent.id }),
    ...(options.deps === undefined ? {} : { deps: options.deps }),
    ...(options.effect === undefined ? {} : { effect: options.effect }),
    ...(options.ignore === undefined ? {} : { ignore: options.ignore }),
    ...(at === undefined ? {} : { site: at }),
  })
  const begun = (events.start ?? []).map(({ type, data }) => run.encode(type, data))
  const [first] = await run.appendEncoded(
    [{ type: 'step/start', data: joinData(start, given) }, ...begun],
    { gather },
  )
  return (first as Appended).seq
}

/** The end is recorded, and then the caller is told. */
async function tell<R>(
  call: TakenCall<R>,
  { id, ask, answerer }: Begun,
  outcome: StepOutcome<R>,
): Promise<R> {
  let recorded: { readonly seq: number; readonly outcome: StepOutcome<R> }
  try {
    recorded = await recordOutcome(call, id, outcome)
  } catch (error) {
    // The function has returned: of what it left running nothing is recorded, and nobody is told.
    if (answerer?.over === true) return new Promise<never>(() => {})
    // Nothing waits for it.
    if (ask !== undefined) await answerer?.ended(ask, undefined)
    throw error
  }
  if (ask !== undefined) await answerer?.ended(ask, recorded.seq)
  if (recorded.outcome.status === 'ok') return recorded.outcome.output
  throw recorded.outcome.error
}

/** If an output cannot be recorded, the log says so before the caller hears of it. */
async function recordOutcome<R>(
  call: TakenCall<R>,
  id: string,
  outcome: StepOutcome<R>,
): Promise<{ readonly seq: number; readonly outcome: StepOutcome<R> }> {
  try {
    return { seq: await writeEnd(call, id, outcome), outcome }
  } catch (error) {
    if (outcome.status !== 'ok') throw error
    if (error instanceof DaglogError && error.kind !== 'input') throw error
    if (error instanceof DaglogError && error.code === 'CLOSED') throw error
    const failed: StepOutcome<R> = { status: 'error', error }
    return { seq: await writeEnd(call, id, failed), outcome: failed }
  }
}

/** @returns The seq of the end. */
async function writeEnd<R>(
  { run, events = {} }: TakenCall<R>,
  id: string,
  outcome: StepOutcome<R>,
): Promise<number> {
  const appended = await run.appendAll([
    ...(events.ended?.(outcome) ?? []),
    { type: 'step/end', data: endOf(id, outcome) },
  ])
  return (appended.at(-1) as Appended).seq
}

/** The outcome comes from a log; into this run it is written like any other. */
async function takeOutcome<R>(
  call: TakenCall<R>,
  ask: KnownAsk,
  answer: RecordedAnswer,
  answerer: StepAnswerer,
): Promise<R> {
  // What goes with a step is checked as it is written, by whoever waits for that.
  if (answer.gather === true && call.events === undefined)
    return takeGathered(call, ask, answer, answerer)
  const { run, input } = call
  const { key } = ask
  let begun: Begun | undefined
  let begins: Promise<unknown> | undefined
  if (answer.write) {
    begun = { id: await run.nextStepId(), key, ask, answerer }
    const self = stepOf(call, begun, input, await lineageOf(run))
    begins = writeStart(call, self, call.given).then((seq) => answerer.begun?.(ask, self, seq))
    // Whoever waits for the outcome is told; until then nobody may call it unhandled.
    begins.catch(() => {})
    if (answer.recheck !== undefined) recheck(call, self, answer.recheck)
  }
  const outcome = (await answer.outcome()) as StepOutcome<R>
  if (begun !== undefined) {
    await begins
    return tell(call, begun, outcome)
  }
  await answerer.ended(ask, undefined)
  if (outcome.status === 'ok') return outcome.output
  throw outcome.error
}

/** The same without waiting until it is written. */
async function takeGathered<R>(
  call: TakenCall<R>,
  ask: KnownAsk,
  answer: RecordedAnswer,
  answerer: StepAnswerer,
): Promise<R> {
  const { run } = call
  const id = await run.nextStepId()
  const self = stepOf(call, { id, key: ask.key, ask, answerer }, call.input, await lineageOf(run))
  answerer.begun?.(ask, self, undefined)
  answerer.gathered?.(writeStart(call, self, call.given, { gather: true }))
  if (answer.recheck !== undefined) recheck(call, self, answer.recheck)
  const outcome = (await answer.outcome()) as StepOutcome<R>
  const end = run.encode('step/end', endOf(id, outcome))
  answerer.gathered?.(run.appendEncoded([end], { gather: true }))
  await answerer.ended(ask, undefined)
  if (outcome.status === 'ok') return outcome.output
  throw outcome.error
}

/** Run a body that changes nothing, and tell what came of it. */
function recheck<R>(
  call: TakenCall<R>,
  self: Step,
  compare: (outcome: StepOutcome<unknown>) => void,
): void {
  inside(self, async () => call.body(self)).then(
    (output) => compare({ status: 'ok', output }),
    (error: unknown) => compare({ status: 'error', error }),
  )
}
