/**
 * Records of the model's own view: response items, and what replaces them.
 * Knows what each becomes as session events; what the items are made of is in `codex-parts.ts`.
 */
import type { CompactionMessage } from '../../core/event-map.js'
import { meetItem, partFrom, type TextKind } from './codex-pairs.js'
import { callId, contentTexts, itemMessage, reasoningTexts } from './codex-parts.js'
import type { CodexReading, OpenCall, TouchedFile } from './codex-state.js'
import { beginByContent, markTurn } from './codex-turns.js'
import { isMembers, type Members, text } from './json-members.js'

/** Calls of which no result has come; a file that never has any must not fill the memory. */
const OPEN_CALLS_MAX = 256

export function readItem(reading: CodexReading, item: Members): void {
  const message = itemMessage(item, reading.state.model)
  if (message.role === 'tool') {
    sayUnpaired(reading)
    reading.set({ pairs: partFrom(reading.state.pairs, ['user']) })
    readResult(reading, item, message)
  } else if (message.role === 'user') {
    sayUnpaired(reading)
    beginByContent(reading, 'item')
    // Said already by the event that came before it.
    if (meets(reading, 'user', contentTexts(item.content)).length > 0) return
    reading.outVisible('user', 'user/message', { content: message.content, raw: item })
  } else {
    readAnswer(reading, item, message.content)
  }
}

function meets(reading: CodexReading, kind: TextKind, texts: readonly string[]) {
  const { pairs, events } = meetItem(reading.state.pairs, kind, texts)
  reading.set({ pairs })
  return events
}

function readAnswer(
  reading: CodexReading,
  item: Members,
  content: readonly { readonly type: string }[],
): void {
  const { model, provider } = reading.state
  beginByContent(reading, 'answer')
  const type = text(item.type)
  if (type === 'message') meets(reading, 'assistant', contentTexts(item.content))
  else if (type === 'reasoning') meets(reading, 'reasoning', reasoningTexts(item))
  else sayUnpaired(reading)
  reading.set({ pairs: partFrom(reading.state.pairs, ['user']) })
  const [part] = content
  const id = text(item.id)
  const again = id !== undefined && id === reading.state.lastItem
  markTurn(reading, type === 'message' ? 'answer' : 'work')
  reading.outVisible('model', 'assistant/message', {
    content,
    ...(id === undefined ? {} : { id }),
    // The same record twice, as a writer leaves it that did not know whether the first was written.
    ...(again ? { restates: true } : {}),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    raw: [item],
  })
  reading.set({ lastItem: id })
  if (part?.type === 'tool_use' && !again) readCall(reading, part as unknown as Members)
}

/**
 * What Codex asks a tool for it also runs; whether somebody had to agree first was never recorded.
 */
function readCall(reading: CodexReading, part: Members): void {
  const { id, name, input } = part
  const given = part.arguments === undefined ? {} : { arguments: part.arguments }
  reading.out('tool/call', { id, name, input, ...given })
  if (name === 'update_plan' && isMembers(input) && Array.isArray(input.plan))
    reading.out('todo/write', { items: input.plan })
  const files = name === 'apply_patch' ? patchedFiles(input) : []
  const call: OpenCall = [String(id), files]
  reading.set({ calls: [...reading.state.calls, call].slice(-OPEN_CALLS_MAX) })
}

function readResult(
  reading: CodexReading,
  item: Members,
  result: { readonly content: unknown; readonly isError: boolean },
): void {
  const id = callId(item)
  const { calls } = reading.state
  // Ids are used again: the last call is the one that is answered.
  const at = calls.findLastIndex(([open]) => open === id)
  const files = at < 0 ? [] : (calls[at] as OpenCall)[1]
  if (at >= 0) reading.set({ calls: calls.toSpliced(at, 1) })
  markTurn(reading, 'work')
  reading.outVisible('model', 'tool/result', {
    id,
    content: result.content,
    ...(result.isError ? { isError: true } : {}),
    ...(files.length === 0 || result.isError ? {} : { files }),
    raw: item,
  })
}

const PATCH_LINE = /^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm

/** What a patch says that it will do to files. */
function patchedFiles(input: unknown): TouchedFile[] {
  const patch = typeof input === 'string' ? input : isMembers(input) ? text(input.input) : undefined
  return Array.from((patch ?? '').matchAll(PATCH_LINE), ([, op, path, moved]) => ({
    path: (path ?? moved ?? '').trim(),
    op: op === undefined ? 'move' : op.toLowerCase(),
  }))
}

/** An answer that an event announced and that no item says: it is the only record of it. */
export function sayUnpaired(reading: CodexReading): void {
  const { pairs, model, provider } = reading.state
  for (const { text: said } of pairs.assistant.events) {
    if (said === undefined) continue
    markTurn(reading, 'answer')
    reading.outVisible('model', 'assistant/message', {
      content: [{ type: 'text', text: said }],
      ...(model === undefined ? {} : { model }),
      ...(provider === undefined ? {} : { provider }),
    })
  }
  reading.set({ pairs: partFrom(pairs, ['assistant', 'reasoning']) })
}

/** `compacted`: from here on the model sees something else in the place of all it saw. */
export function readCompacted(reading: CodexReading, payload: Members): void {
  sayUnpaired(reading)
  const history = payload.replacement_history
  const { visible, state } = reading
  const summary = text(payload.message) ?? ''
  if (Array.isArray(history)) {
    const message = history.flatMap((item) =>
      isMembers(item) ? replacement(item, state.model) : [],
    )
    reading.replace(visible, message)
    return
  }
  // Older versions kept the summary alone, and put it behind what the user had said.
  const replaced = visible.filter(([, , who]) => who !== 'user')
  reading.replace(replaced, [{ role: 'user', content: summary, raw: payload }])
}

function replacement(item: Members, model: string | undefined): CompactionMessage[] {
  const { content, ...message } = itemMessage(item, model)
  if (message.role === 'assistant') return [{ role: 'assistant', content, raw: [item] }]
  if (message.role === 'user') return [{ role: 'user', content, raw: item }]
  const error = message.isError ? { isError: true } : {}
  return [
    {
      role: 'user',
      content: [{ type: 'tool_result', id: message.id, content, ...error }],
      raw: item,
    },
  ]
}
