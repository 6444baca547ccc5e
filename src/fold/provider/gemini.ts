/**
 * What Gemini's generateContent says, in neutral parts: replies, and the contents of requests.
 * Calls may come without an id; the name of the function stands for it then, and pairs go in order.
 */
import type { Part } from '../../core/content.js'
import type { AssistantMessage, ToolResult } from '../../core/event-map.js'
import { bytesOf, contentOf, type HistoryEvent } from './neutral.js'
import { type Fields, fieldsOf, given, isFields, listOf, wordOf } from './shape.js'
import { geminiUsage } from './usage.js'

/**
 * A whole reply. `raw` is the content of its first candidate; further candidates are a part
 * `other`.
 */
export function geminiReply(reply: unknown): AssistantMessage {
  const response = fieldsOf(reply)
  const [candidate, ...others] = listOf(response.candidates)
  const { content, finishReason } = fieldsOf(candidate)
  const model = wordOf(response.modelVersion)
  const blocked = wordOf(fieldsOf(response.promptFeedback).blockReason)
  const parts = geminiParts(fieldsOf(content).parts, model)
  if (others.length > 0) parts.push({ type: 'other', value: { candidates: others } })
  return {
    content: contentOf(parts),
    ...given('id', wordOf(response.responseId)),
    ...given('model', model),
    provider: 'gemini',
    ...given('usage', geminiUsage(response.usageMetadata)),
    ...given('stopReason', wordOf(finishReason) ?? blocked),
    ...given('raw', content),
  }
}

/**
 * What the contents of a request say. Contents of the model one after another are one message:
 * that is how the SDK's chat keeps a reply that came as a stream.
 */
export function geminiHistory(contents: unknown): HistoryEvent[] {
  const events: HistoryEvent[] = []
  let model: unknown[] = []
  const flush = (): void => {
    if (model.length === 0) return
    const parts = joined(model.flatMap((content) => listOf(fieldsOf(content).parts)))
    const raw = model.length === 1 ? model[0] : { role: 'model', parts }
    const data = { content: contentOf(geminiParts(parts)), provider: 'gemini', raw }
    events.push({ type: 'assistant/message', data })
    model = []
  }
  for (const content of listOf(contents)) {
    if (fieldsOf(content).role === 'model') {
      model.push(content)
      continue
    }
    flush()
    events.push(...userEvents(content))
  }
  flush()
  return events
}

function userEvents(content: unknown): HistoryEvent[] {
  const parts = listOf(fieldsOf(content).parts)
  const results = parts.filter(isResponse)
  const events: HistoryEvent[] = results.map((part) => ({
    type: 'tool/result',
    data: geminiResult(part),
  }))
  if (results.length > 0 && results.length === parts.length) return events
  const others = parts.filter((part) => !isResponse(part))
  const raw = results.length === 0 ? content : { ...fieldsOf(content), parts: others }
  return [
    ...events,
    { type: 'user/message', data: { content: contentOf(geminiParts(others)), raw } },
  ]
}

function isResponse(part: unknown): part is Fields {
  return isFields(part) && isFields(part.functionResponse)
}

function geminiResult(part: Fields): ToolResult {
  const { id, name, response } = fieldsOf(part.functionResponse)
  return {
    id: wordOf(id) ?? wordOf(name) ?? '',
    content: JSON.stringify(response ?? {}),
    ...given('isError', isFields(response) && 'error' in response ? true : undefined),
    raw: part,
  }
}

/**
 * Neutral parts. What carries a thought's signature beside a call or a text has it in `raw` only.
 */
export function geminiParts(parts: unknown, model?: string): Part[] {
  return listOf(parts).map(
    (part) => partOf(fieldsOf(part), model) ?? { type: 'other', value: part },
  )
}

function partOf(part: Fields, model: string | undefined): Part | undefined {
  if (typeof part.text === 'string') {
    if (part.thought !== true) return { type: 'text', text: part.text }
    const signature = given('signature', wordOf(part.thoughtSignature))
    return { type: 'thinking', text: part.text, ...signature, ...given('model', model) }
  }
  if (isFields(part.functionCall)) {
    const { id, name, args, partialArgs, willContinue } = part.functionCall
    // Arguments in pieces, addressed by paths, are not put together here.
    const inPieces = partialArgs !== undefined || willContinue === true
    if (typeof name !== 'string' || inPieces) return undefined
    return { type: 'tool_use', id: wordOf(id) ?? name, name, input: args ?? {} }
  }
  if (isFields(part.inlineData)) {
    const { mimeType, data } = part.inlineData
    const bytes = typeof data === 'string' ? bytesOf(data) : undefined
    return bytes === undefined ? undefined : { ...mediaType(mimeType), data: bytes }
  }
  if (isFields(part.fileData)) {
    const { mimeType, fileUri } = part.fileData
    return typeof fileUri === 'string' ? { ...mediaType(mimeType), url: fileUri } : undefined
  }
  return undefined
}

function mediaType(mimeType: unknown): { type: 'image' | 'file'; mediaType: string } {
  const name = wordOf(mimeType) ?? 'application/octet-stream'
  return { type: name.startsWith('image/') ? 'image' : 'file', mediaType: name }
}

/**
 * Parts of a stream as one list: texts that go on are joined, a signature closes what it comes
 * with.
 */
export function joined(parts: readonly unknown[]): unknown[] {
  const whole: Fields[] = []
  for (const value of parts) {
    const part = fieldsOf(value)
    const last = whole.at(-1)
    const goesOn =
      last !== undefined &&
      isPlainText(part) &&
      isPlainText(last) &&
      (last.thought === true) === (part.thought === true) &&
      last.thoughtSignature === undefined
    if (goesOn) whole[whole.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` }
    else whole.push(part)
  }
  return whole
}

const TEXT_FIELDS = new Set(['text', 'thought', 'thoughtSignature'])

function isPlainText(part: Fields): boolean {
  return typeof part.text === 'string' && Object.keys(part).every((name) => TEXT_FIELDS.has(name))
}
