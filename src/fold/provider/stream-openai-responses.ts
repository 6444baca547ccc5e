/**
 * The stream of a response, put together as the official SDK does it. The last event has the
 * response whole; what comes before is for a stream that was cut, and for servers that leave the
 * output out of it.
 */
import type { AssistantMessage } from '../../core/event-map.js'
import { responsesReply } from './openai-responses.js'
import { type Fields, fieldsOf, isFields, listOf, nameOf, placeOf, textOf } from './shape.js'
import type { StreamAssembly } from './stream-assembly.js'
import { StreamRemainder } from './stream-end.js'

type Item = Record<string, unknown>

/** Where an event puts its text: a member of the item, or of an element of one of its lists. */
interface Target {
  readonly member: string
  readonly list?: 'content' | 'summary'
}

const TEXTS: Readonly<Record<string, Target>> = {
  output_text: { list: 'content', member: 'text' },
  refusal: { list: 'content', member: 'refusal' },
  reasoning_text: { list: 'content', member: 'text' },
  reasoning_summary_text: { list: 'summary', member: 'text' },
  function_call_arguments: { member: 'arguments' },
  mcp_call_arguments: { member: 'arguments' },
  custom_tool_call_input: { member: 'input' },
  code_interpreter_call_code: { member: 'code' },
}

const PARTS: Readonly<Record<string, 'content' | 'summary'>> = {
  content_part: 'content',
  reasoning_summary_part: 'summary',
}

/** Events that state the whole response. */
const WHOLE = /^response\.(?:created|queued|in_progress|completed|failed|incomplete)$/

/** Events that say how far a tool of the provider's own is. */
const PROGRESS =
  /^response\.(?<type>(?:code_interpreter|file_search|web_search|image_generation|mcp)_call)\.(?<status>[a-z_]+)$/

/** Events that add nothing to a response. */
const IDLE =
  /^(?:keepalive|response\.(?:mcp_list_tools\.\w+|image_generation_call\.partial_image))$/

export class ResponsesStream implements StreamAssembly {
  #response: Fields = {}
  #output: Item[] = []
  #ended = false
  readonly #remainder = new StreamRemainder()

  push(event: unknown): readonly unknown[] | undefined {
    const fields = fieldsOf(event)
    const type = textOf(fields.type) ?? ''
    if (type === 'error') return this.#remainder.fail(event)
    if (WHOLE.test(type) && isFields(fields.response)) return this.#whole(type, fields.response)
    if (IDLE.test(type)) return undefined
    const [, noun = '', verb = ''] = type.split('.')
    if (noun === 'output_item' && isFields(fields.item)) return this.#item(verb, fields, event)
    const item = this.#output[placeOf(fields.output_index)]
    const taken = item !== undefined && extended(item, { noun, verb, fields, type })
    if (!taken) return this.#remainder.keep(event)
    if (verb !== 'delta') return undefined
    return noun === 'output_text' || noun === 'refusal' ? [fields.delta] : [event]
  }

  #whole(type: string, response: Fields): undefined {
    const { output } = response
    this.#response = response
    if (Array.isArray(output) && (output.length > 0 || this.#output.length === 0)) {
      this.#output = structuredClone(output) as Item[]
    }
    this.#ended ||= /\.(?:completed|failed|incomplete)$/.test(type)
    return undefined
  }

  #item(verb: string, { item, output_index }: Fields, event: unknown): unknown[] | undefined {
    const known = placeOf(output_index)
    const place = known >= 0 && known < this.#output.length ? known : this.#output.length
    this.#output[place] = structuredClone(item) as Item
    return verb === 'added' && fieldsOf(item).type !== 'message' ? [event] : undefined
  }

  finish(): AssistantMessage {
    const output = structuredClone(this.#output)
    const message = responsesReply({ ...this.#response, output })
    return this.#remainder.close(message, this.#ended)
  }
}

interface ItemEvent {
  readonly noun: string
  readonly verb: string
  readonly type: string
  readonly fields: Fields
}

/** Whether the item took the event. */
function extended(item: Item, { noun, verb, type, fields }: ItemEvent): boolean {
  const progress = PROGRESS.exec(type)?.groups
  if (progress !== undefined) {
    if (item.type === progress.type) item.status = progress.status
    return true
  }
  if (Object.hasOwn(PARTS, noun) && isFields(fields.part)) {
    return withPart(item, PARTS[noun] as 'content' | 'summary', fields)
  }
  if (type === 'response.output_text.annotation.added') return annotated(item, fields)
  const target = Object.hasOwn(TEXTS, noun) ? TEXTS[noun] : undefined
  if (target === undefined) return false
  const holder = target.list === undefined ? item : elementOf(item, target.list, fields)
  if (holder === undefined) return false
  const { member } = target
  if (verb === 'delta') holder[member] = `${textOf(holder[member]) ?? ''}${nameOf(fields.delta)}`
  else holder[member] = fields[member] ?? holder[member]
  return true
}

function elementOf(item: Item, list: 'content' | 'summary', fields: Fields): Item | undefined {
  const index = list === 'content' ? fields.content_index : fields.summary_index
  const element = listOf(item[list])[placeOf(index)]
  return isFields(element) ? (element as Item) : undefined
}

function withPart(item: Item, list: 'content' | 'summary', fields: Fields): boolean {
  const index = placeOf(list === 'content' ? fields.content_index : fields.summary_index)
  const before = listOf(item[list])
  if (!(index >= 0 && index <= before.length)) return false
  item[list] = before.toSpliced(index, 1, structuredClone(fields.part))
  return true
}

function annotated(item: Item, fields: Fields): boolean {
  const holder = elementOf(item, 'content', fields)
  const index = placeOf(fields.annotation_index)
  const before = listOf(holder?.annotations)
  if (holder === undefined || !(index >= 0 && index <= before.length)) return false
  holder.annotations = before.toSpliced(index, 1, structuredClone(fields.annotation))
  return true
}
