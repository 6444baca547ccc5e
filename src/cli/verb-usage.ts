/**
 * `daglog usage [--by day|model|project|run] [--since DAY] [--until DAY] [--prices FILE] [--run
 * RUN]...`
 */
import { PRICE_TABLE, PRICES_DATED } from '../fold/price-table.js'
import { withPrices } from '../fold/prices.js'
import type { CountedCall } from '../fold/usage-across.js'
import { type StoreUsage, usageOfRuns } from '../store/usage-of-runs.js'
import { printable } from '../value/preview.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { countText } from './quantity.js'
import { type GroupBy, type UsageSum, type UsageTable, usageTable } from './usage-rows.js'

export async function usage(call: Call): Promise<ExitCode> {
  const { out } = call
  const by = (call.text('by') ?? 'day') as GroupBy
  const file = call.text('prices')
  const own = file === undefined ? [] : await (await import('./price-file.js')).readPrices(file)
  const isWanted = wantedDays(call)
  const store = await call.store()
  const ids = new Set<string>()
  for (const reference of call.list('run')) ids.add(await store.resolve(reference))
  const found = await usageOfRuns(store, ({ id }) => ids.size === 0 || ids.has(id))
  const calls = found.calls.filter(isWanted)
  const table = usageTable(calls, { by, prices: withPrices(own, PRICE_TABLE) })
  const ok = found.unread.length === 0
  if (out.json) {
    const { runs, counted, again, missing, unread } = found
    const covered = { runs, countedElsewhere: counted, again, missing, unread }
    out.document('daglog.usage/1', {
      ok,
      by,
      currency: 'USD',
      pricesDated: PRICES_DATED,
      ...table,
      covered,
    })
  } else {
    if (table.rows.length === 0) out.note('no call of a model was counted')
    else printTable(out, by, table)
    printNotes(out, table, found)
  }
  return ok ? 0 : 5
}

function wantedDays(call: Call): (counted: CountedCall) => boolean {
  const day = (flag: string): number | undefined => {
    const text = call.text(flag)
    if (text === undefined) return undefined
    const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
    if (Number.isNaN(time)) throw call.usage(`--${flag} ${text} is no day`, `--${flag} 2026-11-30`)
    return time
  }
  const since = day('since') ?? Number.NEGATIVE_INFINITY
  const until = (day('until') ?? Number.POSITIVE_INFINITY) + DAY_MS
  return ({ time }) => time >= since && time < until
}

const DAY_MS = 24 * 60 * 60 * 1000

const HEADINGS = ['calls', 'input', 'cache write', 'cache read', 'output', 'total', 'cost'] as const

function printTable(out: Output, by: GroupBy, { rows, total }: UsageTable): void {
  const withModels = by !== 'model'
  const left = (key: string, models: string): string[] => (withModels ? [key, models] : [key])
  const lines = [
    [...left(by, 'models'), ...HEADINGS],
    ...rows.map((row) => [
      ...left(printable(row.key ?? '-', 60), printable(row.models.join(', '), 60)),
      ...cellsOf(row),
    ]),
    [...left('total', ''), ...cellsOf(total)],
  ]
  const lefts = withModels ? 2 : 1
  const widths = HEADINGS.concat(HEADINGS)
    .slice(0, lefts + HEADINGS.length)
    .map((_, at) => Math.max(...lines.map((line) => (line[at] as string).length)))
  for (const [index, line] of lines.entries()) {
    const text = line
      .map((cell, at) =>
        at < lefts ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
      )
      .join('  ')
    if (index === 0) out.line(['dim', text])
    else if (index === lines.length - 1) out.line(['bold', text])
    else out.line(text)
  }
}

/**
 * Tokens as tools for it show them: what came from a cache or went to one beside the other input.
 */
function cellsOf(sum: UsageSum): string[] {
  const { inputTokens, cacheWriteTokens, cacheReadTokens, outputTokens } = sum
  const plain = Math.max(0, inputTokens - cacheWriteTokens - cacheReadTokens)
  const numbers = [sum.calls, plain, cacheWriteTokens, cacheReadTokens, outputTokens]
  return [...numbers, inputTokens + outputTokens]
    .map((count) => count.toLocaleString('en-US'))
    .concat(costText(sum))
}

function costText({ calls, callsUnknown, costKnown }: UsageSum): string {
  if (calls > 0 && callsUnknown === calls) return 'unknown'
  const dollars = costKnown > 0 && costKnown < 0.01 ? costKnown.toFixed(4) : costKnown.toFixed(2)
  return `${callsUnknown > 0 ? 'at least ' : ''}$${dollars}`
}

function printNotes(out: Output, table: UsageTable, found: StoreUsage): void {
  for (const { model, calls } of table.unknown)
    out.note(
      `${countText(calls, 'call')} of ${model === null ? 'no named model' : printable(model)}: ` +
        'the price is not known; try: --prices FILE',
    )
  if (table.rows.length > 0)
    out.note(`list prices as of ${PRICES_DATED}; days are in UTC; input is without what was cached`)
  if (found.counted > 0)
    out.note(`${countText(found.counted, 'call')} that several runs hold: counted once`)
  for (const { session, calls } of found.missing)
    out.note(
      `${countText(calls, 'call')} copied from session ${printable(session)}, which is not here: not counted`,
    )
  for (const { run, reason } of found.unread)
    out.alarm(['red', 'not counted: '], `${printable(run)}: ${reason}`)
}
