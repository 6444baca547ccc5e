/**
 * What Claude Code writes inside a message beside what Anthropic's own form has: second copies of
 * results, files, texts that are no prompts. Knows the shapes of one record; neither order nor
 * turns.
 * @see docs/import.md#claude-code
 */
import type { Content, Part } from '../../core/content.js'
import type { ToolResult, Usage } from '../../core/event-map.js'
import { anthropicParts } from '../provider/anthropic.js'

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
  return anthropicParts([block], model)[0] as Part
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

/**
 * The statement of a message's usage that counts: the one with most output, the later where equal.
 */
export function laterUsage(before: Usage | undefined, after: Usage | undefined): Usage | undefined {
  if (before === undefined || after === undefined) return after ?? before
  return (after.outputTokens ?? 0) >= (before.outputTokens ?? 0) ? after : before
}

/**
 * `claude -p` and friends write no such thing; a text that one of these begins is no prompt of a
 * person.
 */
const LOCAL_TEXT =
  /^(?:<local-command-(?:stdout|stderr|caveat)>|<command-(?:name|message)>|<bash-(?:input|stdout|stderr)>|Caveat: The messages below were generated)/

const INTERRUPTED = /^\[Request interrupted by user/

/** What a user record's text is, beside a prompt. */
export function textKind(text: string): 'prompt' | 'local' | 'interrupted' {
  if (INTERRUPTED.test(text)) return 'interrupted'
  return LOCAL_TEXT.test(text) ? 'local' : 'prompt'
}
