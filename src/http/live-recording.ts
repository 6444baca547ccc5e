/**
 * One exchange as it takes place: takes what a door sees, and gives the log one event at its end.
 * Nothing of it is kept, keyed or reported before it was scrubbed.
 */
import type { LargeValue, PreparedValue } from '../core/body.js'
import type { ExchangeEnd, HttpExchange, HttpRequest, HttpResponse } from '../core/http-events.js'
import { HTTP_HELD_BYTES_MAX, HTTP_HOIST_BYTES_MIN } from '../core/limits.js'
import type { Run } from '../store/run.js'
import { ValueStream } from '../store/value-stream.js'
import { BodyRecord, type RecordedBody } from './body-record.js'
import type {
  BodyForm,
  ExchangeFailure,
  HeaderList,
  Recording,
  RequestHead,
  ResponseHead,
} from './exchange.js'
import { codingsOf, headerOf, KEY_RECIPE, RequestKey } from './key.js'
import type { Normaliser } from './normalise.js'
import type { ExchangeScrub } from './scrub.js'

/** What an exchange asks of the recorder that it belongs to. */
export interface RecordingHome {
  readonly run: Run
  readonly failsClosed: boolean
  readonly options: { readonly normalisers?: readonly Normaliser[] }
  scrub(): ExchangeScrub
  append(
    type: 'http/exchange',
    data: HttpExchange,
    large: readonly (LargeValue | PreparedValue)[],
    ordinal: number,
  ): Promise<void>
  /** It is not in the log, though it took place. */
  lose(ordinal: number, error: unknown): void
  ended(recording: Recording): void
}

export interface RecordingStart {
  readonly ordinal: number
  readonly head: RequestHead
  readonly form: BodyForm
  /** By the monotonic clock, in ms. */
  readonly began: number
  readonly step?: string
  readonly replayed?: { readonly run: string; readonly ordinal: number }
}

const NO_BYTES = new Uint8Array(0)

export class LiveRecording implements Recording {
  readonly ordinal: number
  readonly scrubbedHead: RequestHead
  private readonly scrub: ExchangeScrub
  private readonly started: number
  private readonly key: RequestKey
  private readonly requestRecord: BodyRecord
  private responseRecord: BodyRecord | undefined
  private responseHead: ResponseHead | undefined
  private responseTrailers: HeaderList | undefined
  private headAt: number | undefined
  private pieceAt = 0
  private whole = false
  private ending: Promise<void> | undefined
  /** Why it cannot be kept any more. */
  private failure: { readonly error: unknown } | undefined
  private readonly letGo: () => void

  constructor(
    private readonly recorder: RecordingHome,
    private readonly start: RecordingStart,
  ) {
    const { head, form, ordinal } = start
    const { run, options } = recorder
    this.ordinal = ordinal
    this.started = run.context.now()
    this.letGo = run.keepHeld()
    this.scrub = recorder.scrub()
    // Headers first: what is secret there is looked for everywhere else.
    const headers = this.scrub.headers(head.headers, 'request')
    this.scrubbedHead = { ...head, headers, url: this.scrub.url(head.url) }
    this.key = new RequestKey(this.scrubbedHead, 'decoded', options.normalisers ?? [])
    this.requestRecord = new BodyRecord({
      stored: new ValueStream(run, HTTP_HELD_BYTES_MAX),
      scrub: this.scrub,
      side: 'request',
      contentType: headerOf(head.headers, 'content-type') ?? '',
      codings: form === 'wire' ? codingsOf(head.headers) : [],
      form,
      keyed: (bytes) => this.key.push(bytes),
    })
  }

  requestBody(bytes: Uint8Array): void | Promise<void> {
    return this.taking(() => this.requestRecord.push(bytes, 0))
  }

  requestEnd(): void {
    this.whole = true
  }

  response(head: ResponseHead): void {
    this.headAt = performance.now()
    this.pieceAt = this.headAt
    const headers = this.scrub.headers(head.headers, 'response')
    this.responseHead = {
      ...head,
      headers,
      ...(head.url === undefined ? {} : { url: this.scrub.url(head.url) }),
    }
    this.responseRecord = undefined
  }

  /** The form in which `responseBody` gives bytes, where it is not the one of the request. */
  responseForm: BodyForm | undefined

  responseBody(bytes: Uint8Array): void | Promise<void> {
    const now = performance.now()
    const waitUs = (now - this.pieceAt) * 1000
    this.pieceAt = now
    return this.taking(() => this.answer().push(bytes, waitUs))
  }

  trailers(headers: HeaderList): void {
    this.responseTrailers = this.scrub.headers(headers, 'response')
  }

  end(state: ExchangeEnd, failure?: ExchangeFailure): Promise<void> {
    this.ending ??= this.finish(state, failure).finally(() => this.drop())
    return this.ending
  }

  /** It is not to be kept. */
  drop(): void {
    this.letGo()
    this.recorder.ended(this)
  }

  private answer(): BodyRecord {
    const headers = this.responseHead?.headers ?? []
    const form = this.responseForm ?? this.start.form
    this.responseRecord ??= new BodyRecord({
      stored: new ValueStream(this.recorder.run, HTTP_HELD_BYTES_MAX),
      scrub: this.scrub,
      side: 'response',
      contentType: headerOf(headers, 'content-type') ?? '',
      codings: form === 'wire' ? codingsOf(headers) : [],
      form,
    })
    return this.responseRecord
  }

  /** What goes wrong here is of the recording, and reaches the call only where it fails closed. */
  private taking(take: () => void | Promise<void>): void | Promise<void> {
    if (this.failure !== undefined || this.ending !== undefined) return
    try {
      return take()?.catch((error: unknown) => this.failed(error))
    } catch (error) {
      this.failed(error)
    }
  }

  private failed(error: unknown): void {
    if (this.failure === undefined) this.recorder.lose(this.ordinal, error)
    this.failure ??= { error }
    if (this.recorder.failsClosed) throw error
  }

  private async finish(state: ExchangeEnd, failure?: ExchangeFailure): Promise<void> {
    try {
      if (this.failure !== undefined) throw this.failure.error
      const endUs = this.microseconds(performance.now())
      const request = await this.requestRecord.end('/request/body')
      const response = this.responseHead && (await this.answer().end('/response/body'))
      const bodies = [request, ...(response === undefined ? [] : [response])]
      const large = bodies.map(({ value }) => value).filter(goesOut)
      const data = this.data(state, { request, response, endUs, failure })
      await this.recorder.append('http/exchange', data, large, this.ordinal)
    } catch (error) {
      // It is in the gap that `append` or `failed` has noted.
      if (this.failure === undefined) this.recorder.lose(this.ordinal, error)
      if (this.recorder.failsClosed) throw error
    }
  }

  private data(
    end: ExchangeEnd,
    parts: {
      readonly request: RecordedBody
      readonly response: RecordedBody | undefined
      readonly endUs: number
      readonly failure: ExchangeFailure | undefined
    },
  ): HttpExchange {
    const { request, response, endUs, failure } = parts
    const { recorder, start, scrubbedHead, scrub } = this
    const { key, changed } = this.key.end()
    const rules = (recorder.options.normalisers ?? []).map(({ name, version }) => ({
      name,
      version,
      changed: changed.includes(name),
    }))
    const headUs = this.headAt === undefined ? {} : { headUs: this.microseconds(this.headAt) }
    const said = failure && { ...failure, message: scrub.text(failure.message, 'failure') }
    return {
      key,
      recipe: KEY_RECIPE,
      ordinal: start.ordinal,
      request: {
        ...requestMembers(scrubbedHead),
        ...bodyMembers(request),
        ...(this.whole ? {} : { whole: false }),
      } satisfies HttpRequest,
      ...(this.responseHead && response && { response: this.responseData(response) }),
      chunks: response?.chunks ?? NO_BYTES,
      end,
      ...(said && { failure: said }),
      timing: { started: this.started, ...headUs, endUs },
      scrubbed: scrub.scrubbed,
      ...(rules.length > 0 && { rules }),
      ...(start.step === undefined ? {} : { step: start.step }),
      ...(start.replayed && { replayed: start.replayed }),
    }
  }

  private responseData(body: RecordedBody): HttpResponse {
    const trailers = this.responseTrailers && { trailers: this.responseTrailers }
    return {
      ...responseMembers(this.responseHead as ResponseHead),
      ...trailers,
      ...bodyMembers(body),
    }
  }

  private microseconds(at: number): number {
    return Math.max(0, Math.round((at - this.start.began) * 1000))
  }
}

/** A short body stays in its event. */
function goesOut(value: LargeValue | PreparedValue): boolean {
  return !('bytes' in value) || value.bytes.length >= HTTP_HOIST_BYTES_MIN
}

function bodyMembers({ value, form }: RecordedBody): { body: Uint8Array; form: BodyForm } {
  // Where it is out of line, it is put back at its pointer; until then anything may stand there.
  const body = goesOut(value) ? null : (value as LargeValue).bytes
  return { body: body as Uint8Array, form }
}

/** A door may pass on more than its type says; only this is stored. */
function requestMembers({ method, url, headers, httpVersion }: RequestHead): RequestHead {
  return { method, url, headers, ...(httpVersion && { httpVersion }) }
}

function responseMembers(head: ResponseHead): ResponseHead {
  const { status, statusText, headers, httpVersion, url, informational } = head
  return {
    status,
    ...(statusText === undefined ? {} : { statusText }),
    headers,
    ...(httpVersion && { httpVersion }),
    ...(url && { url }),
    ...(informational && { informational }),
  }
}
