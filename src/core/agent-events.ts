/**
 * What a log says of a function that is run on it. Types only.
 * @see docs/again.md
 */
import type { ErrorData } from './error-shape.js'
import type { Hash } from './hash.js'

/** A function begins: it is run for the first time, or again. */
export interface AgentStart {
  readonly name: string
  readonly input?: unknown
  readonly verb: 'record' | 'replay' | 'fork'
  /** Clock and random numbers of JavaScript itself are the run's. */
  readonly globals?: boolean
  /** Of a fork: what is another there than in the parent. */
  readonly edit?: AgentEdit
  /** Digest of the function's text: what it was is not what it is, where that differs. */
  readonly code?: Hash
}

/** What a fork was given in another way than its parent. */
export interface AgentEdit {
  readonly what: 'input' | 'output' | 'agent-input'
  /** Key and path of the step; none for the function's own input. */
  readonly key?: string
  readonly path?: string
}

/** The function has returned; what it left running ends as `interrupted`. */
export interface AgentEnd {
  readonly status: 'ok' | 'error' | 'cancelled'
  readonly output?: unknown
  readonly error?: ErrorData
}

/** A step that asks a person has just begun: the `step/start` before it, in the same append. */
export interface AskQuestion {
  readonly name: string
  /** How long it waits, in ms; for ever where it does not say. */
  readonly timeoutMs?: number
}

/** What another process answered. It lies in a run below the one that asks. */
export interface AskAnswer {
  /** Key of the step that asks. */
  readonly step: string
  readonly name: string
  readonly value?: unknown
}

/** Values of `run.now`, `run.random` and `run.uuid`, in order. */
export interface Tick {
  /** Each under a key like a step's. */
  readonly values: readonly (readonly [key: string, value: unknown])[]
}
