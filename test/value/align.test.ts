import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { align, gapsOf } from '../../src/value/align.js'

const numRuns = process.env.DAGLOG_LONG ? 5_000 : 500

/** Few kinds of elements, so that much is alike. */
const sequence = fc.array(fc.nat(5), { maxLength: 40 })

/** The length of a longest common subsequence, by the table. */
function longestCommon(left: readonly number[], right: readonly number[]): number {
  let above = new Array<number>(right.length + 1).fill(0)
  for (const element of left) {
    const row = [0]
    for (const [j, other] of right.entries()) {
      row.push(element === other ? above[j]! + 1 : Math.max(above[j + 1]!, row[j]!))
    }
    above = row
  }
  return above.at(-1)!
}

function pairsOf(partner: Int32Array): [number, number][] {
  return Array.from(partner.entries()).filter(([, j]) => j >= 0)
}

function expectSound(left: readonly number[], right: readonly number[], partner: Int32Array): void {
  let last = -1
  for (const [i, j] of pairsOf(partner)) {
    expect(left[i]).toBe(right[j])
    expect(j).toBeGreaterThan(last)
    last = j
  }
}

describe('an alignment', () => {
  it('pairs as many equal elements as can be, in order', () => {
    fc.assert(
      fc.property(sequence, sequence, (left, right) => {
        const { partner, cut } = align(left, right)
        expectSound(left, right, partner)
        expect(pairsOf(partner)).toHaveLength(longestCommon(left, right))
        expect(cut).toBe(false)
      }),
      { numRuns },
    )
  })

  it('stays sound where its bound is reached, and says so', () => {
    fc.assert(
      fc.property(sequence, sequence, fc.integer({ min: 1, max: 6 }), (left, right, edits) => {
        const { partner, cut } = align(left, right, edits)
        expectSound(left, right, partner)
        const best = longestCommon(left, right)
        if (!cut) expect(pairsOf(partner)).toHaveLength(best)
        if (left.length + right.length - 2 * best <= edits) expect(cut).toBe(false)
      }),
      { numRuns },
    )
  })

  it('leaves gaps that are what has no partner, in order', () => {
    fc.assert(
      fc.property(sequence, sequence, (left, right) => {
        const alignment = align(left, right)
        const gaps = [...gapsOf(alignment, right.length)]
        const leftGaps = gaps.flatMap((gap) => range(gap.leftFrom, gap.leftTo))
        const rightGaps = gaps.flatMap((gap) => range(gap.rightFrom, gap.rightTo))
        const pairs = pairsOf(alignment.partner)
        expect(leftGaps).toEqual(range(0, left.length).filter((i) => !pairs.some(([a]) => a === i)))
        expect(rightGaps).toEqual(
          range(0, right.length).filter((j) => !pairs.some(([, b]) => b === j)),
        )
      }),
      { numRuns },
    )
  })

  it('takes a bounded number of steps for long sequences that hardly agree', () => {
    const noise = (seed: number) => {
      let state = seed
      return Int32Array.from({ length: 50_000 }, () => {
        state = (state * 1103515245 + 12345) % 2147483648
        return state % 64
      })
    }
    const left = noise(1)
    const right = noise(2)
    const { partner, cut } = align(left, right, 200)
    expect(cut).toBe(true)
    expect(pairsOf(partner).length).toBeGreaterThan(5_000)
  })
})

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}
