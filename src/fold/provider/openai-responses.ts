/**
 * What OpenAI's responses say, in neutral parts: replies, and the items of requests.
 * Items of tools that the provider runs itself (web search, code interpreter, ...) are parts
 * `other`.
 */
import type { Part } from '../../core/content.js'
import type { AssistantMessage, ToolResult } from '../../core/event-map.js'
import { callOf, contentOf, type HistoryEvent, mediaOf } from './neutral.js'
import { type Fields, fieldsOf, given, isFields, listOf, nameOf, textOf, wordOf } from './shape.js'
import { responsesUsage } from './usage.js'

/**
 * A whole response. `raw` is its list of output items. One that ended by a limit is whole;
 * one that failed, was cancelled or never ended is interrupted.
 */
export function responsesReply(reply: unknown): AssistantMessage {
  const response = fieldsOf(reply)
  const model = wordOf(response.model)
  const status = wordOf(response.status)
  const reason =
    wordOf(fieldsOf(response.incomplete_details).reason) ?? wordOf(fieldsOf(response.error).code)
  const whole = status === undefined || status === 'completed' || status === 'incomplete'
  return {
    content: contentOf(responsesParts(listOf(response.output), model)),
    ...given('id', wordOf(response.id)),
    ...given('model', model),
    provider: 'openai-responses',
    ...given('usage', responsesUsage(response.usage)),
    ...given('stopReason', reason ?? status),
    ...(whole ? {} : { interrupted: true }),
    raw: listOf(response.output),
  }
}

/** Items that carry the result of a call, and the name of the call's id in them. */
const RESULT_IDS: Readonly<Record<string, string>> = {
  function_call_output: 'call_id',
  custom_tool_call_output: 'call_id',
  local_shell_call_output: 'id',
  shell_call_output: 'call_id',
  apply_patch_call_output: 'call_id',
  computer_call_output: 'call_id',
}

/** Calls that the client answers, and the type of the answer. */
export const ANSWER_TYPES: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  local_shell_call: 'local_shell_call_output',
  shell_call: 'shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
  computer_call: 'computer_call_output',
}

/** Items that only a client puts into the input, beside messages and results. */
const CLIENT_TYPES = new Set([
  'item_reference',
  'mcp_approval_response',
  'compaction_trigger',
  'additional_tools',
])

/** Whether an item of the input is what a model put out. */
function isOutput({ type, role }: Fields): boolean {
  if (type === undefined || type === 'message') return role === 'assistant'
  return typeof type === 'string' && !(type in RESULT_IDS) && !CLIENT_TYPES.has(type)
}

/**
 * What the input of a request says. Items that a model put out, one after another, are one message
 * of it.
 */
export function responsesHistory(input: unknown): HistoryEvent[] {
  if (typeof input === 'string') {
    const raw = { role: 'user', content: input }
    return [{ type: 'user/message', data: { content: input, raw } }]
  }
  const events: HistoryEvent[] = []
  let output: unknown[] = []
  const flush = (): void => {
    if (output.length === 0) return
    const content = contentOf(responsesParts(output))
    const data = { content, provider: 'openai-responses', raw: output }
    events.push({ type: 'assistant/message', data })
    output = []
  }
  for (const value of listOf(input)) {
    const item = fieldsOf(value)
    if (isOutput(item)) {
      output.push(value)
      continue
    }
    flush()
    const result = responsesResult(item)
    if (result !== undefined) events.push({ type: 'tool/result', data: result })
    else events.push({ type: 'user/message', data: { content: userContent(item), raw: value } })
  }
  flush()
  return events
}

function userContent(item: Fields): AssistantMessage['content'] {
  if (item.content === undefined) return [{ type: 'other', value: item }]
  return contentOf(inputParts(item.content))
}

function responsesResult(item: Fields): ToolResult | undefined {
  const id = resultId(item)
  if (id === undefined) return undefined
  const { output } = item
  const plain = typeof output === 'string' || item.type === 'function_call_output'
  const parts: Part[] =
    plain || item.type === 'custom_tool_call_output'
      ? inputParts(output)
      : [{ type: 'other', value: output }]
  const failed = item.type === 'apply_patch_call_output' && item.status === 'failed'
  return {
    id,
    content: contentOf(parts),
    ...given('isError', failed ? true : undefined),
    raw: item,
  }
}

/** The id of the call that this item answers. */
export function resultId(item: Fields): string | undefined {
  const name = Object.hasOwn(RESULT_IDS, nameOf(item.type)) ? RESULT_IDS[nameOf(item.type)] : ''
  return name === undefined || name === '' ? undefined : textOf(item[name])
}

/**
 * The id by which a call is answered; undefined where the item is no call of the client's tools.
 */
export function callId(item: Fields): string | undefined {
  if (!Object.hasOwn(ANSWER_TYPES, nameOf(item.type))) return undefined
  return textOf(item.call_id) ?? textOf(item.id)
}

/** Neutral parts of output items. */
export function responsesParts(output: readonly unknown[], model?: string): Part[] {
  return output.flatMap((value) => itemParts(fieldsOf(value), value, model))
}

function itemParts(item: Fields, value: unknown, model: string | undefined): Part[] {
  if (item.type === 'message' || (item.type === undefined && item.role !== undefined)) {
    return inputParts(item.content)
  }
  if (item.type === 'reasoning') return [reasoning(item, model)]
  const id = callId(item)
  if (id === undefined) return [{ type: 'other', value }]
  if (item.type === 'function_call' && typeof item.name === 'string') {
    return [callOf(id, item.name, textOf(item.arguments) ?? '')]
  }
  if (item.type === 'custom_tool_call' && typeof item.name === 'string') {
    const input = textOf(item.input) ?? ''
    return [{ type: 'tool_use', id, name: item.name, input, arguments: input }]
  }
  const name = nameOf(item.type).slice(0, -'_call'.length)
  const input = item.action ?? item.actions ?? item.operation ?? null
  return [{ type: 'tool_use', id, name, input }]
}

function reasoning(item: Fields, model: string | undefined): Part {
  const texts = [...listOf(item.summary), ...listOf(item.content)].flatMap(
    (part) => textOf(fieldsOf(part).text) ?? [],
  )
  return {
    type: 'thinking',
    text: texts.join('\n\n'),
    ...given('encrypted', wordOf(item.encrypted_content)),
    ...given('model', model),
  }
}

/** Neutral parts of the content of a message item or of a result. */
function inputParts(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map((part) => partOf(fieldsOf(part)) ?? { type: 'other', value: part })
}

function partOf(part: Fields): Part | undefined {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return typeof part.text === 'string' ? { type: 'text', text: part.text } : undefined
    case 'refusal':
      return typeof part.refusal === 'string' ? { type: 'text', text: part.refusal } : undefined
    case 'input_image':
      return typeof part.image_url === 'string' ? mediaOf('image', part.image_url) : undefined
    case 'input_file': {
      const url = textOf(part.file_data) ?? textOf(part.file_url)
      if (url === undefined) return undefined
      return { ...mediaOf('file', url), ...given('name', wordOf(part.filename)) }
    }
    default:
      return undefined
  }
}

/** Whether a value can be a list of output items, sent back as it is. */
export function isOutputList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isFields(item))
}
