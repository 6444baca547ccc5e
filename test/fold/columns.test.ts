import { describe, expect, test } from 'vitest'
import { packColumns, unpackColumns } from '../../src/fold/columns.js'

/** A small generator with a seed, so that what fails can be made again. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const NAMES = ['id', 'seq', 'at', 'summary', '__proto__', 'constructor', '', 'is', '0']

function anyValue(pick: (below: number) => number, depth: number): unknown {
  const kind = pick(depth > 0 ? 9 : 6)
  if (kind === 0) return null
  if (kind === 1) return pick(2) === 0
  if (kind === 2) return pick(3) - 1
  if (kind === 3) return 'same'
  if (kind === 4) return `text ${pick(1000)} \ud800`
  if (kind === 5) return 0.1 * pick(10)
  if (kind === 6) return Array.from({ length: pick(4) }, () => anyValue(pick, depth - 1))
  const members = Array.from({ length: pick(5) }, () => [
    NAMES[pick(NAMES.length)],
    anyValue(pick, depth - 1),
  ])
  return Object.fromEntries(members)
}

/** As bytes: equality of objects would not see the order of members. */
function throughJson(values: readonly unknown[]): string {
  return JSON.stringify(unpackColumns(JSON.parse(JSON.stringify(packColumns(values)))))
}

describe('records written column by column', () => {
  test('2,000 random lists come back as JSON gives them', () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const pick = random(seed)
      const values = Array.from({ length: pick(30) }, () => anyValue(pick, 3))
      expect(throughJson(values), `seed ${seed}`).toBe(JSON.stringify(values))
    }
  })

  test('a member that is undefined is left out, as JSON does', () => {
    expect(
      throughJson([
        { a: undefined, b: 1 },
        { a: 2, b: 3 },
      ]),
    ).toBe('[{"b":1},{"a":2,"b":3}]')
  })

  test('member names stand once in a thousand records', () => {
    const heads = Array.from({ length: 1000 }, (_, seq) => ({
      id: `run-${seq}`,
      seq,
      summary: { status: 'open', imported: { format: 'codex', size: seq } },
    }))
    const text = JSON.stringify(packColumns(heads))
    expect(text.split('"imported"')).toHaveLength(2)
    expect(text.split('"codex"')).toHaveLength(2)
    expect(throughJson(heads)).toBe(JSON.stringify(heads))
  })

  test('records of very many shapes are kept as they are', () => {
    const values = Array.from({ length: 100 }, (_, n) => ({ [`member-${n}`]: n }))
    expect(packColumns(values)).toEqual({ is: 'values', values })
    expect(throughJson(values)).toBe(JSON.stringify(values))
  })
})
