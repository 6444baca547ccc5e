/**
 * A message in one line: what was said, which tools were asked for, and what it took.
 * Content may have any shape, whatever its type says: what is not as expected is shown as it is.
 */
import { previewOf, printable } from '../value/preview.js'
import type { Piece } from './output.js'

const TEXT_LENGTH = 72
const INPUT_LENGTH = 48

type Members = Readonly<Record<string, unknown>>

/** Led by nothing; parts are set apart by a dot. Undefined where it is no content that is known. */
export function contentWords(content: unknown): readonly Piece[] | undefined {
  if (typeof content === 'string') return [previewOf(content, TEXT_LENGTH).line]
  if (!Array.isArray(content) || !content.every(isPart)) return undefined
  if (content.length === 0) return [['dim', 'nothing']]
  return content.flatMap((part, at): readonly Piece[] => {
    const words = partWords(part)
    return at === 0 ? words : [['dim', ' · '], ...words]
  })
}

function isPart(part: unknown): part is Members {
  return typeof (part as { readonly type?: unknown } | null)?.type === 'string'
}

function partWords(part: Members): readonly Piece[] {
  switch (part.type) {
    case 'text':
      return [previewOf(part.text, TEXT_LENGTH).line]
    case 'thinking':
      return [['dim', `thinking ${previewOf(part.text, TEXT_LENGTH).line}`]]
    case 'tool_use': {
      const input = previewOf(part.input ?? null, INPUT_LENGTH).line
      return [
        ['cyan', printable(String(part.name), TEXT_LENGTH)],
        ['dim', ` ${input}`],
      ]
    }
    case 'other':
      return [['dim', previewOf(part.value ?? null, INPUT_LENGTH).line]]
    default:
      return [['dim', printable(String(part.type), TEXT_LENGTH)]]
  }
}

/** What a message took, led by two spaces; nothing where it does not say. */
export function usageWords(usage: unknown): readonly Piece[] {
  const { inputTokens, outputTokens } = (usage ?? {}) as Members
  if (typeof inputTokens !== 'number' && typeof outputTokens !== 'number') return []
  return [['dim', `  ${inputTokens ?? '?'} → ${outputTokens ?? '?'} tokens`]]
}
