/**
 * An exchange that a file tells, made into what a recorder would have stored: scrubbed first, by
 * the same code, then keyed. One that daglog wrote into the file, and in which nothing secret is,
 * stays as it is.
 */
import type { EncodedData, LargeValue } from '../core/body.js'
import { encodeData } from '../core/body.js'
import type { HttpExchange } from '../core/http-events.js'
import { HTTP_HOIST_BYTES_MIN } from '../core/limits.js'
import { BodyRecord, type BodyStore, type RecordedBody } from './body-record.js'
import { piecesOf } from './chunk-table.js'
import type { HeaderList } from './exchange.js'
import type { Fingerprint } from './fingerprint.js'
import type { ToldExchange } from './har-foreign.js'
import { codingsOf, headerOf, KEY_RECIPE, RequestKey } from './key.js'
import { ExchangeScrub } from './scrub.js'

/** All of an exchange but what is made here. */
type Unkeyed = Omit<HttpExchange, 'key' | 'recipe'>

export interface FilingOptions {
  readonly fingerprint: Fingerprint
  readonly ordinal: number
}

/** @param started When it began, in ms since 1970, where the file does not say. */
export function filedExchange(
  told: ToldExchange,
  options: FilingOptions & { readonly started: number },
): Promise<HttpExchange> {
  const { request, response, end } = told
  const microseconds = (ms: number): number => Math.round(ms * 1000)
  return new Filing(options).file({
    ordinal: options.ordinal,
    request: { form: 'decoded', ...request },
    ...(response === undefined ? {} : { response: { form: 'decoded', ...response } }),
    chunks: new Uint8Array(),
    end,
    timing: {
      started: told.started ?? options.started,
      ...(told.headMs === undefined ? {} : { headUs: microseconds(told.headMs) }),
      endUs: microseconds(told.totalMs ?? 0),
    },
    scrubbed: [],
  })
}

/** One of ours again; keyed anew only where something secret was put into it since. */
export async function filedAgain(
  ours: HttpExchange,
  options: FilingOptions,
): Promise<HttpExchange> {
  const filing = new Filing(options)
  const filed = await filing.file({ ...ours, ordinal: options.ordinal })
  return filing.found ? filed : { ...ours, ordinal: options.ordinal }
}

class Filing {
  readonly #scrub: ExchangeScrub

  constructor({ fingerprint }: FilingOptions) {
    this.#scrub = new ExchangeScrub({ fingerprint })
  }

  /** Whether anything was secret. */
  get found(): boolean {
    return this.#scrub.scrubbed.length > 0
  }

  async file(exchange: Unkeyed): Promise<HttpExchange> {
    const { request, response, failure } = exchange
    const scrub = this.#scrub
    // Headers first: what is secret there is looked for everywhere else.
    const asked = {
      ...request,
      headers: scrub.headers(request.headers, 'request'),
      url: scrub.url(request.url),
    }
    const key = new RequestKey(asked, 'decoded', [])
    const sent = await this.#body(request, {
      side: 'request',
      keyed: (bytes) => key.push(bytes),
    })
    const answered = response && {
      ...response,
      headers: scrub.headers(response.headers, 'response'),
      ...(response.trailers && { trailers: scrub.headers(response.trailers, 'response') }),
      ...(response.url && { url: scrub.url(response.url) }),
    }
    const came = response && (await this.#body(response, { side: 'response', of: exchange.chunks }))
    return {
      ...exchange,
      key: key.end().key,
      recipe: KEY_RECIPE,
      request: { ...asked, ...bytesOf(sent) },
      ...(answered && came && { response: { ...answered, ...bytesOf(came) } }),
      chunks: came?.chunks ?? new Uint8Array(),
      ...(failure && { failure: { ...failure, message: scrub.text(failure.message, 'failure') } }),
      scrubbed: [...exchange.scrubbed, ...scrub.scrubbed],
    }
  }

  /** The body, as it is kept; `of` is the table of its pieces. */
  async #body(
    message: {
      readonly headers: HeaderList
      readonly body: Uint8Array
      readonly form: 'wire' | 'decoded'
    },
    how: {
      readonly side: 'request' | 'response'
      readonly of?: Uint8Array
      readonly keyed?: (bytes: Uint8Array) => void
    },
  ): Promise<RecordedBody> {
    const { headers, body, form } = message
    const record = new BodyRecord({
      stored: new HeldBody(),
      scrub: this.#scrub,
      side: how.side,
      contentType: headerOf(headers, 'content-type') ?? '',
      codings: form === 'wire' ? codingsOf(headers) : [],
      form,
      ...(how.keyed && { keyed: how.keyed }),
    })
    let from = 0
    for (const { bytes, waitUs } of piecesOf(how.of ?? new Uint8Array(), body.length)) {
      await record.push(body.subarray(from, from + bytes), waitUs)
      from += bytes
    }
    return record.end(`/${how.side}/body`)
  }
}

/** A body that is kept in memory: the file was, too. */
class HeldBody implements BodyStore {
  readonly #pieces: Uint8Array[] = []

  push(bytes: Uint8Array): void {
    this.#pieces.push(Buffer.from(bytes))
  }

  async end(pointer: string): Promise<LargeValue> {
    return { pointer, kind: 'bytes', bytes: Buffer.concat(this.#pieces) }
  }
}

function bytesOf({ value, form }: RecordedBody): { body: Uint8Array; form: 'wire' | 'decoded' } {
  return { body: 'bytes' in value ? value.bytes : new Uint8Array(), form }
}

/** As a recorder writes it: bodies that are not short lie out of line by themselves. */
export function encodedExchange(exchange: HttpExchange): EncodedData {
  const large: LargeValue[] = []
  const without = <M extends { readonly body: Uint8Array }>(message: M, pointer: string): M => {
    if (message.body.length < HTTP_HOIST_BYTES_MIN) return message
    large.push({ pointer, kind: 'bytes', bytes: message.body })
    return { ...message, body: null }
  }
  const { request, response } = exchange
  const encoded = encodeData({
    ...exchange,
    request: without(request, '/request/body'),
    ...(response && { response: without(response, '/response/body') }),
  })
  return { ...encoded, large: [...encoded.large, ...large] }
}
