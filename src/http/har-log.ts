/**
 * The shapes of HAR 1.2, as far as they are written here. Types only.
 * What comes in from outside is never trusted to have them.
 * @see http://www.softwareishard.com/blog/har-12-spec/
 */

export interface HarPair {
  readonly name: string
  readonly value: string
}

export interface HarCookie extends HarPair {
  readonly path?: string
  readonly domain?: string
  readonly expires?: string
  readonly httpOnly?: boolean
  readonly secure?: boolean
}

/** Text, or base64 where the bytes are no UTF-8. */
export interface HarText {
  readonly mimeType: string
  readonly text: string
  /** Of a request's body HAR knows no encoding; Playwright and others read it nevertheless. */
  readonly encoding?: 'base64'
}

export interface HarRequest {
  readonly method: string
  readonly url: string
  readonly httpVersion: string
  readonly cookies: readonly HarCookie[]
  readonly headers: readonly HarPair[]
  readonly queryString: readonly HarPair[]
  readonly postData?: HarText
  /** -1 where it is not known. */
  readonly headersSize: number
  readonly bodySize: number
}

export interface HarResponse {
  /** 0 where no response came. */
  readonly status: number
  readonly statusText: string
  readonly httpVersion: string
  readonly cookies: readonly HarCookie[]
  readonly headers: readonly HarPair[]
  /** Without its content-encoding. */
  readonly content: HarText & { readonly size: number; readonly compression?: number }
  readonly redirectURL: string
  readonly headersSize: number
  readonly bodySize: number
  /** Why there is none, or no whole one. */
  readonly _error?: string
}

/** In ms; -1 for what does not apply. */
export interface HarTimings {
  readonly send: number
  readonly wait: number
  readonly receive: number
}

/** One event of an event stream, as Chrome writes it. */
export interface HarEventSourceMessage {
  /** In seconds since 1970. */
  readonly time: number
  /** `message` where the stream gave it no name. */
  readonly eventName: string
  readonly eventId: string
  readonly data: string
}

export interface HarEntry {
  readonly startedDateTime: string
  readonly time: number
  readonly request: HarRequest
  readonly response: HarResponse
  readonly cache: Readonly<Record<string, never>>
  readonly timings: HarTimings
  readonly _eventSourceMessages?: readonly HarEventSourceMessage[]
  readonly _daglog?: unknown
}
