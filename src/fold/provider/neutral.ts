/**
 * From what providers say to neutral parts, as far as it is the same for all of them.
 * @see ../../core/content.ts
 */
import { Buffer } from 'node:buffer'
import type { Content, MediaPart, Part, ToolUsePart } from '../../core/content.js'
import type { AssistantMessage, ToolResult, UserMessage } from '../../core/event-map.js'

/** A message of a request's history, as the event that it becomes. */
export type HistoryEvent =
  | { readonly type: 'user/message'; readonly data: UserMessage }
  | { readonly type: 'assistant/message'; readonly data: AssistantMessage }
  | { readonly type: 'tool/result'; readonly data: ToolResult }

/** A string where there is nothing but one text; else the parts. */
export function contentOf(parts: readonly Part[]): Content {
  if (parts.length === 0) return ''
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' ? only.text : parts
}

export function partsOf(content: Content): readonly Part[] {
  if (typeof content !== 'string') return content
  return content === '' ? [] : [{ type: 'text', text: content }]
}

/** A call whose arguments came as a string. */
export function callOf(id: string, name: string, written: string): ToolUsePart {
  return { type: 'tool_use', id, name, input: parsedOr(written), arguments: written }
}

/** What the text says as JSON; the text itself where it is none. */
export function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What a client has to answer. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** The exact string that the model wrote, where there was one. */
  readonly arguments?: string
}

/**
 * The calls of a message that wait for a result, in order. Tools that the provider runs itself are
 * none.
 */
export function toolCallsOf(message: { readonly content: Content }): ToolCall[] {
  return partsOf(message.content).flatMap((part) => {
    if (part.type !== 'tool_use') return []
    const { id, name, input } = part
    const written = part.arguments === undefined ? {} : { arguments: part.arguments }
    return [{ id, name, input, ...written }]
  })
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Bytes given as base64; undefined where they could not be written back the same. */
export function bytesOf(base64: string): Uint8Array | undefined {
  return BASE64.test(base64) ? new Uint8Array(Buffer.from(base64, 'base64')) : undefined
}

export function base64Of(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}

/** What a URL shows: a `data:` URL gives its bytes, any other stays where it is. */
export function mediaOf(
  type: 'image' | 'file',
  url: string,
  mediaType = type === 'image' ? 'image/*' : 'application/octet-stream',
): MediaPart {
  const comma = url.startsWith('data:') ? url.indexOf(';base64,') : -1
  if (comma < 0) return { type, mediaType, url }
  const data = bytesOf(url.slice(comma + ';base64,'.length))
  return data === undefined
    ? { type, mediaType, url }
    : { type, mediaType: url.slice('data:'.length, comma), data }
}

/** A `data:` URL of bytes; else where they are. */
export function urlOf({ data, url, mediaType }: MediaPart): string | undefined {
  return data === undefined ? url : `data:${mediaType};base64,${base64Of(data)}`
}
