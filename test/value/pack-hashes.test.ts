import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/core/hash.js'
import { HashList } from '../../src/value/pack-hashes.js'

describe('a list of hashes', () => {
  it('knows what it holds, by number and in order, however many', () => {
    // Few distinct seeds: some repeat.
    const seeds = fc.array(fc.nat(4_000), { maxLength: 6_000, size: 'max' })
    fc.assert(
      fc.property(seeds, (numbers) => {
        const hashes = numbers.map((n) => sha256(Buffer.from(`${n}`)))
        const list = new HashList()
        const seen = new Set<string>()
        for (const hash of hashes) {
          if (list.has(hash) !== seen.has(hash)) expect.unreachable(hash)
          list.push(hash)
          seen.add(hash)
        }
        expect(hashes.map((_, number) => list.at(number).toString('hex'))).toEqual(hashes)
        const sorted = [...list.sorted()]
        expect(sorted.map((number) => hashes[number])).toEqual([...hashes].sort())
        for (const [k, number] of sorted.entries()) {
          const before = sorted[k - 1]
          if (before !== undefined && hashes[before] === hashes[number]) {
            expect(before).toBeLessThan(number)
          }
        }
      }),
      { numRuns: 30 },
    )
  })
})
