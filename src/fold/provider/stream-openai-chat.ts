/**
 * The stream of a chat completion, put together as the official SDK does it, with two differences:
 * what only the SDK's helpers add (`parsed`) is not there, and reasoning that servers stream under
 * names which the SDK does not know is joined instead of keeping its last piece.
 */
import type { AssistantMessage } from '../../core/event-map.js'
import { CHAT_REASONING, chatReply } from './openai-chat.js'
import { type Fields, fieldsOf, isFields, listOf, nameOf, textOf, wordOf } from './shape.js'
import type { StreamAssembly } from './stream-assembly.js'
import { StreamRemainder } from './stream-end.js'

interface OpenCall {
  fields: Fields
  id: string
  type: string
  function: { fields: Fields; name: string; arguments: string } | undefined
}

interface OpenChoice {
  fields: Fields
  message: Fields
  content: string | undefined
  refusal: string | undefined
  calls: OpenCall[]
  audio: Fields | undefined
  functionCall: { name: string; arguments: string } | undefined
  finishReason: unknown
  logprobs: Fields | undefined
}

export class ChatStream implements StreamAssembly {
  #completion: Fields = {}
  readonly #choices = new Map<number, OpenChoice>()
  readonly #remainder = new StreamRemainder()

  push(event: unknown): readonly unknown[] | undefined {
    if (!isFields(event)) return this.#remainder.keep(event)
    if (event.error !== undefined && event.error !== null) return this.#remainder.fail(event)
    const { choices, ...rest } = event
    if (!Array.isArray(choices)) return this.#remainder.keep(event)
    this.#completion = { ...this.#completion, ...stated(rest) }
    const pieces: unknown[] = []
    for (const choice of choices) pieces.push(...this.#choice(fieldsOf(choice)))
    return pieces.length === 0 ? undefined : pieces
  }

  #choice({ index, delta, finish_reason, logprobs, ...other }: Fields): unknown[] {
    const place = typeof index === 'number' ? index : 0
    const choice = this.#choices.get(place) ?? newChoice()
    this.#choices.set(place, choice)
    if (finish_reason) choice.finishReason = finish_reason
    if (isFields(logprobs)) choice.logprobs = joinedLogprobs(choice.logprobs, logprobs)
    choice.fields = { ...choice.fields, ...other }
    const pieces = isFields(delta) ? addDelta(choice, delta) : []
    // Only the first choice goes on; the others are kept.
    return place === 0 ? pieces : pieces.length === 0 ? [] : [{ index, delta }]
  }

  finish(): AssistantMessage {
    const { object, ...rest } = this.#completion
    const choices = [...this.#choices.entries()]
      .sort(([left], [right]) => left - right)
      .map(([index, choice]) => closed(index, choice))
    const message = chatReply({ ...rest, object: 'chat.completion', choices })
    const ended = Boolean(this.#choices.get(0)?.finishReason)
    return this.#remainder.close(message, ended)
  }
}

/** Usage comes as null until the last chunk. */
function stated(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

function newChoice(): OpenChoice {
  return {
    fields: {},
    message: {},
    content: undefined,
    refusal: undefined,
    calls: [],
    audio: undefined,
    functionCall: undefined,
    finishReason: null,
    logprobs: undefined,
  }
}

function addDelta(choice: OpenChoice, delta: Fields): unknown[] {
  const { content, refusal, role, tool_calls, function_call, audio, ...rest } = delta
  const pieces: unknown[] = []
  if (wordOf(content) !== undefined) {
    choice.content = (choice.content ?? '') + content
    pieces.push(content)
  }
  if (wordOf(refusal) !== undefined) {
    choice.refusal = (choice.refusal ?? '') + refusal
    pieces.push(refusal)
  }
  if (role) choice.message = { ...choice.message, role }
  const calls = listOf(tool_calls).map(fieldsOf)
  for (const call of calls) addCall(choice.calls, call)
  if (isFields(function_call)) addFunction(choice, function_call)
  if (isFields(audio)) choice.audio = joinedAudio(choice.audio, audio)
  for (const [name, value] of Object.entries(rest)) {
    choice.message = { ...choice.message, [name]: joinedField(choice.message[name], value, name) }
  }
  const says = calls.length > 0 || isFields(function_call) || isFields(audio)
  if (says || Object.values(rest).some((value) => value != null)) pieces.push(delta)
  return pieces
}

/** Reasoning is joined, text as text and a list as a list; of anything else the last one stays. */
function joinedField(before: unknown, value: unknown, name: string): unknown {
  if (!CHAT_REASONING.includes(name)) return value
  if (typeof before === 'string' && typeof value === 'string') return before + value
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value]
  return value ?? before
}

function addCall(calls: OpenCall[], { index, id, type, function: written, ...rest }: Fields): void {
  const place = placeOf(calls, index, id)
  const call = calls[place] ?? { fields: {}, id: '', type: '', function: undefined }
  calls[place] = call
  call.fields = { ...call.fields, ...rest }
  if (wordOf(id) !== undefined) call.id = nameOf(id)
  if (wordOf(type) !== undefined) call.type = nameOf(type)
  if (!isFields(written)) return
  const { name, arguments: piece, ...beside } = written
  const open = call.function ?? { fields: beside, name: '', arguments: '' }
  call.function = open
  if (wordOf(name) !== undefined) open.name = nameOf(name)
  open.arguments += textOf(piece) ?? ''
}

/** Some servers leave the index out: a new id begins a new call then. */
function placeOf(calls: readonly OpenCall[], index: unknown, id: unknown): number {
  if (typeof index === 'number' && index >= 0 && index <= calls.length) return index
  const known = calls.findIndex((call) => call.id === id)
  if (known >= 0) return known
  const isNew = wordOf(id) !== undefined || calls.length === 0
  return isNew ? calls.length : calls.length - 1
}

function addFunction(choice: OpenChoice, { name, arguments: piece }: Fields): void {
  const before = choice.functionCall ?? { name: '', arguments: '' }
  choice.functionCall = {
    name: wordOf(name) ?? before.name,
    arguments: before.arguments + (textOf(piece) ?? ''),
  }
}

function joinedAudio(before: Fields | undefined, audio: Fields): Fields {
  const joined: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(stated(audio))) {
    const grows = name === 'data' || name === 'transcript'
    joined[name] = grows ? `${textOf(joined[name]) ?? ''}${value}` : value
  }
  return joined
}

function joinedLogprobs(before: Fields | undefined, logprobs: Fields): Fields {
  if (before === undefined) return { ...logprobs }
  const lists = ['content', 'refusal'].filter((name) => Array.isArray(logprobs[name]))
  const joined = lists.map((name) => [name, [...listOf(before[name]), ...listOf(logprobs[name])]])
  return { ...before, ...Object.fromEntries(joined) }
}

function closed(index: number, choice: OpenChoice): Fields {
  const { fields, content, refusal, audio, functionCall, calls } = choice
  const message: Fields = {
    ...choice.message,
    role: wordOf(choice.message.role) ?? 'assistant',
    content: content ?? null,
    refusal: refusal ?? null,
    ...(audio === undefined ? {} : { audio }),
    ...(functionCall === undefined ? {} : { function_call: functionCall }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(closedCall) }),
  }
  const { finishReason: finish_reason, logprobs = null } = choice
  return { ...fields, index, message, finish_reason, logprobs }
}

/** A call that came without an id gets one by its place: pairs are known by their turn. */
function closedCall({ fields, id, type, function: written }: OpenCall, index: number): Fields {
  const call = { ...fields, id: id === '' ? `call_${index}` : id, type: type || 'function' }
  if (written === undefined) return call
  const { name, arguments: whole } = written
  return { ...call, function: { ...written.fields, name, arguments: whole } }
}
