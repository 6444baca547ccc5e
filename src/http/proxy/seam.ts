/** The recorder and the replayer as the sidecar sees them. To be replaced by `../exchange.js`. */
import type { HeaderList } from './header-list.js'

export type BodyForm = 'wire' | 'decoded'
export type ExchangeEnd = 'complete' | 'client-abort' | 'upstream-reset' | 'timeout'
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: HeaderList
  readonly httpVersion?: string
}
export interface ResponseHead {
  readonly status: number
  readonly statusText?: string
  readonly headers: HeaderList
  readonly httpVersion?: string
}
export interface Recorder {
  start(head: RequestHead, form: BodyForm): Promise<Recording>
  close(): Promise<void>
}
export interface Recording {
  requestBody(bytes: Uint8Array): void | Promise<void>
  requestEnd(): void
  response(head: ResponseHead): void
  responseBody(bytes: Uint8Array): void | Promise<void>
  trailers(headers: HeaderList): void
  end(state: ExchangeEnd): Promise<void>
}
export interface Answer {
  readonly status: number
  readonly statusText?: string
  readonly headers: HeaderList
  readonly form: BodyForm
  readonly trailers?: HeaderList
  readonly end: ExchangeEnd
  chunks(): AsyncIterable<Uint8Array>
}
export interface Miss {
  readonly kind: string
  readonly response: { status: number; headers: HeaderList; body: Uint8Array }
}
export interface Replayer {
  answer(
    request: RequestHead & { body: AsyncIterable<Uint8Array>; form: BodyForm },
    client?: string,
  ): Promise<Answer | Miss>
}
