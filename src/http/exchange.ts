/** Placeholder until w/traffic publishes its own. */
export type HeaderList = readonly (readonly [name: string, value: string])[]
export type BodyForm = 'wire' | 'decoded'
export type ExchangeEnd = 'complete' | 'client-abort' | 'upstream-reset' | 'timeout'
export interface ExchangeData {
  readonly key: string
  readonly recipe: string
  readonly ordinal: number
  readonly request: {
    readonly method: string
    readonly url: string
    readonly httpVersion?: string
    readonly headers: HeaderList
    readonly body: Uint8Array
    readonly form: BodyForm
  }
  readonly response?: {
    readonly status: number
    readonly statusText?: string
    readonly httpVersion?: string
    readonly headers: HeaderList
    readonly body: Uint8Array
    readonly form: BodyForm
  }
  readonly chunks?: unknown
  readonly end: ExchangeEnd
}
