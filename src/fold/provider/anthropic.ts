/**
 * What Anthropic's messages say, in neutral parts: replies, and the messages of requests.
 * Blocks of tools that the provider runs itself (`server_tool_use` and their results) are parts
 * `other`.
 */
import { Buffer } from 'node:buffer'
import type { Part } from '../../core/content.js'
import type { AssistantMessage, ToolResult } from '../../core/event-map.js'
import { bytesOf, contentOf, type HistoryEvent } from './neutral.js'
import { type Fields, fieldsOf, given, isFields, listOf, nameOf, textOf, wordOf } from './shape.js'
import { anthropicUsage } from './usage.js'

/** A whole reply. `raw` is the reply itself. `parts`: where more is known than it says. */
export function anthropicReply(reply: unknown, parts?: readonly Part[]): AssistantMessage {
  const message = fieldsOf(reply)
  const model = wordOf(message.model)
  return {
    content: contentOf(parts ?? anthropicParts(message.content, model)),
    ...given('id', wordOf(message.id)),
    ...given('model', model),
    provider: 'anthropic',
    ...given('usage', anthropicUsage(message.usage)),
    ...given('stopReason', wordOf(message.stop_reason)),
    raw: reply,
  }
}

/** What the messages of a request's body say. */
export function anthropicHistory(messages: readonly unknown[]): HistoryEvent[] {
  return messages.flatMap((message) => anthropicMessage(message))
}

function anthropicMessage(message: unknown): HistoryEvent[] {
  const { role, content } = fieldsOf(message)
  if (role === 'assistant') {
    const parts = contentOf(anthropicParts(content))
    return [
      {
        type: 'assistant/message',
        data: { content: parts, provider: 'anthropic', raw: message },
      },
    ]
  }
  const blocks = listOf(content)
  const results = blocks.filter(isResult)
  const events: HistoryEvent[] = results.map((block) => ({
    type: 'tool/result',
    data: anthropicResult(block),
  }))
  if (results.length > 0 && results.length === blocks.length) return events
  const others = blocks.filter((block) => !isResult(block))
  const raw = results.length === 0 ? message : { ...fieldsOf(message), content: others }
  const parts = anthropicParts(typeof content === 'string' ? content : others)
  return [...events, { type: 'user/message', data: { content: contentOf(parts), raw } }]
}

function isResult(block: unknown): block is Fields {
  return isFields(block) && block.type === 'tool_result' && typeof block.tool_use_id === 'string'
}

function anthropicResult(block: Fields): ToolResult {
  return {
    id: nameOf(block.tool_use_id),
    content: contentOf(anthropicParts(block.content)),
    ...given('isError', block.is_error === true ? true : undefined),
    raw: block,
  }
}

/** Neutral parts of a string or of blocks. `model` is who signed the thinking. */
export function anthropicParts(content: unknown, model?: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map((block) => partOf(fieldsOf(block), model) ?? other(block))
}

function other(value: unknown): Part {
  return { type: 'other', value }
}

function partOf(block: Fields, model: string | undefined): Part | undefined {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? { type: 'text', text: block.text } : undefined
    case 'thinking':
      return {
        type: 'thinking',
        text: textOf(block.thinking) ?? '',
        ...given('signature', wordOf(block.signature)),
        ...given('model', model),
      }
    case 'redacted_thinking':
      return {
        type: 'thinking',
        text: '',
        ...given('encrypted', wordOf(block.data)),
        ...given('model', model),
      }
    case 'tool_use': {
      const { id, name, input } = block
      if (typeof id !== 'string' || typeof name !== 'string') return undefined
      return { type: 'tool_use', id, name, input }
    }
    case 'tool_result': {
      if (!isResult(block)) return undefined
      const { id, content, isError } = anthropicResult(block)
      return { type: 'tool_result', id, content, ...given('isError', isError) }
    }
    case 'image':
      return mediaOf('image', block)
    case 'document':
      return mediaOf('file', block)
    default:
      return undefined
  }
}

function mediaOf(type: 'image' | 'file', block: Fields): Part | undefined {
  const source = fieldsOf(block.source)
  const name = given('name', wordOf(block.title))
  const mediaType = wordOf(source.media_type) ?? (type === 'image' ? 'image/*' : 'application/pdf')
  if (source.type === 'url' && typeof source.url === 'string') {
    return { type, mediaType, url: source.url, ...name }
  }
  if (typeof source.data !== 'string') return undefined
  if (source.type === 'base64') {
    const data = bytesOf(source.data)
    return data === undefined ? undefined : { type, mediaType, data, ...name }
  }
  if (source.type === 'text' && source.data.isWellFormed()) {
    return { type, mediaType, data: new Uint8Array(Buffer.from(source.data)), ...name }
  }
  return undefined
}
