/**
 * Which API of a model an exchange talks to, what was asked and what came back.
 * Told by the form of path and body, never by the host: many servers speak these dialects.
 */
import { Buffer } from 'node:buffer'
import type { AssistantMessage } from '../../core/event-map.js'
import type { ReadProvider } from '../provider/provider-view.js'
import { assistantOf } from '../provider/reply.js'
import { type Fields, fieldsOf, isFields } from '../provider/shape.js'
import { sseEvents, streamEvents } from '../provider/sse.js'
import { assembleStream } from '../provider/stream.js'
import type { ExchangeView } from './exchange-view.js'

export interface ModelRequest {
  readonly provider: ReadProvider
  readonly body: Fields
  /** Where the path names it. */
  readonly model?: string
}

interface Api {
  readonly provider: ReadProvider
  readonly path: RegExp
  readonly fits: (body: Fields) => boolean
}

const APIS: readonly Api[] = [
  {
    provider: 'openai',
    path: /\/chat\/completions$/,
    fits: ({ messages }) => Array.isArray(messages),
  },
  {
    provider: 'openai-responses',
    path: /\/responses$/,
    fits: ({ input, prompt }) =>
      typeof input === 'string' || Array.isArray(input) || prompt !== undefined,
  },
  {
    provider: 'anthropic',
    path: /\/messages$/,
    fits: ({ messages, max_tokens }) => Array.isArray(messages) && max_tokens !== undefined,
  },
  {
    // Clouds that serve Anthropic's models have the model in the path.
    provider: 'anthropic',
    path: /\/(?:models?)\/(?<model>[^/:]+(?::\d+)?)(?:\/invoke|:(?:rawPredict|streamRawPredict))$/,
    fits: ({ messages, anthropic_version }) =>
      Array.isArray(messages) && anthropic_version !== undefined,
  },
  {
    provider: 'gemini',
    path: /\/(?<model>[^/:]+):(?:generateContent|streamGenerateContent)$/,
    fits: ({ contents }) => Array.isArray(contents),
  },
]

/** What a model was asked; undefined where the exchange is no call of a model. */
export function modelRequestOf({
  method,
  url,
  requestBody,
}: ExchangeView): ModelRequest | undefined {
  if (method !== 'POST') return undefined
  const path = pathOf(url)
  const candidates = APIS.filter((api) => api.path.test(path))
  if (candidates.length === 0) return undefined
  const body = jsonOf(requestBody)
  if (!isFields(body)) return undefined
  const api = candidates.find(({ fits }) => fits(body))
  if (api === undefined) return undefined
  const model = api.path.exec(path)?.groups?.model
  return { provider: api.provider, body, ...(model === undefined ? {} : { model }) }
}

function pathOf(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname).replace(/\/+$/, '')
  } catch {
    return ''
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}

/** What came back, or why it is no message: what cannot be read is said, not guessed. */
export type ModelReply =
  | { readonly message: AssistantMessage }
  | { readonly unreadable: string }
  | undefined

/** The reply of an exchange; undefined where the server refused, or where nothing came. */
export function modelReplyOf(provider: ReadProvider, view: ExchangeView): ModelReply {
  const { status, responseBody: body, complete } = view
  if (status < 200 || status > 299 || body.length === 0) return undefined
  if (isStream(view)) {
    const stream = assembleStream(provider)
    for (const event of streamEvents(sseEvents(body))) stream.push(event)
    return { message: stream.finish() }
  }
  const reply = jsonOf(body)
  if (Array.isArray(reply)) {
    // Gemini without `alt=sse` streams one list.
    const stream = assembleStream(provider)
    for (const event of reply) stream.push(event)
    return { message: stream.finish() }
  }
  if (!isFields(reply)) {
    const why = complete ? 'is no JSON object' : 'was cut off'
    return { unreadable: `the body of the reply, ${body.length} bytes, ${why}` }
  }
  if (isFields(reply.error) && reply.id === undefined) {
    return { unreadable: `the reply is an error: ${errorName(reply.error)}` }
  }
  // A response that is worked on in the background has said nothing yet.
  if (reply.status === 'queued' || reply.status === 'in_progress') return undefined
  return { message: assistantOf(provider, reply) }
}

function errorName(error: Fields): string {
  const { type, code } = error
  return typeof type === 'string' ? type : typeof code === 'string' ? code : 'unnamed'
}

function isStream({ responseHeaders, responseBody }: ExchangeView): boolean {
  const type = responseHeaders.find(([name]) => name === 'content-type')?.[1] ?? ''
  if (type.includes('text/event-stream')) return true
  if (type.includes('json')) return false
  const start = Buffer.from(responseBody.subarray(0, 16)).toString('latin1')
  return /^(?:\xEF\xBB\xBF)?(?:data|event|id|:)/.test(start)
}

/** The id of the response that a request goes on from, where the server keeps the history. */
export function continuedFrom({ body }: ModelRequest): string | undefined {
  const { previous_response_id: id } = fieldsOf(body)
  return typeof id === 'string' && id !== '' ? id : undefined
}
