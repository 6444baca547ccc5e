/**
 * An exchange for a comparison of runs: what makes it this request, by digests alone, and what of
 * both of its sides counts. Ids of connections, times, and headers that change nothing never count;
 * nor do ids that models mint, where an answer is a model's.
 */
import { isUtf8 } from 'node:buffer'
import { valueDigest } from '../core/canonical.js'
import type { RunEvent } from '../core/event.js'
import { sha256 } from '../core/hash.js'
import { splitEvents } from '../fold/provider/provider-view.js'
import { fieldsOf, given, isFields, nameOf, without, wordOf } from '../fold/provider/shape.js'
import { modelReplyOf, modelRequestOf } from '../fold/readers/exchange-api.js'
import { messageKey } from '../fold/readers/exchange-history.js'
import { type ExchangeView, exchangeOf } from '../fold/readers/exchange-view.js'

export interface ExchangePrint {
  /** `POST https://api.example.com/v1/messages`: of requests that may stand for each other. */
  readonly label: string
  /** Equal where the requests are: by key, where it was recorded with one. */
  readonly request: string
  readonly response: string
}

export const EXCHANGE_TYPE = 'http/exchange'

/** Of what may lie out of line while the rest is read. */
export const EXCHANGE_BODY = /^\/(?:request|response)\/body$/

/** Bodies may lie out of line, and nothing else. Undefined where the event holds none. */
export function exchangePrint({ type, data, refs = [] }: RunEvent): ExchangePrint | undefined {
  if (type !== EXCHANGE_TYPE || !isFields(data) || !isFields(data.request)) return undefined
  const { request, key, end } = data
  const response = fieldsOf(data.response)
  const body = (side: string, inline: unknown): unknown =>
    refs.find(({ pointer }) => pointer === `/${side}/body`)?.sha256 ??
    (inline instanceof Uint8Array ? sha256(inline) : inline)
  const { method, url } = request
  return {
    label: `${nameOf(method).toUpperCase()} ${withoutQuery(nameOf(url))}`,
    request: wordOf(key) ?? valueDigest([method, url, body('request', request.body)]),
    response: valueDigest([response.status, end, body('response', response.body)]),
  }
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

/** What counts of a request. Two that have other keys and this alike differ in their headers. */
export function comparedRequest(data: unknown): unknown {
  const view = exchangeOf(data)
  if (view === undefined) return data
  return { method: view.method, url: view.url, body: bodyValue(view.requestBody) }
}

/** How far two requests to a model tell the same history. */
export interface HistoryParting {
  /** Messages that both begin with. */
  readonly same: number
  /** What comes next, by its type; left out where nothing does. */
  readonly left?: string
  readonly right?: string
}

/** Undefined where not both are requests to a model, or where their histories are the same. */
export function historyParting(left: unknown, right: unknown): HistoryParting | undefined {
  const [a, b] = [historyOf(left), historyOf(right)]
  if (a === undefined || b === undefined) return undefined
  let same = 0
  while (same < a.length && same < b.length && a[same]?.key === b[same]?.key) same += 1
  const [nextLeft, nextRight] = [a[same]?.type, b[same]?.type]
  if (nextLeft === undefined && nextRight === undefined) return undefined
  return { same, ...given('left', nextLeft), ...given('right', nextRight) }
}

function historyOf(data: unknown): { readonly type: string; readonly key: string }[] | undefined {
  const view = exchangeOf(data)
  const request = view === undefined ? undefined : modelRequestOf(view)
  if (request === undefined) return undefined
  const { provider, body, model } = request
  const { history } = splitEvents(provider, body, given('model', model))
  return history.map((one) => ({ type: one.type, key: messageKey(one) }))
}

/** The headers of a request, where nothing else differs. */
export function comparedHeaders(data: unknown): unknown {
  return { headers: fieldsOf(fieldsOf(data).request).headers }
}

/** What counts of an answer: of a model's what it said, of any other its body. */
export function comparedResponse(data: unknown): unknown {
  const view = exchangeOf(data)
  if (view === undefined) return data
  const { end } = fieldsOf(data)
  return { status: view.status, end, ...answerOf(view) }
}

function answerOf(view: ExchangeView): { readonly message?: unknown; readonly body?: unknown } {
  const request = modelRequestOf(view)
  const reply = request === undefined ? undefined : modelReplyOf(request.provider, view)
  if (reply === undefined || !('message' in reply)) return { body: bodyValue(view.responseBody) }
  const { content, stopReason, interrupted } = reply.message
  const said = typeof content === 'string' ? content : content.map(withoutIds)
  return { message: { content: said, stopReason, interrupted } }
}

/** A call of a tool or a signature of thinking: names that are new each time. */
function withoutIds(part: unknown): unknown {
  return without(fieldsOf(part), ['id', 'signature', 'raw'])
}

/** JSON as its value, so that a difference has a pointer; other text as it is. */
function bodyValue(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) return bytes
  const text = Buffer.from(bytes).toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
