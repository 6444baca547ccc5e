/**
 * What Claude Code writes inside a message, in neutral form: content blocks, usage, files.
 * Knows the shapes of one record; neither order nor turns. Whatever has another shape is a part `other`.
 * @see docs/import.md#claude-code
 */
import type { Content, Part } from '../../core/content.js'
import type { ToolResult, Usage } from '../../core/event-map.js'

export type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Blocks of a content that may also be one text, or nothing that makes sense. */
export function blocksOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content
  if (content === undefined || content === null) return []
  return [typeof content === 'string' ? { type: 'text', text: content } : content]
}

/** `model`: whose thinking it is, since only that model can use it again. */
export function partOf(block: unknown, model?: string): Part {
  if (!isObject(block)) return { type: 'other', value: block }
  switch (block.type) {
    case 'text':
      if (typeof block.text === 'string') return { type: 'text', text: block.text }
      break
    case 'thinking':
      if (typeof block.thinking === 'string')
        return {
          type: 'thinking',
          text: block.thinking,
          ...(typeof block.signature === 'string' ? { signature: block.signature } : {}),
          ...(model === undefined ? {} : { model }),
        }
      break
    case 'redacted_thinking':
      if (typeof block.data === 'string')
        return {
          type: 'thinking',
          text: '',
          encrypted: block.data,
          ...(model === undefined ? {} : { model }),
        }
      break
    case 'tool_use':
      if (typeof block.id === 'string' && typeof block.name === 'string')
        return { type: 'tool_use', id: block.id, name: block.name, input: block.input ?? {} }
      break
    case 'image':
    case 'document':
      return mediaOf(block) ?? { type: 'other', value: block }
  }
  return { type: 'other', value: block }
}

function mediaOf(block: Json): Part | undefined {
  const { source } = block
  if (!isObject(source)) return undefined
  const type = block.type === 'image' ? 'image' : 'file'
  const named = typeof block.title === 'string' ? { name: block.title } : {}
  const mediaType = textOf(source.media_type) ?? 'application/octet-stream'
  if (source.type === 'base64' && typeof source.data === 'string') {
    const data = Buffer.from(source.data, 'base64')
    // What is no base64 would be other bytes without a word.
    return data.toString('base64') === source.data ? { type, mediaType, data, ...named } : undefined
  }
  if (source.type === 'url' && typeof source.url === 'string')
    return { type, mediaType, url: source.url, ...named }
  return undefined
}

export function contentOf(content: unknown): Content {
  return typeof content === 'string' ? content : blocksOf(content).map((block) => partOf(block))
}

/** `details` is the second copy that Claude Code keeps of a result, in a form of the tool's own. */
export function toolResultOf(block: Json, details: unknown): ToolResult {
  const files = filesOf(details)
  return {
    id: textOf(block.tool_use_id) ?? '',
    content: contentOf(block.content ?? ''),
    ...(block.is_error === true ? { isError: true } : {}),
    ...(files.length > 0 ? { files } : {}),
    raw: block,
    ...(details === undefined ? {} : { details }),
  } as ToolResult
}

/** Which files a tool says it has touched. */
function filesOf(details: unknown): NonNullable<ToolResult['files']> {
  if (!isObject(details)) return []
  if (isObject(details.file) && typeof details.file.filePath === 'string')
    return [{ path: details.file.filePath, op: 'read' }]
  if (typeof details.filePath !== 'string') return []
  if (details.type === 'create') return [{ path: details.filePath, op: 'create' }]
  if ('structuredPatch' in details || 'oldString' in details || details.type === 'update')
    return [{ path: details.filePath, op: 'edit' }]
  return []
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}

/** Anthropic counts what came from a cache and what went to one beside the input; here they are part of it. */
export function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const read = count(usage.cache_read_input_tokens)
  const write = count(usage.cache_creation_input_tokens)
  const byAge = isObject(usage.cache_creation) ? usage.cache_creation : {}
  const hour = count(byAge.ephemeral_1h_input_tokens)
  return {
    inputTokens: count(usage.input_tokens) + read + write,
    outputTokens: count(usage.output_tokens),
    ...(read > 0 ? { cacheReadTokens: read } : {}),
    ...(write > 0 ? { cacheWriteTokens: write } : {}),
    ...(hour > 0 ? { cacheWrite1hTokens: hour } : {}),
  }
}

/** The statement of a message's usage that counts: the one with most output, the later where equal. */
export function laterUsage(before: Usage | undefined, after: Usage | undefined): Usage | undefined {
  if (before === undefined || after === undefined) return after ?? before
  return (after.outputTokens ?? 0) >= (before.outputTokens ?? 0) ? after : before
}

/** `claude -p` and friends write no such thing; a text that one of these begins is no prompt of a person. */
const LOCAL_TEXT =
  /^(?:<local-command-(?:stdout|stderr|caveat)>|<command-(?:name|message)>|<bash-(?:input|stdout|stderr)>|Caveat: The messages below were generated)/

const INTERRUPTED = /^\[Request interrupted by user/

/** What a user record's text is, beside a prompt. */
export function textKind(text: string): 'prompt' | 'local' | 'interrupted' {
  if (INTERRUPTED.test(text)) return 'interrupted'
  return LOCAL_TEXT.test(text) ? 'local' : 'prompt'
}
