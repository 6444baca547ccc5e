/**
 * The form of OpenAI's chat completions: a message for each result, behind the message that asked;
 * results hold text only.
 */
import type { MediaPart, Part, ToolResultPart } from '../../core/content.js'
import type { Message } from '../message.js'
import { base64Of, partsOf, urlOf } from './neutral.js'
import { CHAT_REASONING } from './openai-chat.js'
import { plainJson } from './plain-json.js'
import { type Fields, fieldsOf, given, isFields, listOf, nameOf, textOf, without } from './shape.js'
import { type Block, type Dialect, type Entry, NO_RESULT, type ViewContext } from './view.js'
import {
  argumentsOf,
  isForeign,
  noteRole,
  partName,
  placeholder,
  signer,
  wholeParts,
} from './view-parts.js'

const PROVIDER = 'openai'

export const chatDialect: Dialect = {
  entryOf(message, context) {
    if (message.role === 'assistant') return assistantEntry(message, context)
    const own = ownOf(message)
    const at = message
    if (own !== undefined) {
      const value = plainJson(own, at, context.lint)
      const id = given('id', message.role === 'tool' ? textOf(resultId(value)) : undefined)
      const kind = message.role === 'tool' ? 'result' : 'content'
      return { at, role: 'user', blocks: [{ kind, value, at, ...id }] }
    }
    noteRole(message, context)
    const blocks: Block[] = []
    const said: Part[] = []
    for (const part of partsOf(message.content)) {
      if (part.type === 'tool_result') blocks.push(resultBlock(part, message, context))
      else if (part.type !== 'text' || part.text !== '') said.push(part)
    }
    if (said.length > 0) blocks.push(userBlock(said, message, context))
    if (blocks.length === 0) context.lint.add(at, 'message-empty', 'message of the user')
    return { at, role: 'user', blocks }
  },

  missingResult({ id, at, value }) {
    // The deprecated form asks for one function by its name.
    const message =
      value.type === 'function_call'
        ? { role: 'function', name: id, content: NO_RESULT }
        : { role: 'tool', tool_call_id: id, content: NO_RESULT }
    return { kind: 'result', value: message, at, ...given('id', id) }
  },

  assemble(entries) {
    return entries.flatMap(({ whole, role, blocks }) => {
      if (whole !== undefined) return [whole]
      if (role === 'assistant') return []
      const spilled = blocks.flatMap(({ spill = [] }) => spill)
      const messages: Fields[] = blocks.map(({ value }) => value)
      if (spilled.length > 0) messages.push({ role: 'user', content: spilled })
      return messages
    })
  },
}

function resultId(value: Fields): unknown {
  return value.role === 'function' ? value.name : value.tool_call_id
}

const FOREIGN_TYPES = /^(?:tool_|input_(?!audio$)|output_|document$|image$|thinking$)/

/**
 * A message of the user or of a tool in the provider's own form, where that is what was recorded.
 */
function ownOf({ raw, role, content }: Message): Fields | undefined {
  if (!isFields(raw)) return undefined
  if (role === 'tool') {
    const [part] = partsOf(content)
    const fits = raw.role === 'tool' || raw.role === 'function'
    return fits && resultId(raw) === (part as ToolResultPart).id ? raw : undefined
  }
  if (!['user', 'system', 'developer'].includes(nameOf(raw.role))) return undefined
  // The responses' form of a message says its type.
  if (raw.type !== undefined) return undefined
  if (typeof raw.content === 'string') return raw.content === '' ? undefined : raw
  const parts = listOf(raw.content)
  const fits = parts.every((part) => {
    const { type } = fieldsOf(part)
    return typeof type === 'string' && !FOREIGN_TYPES.test(type)
  })
  return parts.length > 0 && fits ? raw : undefined
}

function assistantEntry(message: Message, context: ViewContext): Entry {
  const at = message
  const own = ownAssistant(message)
  const draft = own === undefined ? neutralAssistant(message, context) : own
  const value = plainJson(withoutForeign(draft, message, context), at, context.lint)
  const blocks = blocksOf(value, message)
  if (blocks.length === 0) {
    context.lint.add(at, 'message-empty', 'message of the assistant')
    return { at, role: 'assistant', blocks }
  }
  return { at, role: 'assistant', blocks, whole: value }
}

/** A message of the assistant in the provider's own form, where that is what was recorded. */
function ownAssistant({ raw, provider, interrupted }: Message): Fields | undefined {
  if (!isFields(raw) || interrupted === true || (provider ?? PROVIDER) !== PROVIDER)
    return undefined
  if (raw.role !== 'assistant' || raw.type !== undefined) return undefined
  const parts = listOf(raw.content)
  const fits = parts.every((part) => ['text', 'refusal'].includes(nameOf(fieldsOf(part).type)))
  return fits ? raw : undefined
}

/** What the model thought goes back to that model only. */
function withoutForeign(value: Fields, message: Message, context: ViewContext): Fields {
  const names = CHAT_REASONING.filter((name) => value[name] !== undefined && value[name] !== null)
  if (names.length === 0 || !isForeign({}, PROVIDER, message, context)) return value
  context.lint.add(message, 'thinking-foreign', `${names.join(', ')} of ${signer(message)}`)
  return without(value, names)
}

/** What there is in a message: its calls, and whether it says anything. */
function blocksOf(value: Fields, at: Message): Block[] {
  const blocks: Block[] = []
  const says = (value.content ?? '') !== '' || (value.refusal ?? '') !== '' || isFields(value.audio)
  if (says && !(Array.isArray(value.content) && value.content.length === 0)) {
    blocks.push({ kind: 'content', value, at })
  }
  for (const call of listOf(value.tool_calls)) {
    const fields = fieldsOf(call)
    blocks.push({ kind: 'call', value: fields, at, id: textOf(fields.id) ?? '' })
  }
  if (isFields(value.function_call)) {
    const id = textOf(value.function_call.name) ?? ''
    blocks.push({ kind: 'call', value: { type: 'function_call' }, at, id })
  }
  return blocks
}

function neutralAssistant(message: Message, context: ViewContext): Fields {
  const texts: Fields[] = []
  const calls: Fields[] = []
  for (const part of wholeParts(message, context)) {
    if (part.type === 'text') {
      if (part.text !== '') texts.push({ type: 'text', text: part.text })
    } else if (part.type === 'tool_use') {
      const { id, name } = part
      calls.push({
        id,
        type: 'function',
        function: { name, arguments: argumentsOf(part, message, context) },
      })
    } else if (part.type === 'thinking') {
      context.lint.add(message, 'thinking-foreign', `thinking of ${signer(message)}`)
    } else context.lint.add(message, 'part-dropped', partName(part))
  }
  const content = texts.length > 1 ? texts : (texts[0]?.text ?? null)
  return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
}

function userBlock(parts: readonly Part[], message: Message, context: ViewContext): Block {
  const [only] = parts
  const content =
    parts.length === 1 && only?.type === 'text'
      ? only.text
      : parts.map((part) => contentPart(part, message, context))
  return {
    kind: 'content',
    value: plainJson({ role: 'user', content }, message, context.lint),
    at: message,
  }
}

function contentPart(part: Part, message: Message, { lint }: ViewContext): Fields {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const carried = part.type === 'image' || part.type === 'file' ? mediaPart(part) : undefined
  if (carried !== undefined) return carried
  lint.add(message, 'part-dropped', partName(part))
  return { type: 'text', text: placeholder(part) }
}

const AUDIO = /^audio\/(?:wav|mp3)$/

function mediaPart(part: MediaPart): Fields | undefined {
  const url = urlOf(part)
  if (url === undefined) return undefined
  if (part.type === 'image') return { type: 'image_url', image_url: { url } }
  if (part.data === undefined) return undefined
  if (AUDIO.test(part.mediaType)) {
    const format = part.mediaType.slice('audio/'.length)
    return { type: 'input_audio', input_audio: { data: base64Of(part.data), format } }
  }
  return { type: 'file', file: { ...given('filename', part.name), file_data: url } }
}

function resultBlock(part: ToolResultPart, message: Message, context: ViewContext): Block {
  const { id, isError } = part
  const { lint } = context
  if (isError === true) lint.add(message, 'error-flag', `result of ${id}`)
  const texts: Fields[] = []
  const spill: Fields[] = []
  for (const inner of partsOf(part.content)) {
    const carried = contentPart(inner, message, context)
    if (carried.type === 'text') texts.push(carried)
    else {
      lint.add(message, 'part-moved', `${partName(inner)} of the result of ${id}`)
      spill.push(carried)
    }
  }
  if (texts.length === 0 && spill.length > 0) {
    texts.push({ type: 'text', text: '[see the next message of the user]' })
  }
  const content = texts.length > 1 ? texts : (texts[0]?.text ?? '')
  const value = plainJson({ role: 'tool', tool_call_id: id, content }, message, lint)
  return { kind: 'result', value, at: message, id, ...(spill.length === 0 ? {} : { spill }) }
}
