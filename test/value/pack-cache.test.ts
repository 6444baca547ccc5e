import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Hash } from '../../src/core/hash.js'
import { PackBlock } from '../../src/value/pack-block.js'
import { BlockCache } from '../../src/value/pack-cache.js'

function blockOf(byteCount: number): PackBlock {
  return new PackBlock(
    ['0'.repeat(64) as Hash],
    ['blob'],
    Uint32Array.of(byteCount),
    Buffer.alloc(byteCount),
  )
}

describe('the block cache', () => {
  it('holds what a list of the most recently used blocks would, within its bytes', () => {
    const use = fc.record({
      key: fc.nat(12).map(String),
      bytes: fc.nat(3_000),
      isGet: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(use, { maxLength: 60 }), fc.nat(10_000), (uses, bytesMax) => {
        const cache = new BlockCache(bytesMax)
        let model: { key: string; block: PackBlock }[] = []
        for (const { key, bytes, isGet } of uses) {
          const held = model.find((entry) => entry.key === key)
          if (isGet) {
            expect(cache.get(key)).toBe(held?.block)
            if (held) model = [...model.filter((entry) => entry !== held), held]
            continue
          }
          const block = blockOf(bytes)
          cache.set(key, block)
          model = model.filter((entry) => entry !== held)
          if (block.weightBytes <= bytesMax) model.push({ key, block })
          const weigh = () => model.reduce((sum, entry) => sum + entry.block.weightBytes, 0)
          while (weigh() > bytesMax) model.shift()
          expect(cache.bytes).toBe(weigh())
        }
      }),
      { numRuns: 500 },
    )
  })
})
