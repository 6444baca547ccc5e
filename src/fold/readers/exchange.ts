/**
 * What recorded exchanges with models mean: messages, results of tools, headers of requests, usage.
 * A request carries its whole history; only its news become events. A history that a client made
 * shorter becomes a `compaction`. A conversation beside the first one (a title, a sub-agent) is
 * derived too, for its usage and for people, and then shadowed: `messages` shows one conversation.
 * Derives nothing once the run logs a session of its own.
 * @see docs/provider-view.md#exchanges
 */
import { valueDigest } from '../../core/canonical.js'
import type { RunEvent } from '../../core/event.js'
import type { AssistantMessage, CompactionMessage, RequestHeader } from '../../core/event-map.js'
import { ITEMS_TYPE, REPLACE_TYPE } from '../openai-agents-history.js'
import { type HistoryEvent, partsOf, toolCallsOf } from '../provider/neutral.js'
import { splitEvents } from '../provider/provider-view.js'
import type { Derived, Reader } from '../reader.js'
import { ENTRY_TYPE } from './claude-agent-sdk.js'
import { continuedFrom, type ModelRequest, modelReplyOf, modelRequestOf } from './exchange-api.js'
import { type Continuation, continuationOf, messageKey } from './exchange-history.js'
import { type ExchangeView, exchangeOf } from './exchange-view.js'

/** One conversation: what its model sees. */
interface Conversation {
  readonly provider: string
  /** What each message says, and the address of the event that it is. */
  readonly keys: readonly string[]
  readonly at: readonly string[]
  readonly tools: boolean
  readonly requests: number
  /** The model's last words: a client that compacts puts them into what comes next. */
  readonly said?: string
  /** Of the last reply: requests may go on from it by its name. */
  readonly response?: string
}

interface State {
  /** The run logs its own session. */
  readonly native: boolean
  readonly conversations: readonly Conversation[]
  /** Which of them `messages` shows. */
  readonly main: number
  readonly turn: number
  readonly open: boolean
  /** Digest of the last header. */
  readonly header: string
}

/** Events by which a run tells its session itself, or an import does. */
const NATIVE: readonly string[] = [
  'turn/start',
  'user/message',
  'assistant/message',
  'request/header',
  'import/source',
  'import/lines',
  ITEMS_TYPE,
  REPLACE_TYPE,
  ENTRY_TYPE,
]

export const exchanges: Reader<State> = {
  key: 'exchanges',
  version: 1,
  types: ['http/exchange', ...NATIVE],
  init: () => ({ native: false, conversations: [], main: 0, turn: 0, open: false, header: '' }),
  read(state, event) {
    if (state.native || event.redacted === true) return { state, events: [] }
    if (event.type !== 'http/exchange') return { state: { ...state, native: true }, events: [] }
    const view = exchangeOf(event.data)
    const request = view === undefined ? undefined : modelRequestOf(view)
    if (view === undefined || request === undefined) return { state, events: [] }
    return new Reading(state, event).read(request, view)
  },
}

/** One exchange on its way into events. */
class Reading {
  readonly #events: Derived[] = []
  #state: State

  constructor(
    state: State,
    private readonly event: RunEvent,
  ) {
    this.#state = state
  }

  read(request: ModelRequest, view: ExchangeView): ReturnType<Reader<State>['read']> {
    const { model, provider, body } = request
    const { header, history } = splitEvents(provider, body, model === undefined ? {} : { model })
    const { conversation, index, news } = this.#place(request, header, history)
    let now = conversation
    const isMain = index === this.#state.main
    if (isMain) this.#header(header)
    const from = this.#events.length
    for (const one of news) now = this.#add(now, one, isMain)
    now = this.#reply(now, modelReplyOf(provider, view), isMain)
    if (!isMain) this.#shadow(from)
    const conversations = this.#state.conversations.with(index, now)
    return { state: { ...this.#state, conversations }, events: this.#events }
  }

  /**
   * The conversation that the request goes on from, brought to where it stands, and what is new.
   */
  #place(
    request: ModelRequest,
    header: RequestHeader,
    history: readonly HistoryEvent[],
  ): { conversation: Conversation; index: number; news: readonly HistoryEvent[] } {
    const tools = (header.tools ?? []).length > 0
    const seen = (one: Conversation): Conversation => ({
      ...one,
      tools: one.tools || tools,
      requests: one.requests + 1,
    })
    const id = continuedFrom(request)
    const named = this.#state.conversations.findIndex(({ response }) => response === id)
    if (id !== undefined && named >= 0) {
      const conversation = seen(this.#state.conversations[named] as Conversation)
      return { conversation, index: named, news: history }
    }
    const keys = history.map(messageKey)
    const found = this.#continued(header.provider, keys, history)
    if (found === undefined) return { ...this.#begun(header.provider, tools), news: history }
    const { index, how } = found
    const before = seen(this.#state.conversations[index] as Conversation)
    const replacing = history.slice(how.kept, how.kept + how.replacing)
    const conversation = this.#compacted(before, how, replacing, index)
    return { conversation, index, news: history.slice(conversation.keys.length) }
  }

  #continued(
    provider: string,
    keys: readonly string[],
    history: readonly HistoryEvent[],
  ): { index: number; how: Continuation } | undefined {
    const texts = history.flatMap(({ data }) =>
      partsOf(data.content).flatMap((part) => (part.type === 'text' ? [part.text] : [])),
    )
    const quotes = (summary: string): boolean => texts.some((text) => text.includes(summary))
    let best: { index: number; how: Continuation } | undefined
    for (const [index, one] of this.#state.conversations.entries()) {
      if (one.provider !== provider) continue
      const how = continuationOf(one.keys, keys, quotes, one.said)
      if (how === undefined) continue
      // Whole before shortened; then the one that shares most; then the latest.
      const better =
        best === undefined ||
        rank(how) > rank(best.how) ||
        (rank(how) === rank(best.how) && how.kept >= best.how.kept)
      if (better) best = { index, how }
    }
    return best
  }

  #begun(provider: string, tools: boolean): { conversation: Conversation; index: number } {
    const { conversations, main } = this.#state
    const conversation = { provider, keys: [], at: [], tools, requests: 1 }
    const index = conversations.length
    this.#state = { ...this.#state, conversations: [...conversations, conversation] }
    const first = conversations[main]
    if (first === undefined) return { conversation, index }
    // Agents ask for a title or for their quota before they begin: one request, without tools.
    if (tools && !first.tools && first.requests === 1) {
      if (first.at.length > 0) this.#derive('compaction', { replaces: first.at, message: [] })
      this.#state = { ...this.#state, main: index }
      return { conversation, index }
    }
    this.#derive('note', { conversation: index, text: 'another conversation of this run' })
    return { conversation, index }
  }

  /** Without what is no longer in the history, and with what stands for it. */
  #compacted(
    before: Conversation,
    { kept, dropped, replacing }: Continuation,
    messages: readonly HistoryEvent[],
    index: number,
  ): Conversation {
    if (dropped === 0 && replacing === 0) return before
    const replaces = before.at.slice(kept, kept + dropped)
    const line = this.#events.length
    if (index === this.#state.main) {
      this.#derive('compaction', { replaces, message: messages.map(standing) })
    }
    const address = `${this.event.seq}.${line}`
    return {
      ...before,
      keys: before.keys.toSpliced(kept, dropped, ...messages.map(messageKey)),
      at: before.at.toSpliced(kept, dropped, ...messages.map(() => address)),
    }
  }

  #header(header: RequestHeader): void {
    // What names the history is not what the model is asked with.
    const { previous_response_id, conversation, ...params } = header.params ?? {}
    const { params: _, ...rest } = header
    const said = Object.keys(params).length === 0 ? rest : { ...rest, params }
    const digest = valueDigest(said)
    if (digest === this.#state.header) return
    this.#state = { ...this.#state, header: digest }
    this.#derive('request/header', said)
  }

  #add(before: Conversation, one: HistoryEvent, isMain: boolean): Conversation {
    if (isMain && one.type !== 'tool/result') this.#openTurn()
    const address = `${this.event.seq}.${this.#events.length}`
    this.#derive(one.type, one.data)
    if (isMain && one.type === 'assistant/message') this.#closeTurn(one.data)
    return { ...before, keys: [...before.keys, messageKey(one)], at: [...before.at, address] }
  }

  #reply(
    before: Conversation,
    reply: ReturnType<typeof modelReplyOf>,
    isMain: boolean,
  ): Conversation {
    if (reply === undefined) return before
    if ('unreadable' in reply) {
      this.#derive('note', { text: `exchange without a message: ${reply.unreadable}` })
      return before
    }
    const { message } = reply
    const after = this.#add(before, { type: 'assistant/message', data: message }, isMain)
    const said = partsOf(message.content)
      .flatMap((part) => (part.type === 'text' ? [part.text] : []))
      .join('')
      .trim()
    const { said: _, response: __, ...rest } = after
    return {
      ...rest,
      ...(said === '' ? {} : { said }),
      ...(message.id === undefined ? {} : { response: message.id }),
    }
  }

  #openTurn(): void {
    if (this.#state.open) return
    const turn = this.#state.turn + 1
    this.#state = { ...this.#state, turn, open: true }
    this.#derive('turn/start', { turn })
  }

  /** A reply that asks for nothing ends the turn; one that was cut is asked for again. */
  #closeTurn(message: AssistantMessage): void {
    if (toolCallsOf(message).length > 0 || message.interrupted === true) return
    const full = /^(?:length|max_tokens|max_output_tokens|MAX_TOKENS)$/
    const reason = full.test(message.stopReason ?? '') ? 'max-tokens' : 'completed'
    this.#derive('turn/end', { turn: this.#state.turn, reason })
    this.#state = { ...this.#state, open: false }
  }

  /** Takes what was derived from `from` on out of the model's view again. */
  #shadow(from: number): void {
    const replaces = this.#events.flatMap(({ type, line }) => {
      const shown = type === 'tool/result' || type.endsWith('/message')
      return line >= from && shown ? [`${this.event.seq}.${line}`] : []
    })
    if (replaces.length > 0) this.#derive('compaction', { replaces, message: [] })
  }

  #derive(type: string, data: unknown): void {
    this.#events.push({ line: this.#events.length, type, data })
  }
}

function rank({ dropped, replacing }: Continuation): number {
  return dropped === 0 && replacing === 0 ? 1 : 0
}

function standing({ type, data }: HistoryEvent): CompactionMessage {
  const raw = data.raw === undefined ? {} : { raw: data.raw }
  if (type !== 'tool/result') {
    const role = type === 'assistant/message' ? 'assistant' : 'user'
    return { role, content: data.content, ...raw }
  }
  const { id, content, isError } = data
  const error = isError === undefined ? {} : { isError }
  return { role: 'user', content: [{ type: 'tool_result', id, content, ...error }], ...raw }
}
