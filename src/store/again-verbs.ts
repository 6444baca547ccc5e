/**
 * The verbs that run one unchanged function on a run: what they take and give. Types only; who does
 * it is put in by `open.ts`.
 */
import type { Effect } from '../core/event-map.js'
import type { ReplayReport } from '../fold/divergence.js'
import type { Durability } from './context.js'
import type { Run } from './run.js'
import type { RunBeginning } from './run-beginning.js'
import type { RunView } from './run-view.js'
import type { OpenRunOptions } from './run-writer.js'

/** A plain async function. What it does between its steps is run again each time. */
export type Agent<I, O> = (run: Run, input: I) => O | Promise<O>

export interface RecordOptions {
  /** The exact id of the run; one is made of date and name unless told. */
  readonly id?: string
  readonly signal?: AbortSignal
  /**
   * `Date`, `Math.random`, `crypto.randomUUID` and `getRandomValues` are those of the run as well, for
   * the function and all that it begins, now and whenever it is run again.
   */
  readonly globals?: boolean
}

/** How a function went. */
export interface Executed<O> {
  /** Of the run that was written. */
  readonly id: string
  readonly ok: boolean
  readonly status: 'ok' | 'error' | 'cancelled'
  /** What it gave. @throws what it threw, where it failed */
  readonly output: O
  /** What it threw. */
  readonly error?: unknown
}

export interface ResumeOptions {
  readonly signal?: AbortSignal
  /** How long to wait for another writer of the run, in ms. */
  readonly lockWaitMs?: number
}

/** A step that had begun and never ended, so that nobody knows whether it was done. */
export interface InDoubt {
  readonly path: string
  readonly effect: Effect | undefined
  readonly went: 'again' | 'checked' | 'refused'
}

export interface Resumed<O> extends Executed<O> {
  /** Steps that were answered from the log. */
  readonly answered: number
  readonly inDoubt: readonly InDoubt[]
}

export interface ReplayOptions {
  /** The exact id of the replay's own run; one is made of date and name unless told. */
  readonly id?: string
  readonly signal?: AbortSignal
  /**
   * `pure`: bodies of steps with effect `none` are run all the same, and held against the
   * recording.
   */
  readonly verify?: 'pure'
  /** Instead of the input that was recorded. */
  readonly input?: unknown
}

/** The verdict, and how the function went. `ok` is the verdict's. */
export interface Replayed<O> extends Omit<Executed<O>, 'ok'>, ReplayReport {
  /** The run that was replayed. */
  readonly source: string
  /** The report for people. */
  text(): string
}

export interface ForkRunOptions {
  /**
   * The step to change: its path (`plan/llm#2`), id or key; without it `edit` changes the
   * function's input.
   */
  readonly at?: string
  /** Makes the input of it; the body finds it as `step.input`. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever was recorded.
  readonly edit?: (input: any) => unknown
  /** Makes its output instead, and its body does not run. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever was recorded.
  readonly output?: (output: any) => unknown
  /**
   * Steps behind it: all run (`live`), or those that are asked exactly as recorded are answered
   * (`hybrid`).
   */
  readonly after?: 'live' | 'hybrid'
  /** Names or paths of steps behind it that may write; true for all. */
  readonly allow?: true | readonly string[]
  readonly id?: string
  readonly name?: string
  readonly signal?: AbortSignal
}

export interface Forked<O> extends Executed<O> {
  readonly answered: number
  /** `unread`: the body never looked at `step.input`; `unreached`: the step was never asked for. */
  readonly edit: 'made' | 'unread' | 'unreached'
}

/** What the verbs ask of a store. */
export interface AgainStore {
  createRun(options: CreatedRun): Promise<Run>
  openRun(reference: string, options: OpenRunOptions): Promise<Run>
  inspectRun(reference: string): Promise<RunView>
}

/** A run that a verb begins. */
export interface CreatedRun extends RunBeginning {
  readonly id?: string
  readonly durability?: Durability
}

export interface AgainVerbs {
  record<I, O>(
    store: AgainStore,
    name: string,
    input: I,
    agent: Agent<I, O>,
    options: RecordOptions,
  ): Promise<Executed<O>>
  resume<I, O>(
    store: AgainStore,
    reference: string,
    agent: Agent<I, O>,
    options: ResumeOptions,
  ): Promise<Resumed<O>>
  replay<I, O>(
    store: AgainStore,
    reference: string,
    agent: Agent<I, O>,
    options: ReplayOptions,
  ): Promise<Replayed<O>>
  forkRun<I, O>(
    store: AgainStore,
    reference: string,
    options: ForkRunOptions,
    agent: Agent<I, O>,
  ): Promise<Forked<O>>
}
