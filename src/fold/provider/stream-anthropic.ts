/**
 * The stream of an Anthropic message, put together as the official SDK does it.
 */
import type { Part } from '../../core/content.js'
import type { AssistantMessage } from '../../core/event-map.js'
import { anthropicParts, anthropicReply } from './anthropic.js'
import { callOf, parsedOr } from './neutral.js'
import { type Fields, fieldsOf, isFields, listOf, nameOf, textOf, wordOf } from './shape.js'
import type { StreamAssembly } from './stream-assembly.js'
import { StreamRemainder } from './stream-end.js'

interface OpenBlock {
  fields: Fields
  /** The arguments of a call so far, as they were written. */
  json?: string
}

export class AnthropicStream implements StreamAssembly {
  #message: Fields | undefined
  readonly #blocks: OpenBlock[] = []
  readonly #remainder = new StreamRemainder()
  #ended = false

  push(event: unknown): readonly unknown[] | undefined {
    const fields = fieldsOf(event)
    switch (fields.type) {
      case 'message_start':
        if (this.#message !== undefined) return this.#remainder.keep(event)
        this.#message = fieldsOf(fields.message)
        for (const block of listOf(this.#message.content)) {
          this.#blocks.push({ fields: fieldsOf(block) })
        }
        return undefined
      case 'content_block_start':
        return this.#start(fields, event)
      case 'content_block_delta':
        return this.#delta(fields, event)
      case 'message_delta':
        this.#message = withDelta(this.#message ?? {}, fields)
        return undefined
      case 'message_stop':
        this.#ended = true
        return undefined
      case 'content_block_stop':
      case 'ping':
        return undefined
      case 'error':
        return this.#remainder.fail(event)
      default:
        return this.#remainder.keep(event)
    }
  }

  #start({ content_block }: Fields, event: unknown): readonly unknown[] | undefined {
    if (!isFields(content_block)) return this.#remainder.keep(event)
    this.#blocks.push({ fields: content_block })
    if (content_block.type !== 'text') return [event]
    return content_block.text === '' ? undefined : [content_block.text]
  }

  #delta({ index, delta }: Fields, event: unknown): readonly unknown[] {
    const block = typeof index === 'number' ? this.#blocks[index] : undefined
    const fields = fieldsOf(delta)
    if (block === undefined || !extended(block, fields)) return this.#remainder.keep(event)
    return fields.type === 'text_delta' ? [fields.text] : [event]
  }

  finish(): AssistantMessage {
    const content = this.#blocks.map(({ fields, json }) => {
      if (json === undefined) return fields
      const input = json === '' ? {} : parsedOr(json)
      // Arguments that broke off have their text in the neutral part.
      return { ...fields, input: input === json ? {} : input }
    })
    const raw = { type: 'message', role: 'assistant', ...this.#message, content }
    const parts = anthropicParts(content, wordOf(fieldsOf(raw).model)).map((part, index): Part => {
      const json = this.#blocks[index]?.json ?? ''
      return part.type === 'tool_use' && json !== '' ? callOf(part.id, part.name, json) : part
    })
    return this.#remainder.close(anthropicReply(raw, parts), this.#ended)
  }
}

/** Whether the block took the delta. */
function extended(block: OpenBlock, delta: Fields): boolean {
  const { fields } = block
  switch (delta.type) {
    case 'text_delta':
      if (fields.type !== 'text') return false
      block.fields = { ...fields, text: (textOf(fields.text) ?? '') + nameOf(delta.text) }
      return true
    case 'thinking_delta':
      if (fields.type !== 'thinking') return false
      block.fields = {
        ...fields,
        thinking: (textOf(fields.thinking) ?? '') + nameOf(delta.thinking),
      }
      return true
    case 'signature_delta':
      if (fields.type !== 'thinking') return false
      block.fields = { ...fields, signature: delta.signature }
      return true
    case 'citations_delta':
      if (fields.type !== 'text') return false
      block.fields = { ...fields, citations: [...listOf(fields.citations), delta.citation] }
      return true
    case 'input_json_delta':
      block.json = (block.json ?? '') + nameOf(delta.partial_json)
      return true
    case 'compaction_delta': {
      if (fields.type !== 'compaction') return false
      const { type, ...whole } = delta
      block.fields = { ...fields, ...whole }
      return true
    }
    default:
      return false
  }
}

/** Always said anew, even as null. */
const STATED = new Set(['stop_reason', 'stop_sequence', 'stop_details', 'output_tokens'])

/** A message after a `message_delta`: counts are totals so far, and what is null says nothing. */
function withDelta(message: Fields, { type, delta, usage, ...beside }: Fields): Fields {
  const whole = { ...fieldsOf(message.usage), ...statements(fieldsOf(usage)) }
  return { ...message, ...statements(fieldsOf(delta)), ...statements(beside), usage: whole }
}

function statements(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => STATED.has(name) || value != null),
  )
}
