/**
 * What the items of an OpenAI Agents session mean as session events. What was popped, cleared or
 * replaced is shadowed by a compaction, so a model no longer sees it and people do.
 * @see docs/openai-agents.md
 */
import type { Content, Part } from '../../core/content.js'
import type { RunEvent } from '../../core/event.js'
import { type Address, addressOf } from '../address.js'
import { toArray } from '../growing-list.js'
import {
  changeOf,
  EMPTY_HISTORY,
  grown,
  type History,
  ITEMS_TYPE,
  REPLACE_TYPE,
} from '../openai-agents-history.js'
import type { Derived, Reader } from '../reader.js'

type Members = Readonly<Record<string, unknown>>

/** Remembers where each item of the history is. */
export const openAiAgents: Reader<History<Address>> = {
  key: 'openai-agents',
  version: 1,
  types: [ITEMS_TYPE, REPLACE_TYPE],
  init: () => EMPTY_HISTORY,
  read(state, event) {
    const change = changeOf(state, event)
    if (change === undefined) {
      const data = { text: 'void: it does not follow from the history before it' }
      return { state, events: [{ line: 0, type: 'note', data }] }
    }
    const { keep, items } = change
    const gone = keep === undefined ? [] : toArray(state.list).slice(keep)
    // The first line is for what goes, where something may.
    const first = keep === undefined ? 0 : 1
    const shadow: Derived[] =
      gone.length === 0
        ? []
        : [{ line: 0, type: 'compaction', data: { replaces: gone, message: [] } }]
    const places = items.map((_, at) => placeIn(event, first + at))
    return {
      state: grown(state, event.hash, keep, places),
      events: [
        ...shadow,
        ...items.map((item, at): Derived => ({ line: first + at, ...meaningOf(item) })),
      ],
    }
  },
}

function placeIn({ seq, run }: RunEvent, line: number): Address {
  return addressOf({ seq, line, ...(run === undefined ? {} : { run }) })
}

type Meaning = Pick<Derived, 'type' | 'data'>

function meaningOf(item: unknown): Meaning {
  if (typeof item !== 'object' || item === null) return unknownItem(item)
  const data = item as Members
  const { type = 'message' } = data
  if (typeof type !== 'string') return unknownItem(item)
  if (type === 'message') return messageOf(data)
  if (type === 'reasoning') return said([thinkingOf(data)])
  if (/_(?:result|output)$/.test(type) && typeof data.callId === 'string') {
    return { type: 'tool/result', data: { id: data.callId, content: outputOf(data) } }
  }
  if (/_call$/.test(type) && typeof data.callId === 'string') {
    const { callId: id, name = type } = data
    return said([{ type: 'tool_use', id, name: String(name), ...argumentsOf(data) }])
  }
  return unknownItem(item)
}

function said(content: readonly Part[]): Meaning {
  return { type: 'assistant/message', data: { content } }
}

/** Hosted tools, compactions, and what a later SDK may bring: the model sees it, so it is said. */
function unknownItem(value: unknown): Meaning {
  return said([{ type: 'other', value }])
}

function messageOf(data: Members): Meaning {
  const content = contentOf(data.content)
  const type = data.role === 'assistant' ? 'assistant/message' : 'user/message'
  return { type, data: { content } }
}

function contentOf(content: unknown): Content {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map(partOf) : [{ type: 'other', value: content }]
}

function partOf(part: unknown): Part {
  const { type, text, refusal } = (part ?? {}) as Members
  if (/^(?:input_text|output_text|text)$/.test(String(type)) && typeof text === 'string') {
    return { type: 'text', text }
  }
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal }
  return { type: 'other', value: part }
}

function thinkingOf(data: Members): Part {
  const parts = [data.content, data.rawContent].flat() as (Members | null | undefined)[]
  const text = parts.flatMap((part) => (typeof part?.text === 'string' ? [part.text] : []))
  const { encryptedContent, encrypted_content: encrypted = encryptedContent } =
    (data.providerData as Members | null | undefined) ?? {}
  return {
    type: 'thinking',
    text: text.join('\n'),
    ...(typeof encrypted === 'string' ? { encrypted } : {}),
  }
}

function argumentsOf(data: Members): { readonly input: unknown; readonly arguments?: string } {
  const { arguments: text } = data
  if (typeof text !== 'string') return { input: data.action ?? data.operation ?? null }
  try {
    return { input: JSON.parse(text), arguments: text }
  } catch {
    return { input: text, arguments: text } // As the neutral form has it for what is no JSON.
  }
}

function outputOf({ output }: Members): Content {
  if (typeof output === 'string') return output
  return Array.isArray(output) ? output.map(partOf) : [partOf(output)]
}
