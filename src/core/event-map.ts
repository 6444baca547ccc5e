/**
 * The data of each known event type, as an open interface. Types only.
 * Add your own by declaration:
 *
 *     declare module 'daglog' {
 *       interface EventMap {
 *         'cart/add': { sku: string }
 *       }
 *     }
 * @see docs/format.md#events
 */
import type { Hash } from './hash.js'

export type RunStatus = 'ok' | 'error' | 'cancelled'
export type StepStatus = 'ok' | 'error' | 'interrupted' | 'cancelled'
export type Effect = 'none' | 'read' | 'write'
export type TurnReason =
  | 'completed'
  | 'error'
  | 'aborted'
  | 'blocked'
  | 'max-tokens'
  | 'interrupted'
export type ParentKind = 'fork' | 'child' | 'replay' | 'salvage' | 'import'

/** Where a run begins, when it does not begin at nothing. `run` is the parent's identity: the hash of its frame 0. */
export interface ParentLink {
  readonly run: Hash
  readonly seq: number
  readonly hash: Hash
  readonly kind: ParentKind
}

export interface ErrorData {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly cause?: ErrorData
  /** An annotation, never part of a step's identity. */
  readonly stack?: string
}

export interface StepStart {
  /** `n1`, `n2`, ... in a run. */
  readonly id: string
  /** Stable identity: hash over parent key, name, input digest, occurrence. */
  readonly key: string
  readonly name: string
  readonly parent?: string
  readonly deps?: readonly string[]
  readonly input?: unknown
  readonly effect?: Effect
}

export interface StepEnd {
  readonly id: string
  readonly status: StepStatus
  readonly output?: unknown
  readonly error?: ErrorData
}

export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
}

/**
 * The data of each known event type. Add your own:
 * `declare module 'daglog' { interface EventMap { 'cart/add': { sku: string } } }`
 */
export interface EventMap {
  'run/start': { readonly id: string }
  'run/meta': { readonly name?: string; readonly meta?: unknown; readonly tags?: readonly string[] }
  'run/end': { readonly status: RunStatus; readonly error?: ErrorData }
  'writer/open': {
    readonly epoch: number
    readonly previous: {
      readonly segment: number
      readonly length: number
      readonly head: { readonly seq: number; readonly hash: Hash }
    }
    readonly pid: number
    readonly host: string
    readonly program: string
  }
  'log/recovered': {
    readonly segment: number
    readonly offset: number
    readonly bytes: number
    readonly sha256: Hash
    readonly maybeAcknowledged?: boolean
  }
  /** Only in a salvaged run: what could not be read of the damaged one. */
  'log/gap': {
    readonly segment: number
    readonly offset: number
    readonly bytes: number
    readonly reason: string
  }
  redaction: { readonly seq: number; readonly reason: string; readonly actor: string }
  'turn/start': { readonly turn: number }
  'turn/end': {
    readonly turn: number
    readonly reason: TurnReason
    readonly by?: string
    readonly cause?: string
    readonly error?: ErrorData
  }
  'step/start': StepStart
  'step/end': StepEnd
  'user/message': { readonly content: unknown }
  'assistant/message': {
    readonly content: unknown
    readonly usage?: Usage
    readonly model?: string
  }
  'tool/call': { readonly id: string; readonly name: string; readonly arguments?: unknown }
  'tool/result': {
    readonly id: string
    readonly content: unknown
    readonly isError?: boolean
    readonly closedBy?: 'not-started' | 'outcome-unknown'
  }
  /** The whole state after a change, kept as a tree. */
  'state/write': { readonly value: unknown }
  note: unknown
}

export type EventType = keyof EventMap & string

/** The data of an event type: what `EventMap` says, or anything for a type it does not know. */
export type DataOf<T extends string> = T extends EventType ? EventMap[T] : unknown
