/**
 * What OpenAI's chat completions say, in neutral parts: replies, and the messages of requests.
 * Many servers speak this dialect; what they add (`reasoning_content`, `reasoning`) is read too.
 */
import type { Part } from '../../core/content.js'
import type { AssistantMessage } from '../../core/event-map.js'
import { callOf, contentOf, type HistoryEvent, mediaOf } from './neutral.js'
import { type Fields, fieldsOf, given, isFields, listOf, nameOf, textOf, wordOf } from './shape.js'
import { chatUsage } from './usage.js'

/** Where servers of this dialect put what the model thought. */
export const CHAT_REASONING: readonly string[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
]

/**
 * A whole completion. `raw` is the message of its first choice; further choices are a part `other`.
 */
export function chatReply(reply: unknown): AssistantMessage {
  const completion = fieldsOf(reply)
  const [choice, ...others] = listOf(completion.choices)
  const { message, finish_reason } = fieldsOf(choice)
  const model = wordOf(completion.model)
  const parts = chatAssistantParts(fieldsOf(message), model)
  if (others.length > 0) parts.push({ type: 'other', value: { choices: others } })
  return {
    content: contentOf(parts),
    ...given('id', wordOf(completion.id)),
    ...given('model', model),
    provider: 'openai',
    ...given('usage', chatUsage(completion.usage)),
    ...given('stopReason', wordOf(finish_reason)),
    raw: message,
  }
}

/** What the messages of a request's body say. System messages among them are the user's side. */
export function chatHistory(messages: readonly unknown[]): HistoryEvent[] {
  return messages.map((raw): HistoryEvent => {
    const message = fieldsOf(raw)
    if (message.role === 'assistant') {
      const content = contentOf(chatAssistantParts(message))
      return { type: 'assistant/message', data: { content, provider: 'openai', raw } }
    }
    const content = contentOf(chatParts(message.content))
    // The deprecated form names the function instead of the call.
    const id = message.role === 'function' ? message.name : message.tool_call_id
    if ((message.role === 'tool' || message.role === 'function') && typeof id === 'string') {
      return { type: 'tool/result', data: { id, content, raw } }
    }
    return { type: 'user/message', data: { content, raw } }
  })
}

/** Neutral parts of an assistant's message. */
export function chatAssistantParts(message: Fields, model?: string): Part[] {
  const parts: Part[] = []
  const thought = textOf(message.reasoning_content) ?? textOf(message.reasoning) ?? ''
  if (thought !== '') parts.push({ type: 'thinking', text: thought, ...given('model', model) })
  parts.push(...chatParts(message.content))
  const refusal = wordOf(message.refusal)
  if (refusal !== undefined) parts.push({ type: 'text', text: refusal })
  if (isFields(message.audio)) parts.push({ type: 'other', value: { audio: message.audio } })
  for (const call of listOf(message.tool_calls)) parts.push(chatCall(call))
  if (isFields(message.function_call)) {
    const { name, arguments: written } = message.function_call
    parts.push(callOf(nameOf(name), nameOf(name), textOf(written) ?? ''))
  }
  return parts
}

function chatCall(value: unknown): Part {
  const call = fieldsOf(value)
  const id = textOf(call.id) ?? ''
  if (isFields(call.function) && typeof call.function.name === 'string') {
    return callOf(id, call.function.name, textOf(call.function.arguments) ?? '')
  }
  if (isFields(call.custom) && typeof call.custom.name === 'string') {
    const input = textOf(call.custom.input) ?? ''
    return { type: 'tool_use', id, name: call.custom.name, input, arguments: input }
  }
  return { type: 'other', value }
}

/** Neutral parts of a string or of content parts. */
export function chatParts(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map((part) => partOf(fieldsOf(part)) ?? { type: 'other', value: part })
}

function partOf(part: Fields): Part | undefined {
  switch (part.type) {
    case 'text':
      return typeof part.text === 'string' ? { type: 'text', text: part.text } : undefined
    case 'refusal':
      return typeof part.refusal === 'string' ? { type: 'text', text: part.refusal } : undefined
    case 'image_url': {
      const url = textOf(fieldsOf(part.image_url).url)
      return url === undefined ? undefined : mediaOf('image', url)
    }
    case 'input_audio': {
      const { data, format } = fieldsOf(part.input_audio)
      if (typeof data !== 'string') return undefined
      const media = mediaOf('file', `data:audio/${format};base64,${data}`)
      return media.data === undefined ? undefined : media
    }
    case 'file': {
      const { file_data, filename } = fieldsOf(part.file)
      if (typeof file_data !== 'string') return undefined
      return { ...mediaOf('file', file_data), ...given('name', wordOf(filename)) }
    }
    default:
      return undefined
  }
}
