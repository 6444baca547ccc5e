/**
 * The data of the events of recorded traffic. Types only.
 * @see docs/format.md#exchanges
 */
import type { Hash } from './hash.js'

/** How an exchange ended: at the end that was announced, or cut off, and by whom. */
export type ExchangeEnd =
  | 'complete'
  | 'client-abort'
  | 'upstream-reset'
  | 'timeout'
  /** No connection: nothing of a response was seen. */
  | 'unreachable'

/** A request has begun. Without an exchange of its ordinal behind it, nobody knows how it ended. */
export interface HttpStart {
  /** Of the run, from 1 on, in the order in which requests began. */
  readonly ordinal: number
  readonly method: string
  /** Scrubbed, like all of the exchange. */
  readonly url: string
  /** The step that it belongs to. */
  readonly step?: string
}

/** Names and values in their order, with their case, duplicates too. */
export type HttpHeaders = readonly (readonly [name: string, value: string])[]

export interface HttpRequest {
  readonly method: string
  /** Absolute, of the real origin. */
  readonly url: string
  readonly httpVersion?: string
  readonly headers: HttpHeaders
  readonly body: Uint8Array
  /** `wire`: as sent, its content-encoding on. `decoded`: without it, transfer or content. */
  readonly form: 'wire' | 'decoded'
  /** Whether the body was seen to its end. */
  readonly whole?: boolean
}

export interface HttpResponse {
  readonly status: number
  readonly statusText?: string
  readonly httpVersion?: string
  readonly headers: HttpHeaders
  readonly trailers?: HttpHeaders
  readonly informational?: readonly { readonly status: number; readonly headers: HttpHeaders }[]
  /** Where redirects led, where only the last hop was seen. */
  readonly url?: string
  readonly body: Uint8Array
  readonly form: 'wire' | 'decoded'
}

/** What was replaced before it was stored: where, how often, never what. */
export interface HttpScrubbed {
  /** `request` or `response`, then `header NAME`, `query NAME`, `cookie NAME`, `body RULE`. */
  readonly at: string
  readonly count: number
}

export interface HttpExchange {
  readonly key: Hash
  /** Which recipe made the key: `daglog-http/1`. */
  readonly recipe: string
  readonly ordinal: number
  readonly request: HttpRequest
  /** Left out where none came. */
  readonly response?: HttpResponse
  /** Of the response body, for each piece: its length and the time before it in us, as LEB128. */
  readonly chunks: Uint8Array
  readonly end: ExchangeEnd
  readonly failure?: { readonly name: string; readonly message: string; readonly code?: string }
  /** When it began, in ms since 1970; then to the response's head and to the end, in us. */
  readonly timing: { readonly started: number; readonly headUs?: number; readonly endUs: number }
  readonly scrubbed: readonly HttpScrubbed[]
  /** Normalisers that were asked for, and which of them changed the key. */
  readonly rules?: readonly {
    readonly name: string
    readonly version: number
    readonly changed: boolean
  }[]
  readonly step?: string
  /** Answered by a recorded exchange, and not by the network. */
  readonly replayed?: { readonly run: string; readonly ordinal: number }
}

/** In a replay: a request that no recorded exchange answered. */
export interface HttpMiss {
  readonly key: Hash
  readonly kind: 'never-seen' | 'exhausted' | 'body-differs' | 'head-differs'
  readonly method: string
  readonly url: string
  /** How many are recorded under the key; how many times it has been asked. */
  readonly recorded: number
  readonly asked: number
  readonly nearest: readonly unknown[]
  readonly step?: string
}

/** Exchanges that could not be written: they took place, and are not here. */
export interface HttpGap {
  /** Ordinals that were lost, the first and the last. */
  readonly from: number
  readonly to: number
  readonly count: number
  /** Why, in the system's words. */
  readonly reason: string
}

/** The exchanges of this run were told by a file, and not recorded here. */
export interface HttpImport {
  /** `har`, or any other name. */
  readonly format: string
  /** Where it lay. */
  readonly path: string
  readonly bytes: number
  /** Of the file. */
  readonly sha256: Hash
  /** The program that wrote it, where it says so. */
  readonly creator?: string
  /** In the file; in the run. */
  readonly entries: number
  readonly exchanges: number
  /** Entries, counted from 0, of which no exchange could be made. */
  readonly refused: readonly { readonly entry: number; readonly reason: string }[]
  /** What entries say that is not taken over, or had to be put together. */
  readonly lost: readonly { readonly what: string; readonly count: number }[]
  /** What a recorder would have seen and such files never hold. */
  readonly neverHeld: readonly string[]
  /** Version of daglog that took it in. */
  readonly daglog: string
}
