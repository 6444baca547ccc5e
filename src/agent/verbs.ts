/**
 * Record, resume, replay and fork: four verbs over one unchanged function. Only who answers its
 * steps differs.
 */
import { DaglogError } from '../core/errors.js'
import type { AgentStart } from '../core/event-map.js'
import { type Hash, sha256 } from '../core/hash.js'
import type {
  AgainStore,
  AgainVerbs,
  Agent,
  Executed,
  Forked,
  ForkRunOptions,
  RecordOptions,
  Replayed,
  ReplayOptions,
  Resumed,
  ResumeOptions,
} from '../store/again-verbs.js'
import { parentLink } from '../store/parent-link.js'
import type { Run } from '../store/run.js'
import type { RunView } from '../store/run-view.js'
import { type AgentOutcome, FirstExecution } from './execution.js'
import { ForkExecution, ResumeExecution } from './going-on.js'
import { guarded } from './guard.js'
import { type AgentMark, Recording } from './recording.js'
import { ReplayExecution } from './replay-execution.js'
import { reportText } from './report-text.js'

/** What the verbs are given by whoever knows the network. */
export interface AgainDoors {
  /**
   * A `fetch` that answers from `source` alone; what that does not know is an `http/miss` in `run`.
   */
  replayingFetch(run: Run, source: RunView): typeof fetch
}

export function againVerbs(doors: AgainDoors): AgainVerbs {
  return {
    record,
    resume,
    forkRun,
    replay: (store, reference, agent, options) => replay(store, reference, agent, options, doors),
  }
}

async function record<I, O>(
  store: AgainStore,
  name: string,
  input: I,
  agent: Agent<I, O>,
  { id, signal, globals = false }: RecordOptions,
): Promise<Executed<O>> {
  const run = await store.createRun({ name, ...(id === undefined ? {} : { id }) })
  return closing(run, async () => {
    const kept = globals ? { globals } : {}
    await begin(run, { name, input, verb: 'record', ...kept, code: codeOf(agent) })
    const execution = new FirstExecution(run, signal)
    execution.globals = globals
    const outcome = await execution.drive(agent, input)
    return executed<O>(run.id, outcome)
  })
}

async function resume<I, O>(
  store: AgainStore,
  reference: string,
  agent: Agent<I, O>,
  { signal, lockWaitMs }: ResumeOptions,
): Promise<Resumed<O>> {
  const run = await store.openRun(reference, lockWaitMs === undefined ? {} : { lockWaitMs })
  return closing(run, async () => {
    await refuseTurns(run)
    const recording = await Recording.read(run)
    const input = (await startOf(recording)).input as I
    const execution = new ResumeExecution(run, recording, signal)
    execution.begin()
    const outcome = await execution.drive(agent, input)
    const { doubts, verdict } = execution
    return Object.assign(executed<O>(run.id, outcome), {
      answered: verdict.answered,
      inDoubt: doubts,
    })
  })
}

async function replay<I, O>(
  store: AgainStore,
  reference: string,
  agent: Agent<I, O>,
  options: ReplayOptions,
  doors: AgainDoors,
): Promise<Replayed<O>> {
  const source = await store.inspectRun(reference)
  const recording = await Recording.read(source)
  const start = await startOf(recording)
  const { name } = start
  const input = ('input' in options ? options.input : start.input) as I
  const parent = await parentLink(source, undefined, 'replay')
  const { id } = options
  const run = await store.createRun({
    name,
    parent,
    durability: 'os',
    ...(id === undefined ? {} : { id }),
  })
  return closing(run, async () => {
    await begin(run, { name, input, verb: 'replay', ...keptOf(start), code: codeOf(agent) })
    const execution = new ReplayExecution(run, recording, options.signal)
    run.fetch = doors.replayingFetch(run, source)
    execution.verifyPure = options.verify === 'pure'
    execution.compareInputs(start.input, input)
    execution.begin()
    const { verdict } = execution
    const outcome = await guarded(
      { onAttempt: (attempt) => verdict.attempt(attempt, run.id) },
      () => execution.drive(agent, input),
    )
    const report = verdict.report()
    const replayed = Object.assign(executed<O>(run.id, outcome), report, {
      source: source.id,
      text: () => reportText({ ...report, source: source.id, id: run.id }),
    })
    return replayed
  })
}

async function forkRun<I, O>(
  store: AgainStore,
  reference: string,
  options: ForkRunOptions,
  agent: Agent<I, O>,
): Promise<Forked<O>> {
  const { at, edit, output, after = 'live', allow = [], id, signal } = options
  const source = await store.inspectRun(reference)
  await refuseTurns(source)
  const recording = await Recording.read(source)
  const start = await startOf(recording)
  const target = at === undefined ? undefined : recording.find(at)
  if (output !== undefined && target === undefined) {
    throw new DaglogError('USAGE', `an output is one of a step; try: { at: 'NAME', output }`)
  }
  const began = recording.began as AgentMark<AgentStart>
  const [view, cut] =
    target === undefined ? [began.view, began.seq - 1] : [target.view, target.start - 1]
  const input = (target === undefined && edit !== undefined ? edit(start.input) : start.input) as I
  const parent = await parentLink(view, cut, 'fork')
  const name = options.name ?? start.name
  const run = await store.createRun({ name, parent, ...(id === undefined ? {} : { id }) })
  return closing(run, async () => {
    const what = output !== undefined ? 'output' : target === undefined ? 'agent-input' : 'input'
    const step = target === undefined ? {} : { key: target.key, path: target.path }
    const edited = edit === undefined && output === undefined ? {} : { edit: { what, ...step } }
    const kept = { ...keptOf(start), code: codeOf(agent) }
    await begin(run, { name, input, verb: 'fork', ...kept, ...edited } as AgentStart)
    const changed = { target, input: edit, output, cut, hybrid: after === 'hybrid', allow }
    const execution = new ForkExecution(run, recording, signal, changed)
    execution.begin()
    const outcome = await execution.drive(agent, input)
    return Object.assign(executed<O>(run.id, outcome), {
      answered: execution.verdict.answered,
      edit: target === undefined ? ('made' as const) : execution.edit,
    })
  })
}

/** What was asked for once holds each time. */
function keptOf({ globals }: AgentStart): Pick<AgentStart, 'globals'> {
  return globals === undefined ? {} : { globals }
}

async function begin(run: Run, start: AgentStart): Promise<void> {
  const { input, ...rest } = start
  await run.append('agent/start', input === undefined ? rest : { ...rest, input })
}

/**
 * What the function was given when it was recorded. @throws USAGE where the run is none of these
 */
async function startOf({ began, view }: Recording): Promise<AgentStart> {
  const event = began === undefined ? undefined : await began.view.event(began.seq)
  if (event === undefined) {
    throw new DaglogError(
      'USAGE',
      `run ${view.id} was not made by a function that can be run again; try: store.record(name, input, agent)`,
      { run: view.id },
    )
  }
  return event.data as AgentStart
}

/** A changed text of a function is no divergence by itself; it may explain one. */
function codeOf(agent: unknown): Hash {
  return sha256(Buffer.from(String(agent)))
}

/** Whatever happens, the run is let go of. */
async function closing<T>(run: Run, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    await run.close()
  }
}

function executed<O>(id: string, outcome: AgentOutcome): Executed<O> {
  const { status } = outcome
  const said = {
    id,
    ok: status === 'ok',
    status,
    ...(outcome.status === 'ok' ? {} : { error: outcome.error }),
  }
  // Not among what is listed: whoever copies or prints the whole would throw the function's error.
  return Object.defineProperty(said, 'output', {
    get: () => {
      if (outcome.status === 'ok') return outcome.output
      throw outcome.error
    },
  }) as typeof said & { readonly output: O }
}

async function refuseTurns(view: RunView): Promise<void> {
  if ((await view.last('turn/start')) === undefined) return
  throw new DaglogError(
    'USAGE',
    `run ${view.id} has turns, and a function with turns can be recorded and replayed, but not yet resumed or forked; try: steps in the place of run.turn, or store.fork(ref, { at })`,
    { run: view.id },
  )
}
