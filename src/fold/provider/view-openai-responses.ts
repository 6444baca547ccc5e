/**
 * The form of OpenAI's responses: a list of items. Reasoning stands before what it led to, and
 * items that came with reasoning name it through their ids: where it is left out, the ids go too.
 */
import type { MediaPart, Part, ToolResultPart } from '../../core/content.js'
import type { Message } from '../message.js'
import { partsOf, urlOf } from './neutral.js'
import { ANSWER_TYPES, callId, isOutputList, resultId } from './openai-responses.js'
import { plainJson } from './plain-json.js'
import { type Fields, fieldsOf, given, isFields, listOf, nameOf, without } from './shape.js'
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

const PROVIDER = 'openai-responses'

export const responsesDialect: Dialect = {
  entryOf(message, context) {
    if (message.role === 'assistant') return assistantEntry(message, context)
    const at = message
    const own = ownOf(message)
    if (own !== undefined) {
      const value = plainJson(own, at, context.lint)
      const id = resultId(value)
      const kind = id === undefined ? 'content' : 'result'
      return { at, role: 'user', blocks: [{ kind, value, at, ...given('id', id) }] }
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

  missingResult(call) {
    const value = missingItem(call)
    if (value === undefined) return undefined
    return { kind: 'result', value, at: call.at, ...given('id', call.id) }
  },

  assemble(entries, context) {
    return entries.flatMap(({ blocks }) => {
      const linked = withoutDangling(blocks, context)
      return linked.map(({ value }) => value)
    })
  },
}

/** The answer to a call that nobody answered, in the form that belongs to the call. */
function missingItem({ id, value }: Block): Fields | undefined {
  const type = ANSWER_TYPES[nameOf(value.type)]
  switch (type) {
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { type, call_id: id, output: NO_RESULT }
    case 'local_shell_call_output':
      return { type, id, output: NO_RESULT }
    case 'apply_patch_call_output':
      return { type, call_id: id, status: 'failed', output: NO_RESULT }
    case 'shell_call_output': {
      const outcome = { type: 'exit', exit_code: 1 }
      return { type, call_id: id, output: [{ stdout: '', stderr: NO_RESULT, outcome }] }
    }
    default:
      // The answer to a computer call is a picture of the screen, which nobody can make up.
      return undefined
  }
}

/** Reasoning that nothing follows, as after a cut, is refused. */
function withoutDangling(blocks: readonly Block[], { lint }: ViewContext): readonly Block[] {
  let end = blocks.length
  while (end > 0 && blocks[end - 1]?.kind === 'thinking') {
    end -= 1
    const { at, value } = blocks[end] as Block
    lint.add(at, 'thinking-dangling', `reasoning ${nameOf(value.id)}`.trimEnd())
  }
  return end === blocks.length ? blocks : blocks.slice(0, end)
}

const FOREIGN_TYPES = /^(?:text|image_url|image|document|file|tool_\w+|thinking)$/

/**
 * A message of the user or a result in the provider's own form, where that is what was recorded.
 */
function ownOf({ raw, role, content }: Message): Fields | undefined {
  if (!isFields(raw)) return undefined
  if (role === 'tool') {
    const [part] = partsOf(content)
    return resultId(raw) === (part as ToolResultPart).id ? raw : undefined
  }
  if (raw.role === undefined) return isClientItem(raw) ? raw : undefined
  if (!['user', 'system', 'developer'].includes(nameOf(raw.role))) return undefined
  if (raw.type !== undefined && raw.type !== 'message') return undefined
  if (typeof raw.content === 'string') return raw.content === '' ? undefined : raw
  const parts = listOf(raw.content)
  const fits = parts.every((part) => {
    const { type } = fieldsOf(part)
    return typeof type === 'string' && !FOREIGN_TYPES.test(type)
  })
  return parts.length > 0 && fits ? raw : undefined
}

/** An item that is no message, put into the input by a client. */
function isClientItem({ type }: Fields): boolean {
  return (
    type === 'item_reference' ||
    type === 'mcp_approval_response' ||
    type === 'compaction_trigger' ||
    type === 'additional_tools'
  )
}

function assistantEntry(message: Message, context: ViewContext): Entry {
  const at = message
  const { provider, interrupted, raw } = message
  const own =
    isOutputList(raw) && interrupted !== true && (provider ?? PROVIDER) === PROVIDER
      ? raw
      : undefined
  const items = own === undefined ? neutralItems(message, context) : own
  const plain = plainJson(items, at, context.lint)
  const blocks = withoutForeign(
    plain.filter(says).map((value) => blockOf(value, message)),
    message,
    context,
  )
  if (blocks.every(({ kind }) => kind === 'thinking')) {
    if (blocks.length === 0) context.lint.add(at, 'message-empty', 'message of the assistant')
  }
  return { at, role: 'assistant', blocks }
}

/** Whether an item says anything: an empty message does not. */
function says({ type, role, content }: Fields): boolean {
  if (type !== undefined && type !== 'message') return true
  if (role !== 'assistant') return true
  if (typeof content === 'string') return content !== ''
  return listOf(content).length > 0
}

function blockOf(value: Fields, at: Message): Block {
  if (value.type === 'reasoning') return { kind: 'thinking', value, at }
  const id = callId(value)
  return id === undefined ? { kind: 'content', value, at } : { kind: 'call', value, at, id }
}

/** Without another model's reasoning, and without the ids that would name it. */
function withoutForeign(blocks: readonly Block[], message: Message, context: ViewContext): Block[] {
  const thinking = blocks.filter(({ kind }) => kind === 'thinking')
  if (thinking.length === 0 || !isForeign({}, PROVIDER, message, context)) return [...blocks]
  context.lint.add(message, 'thinking-foreign', `reasoning of ${signer(message)}`)
  return blocks.flatMap((block) => {
    if (block.kind === 'thinking') return []
    const { id, type } = block.value
    // A local shell call is answered by this very id.
    if (id === undefined || type === 'local_shell_call') return [block]
    context.lint.add(message, 'item-id', `id of a ${nameOf(type) || 'message'}`)
    return [{ ...block, value: unnamed(block.value) }]
  })
}

/** An output message cannot be without its id; an input message of the assistant can. */
function unnamed(value: Fields): Fields {
  if (value.type !== 'message') return without(value, ['id'])
  const text = listOf(value.content)
    .map((part) => fieldsOf(part).text ?? fieldsOf(part).refusal ?? '')
    .join('')
  return { role: 'assistant', content: text }
}

function neutralItems(message: Message, context: ViewContext): Fields[] {
  return wholeParts(message, context).flatMap((part): Fields[] => {
    switch (part.type) {
      case 'text':
        return part.text === '' ? [] : [{ role: 'assistant', content: part.text }]
      case 'tool_use': {
        const { id, name } = part
        const call_id = id
        return [
          { type: 'function_call', call_id, name, arguments: argumentsOf(part, message, context) },
        ]
      }
      case 'thinking':
        context.lint.add(message, 'thinking-foreign', `thinking of ${signer(message)}`)
        return []
      default:
        context.lint.add(message, 'part-dropped', partName(part))
        return []
    }
  })
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
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const carried = part.type === 'image' || part.type === 'file' ? mediaPart(part) : undefined
  if (carried !== undefined) return carried
  lint.add(message, 'part-dropped', partName(part))
  return { type: 'input_text', text: placeholder(part) }
}

function mediaPart(part: MediaPart): Fields | undefined {
  const url = urlOf(part)
  if (url === undefined) return undefined
  if (part.type === 'image') return { type: 'input_image', image_url: url, detail: 'auto' }
  const name = given('filename', part.name)
  const place = part.data === undefined ? { file_url: url } : { file_data: url }
  return { type: 'input_file', ...name, ...place }
}

function resultBlock(part: ToolResultPart, message: Message, context: ViewContext): Block {
  const { id, isError, content } = part
  if (isError === true) context.lint.add(message, 'error-flag', `result of ${id}`)
  const parts = partsOf(content).map((inner) => contentPart(inner, message, context))
  const output = typeof content === 'string' ? content : parts
  const item = { type: 'function_call_output', call_id: id, output }
  return { kind: 'result', value: plainJson(item, message, context.lint), at: message, id }
}
