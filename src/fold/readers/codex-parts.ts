/**
 * Items of the Responses API, as Codex keeps them, in the neutral form of messages.
 * Knows one item at a time: which message it is, and of what parts. Unknown items are a part of
 * type `other`; every message carries its item as it was.
 */
import type { Content, Part } from '../../core/content.js'
import { isMembers, type Members, text } from './json-members.js'

/** What an item is to the model. */
export type ItemMessage =
  | { readonly role: 'user'; readonly content: Content }
  | { readonly role: 'assistant'; readonly content: readonly Part[] }
  | {
      readonly role: 'tool'
      readonly id: string
      readonly content: Content
      readonly isError: boolean
    }

export function itemMessage(item: Members, model: string | undefined): ItemMessage {
  const type = text(item.type)
  switch (type) {
    case 'message':
      return messageItem(item)
    case 'agent_message':
      return { role: 'user', content: partsOf(item.content) }
    case 'reasoning':
      return { role: 'assistant', content: [thinkingPart(item, model)] }
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
    case 'tool_search_call':
      return { role: 'assistant', content: [callPart(item)] }
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'tool_search_output':
      return resultItem(item)
    default:
      // Searches, images and compactions run at the provider: nobody answers them.
      return { role: 'assistant', content: [{ type: 'other', value: item }] }
  }
}

function messageItem(item: Members): ItemMessage {
  const content = partsOf(item.content)
  if (item.role === 'assistant')
    return {
      role: 'assistant',
      content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    }
  // Instructions of developers and systems come in the place of a user's words; `raw` says which.
  return { role: 'user', content }
}

/** The content of a message or of a result: a string stays one, known parts become neutral. */
function partsOf(content: unknown): string | readonly Part[] {
  if (typeof content === 'string') return content
  if (!Array.isArray(content))
    return content === undefined || content === null ? [] : [otherPart(content)]
  return content.map(partOf)
}

function partOf(part: unknown): Part {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isMembers(part)) return otherPart(part)
  if (/^(?:input_text|output_text|text)$/.test(String(part.type)) && typeof part.text === 'string')
    return { type: 'text', text: part.text }
  const url = imageUrl(part)
  return url === undefined ? otherPart(part) : imagePart(url)
}

const BASE64 = ';base64,'

/** An image by its URL; one that holds the image itself gives its bytes. */
export function imagePart(url: string): Part {
  const comma = url.startsWith('data:') ? url.slice(0, 200).indexOf(BASE64) : -1
  if (comma < 0) return { type: 'image', mediaType: 'image/*', url }
  const mediaType = url.slice('data:'.length, comma)
  const base64 = url.slice(comma + BASE64.length)
  const data = Buffer.from(base64, 'base64')
  // What is no base64 would be other bytes without a word.
  return data.toString('base64') === base64
    ? { type: 'image', mediaType, data }
    : { type: 'image', mediaType, url }
}

function imageUrl(part: Members): string | undefined {
  if (part.type !== 'input_image' && part.type !== 'image_url') return undefined
  return text(part.image_url) ?? (isMembers(part.image_url) ? text(part.image_url.url) : undefined)
}

function otherPart(value: unknown): Part {
  return { type: 'other', value }
}

function thinkingPart(item: Members, model: string | undefined): Part {
  const encrypted = text(item.encrypted_content)
  return {
    type: 'thinking',
    text: reasoningTexts(item).join('\n\n'),
    ...(encrypted === undefined ? {} : { encrypted }),
    ...(model === undefined ? {} : { model }),
  }
}

/** The texts of a reasoning item: its summary, or all that it thought where that was kept. */
export function reasoningTexts(item: Members): string[] {
  const parts = [item.summary, item.content].filter(Array.isArray).flat() as unknown[]
  return parts.flatMap((part) => (isMembers(part) ? (text(part.text) ?? []) : []))
}

/** The texts of a message's content. */
export function contentTexts(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((part) =>
    typeof part === 'string' ? part : isMembers(part) ? (text(part.text) ?? []) : [],
  )
}

/** The id that a call and its result share. */
export function callId(item: Members): string {
  return text(item.call_id) ?? text(item.id) ?? ''
}

function callPart(item: Members): Part & { readonly type: 'tool_use' } {
  const id = callId(item)
  const words = text(item.arguments) ?? text(item.input)
  const given = words ?? item.arguments ?? item.action ?? item.input
  const name = text(item.name) ?? String(item.type).replace(/_call$/, '')
  const input = item.type === 'custom_tool_call' ? given : parsed(given)
  return {
    type: 'tool_use',
    id,
    name,
    input: input ?? null,
    ...(words === undefined ? {} : { arguments: words }),
  }
}

/** The value of JSON text; what is none stays text. */
function parsed(given: unknown): unknown {
  if (typeof given !== 'string') return given
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

function resultItem(item: Members): ItemMessage {
  const { output } = item
  const id = callId(item)
  if (!isMembers(output)) {
    const content = partsOf(output ?? item.tools ?? '')
    return { role: 'tool', id, content, isError: typeof output === 'string' && failedText(output) }
  }
  const told = output.content ?? output.output
  const content = told === undefined ? [otherPart(output)] : partsOf(told)
  return { role: 'tool', id, content, isError: output.success === false || failed(output) }
}

/** An output that is JSON text with an exit code, as versions up to 2025 kept it. */
function failedText(output: string): boolean {
  if (!output.startsWith('{"output"')) return false
  const value = parsed(output)
  return isMembers(value) && failed(value)
}

function failed(output: Members): boolean {
  const code = isMembers(output.metadata) ? output.metadata.exit_code : undefined
  return typeof code === 'number' && code !== 0
}
