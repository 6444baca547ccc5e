/**
 * What calls of models cost by public list prices.
 * A guess is never a cost: where a model, a kind of token or a length of prompt has no price here,
 * the cost is unknown.
 * @see docs/usage.md#prices
 */
import type { Usage } from '../core/event-map.js'

/** Prices of a model, in US dollars per million tokens. */
export interface Price {
  /** Its name without the date of a snapshot. */
  readonly model: string
  /** First day (UTC) that they hold for, `2026-10-07`; for all time unless given. */
  readonly from?: string
  /** Longest input, in tokens, that they hold for; what is longer has another price. */
  readonly inputTokensMax?: number
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  /** Kept for five minutes, or as long as the provider says. */
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  /** Where that is said, and when it was looked up. */
  readonly source?: string
  readonly checked?: string
}

export interface PricedCall {
  readonly model?: string
  /** In ms since 1970. */
  readonly time: number
  readonly usage: Usage
}

/** In US dollars; undefined where it is not known. */
export function costOf(call: PricedCall, prices: readonly Price[]): number | undefined {
  const price = priceOf(call, prices)
  if (price === undefined) return undefined
  const { usage } = call
  const [read, written, hour] = [
    usage.cacheReadTokens ?? 0,
    usage.cacheWriteTokens ?? 0,
    usage.cacheWrite1hTokens ?? 0,
  ]
  const parts: readonly (readonly [number, number | undefined])[] = [
    [Math.max(0, (usage.inputTokens ?? 0) - read - written), price.input],
    [usage.outputTokens ?? 0, price.output],
    [read, price.cacheRead],
    [Math.max(0, written - hour), price.cacheWrite],
    [hour, price.cacheWrite1h],
  ]
  let cost = 0
  for (const [tokens, dollars] of parts) {
    if (tokens === 0) continue
    if (dollars === undefined) return undefined
    cost += (tokens * dollars) / 1e6
  }
  return cost
}

/** The price that holds for a call: of its day, and for the length of its input. */
function priceOf({ model, time, usage }: PricedCall, prices: readonly Price[]): Price | undefined {
  if (model === undefined) return undefined
  const names = new Set([model, withoutDate(model)])
  const input = usage.inputTokens ?? 0
  let best: Price | undefined
  for (const price of prices) {
    if (!names.has(price.model)) continue
    if (price.from !== undefined && time < Date.parse(price.from)) continue
    if (input > (price.inputTokensMax ?? Number.POSITIVE_INFINITY)) continue
    if (best === undefined || isBetter(price, best)) best = price
  }
  return best
}

/** The later one; of one day the one for shorter inputs. */
function isBetter(one: Price, other: Price): boolean {
  const [from, otherFrom] = [one.from ?? '', other.from ?? '']
  if (from !== otherFrom) return from > otherFrom
  const infinite = Number.POSITIVE_INFINITY
  return (one.inputTokensMax ?? infinite) < (other.inputTokensMax ?? infinite)
}

/** `claude-sonnet-4-5-20250929`, `gpt-5-2025-08-07`: snapshots cost what their model does. */
function withoutDate(model: string): string {
  return model.replace(/-(?:20\d{6}|20\d\d-\d\d-\d\d)$/, '')
}

/** Prices of the user first: a model that they name has no other. */
export function withPrices(own: readonly Price[], table: readonly Price[]): readonly Price[] {
  const named = new Set(own.map(({ model }) => model))
  return [...own, ...table.filter(({ model }) => !named.has(model))]
}
