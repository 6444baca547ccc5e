/**
 * An exchange as an entry of a HAR, for browsers' tools, viewers and Playwright.
 * What HAR has a field for stands there; all the rest goes into `_daglog`, with a digest over the
 * whole entry, so that an import of what nobody edited gives the same exchange again.
 * @see docs/har.md
 */
import { Buffer } from 'node:buffer'
import { valueDigest } from '../core/canonical.js'
import { encodeValue } from '../core/encode.js'
import type { HttpExchange } from '../core/http-events.js'
import { exchangeOf } from '../fold/readers/exchange-view.js'
import type { HeaderList } from './exchange.js'
import { cookiesSent, cookiesSet } from './har-cookies.js'
import { eventSourceMessages } from './har-event-source.js'
import type { HarEntry, HarPair, HarRequest, HarResponse } from './har-log.js'
import { harText } from './har-text.js'
import { harClock, timedPieces } from './har-times.js'

/** Of the form of `_daglog`. */
export const HAR_MEMBER_VERSION = 1

export function harEntry(data: HttpExchange): HarEntry {
  const clock = harClock(data)
  const request = harRequest(data)
  const response = harResponse(data)
  return {
    startedDateTime: new Date(clock.started).toISOString(),
    time: clock.total,
    request,
    response,
    cache: {},
    timings: clock.timings,
    ...eventsOf(data),
    _daglog: daglogMember({ data, request, response }),
  }
}

function harRequest({ request }: HttpExchange): HarRequest {
  const { method, url, httpVersion, headers, body } = request
  const type = headerOf(headers, 'content-type')
  return {
    method,
    url,
    httpVersion: httpVersion ?? '',
    cookies: cookiesSent(headers),
    headers: headers.map(pair),
    queryString: queryOf(url),
    // As it was sent: who answers from a HAR compares these bytes.
    ...(body.length === 0 ? {} : { postData: harText(body, type) }),
    headersSize: -1,
    bodySize: body.length,
  }
}

function harResponse(data: HttpExchange): HarResponse {
  const { response, end } = data
  const decoded = exchangeOf(data)?.responseBody ?? new Uint8Array()
  const headers = response?.headers ?? []
  const mimeType = headerOf(headers, 'content-type') || 'x-unknown'
  const isWire = response?.form === 'wire'
  const sent = response?.body.length ?? 0
  return {
    status: response?.status ?? 0,
    statusText: response?.statusText ?? '',
    httpVersion: response?.httpVersion ?? '',
    cookies: cookiesSet(headers),
    headers: headers.map(pair),
    content: {
      size: decoded.length,
      ...(isWire ? { compression: decoded.length - sent } : {}),
      ...harText(decoded, mimeType),
    },
    redirectURL: headerOf(headers, 'location'),
    headersSize: -1,
    bodySize: isWire ? sent : -1,
    ...(end === 'complete' ? {} : { _error: end }),
  }
}

function eventsOf(data: HttpExchange): Pick<HarEntry, '_eventSourceMessages'> {
  const type = headerOf(data.response?.headers ?? [], 'content-type')
  if (!/^text\/event-stream\b/i.test(type)) return {}
  return { _eventSourceMessages: eventSourceMessages(timedPieces(data)) }
}

/** What HAR has a field for; what is left of an exchange without it is for `_daglog`. */
const HEAD_MEMBERS = ['method', 'url', 'headers', 'status'] as const

function daglogMember(parts: {
  readonly data: HttpExchange
  readonly request: HarRequest
  readonly response: HarResponse
}): unknown {
  const { data, request, response } = parts
  const wire = wireBody(data, response)
  const rest = {
    ...data,
    request: restOf(data.request),
    ...(data.response === undefined ? {} : { response: restOf(data.response) }),
  }
  const { text, tags } = encodeValue(rest)
  const member = {
    version: HAR_MEMBER_VERSION,
    exchange: JSON.parse(text) as unknown,
    ...(tags.length === 0 ? {} : { enc: tags }),
    ...(wire === undefined ? {} : { wire }),
  }
  return { ...member, sha256: harDigest(request, response, member) }
}

/** Of all that an exchange is made of; not of times and views, which tools change at will. */
export function harDigest(request: unknown, response: unknown, member: unknown): string {
  return valueDigest([request, response, member])
}

function restOf(head: object): Record<string, unknown> {
  const { body: _, ...rest } = head as Record<string, unknown>
  for (const name of HEAD_MEMBERS) delete rest[name]
  return rest
}

/**
 * The body of the response as it was on the wire, where the text of the entry says it otherwise.
 */
function wireBody({ response }: HttpExchange, { content }: HarResponse): string | undefined {
  if (response === undefined) return undefined
  const stored = Buffer.from(response.body)
  const shown = Buffer.from(content.text, content.encoding === 'base64' ? 'base64' : 'utf8')
  return stored.equals(shown) ? undefined : stored.toString('base64')
}

function queryOf(url: string): HarPair[] {
  try {
    return [...new URL(url).searchParams].map(pair)
  } catch {
    return []
  }
}

function pair([name, value]: readonly [string, string]): HarPair {
  return { name, value }
}

function headerOf(headers: HeaderList, name: string): string {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? ''
}
