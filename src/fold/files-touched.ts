/** Files that tools said they touched: by path, what was done and how often, and where last. */
import { type Address, addressOf } from './address.js'
import type { Projection } from './projection.js'

export interface TouchedFile {
  readonly path: string
  /** By the tool's own word for it, how often. */
  readonly ops: Readonly<Record<string, number>>
  readonly last: Address
}

type Row = readonly [path: string, ops: readonly (readonly [string, number])[], last: Address]

/** Rows, not members: a path may be called `__proto__`. */
export const filesTouched: Projection<readonly Row[], readonly TouchedFile[]> = {
  key: 'files-touched',
  version: 1,
  types: ['tool/result'],
  init: () => [],
  apply(state, event) {
    const files = (event.data as { files?: unknown } | null | undefined)?.files
    if (!Array.isArray(files)) return state
    let rows = state
    for (const file of files as ({ path?: unknown; op?: unknown } | null)[]) {
      if (typeof file?.path !== 'string') continue
      rows = touched(rows, file.path, String(file.op ?? 'touched'), addressOf(event))
    }
    return rows
  },
  view: (rows) => rows.map(([path, ops, last]) => ({ path, ops: Object.fromEntries(ops), last })),
}

function touched(rows: readonly Row[], path: string, op: string, at: Address): readonly Row[] {
  const index = rows.findIndex(([known]) => known === path)
  const ops = index < 0 ? [] : (rows[index] as Row)[1]
  const known = ops.findIndex(([name]) => name === op)
  const counted =
    known < 0
      ? [...ops, [op, 1] as const]
      : ops.with(known, [op, (ops[known] as readonly [string, number])[1] + 1])
  const row: Row = [path, counted, at]
  return index < 0 ? [...rows, row] : rows.with(index, row)
}
