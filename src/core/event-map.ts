/**
 * The data of each known event type, as an open interface. Types only.
 * @see docs/format.md#events
 */
import type { AgentEnd, AgentStart, AskAnswer, AskQuestion, Tick } from './agent-events.js'
import type { Content } from './content.js'
import type { ErrorData } from './error-shape.js'
import type { Hash } from './hash.js'
import type { HttpExchange, HttpGap, HttpImport, HttpMiss, HttpStart } from './http-events.js'
import type { LanggraphEvents } from './langgraph-events.js'
import type { SessionFault, SessionInfo, SessionRecord } from './transcript-events.js'

export type * from './agent-events.js'
export type { ErrorData } from './error-shape.js'
export type * from './transcript-events.js'

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

/**
 * Where a run begins, when it does not begin at nothing. `run` is the parent's identity: the hash
 * of its frame 0.
 */
export interface ParentLink {
  readonly run: Hash
  readonly seq: number
  readonly hash: Hash
  readonly kind: ParentKind
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
  /** Places of the input that are no part of the key, as JSON pointers. */
  readonly ignore?: readonly string[]
  /** Where in the code it was called; an annotation, never part of its identity. */
  readonly site?: string
}

export interface StepEnd {
  readonly id: string
  readonly status: StepStatus
  /** Beside an error: what came of it before it broke off. */
  readonly output?: unknown
  readonly error?: ErrorData
}

/**
 * Tokens of one model call. Totals include their parts: `inputTokens` counts what came from a cache
 * and what was written to one, `outputTokens` counts reasoning. A provider that says it otherwise
 * is converted.
 */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Of the input: read from the provider's cache. */
  readonly cacheReadTokens?: number
  /** Of the input: written to the provider's cache. */
  readonly cacheWriteTokens?: number
  /** Of `cacheWriteTokens`: kept for an hour, which costs more. */
  readonly cacheWrite1hTokens?: number
  /** Of the output. */
  readonly reasoningTokens?: number
}

/**
 * All that a model is asked with beside the messages: a request is a function of it and the log.
 */
export interface RequestHeader {
  readonly model: string
  /** `openai` (chat completions), `openai-responses`, `anthropic`, or any other name. */
  readonly provider: string
  readonly system?: unknown
  readonly tools?: readonly unknown[]
  /** Whatever else goes into the body, by the provider's own names. */
  readonly params?: Readonly<Record<string, unknown>>
}

export interface UserMessage {
  readonly content: Content
  /** What was sent or recorded in the source's own form, exactly. */
  readonly raw?: unknown
}

/** One message of a model, whole. */
export interface AssistantMessage {
  readonly content: Content
  /** The provider's name for it. */
  readonly id?: string
  readonly model?: string
  readonly provider?: string
  readonly usage?: Usage
  /** In the provider's words. */
  readonly stopReason?: string
  /** It was cut off: by a crash, an abort, or a broken stream. */
  readonly interrupted?: boolean
  /**
   * It states the message of this turn with the same `id` anew, whole, in the place of the first:
   * that is how one that is recorded in pieces grows. Said, never guessed: some providers use ids
   * again.
   */
  readonly restates?: boolean
  /** The provider's own message, exactly. */
  readonly raw?: unknown
}

/**
 * What one call of a model took, where no message says so: a transcript that counts apart, a call
 * that gave no message. A later one with the same `id` states it anew.
 */
export interface AssistantUsage {
  readonly id?: string
  readonly model?: string
  readonly provider?: string
  readonly usage: Usage
  /**
   * Set where the call was another session's, whose history this one begins with: its record says
   * so, or only its time does.
   */
  readonly copied?: 'record' | 'time'
}

/** Deltas of one message, many in a frame; the message that follows is authoritative. */
export interface AssistantChunk {
  /** What the deltas belong to: the id of the step of the model call. */
  readonly message: string
  /** The text of each delta as it came, its boundaries kept; anything that is no text, whole. */
  readonly pieces: readonly unknown[]
  /** When each came, in ms since 1970. */
  readonly times: readonly number[]
}

export interface ToolResult {
  readonly id: string
  readonly content: Content
  readonly isError?: boolean
  /** Nobody saw how it went: written when a run is closed after a crash. */
  readonly closedBy?: 'not-started' | 'outcome-unknown'
  /** Where the tool says so. */
  readonly files?: readonly { readonly path: string; readonly op: string }[]
  readonly raw?: unknown
}

/**
 * From here on the model sees `message` in the place of the events that it names. Nothing is
 * removed.
 */
export interface Compaction {
  /** Every event that is shadowed, by seq, or by `SEQ.LINE` where it is a derived one. */
  readonly replaces: readonly (number | string)[]
  /** What stands for them; one or several. */
  readonly message: CompactionMessage | readonly CompactionMessage[]
}

export interface CompactionMessage {
  readonly role: 'user' | 'assistant'
  readonly content: Content
  readonly raw?: unknown
}

/** A reader by name: what it derives changes with its version only. */
export interface ReaderName {
  readonly key: string
  readonly version: number
}

/**
 * From here on a foreign transcript is taken in: what it is, where it lay, who reads it. It makes a
 * run an imported one, whatever else is in there; said again whenever one of its members is
 * another.
 */
export interface ImportSource {
  /**
   * `claude-code`, `codex`, `dsh`, `pi`, or any other name; also the key of the reader that fits.
   */
  readonly format: string
  /** The source's own name for the session: with the format it is how the run is found again. */
  readonly session: string
  /** Where it lay, absolute. */
  readonly path: string
  /** How the file is packed where it lay; the lines are what it unpacks to. */
  readonly packing?: 'zstd'
  /** Only these lines of the file are in the run: the others are the parent's (`sidechain`). */
  readonly part?: string
  readonly reader: ReaderName
  /** Version of daglog that took it in. */
  readonly daglog: string
}

/**
 * Whole lines of a source, byte for byte, their line ends included; a file's last line may have
 * none.
 * `from` is their offset in the source. It is where the lines before it ended; or before that, where those
 * ended in a torn line: then that line is stated anew, whole, and the torn one does not count any
 * more.
 */
export interface ImportLines {
  readonly from: number
  /** How many lines begin in `bytes`. */
  readonly lines: number
  readonly bytes: Uint8Array
}

/** A file that belongs to the session and lies beside its transcript, byte for byte. */
export interface ImportFile {
  readonly path: string
  readonly mtime: number
  readonly bytes: Uint8Array
}

/** What a reader made of all lines so far; as good as that reader. Lists show it. */
export interface ImportTotals {
  readonly title?: string
  /** Of the first and the last record that says when, in ms since 1970. */
  readonly started?: number
  readonly updated?: number
  readonly turns: number
  /** Calls of tools. */
  readonly calls: number
  readonly messages: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Places that no record could be read of. */
  readonly faults: number
}

/** The importer came to the end of what the source held then. */
export interface ImportEnd {
  /** Bytes of the source that are in the run now, from its first one on. */
  readonly bytes: number
  readonly lines: number
  /** Of the file as it was then; of a packed one the packed bytes. */
  readonly size: number
  readonly mtime?: number
  readonly reader: ReaderName
  readonly totals: ImportTotals
}

/**
 * The data of each known event type. Add your own:
 * `declare module 'daglog' { interface EventMap { 'cart/add': { sku: string } } }`
 */
export interface EventMap extends LanggraphEvents {
  /** `depth` of a child: how many runs it is below the first. */
  'run/start': { readonly id: string; readonly depth?: number }
  /** A run begins below this one; its first frame names this event. */
  'run/child': { readonly id: string; readonly name?: string; readonly depth: number }
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
  'agent/start': AgentStart
  'agent/end': AgentEnd
  'ask/question': AskQuestion
  'ask/answer': AskAnswer
  tick: Tick
  /** The signal of the function was aborted here. */
  'agent/abort': { readonly reason?: ErrorData }
  'user/message': UserMessage
  'assistant/chunk': AssistantChunk
  'assistant/message': AssistantMessage
  'assistant/usage': AssistantUsage
  'request/header': RequestHeader
  /** The body of the tool is about to run. What was asked and never called has not been started. */
  'tool/call': {
    readonly id: string
    readonly name: string
    readonly input?: unknown
    /** The exact string that the model wrote, where there was one. */
    readonly arguments?: unknown
  }
  'tool/result': ToolResult
  /** The whole list. */
  'todo/write': { readonly items: readonly unknown[] }
  compaction: Compaction
  retry: {
    readonly of: string
    readonly attempt: number
    readonly reason: string
    readonly delayMs?: number
  }
  approval: {
    readonly call: string
    readonly decision: 'allow' | 'deny'
    readonly by: string
    readonly reason?: string
  }
  /** The whole state after a change, kept as a tree. */
  'state/write': { readonly value: unknown }
  'import/source': ImportSource
  'import/lines': ImportLines
  'import/file': ImportFile
  'import/end': ImportEnd
  'session/info': SessionInfo
  'session/record': SessionRecord
  'session/fault': SessionFault
  'http/start': HttpStart
  'http/exchange': HttpExchange
  'http/miss': HttpMiss
  'http/gap': HttpGap
  'http/import': HttpImport
  note: unknown
}

export type EventType = keyof EventMap & string

/** The data of an event type: what `EventMap` says, or anything for a type it does not know. */
export type DataOf<T extends string> = T extends EventType ? EventMap[T] : unknown
