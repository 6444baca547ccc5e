/**
 * Tokens as each provider counts them, converted to what `Usage` means: totals that include their
 * parts.
 * What a provider does not say stays unsaid.
 */
import type { Usage } from '../../core/event-map.js'
import { countOf, type Fields, fieldsOf, given, isFields } from './shape.js'

/** Chat completions: the input includes what was cached, the output includes reasoning. */
export function chatUsage(usage: unknown): Usage | undefined {
  if (!isFields(usage)) return undefined
  const input = fieldsOf(usage.prompt_tokens_details)
  const output = fieldsOf(usage.completion_tokens_details)
  return counts({
    inputTokens: countOf(usage.prompt_tokens),
    outputTokens: countOf(usage.completion_tokens),
    cacheReadTokens: countOf(input.cached_tokens),
    cacheWriteTokens: countOf(input.cache_write_tokens),
    reasoningTokens: countOf(output.reasoning_tokens),
  })
}

/** Responses: as chat completions, by other names. */
export function responsesUsage(usage: unknown): Usage | undefined {
  if (!isFields(usage)) return undefined
  const input = fieldsOf(usage.input_tokens_details)
  return counts({
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    cacheReadTokens: countOf(input.cached_tokens),
    cacheWriteTokens: countOf(input.cache_write_tokens),
    reasoningTokens: countOf(fieldsOf(usage.output_tokens_details).reasoning_tokens),
  })
}

/** Anthropic: the input is counted without what was read from a cache or written to one. */
export function anthropicUsage(usage: unknown): Usage | undefined {
  if (!isFields(usage)) return undefined
  const cacheReadTokens = countOf(usage.cache_read_input_tokens)
  const cacheWriteTokens = countOf(usage.cache_creation_input_tokens)
  return counts({
    inputTokens: sum([countOf(usage.input_tokens), cacheReadTokens, cacheWriteTokens]),
    outputTokens: countOf(usage.output_tokens),
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens: countOf(fieldsOf(usage.cache_creation).ephemeral_1h_input_tokens),
    reasoningTokens: countOf(fieldsOf(usage.output_tokens_details).thinking_tokens),
  })
}

/**
 * Gemini: the prompt includes what was cached; thoughts and the prompts of tools are counted
 * beside.
 */
export function geminiUsage(usage: unknown): Usage | undefined {
  if (!isFields(usage)) return undefined
  const reasoningTokens = countOf(usage.thoughtsTokenCount)
  return counts({
    inputTokens: sum([countOf(usage.promptTokenCount), countOf(usage.toolUsePromptTokenCount)]),
    outputTokens: sum([countOf(usage.candidatesTokenCount), reasoningTokens]),
    cacheReadTokens: countOf(usage.cachedContentTokenCount),
    reasoningTokens,
  })
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined)
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0)
}

function counts(all: { [K in keyof Usage]: number | undefined }): Usage | undefined {
  const known: Fields = Object.assign(
    {},
    ...Object.entries(all).map(([name, count]) => given(name, count)),
  )
  return Object.keys(known).length === 0 ? undefined : (known as Usage)
}
