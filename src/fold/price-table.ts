/**
 * Public list prices, each with its source and the day it was looked up. Few and right: a model
 * that is not here costs nobody knows what.
 * @see docs/usage.md#prices
 */
import type { Price } from './prices.js'

/** The day of the last look at the table as a whole. */
export const PRICES_DATED = '2026-11-30'

const ANTHROPIC = 'https://platform.claude.com/docs/en/about-claude/pricing'
const OPENAI = 'https://developers.openai.com/api/docs/models/'
const CODEX_RATES = 'OpenAI Help Center, Codex rate card (25 credits = $1)'
const ASTRA_LONG = 'https://github.com/BerriAI/litellm/discussions/39633 (of the vendor’s page)'
const checked = PRICES_DATED

/**
 * Anthropic's cache prices, where they are the usual multiples: 1.25, 2 and 0.1 times the input.
 * Reading is 0.025 times of Fable 5.1 and 0.05 times of Opus 5.5 and Sonnet 5.5; Haiku 5.5 costs
 * five times as much above 100,000 tokens, caches too
 * (platform.claude.com/docs/en/models/haiku-5-5/overview).
 */
function claude(model: string, input: number, output: number, more: Partial<Price> = {}): Price {
  return {
    model,
    input,
    output,
    cacheWrite: rounded(input * 1.25),
    cacheWrite1h: rounded(input * 2),
    cacheRead: rounded(input * 0.1),
    source: ANTHROPIC,
    checked,
    ...more,
  }
}

function rounded(dollars: number): number {
  return Math.round(dollars * 1e4) / 1e4
}

function openai(model: string, dollars: readonly number[], more: Partial<Price> = {}): Price {
  const [input = 0, cacheRead = 0, output = 0] = dollars
  return { model, input, cacheRead, output, source: `${OPENAI}${model}`, checked, ...more }
}

/** Above it, OpenAI's models with a context of a million tokens cost more. */
const LONG = { inputTokensMax: 272_000 }
/** Above it, models of 2025 cost more where they take as much. */
const LONG_2025 = { inputTokensMax: 200_000 }

export const PRICE_TABLE: readonly Price[] = [
  claude('claude-fable-5-1', 10, 50, { cacheRead: 0.25 }),
  claude('claude-fable-5', 10, 50),
  claude('claude-opus-5-5', 4, 20, { cacheRead: 0.2 }),
  claude('claude-opus-5', 5, 25),
  claude('claude-opus-4-8', 5, 25),
  claude('claude-opus-4-7', 5, 25),
  claude('claude-opus-4-6', 5, 25),
  claude('claude-opus-4-5', 5, 25),
  claude('claude-opus-4-1', 15, 75),
  claude('claude-opus-4', 15, 75),
  claude('claude-sonnet-5-5', 2, 10),
  claude('claude-sonnet-5-5', 2, 10, { cacheRead: 0.1, from: '2026-10-07' }),
  claude('claude-sonnet-5', 2, 10),
  claude('claude-sonnet-4-6', 3, 15, LONG_2025),
  claude('claude-sonnet-4-5', 3, 15, LONG_2025),
  claude('claude-sonnet-4', 3, 15, LONG_2025),
  claude('claude-3-7-sonnet', 3, 15),
  claude('claude-haiku-5-5', 0.1, 0.5, { inputTokensMax: 100_000 }),
  claude('claude-haiku-5-5', 0.5, 2.5),
  claude('claude-haiku-4-5', 1, 5),
  claude('claude-3-5-haiku', 0.8, 4),
  openai('gpt-6-astra', [10, 1, 50], { ...LONG, cacheWrite: 12.5 }),
  // The whole request costs twice as much then, and its output half as much again.
  openai('gpt-6-astra', [20, 2, 75], { cacheWrite: 25, source: ASTRA_LONG }),
  openai('gpt-5.5', [5, 0.5, 30], { ...LONG, source: CODEX_RATES }),
  openai('gpt-5.4', [2.5, 0.25, 15], { ...LONG, source: CODEX_RATES }),
  openai('gpt-5.3-codex', [1.75, 0.175, 14], { source: CODEX_RATES }),
  openai('gpt-5.2-codex', [1.75, 0.175, 14]),
  openai('gpt-5.2', [1.75, 0.175, 14], { source: CODEX_RATES }),
  openai('gpt-5-codex', [1.25, 0.125, 10]),
  openai('gpt-5', [1.25, 0.125, 10]),
  openai('gpt-5-mini', [0.25, 0.025, 2]),
  openai('codex-mini-latest', [1.5, 0.375, 6]),
]
