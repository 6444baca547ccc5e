/**
 * A call of `fetch` taken apart: what is asked, as a recorder sees it, and what to hand on to the
 * fetch below so that it sends the same.
 */
import type { HeaderList, RequestHead } from './exchange.js'

export type Fetch = (
  input: string | URL | Request,
  // biome-ignore lint/suspicious/noExplicitAny: each fetch has its own options; all are handed on.
  init?: any,
) => Promise<Response>

export interface FetchCall {
  readonly head: RequestHead
  /** Empty where there is none; whole where it is there whole. */
  readonly body: Uint8Array | ReadableStream<Uint8Array>
  readonly signal: AbortSignal | undefined
  /**
   * Call the fetch below.
   * @param body In the place of the call's own, where that was a stream and is used up.
   */
  send(fetch: Fetch, body?: Uint8Array | ReadableStream<Uint8Array>): Promise<Response>
}

const NO_BODY = new Uint8Array(0)

/** @throws TypeError as fetch does, where the call makes no sense */
export async function fetchCall(input: string | URL | Request, init: unknown): Promise<FetchCall> {
  const options = (init ?? {}) as RequestInit & Record<string, unknown>
  const given = options.body ?? undefined
  const streaming = isStream(given) || isIterable(given)
  const request = new Request(input, {
    ...requestInit(options),
    ...(given === undefined ? {} : { body: given as NonNullable<RequestInit['body']> }),
    ...(streaming ? { duplex: 'half' } : {}),
  } as RequestInit)
  const head: RequestHead = {
    method: request.method,
    url: urlOf(input, request),
    headers: headerList(request.headers),
  }
  const ownBody = input instanceof Request && given === undefined && input.body !== null
  const body = await bodyOf(request, streaming || ownBody)
  // Only what a signal was given for can be aborted; a Request always has one.
  const signal =
    options.signal ?? (input instanceof Request ? input.signal : undefined) ?? undefined
  const plain = !(input instanceof Request) && !streaming && isRepeatable(given)
  return {
    head,
    body,
    signal,
    send(fetch, replacement) {
      if (plain) return fetch(input, init)
      const sent = replacement ?? body
      const empty = sent instanceof Uint8Array && sent.length === 0
      return fetch(request.url, {
        ...(input instanceof Request ? fieldsOf(input) : {}),
        ...options,
        method: request.method,
        headers: request.headers,
        ...(signal === undefined ? {} : { signal }),
        body: empty && request.body === null ? undefined : sent,
        ...(sent instanceof Uint8Array ? {} : { duplex: 'half' }),
      })
    },
  }
}

/** A body that a second reading gives again, with the same content-type. */
function isRepeatable(body: unknown): boolean {
  return (
    body === undefined ||
    typeof body === 'string' ||
    body instanceof URLSearchParams ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  )
}

function isStream(body: unknown): boolean {
  return body instanceof ReadableStream
}

function isIterable(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    Symbol.asyncIterator in body &&
    !ArrayBuffer.isView(body)
  )
}

/** Larger ones stay streams. */
const WHOLE_BYTES_MAX = 16 * 1024 * 1024

async function bodyOf(request: Request, streaming: boolean): Promise<FetchCall['body']> {
  const { body } = request
  if (body === null) return NO_BODY
  if (streaming) return body
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  while (size < WHOLE_BYTES_MAX) {
    const { done, value } = await reader.read()
    if (done) return new Uint8Array(Buffer.concat(parts))
    parts.push(value)
    size += value.length
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = parts.shift()
      if (part !== undefined) return controller.enqueue(part)
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** What a Request is made of here; the rest is for the fetch below. */
function requestInit({ method, headers, redirect, signal }: RequestInit): RequestInit {
  return {
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(redirect === undefined ? {} : { redirect }),
    ...(signal == null ? {} : { signal }),
  }
}

function fieldsOf({ redirect, integrity, keepalive, referrerPolicy }: Request): RequestInit {
  return { redirect, integrity, keepalive, referrerPolicy }
}

/** As it was asked, but for the fragment, which is not sent. */
function urlOf(input: string | URL | Request, request: Request): string {
  const url = input instanceof Request ? input.url : request.url
  const fragment = url.indexOf('#')
  return fragment < 0 ? url : url.slice(0, fragment)
}

export function headerList(headers: Headers): HeaderList {
  return [...headers].map(([name, value]) => [name, value] as const)
}
