/**
 * The form of Anthropic's messages: roles alternate, the results of a message's calls stand
 * together at the start of the next one, ids of calls are unique in a request and of few
 * characters, text is not empty.
 */
import type { MediaPart, Part, ToolResultPart, ToolUsePart } from '../../core/content.js'
import type { Message } from '../message.js'
import { base64Of, partsOf } from './neutral.js'
import { plainJson } from './plain-json.js'
import { type Fields, fieldsOf, given, isFields, listOf, nameOf } from './shape.js'
import {
  type Address,
  type Block,
  type Dialect,
  type Entry,
  NO_RESULT,
  type ViewContext,
} from './view.js'
import { isForeign, noteRole, partName, placeholder, signer, wholeParts } from './view-parts.js'

const PROVIDER = 'anthropic'

export const anthropicDialect: Dialect = {
  entryOf(message, context) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const whole = wholeOf(message)
    const at = message
    if (whole === undefined) {
      noteRole(message, context)
      const blocks = wholeParts(message, context).flatMap((part) =>
        neutralBlocks(part, message, context),
      )
      const plain = plainJson(blocks, at, context.lint)
      return { at, role, blocks: sendable(plain, message, context) }
    }
    const plain = plainJson(whole, at, context.lint)
    const { content } = plain
    const given = typeof content === 'string' ? [textBlock(content)] : listOf(content)
    const blocks = sendable(given as Fields[], message, context)
    // A reply carries more than a request may: its id, its usage, why it stopped.
    const { type, ...sent } = plain
    const request = type === 'message' ? { role: sent.role, content } : plain
    const same = blocks.length === given.length && role === plain.role
    return { at, role, blocks, ...(same && message.role !== 'tool' ? { whole: request } : {}) }
  },

  missingResult({ id, at }) {
    const value = { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }
    return { kind: 'result', value, at, ...given('id', id) }
  },

  assemble(entries, context) {
    const messages: Entry[] = []
    for (const entry of uniqueIds(entries, context)) {
      if (entry.blocks.length === 0) continue
      const last = messages.at(-1)
      if (last?.role !== entry.role) {
        messages.push(entry)
        continue
      }
      const results = last.blocks.every(({ kind }) => kind === 'result')
      if (!results) context.lint.add(entry.at, 'merged', `two messages of the ${entry.role}`)
      const { at, role } = last
      messages[messages.length - 1] = { at, role, blocks: [...last.blocks, ...entry.blocks] }
    }
    return messages.map(
      ({ whole, role, blocks }) => whole ?? { role, content: blocks.map(({ value }) => value) },
    )
  },
}

/** The message in the provider's form, where that is what was recorded. */
function wholeOf({ raw, role, provider, interrupted, content }: Message): Fields | undefined {
  if (!isFields(raw) || interrupted === true) return undefined
  if (role === 'tool') {
    const [part] = partsOf(content)
    const fits = raw.type === 'tool_result' && raw.tool_use_id === (part as ToolResultPart).id
    return fits ? { role: 'user', content: [raw] } : undefined
  }
  if (role === 'assistant' && (provider ?? PROVIDER) !== PROVIDER) return undefined
  if (raw.role !== role) return undefined
  const fits = typeof raw.content === 'string' || (isBlocks(raw.content) && hasOwnBlocks(raw))
  return fits ? raw : undefined
}

function isBlocks(content: unknown): content is readonly Fields[] {
  return (
    Array.isArray(content) && content.every((block) => typeof fieldsOf(block).type === 'string')
  )
}

/** Blocks that other providers' messages are made of. */
const FOREIGN_TYPES = /^(?:image_url|input_|output_|refusal$|file$)/

function hasOwnBlocks({ content, tool_calls }: Fields): boolean {
  if (tool_calls !== undefined) return false
  return !listOf(content).some((block) => FOREIGN_TYPES.test(nameOf(fieldsOf(block).type)))
}

function textBlock(text: string): Fields {
  return { type: 'text', text }
}

/** The blocks that may be sent, each with what it is. */
function sendable(blocks: readonly Fields[], message: Message, context: ViewContext): Block[] {
  const kept = blocks.filter((block) => maySend(block, message, context))
  if (kept.length === 0) {
    context.lint.add(message, 'message-empty', `message of the ${message.role}`)
  }
  return kept.map((value) => blockOf(value, message))
}

function maySend(block: Fields, message: Message, context: ViewContext): boolean {
  switch (block.type) {
    case 'text': {
      if (nameOf(block.text).trim() !== '') return true
      context.lint.add(message, 'part-empty', 'text without a character')
      return false
    }
    case 'thinking':
    case 'redacted_thinking': {
      if (isForeign({}, PROVIDER, message, context)) {
        foreign(message, context)
        return false
      }
      const proof = block.type === 'thinking' ? block.signature : block.data
      if (typeof proof === 'string' && proof !== '') return true
      context.lint.add(message, 'thinking-unsigned', `thinking of ${signer(message)}`)
      return false
    }
    default:
      return true
  }
}

function foreign(message: Message, { lint }: ViewContext): [] {
  lint.add(message, 'thinking-foreign', `thinking of ${signer(message)}`)
  return []
}

function blockOf(value: Fields, at: Address): Block {
  if (value.type === 'tool_use') return { kind: 'call', value, at, id: nameOf(value.id) }
  if (value.type === 'tool_result')
    return { kind: 'result', value, at, id: nameOf(value.tool_use_id) }
  const thinking = value.type === 'thinking' || value.type === 'redacted_thinking'
  return { kind: thinking ? 'thinking' : 'content', value, at }
}

function neutralBlocks(part: Part, message: Message, context: ViewContext): Fields[] {
  switch (part.type) {
    case 'text':
      return [textBlock(part.text)]
    case 'thinking':
      if (part.model !== undefined && part.model !== message.model) {
        if (isForeign(part, PROVIDER, message, context)) return foreign(message, context)
      }
      if (part.encrypted !== undefined && part.text === '') {
        return [{ type: 'redacted_thinking', data: part.encrypted }]
      }
      return [{ type: 'thinking', thinking: part.text, signature: part.signature ?? '' }]
    case 'tool_use':
      return [callBlock(part, message, context)]
    case 'tool_result':
      return [resultBlock(part, message, context)]
    case 'image':
    case 'file': {
      const block = mediaBlock(part)
      return block === undefined ? dropped(part, message, context) : [block]
    }
    case 'other':
      return dropped(part, message, context)
  }
}

function dropped(part: Part, message: Message, { lint }: ViewContext): Fields[] {
  lint.add(message, 'part-dropped', partName(part))
  return message.role === 'assistant' ? [] : [textBlock(placeholder(part))]
}

function callBlock(part: ToolUsePart, message: Message, { lint }: ViewContext): Fields {
  const { id, input } = part
  const name = part.name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 200)
  if (name !== part.name) lint.add(message, 'name-changed', `tool ${part.name} to ${name}`)
  if (isFields(input)) return { type: 'tool_use', id, name, input }
  if (input === '' || input === null || input === undefined) {
    return { type: 'tool_use', id, name, input: {} }
  }
  lint.add(message, 'input-wrapped', `arguments of ${id}`)
  return { type: 'tool_use', id, name, input: { input } }
}

function resultBlock(part: ToolResultPart, message: Message, context: ViewContext): Fields {
  const { id, isError } = part
  const blocks = partsOf(part.content)
    .flatMap((inner) => neutralBlocks(inner, message, context))
    .filter((block) => block.type !== 'text' || nameOf(block.text).trim() !== '')
  const content = typeof part.content === 'string' ? part.content : blocks
  return {
    type: 'tool_result',
    tool_use_id: id,
    content,
    ...given('is_error', isError === true ? true : undefined),
  }
}

const IMAGES = /^image\/(?:jpeg|png|gif|webp)$/

function mediaBlock({ type, mediaType, data, url, name }: MediaPart): Fields | undefined {
  if (type === 'image') {
    if (data === undefined) return url === undefined ? undefined : image({ type: 'url', url })
    if (!IMAGES.test(mediaType)) return undefined
    return image({ type: 'base64', media_type: mediaType, data: base64Of(data) })
  }
  const title = given('title', name)
  if (data === undefined) {
    if (url === undefined) return undefined
    return { type: 'document', source: { type: 'url', url }, ...title }
  }
  if (mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: mediaType, data: base64Of(data) }
    return { type: 'document', source, ...title }
  }
  if (mediaType !== 'text/plain') return undefined
  const text = new TextDecoder().decode(data)
  return { type: 'document', source: { type: 'text', media_type: mediaType, data: text }, ...title }
}

function image(source: Fields): Fields {
  return { type: 'image', source }
}

const ID = /^[a-zA-Z0-9_-]+$/

/**
 * Gives calls that share an id, or have one that is refused, a new one, and their results with
 * them.
 */
function uniqueIds(entries: readonly Entry[], { lint }: ViewContext): Entry[] {
  const used = new Set<string>()
  /** New ids of the calls of the last message that asked, by their old one, in order. */
  let asked = new Map<string, string[]>()
  return entries.map((entry) => {
    if (entry.blocks.some(({ kind }) => kind === 'call')) asked = new Map()
    let changed = false
    const blocks = entry.blocks.map((block): Block => {
      if (block.kind !== 'call' && block.kind !== 'result') return block
      const old = block.id ?? ''
      const id = block.kind === 'call' ? freshId(old, used) : (asked.get(old)?.shift() ?? old)
      if (block.kind === 'call') {
        asked.set(old, [...(asked.get(old) ?? []), id])
        if (id !== old) lint.add(block.at, 'id-changed', `call ${JSON.stringify(old)} to ${id}`)
      }
      if (id === old) return block
      changed = true
      const name = block.kind === 'call' ? 'id' : 'tool_use_id'
      return { ...block, id, value: { ...block.value, [name]: id } }
    })
    return changed ? { at: entry.at, role: entry.role, blocks } : entry
  })
}

function freshId(old: string, used: Set<string>): string {
  const base = ID.test(old) ? old : old.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'call'
  let id = base
  for (let count = 2; used.has(id); count++) id = `${base}-${count}`
  used.add(id)
  return id
}
