/**
 * Messages of a run as a provider takes them, the whole body of a request, and a body taken apart
 * again.
 * The log is never touched: what has to be otherwise is otherwise in the view, and said in `lint`.
 * @see docs/provider-view.md
 */
import { DaglogError } from '../../core/errors.js'
import type { RequestHeader } from '../../core/event-map.js'
import { GENESIS } from '../../core/hash.js'
import { deriveMessage, type Message } from '../message.js'
import { anthropicHistory } from './anthropic.js'
import { geminiHistory } from './gemini.js'
import type { HistoryEvent } from './neutral.js'
import { chatHistory } from './openai-chat.js'
import { responsesHistory } from './openai-responses.js'
import { paired } from './pairing.js'
import { type Fields, fieldsOf, given, isFields, listOf, without, wordOf } from './shape.js'
import { type Dialect, Lint, type ViewChange } from './view.js'
import { anthropicDialect } from './view-anthropic.js'
import { chatDialect } from './view-openai-chat.js'
import { responsesDialect } from './view-openai-responses.js'

/** Providers that a view can be made for. */
export type ViewProvider = 'openai' | 'openai-responses' | 'anthropic'

/** Providers whose requests, replies and streams can be read. */
export type ReadProvider = ViewProvider | 'gemini'

export interface ViewOptions {
  readonly provider: ViewProvider | (string & {})
  /**
   * The model that will be asked: what another one signed is left out. Unless given, nothing is.
   */
  readonly model?: string
}

export interface ProviderView {
  /** The body's `messages`, or `input` for `openai-responses`. */
  readonly messages: unknown[]
  readonly lint: readonly ViewChange[]
}

const DIALECTS: Readonly<Record<ViewProvider, Dialect>> = {
  openai: chatDialect,
  'openai-responses': responsesDialect,
  anthropic: anthropicDialect,
}

function dialectOf(provider: string): Dialect {
  if (Object.hasOwn(DIALECTS, provider)) return DIALECTS[provider as ViewProvider]
  throw new DaglogError(
    'PROVIDER_UNKNOWN',
    `no view for the provider ${JSON.stringify(provider)}; try: ${Object.keys(DIALECTS).join(', ')}`,
    { provider },
  )
}

/**
 * The messages in the form of a provider, such that it accepts them: every call has one result
 * behind it, all text is well-formed, nothing is signed by another model. A message that came from
 * this provider, or was made for it, goes back exactly as it was.
 * @throws PROVIDER_UNKNOWN
 */
export function providerView(
  messages: readonly Message[],
  { provider, model }: ViewOptions,
): ProviderView {
  const dialect = dialectOf(provider)
  const lint = new Lint()
  const context = { lint, ...given('model', model) }
  const entries = messages.map((message) => dialect.entryOf(message, context))
  const view = dialect.assemble(paired(entries, dialect, lint), context)
  return { messages: view, lint: lint.changes }
}

export interface RequestBody {
  readonly body: Record<string, unknown>
  readonly lint: readonly ViewChange[]
}

/**
 * The whole body of the next request.
 * @throws PROVIDER_UNKNOWN
 */
export function requestBody(header: RequestHeader, messages: readonly Message[]): RequestBody {
  const { provider, model, system, tools, params } = header
  const view = providerView(messages, { provider, ...(model === '' ? {} : { model }) })
  const rest = { ...params, ...given('tools', tools), ...(model === '' ? {} : { model }) }
  const { lint } = view
  switch (provider) {
    case 'anthropic':
      return { body: { ...rest, ...given('system', system), messages: view.messages }, lint }
    case 'openai-responses':
      return { body: { ...rest, ...given('instructions', system), input: view.messages }, lint }
    default:
      return { body: { ...rest, messages: [...systemMessages(system), ...view.messages] }, lint }
  }
}

/**
 * Chat completions have the system's words as the first messages: a text, a message, or several.
 */
function systemMessages(system: unknown): unknown[] {
  if (system === undefined || system === null) return []
  if (Array.isArray(system) && system.every((item) => isSystemMessage(item))) return system
  return isSystemMessage(system) ? [system] : [{ role: 'system', content: system }]
}

function isSystemMessage(value: unknown): value is Fields {
  return isFields(value) && (value.role === 'system' || value.role === 'developer')
}

export interface SplitBody {
  readonly header: RequestHeader
  /** Numbered from 0 in the order of the body. */
  readonly messages: Message[]
}

/**
 * A request's body, taken apart: the history, and all that is not history.
 * `requestBody(header, messages)` gives the body again. `model` is for APIs that have it in the
 * URL.
 */
export function splitBody(
  provider: ReadProvider,
  body: unknown,
  options: { readonly model?: string } = {},
): SplitBody {
  const { header, history } = splitEvents(provider, body, options)
  const messages = history.flatMap(({ type, data }, seq) => {
    const message = deriveMessage({ seq, time: 0, type, data, hash: GENESIS })
    return message === undefined ? [] : [message]
  })
  return { header, messages }
}

/** The same, with the history as events. */
export function splitEvents(
  provider: ReadProvider,
  body: unknown,
  { model }: { readonly model?: string } = {},
): { readonly header: RequestHeader; readonly history: readonly HistoryEvent[] } {
  const fields = fieldsOf(body)
  const { system, history, used } = historyPlace(provider, fields)
  const tools = Array.isArray(fields.tools) ? fields.tools : undefined
  const named = wordOf(fields.model)
  const params = without(fields, [
    ...used,
    ...(named === undefined ? [] : ['model']),
    ...(tools === undefined ? [] : ['tools']),
  ])
  const header: RequestHeader = {
    model: named ?? model ?? '',
    provider,
    ...given('system', system),
    ...given('tools', tools),
    ...(Object.keys(params).length === 0 ? {} : { params }),
  }
  return { header, history: historyOf(provider, history) }
}

/** Where a body has its history and its system prompt. */
function historyPlace(
  provider: ReadProvider,
  body: Fields,
): { system: unknown; history: unknown; used: readonly string[] } {
  switch (provider) {
    case 'anthropic':
      return { system: body.system, history: body.messages, used: ['messages', 'system'] }
    case 'openai-responses':
      return { system: body.instructions, history: body.input, used: ['input', 'instructions'] }
    case 'gemini': {
      const name = 'system_instruction' in body ? 'system_instruction' : 'systemInstruction'
      return { system: body[name], history: body.contents, used: ['contents', name] }
    }
    case 'openai': {
      const messages = listOf(body.messages)
      const first = messages.findIndex((message) => !isSystemMessage(message))
      const count = first < 0 ? messages.length : first
      const system = systemOf(messages.slice(0, count))
      return { system, history: messages.slice(count), used: ['messages'] }
    }
  }
}

/** One plain system message is its text; anything else stays a list of messages. */
function systemOf(messages: readonly unknown[]): unknown {
  if (messages.length === 0) return undefined
  const only = fieldsOf(messages[0])
  const plain =
    messages.length === 1 &&
    only.role === 'system' &&
    typeof only.content === 'string' &&
    Object.keys(only).length === 2
  return plain ? only.content : messages
}

/** The history of a request's body as events: its `messages`, `input` or `contents`. */
export function historyOf(provider: ReadProvider, history: unknown): HistoryEvent[] {
  switch (provider) {
    case 'anthropic':
      return anthropicHistory(listOf(history))
    case 'openai':
      return chatHistory(listOf(history))
    case 'openai-responses':
      return responsesHistory(history)
    case 'gemini':
      return geminiHistory(history)
  }
}
