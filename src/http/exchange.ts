/**
 * What every door of the traffic room passes on: requests, answers and their ends, as bytes and
 * lists. Types only, beside the names of things; knows neither fetch nor sockets nor the log.
 * @see docs/record-replay.md
 */
import type { ExchangeEnd } from '../core/http-events.js'

export type { ExchangeEnd } from '../core/http-events.js'

/** Order, case and duplicates as they came. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/**
 * Whether bytes are as they went over the wire (their content-encoding still on, transfer-encoding
 * taken off), or as an HTTP client hands them out: without their content-encoding.
 */
export type BodyForm = 'wire' | 'decoded'

export interface RequestHead {
  readonly method: string
  /** Absolute, of the real origin: whatever a door was called by is mapped back. */
  readonly url: string
  readonly headers: HeaderList
  readonly httpVersion?: string
}

export interface ResponseHead {
  readonly status: number
  readonly statusText?: string
  readonly headers: HeaderList
  readonly httpVersion?: string
  /** Where redirects led, where the door saw only the last hop. */
  readonly url?: string
  /** 1xx answers before it. */
  readonly informational?: readonly { readonly status: number; readonly headers: HeaderList }[]
}

/** What went wrong where an exchange did not end well, in the words of who saw it. */
export interface ExchangeFailure {
  readonly name: string
  readonly message: string
  readonly code?: string
}

/**
 * One exchange on its way into the log. Bytes are taken at the call: they may be overwritten
 * later.
 */
export interface Recording {
  /** Of the run, from 1 on; reserved when the request began. */
  readonly ordinal: number
  /** Await it: it holds back whoever sends more than can be written. */
  requestBody(bytes: Uint8Array): void | Promise<void>
  requestEnd(): void
  response(head: ResponseHead): void
  responseBody(bytes: Uint8Array): void | Promise<void>
  trailers(headers: HeaderList): void
  /**
   * The exchange is over; resolves once it is in the log. Only the first call counts.
   * @throws what writing throws, where the recorder fails closed.
   */
  end(state: ExchangeEnd, failure?: ExchangeFailure): Promise<void>
}

/** A recorded answer, given again. */
export interface Answer {
  readonly kind: 'answer'
  readonly key: string
  readonly ordinal: number
  /** Seq of its event, and the run that it is in. */
  readonly seq: number
  readonly run: string
  /** 0 where no response had come: then there are no chunks, and `failure` says why. */
  readonly status: number
  readonly statusText: string
  readonly httpVersion?: string
  readonly headers: HeaderList
  readonly trailers?: HeaderList
  readonly informational?: ResponseHead['informational']
  readonly url?: string
  readonly form: BodyForm
  readonly end: ExchangeEnd
  readonly failure?: ExchangeFailure
  /** Bytes of the body as recorded. */
  readonly size: number
  /**
   * The body in the pieces that it came in. Where `end` is not `complete`, whoever hands it out
   * breaks off after the last one.
   */
  chunks(): AsyncIterable<Uint8Array>
}

export type MissKind =
  /** Nothing like it was recorded: no exchange has this method, origin and path. */
  | 'never-seen'
  /** Recorded, and every one of them was given already. */
  | 'exhausted'
  /** The same but for its body. */
  | 'body-differs'
  /** The same but for its query or a header that counts. */
  | 'head-differs'

/** One way in which a recorded request is not the one that was asked. */
export interface RequestDifference {
  /** `method`, `origin`, `path`, `query`, `header`, `body`. */
  readonly part: string
  /** A name of a header or a query field, or a JSON pointer into the body. */
  readonly at?: string
  /** Shortened, scrubbed. Left out where there is none. */
  readonly recorded?: string
  readonly asked?: string
}

export interface NearRequest {
  readonly ordinal: number
  readonly seq: number
  readonly run: string
  readonly method: string
  readonly url: string
  readonly differences: readonly RequestDifference[]
  /** Differences beyond those that are listed. */
  readonly more: number
}

/** A request that no recorded exchange answers. */
export interface Miss {
  readonly kind: 'miss'
  readonly miss: MissKind
  readonly key: string
  readonly method: string
  readonly url: string
  /** How many are recorded under its key, and how many times it has been asked now. */
  readonly recorded: number
  readonly asked: number
  readonly nearest: readonly NearRequest[]
  /** In words. */
  readonly message: string
  /** What the client gets: 404, in the form of the provider's errors, not to be tried again. */
  readonly response: {
    readonly status: 404
    readonly headers: HeaderList
    readonly body: Uint8Array
  }
}
