/**
 * Calls of models as rows of a table: sums of tokens, and what they cost as far as that is known.
 */
import type { Price } from '../fold/prices.js'
import { costOf } from '../fold/prices.js'
import type { CountedCall } from '../fold/usage-across.js'

export type GroupBy = 'day' | 'model' | 'project' | 'run'

export interface UsageSum {
  readonly calls: number
  /** Cached parts included. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** Reasoning included. */
  readonly outputTokens: number
  readonly reasoningTokens: number
  /** In US dollars, of the calls whose price is known. */
  readonly costKnown: number
  /** Calls whose price is not known: where there are any, the cost is at least `costKnown`. */
  readonly callsUnknown: number
}

export interface UsageRow extends UsageSum {
  /** The day, model, project or run; null where a call says none. */
  readonly key: string | null
  readonly models: readonly string[]
}

export interface UsageTable {
  readonly rows: readonly UsageRow[]
  readonly total: UsageSum
  /** Models without a price here, with how many calls of them there were. */
  readonly unknown: readonly { readonly model: string | null; readonly calls: number }[]
}

export function usageTable(
  calls: readonly CountedCall[],
  options: { readonly by: GroupBy; readonly prices: readonly Price[] },
): UsageTable {
  const groups = new Map<string | null, { sum: Sum; models: Set<string> }>()
  const unknown = new Map<string | null, number>()
  const total = new Sum()
  for (const call of calls) {
    const cost = costOf(call, options.prices)
    const model = call.model ?? null
    if (cost === undefined) unknown.set(model, (unknown.get(model) ?? 0) + 1)
    const key = keyOf(call, options.by)
    const group = groups.get(key) ?? { sum: new Sum(), models: new Set() }
    groups.set(key, group)
    group.models.add(model ?? '?')
    group.sum.add(call, cost)
    total.add(call, cost)
  }
  const rows = Array.from(groups, ([key, { sum, models }]): UsageRow => {
    return { key, models: [...models].sort(), ...sum.values() }
  })
  return {
    rows: rows.sort(options.by === 'day' ? byKey : byTokens),
    total: total.values(),
    unknown: Array.from(unknown, ([model, calls]) => ({ model, calls })),
  }
}

function keyOf({ time, model, project, run }: CountedCall, by: GroupBy): string | null {
  if (by === 'model') return model ?? null
  if (by === 'project') return project ?? null
  if (by === 'run') return run
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? null : date.toISOString().slice(0, 10)
}

function byKey(a: UsageRow, b: UsageRow): number {
  return (a.key ?? '') < (b.key ?? '') ? -1 : 1
}

function byTokens(a: UsageRow, b: UsageRow): number {
  const tokens = (row: UsageRow): number => row.inputTokens + row.outputTokens
  return tokens(b) - tokens(a) || byKey(a, b)
}

class Sum {
  private readonly sums = {
    calls: 0,
    inputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costKnown: 0,
    callsUnknown: 0,
  }

  add({ usage }: CountedCall, cost: number | undefined): void {
    const { sums } = this
    sums.calls += 1
    sums.inputTokens += usage.inputTokens ?? 0
    sums.cacheReadTokens += usage.cacheReadTokens ?? 0
    sums.cacheWriteTokens += usage.cacheWriteTokens ?? 0
    sums.outputTokens += usage.outputTokens ?? 0
    sums.reasoningTokens += usage.reasoningTokens ?? 0
    if (cost === undefined) sums.callsUnknown += 1
    else sums.costKnown += cost
  }

  values(): UsageSum {
    // Sums of many small floats: cents of a cent are enough, and read better.
    return { ...this.sums, costKnown: Math.round(this.sums.costKnown * 1e6) / 1e6 }
  }
}
