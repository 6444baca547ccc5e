/**
 * Power loss at every moment, on a disk that keeps any part of what was not synced.
 * Short in CI; DAGLOG_LONG=1 visits many more states at each moment.
 */
import { describe, expect, it } from 'vitest'
import { killThenLosePower, losePower, losePowerTwice } from './power-loss.js'
import { goOn, SCENARIOS } from './scenarios.js'

const isLong = process.env.DAGLOG_LONG !== undefined
/** So small that a frame lies on several pages, and a torn one can have holes. */
const disk = { pageBytes: 256 }
const HOUR_MS = 3_600_000

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  if (process.env.WHICH && !name.includes(process.env.WHICH)) continue
  describe(name, () => {
    it(
      'loses nothing acknowledged, and is never called damaged',
      async () => {
        const s = performance.now()
        const visitor = await losePower(scenario, {
          limit: Number(process.env.LIMIT ?? (isLong ? 1000 : 8)),
          disk,
        })
        console.log(`${name}: ${visitor}`, performance.now() - s)
        expect(visitor.findings).toEqual([])
      },
      HOUR_MS,
    )

    it(
      'the same after a kill',
      async () => {
        const s = performance.now()
        const visitor = await killThenLosePower(scenario, scenario.sequel ?? goOn, {
          limit: Number(process.env.LIMIT ?? (isLong ? 16 : 2)),
          disk,
        })
        console.log(`${name}, killed: ${visitor}`, performance.now() - s)
        expect(visitor.findings).toEqual([])
      },
      HOUR_MS,
    )
  })
}
describe('recovery', () => {
  it(
    'can be interrupted by another power loss',
    async () => {
      const s = performance.now()
      for (const name of ['taking over from dead processes', 'values out of line']) {
        const visitor = await losePowerTwice(SCENARIOS[name]!, goOn, {
          first: { limit: 3 },
          limit: 3,
          disk,
        })
        console.log(`${name}, twice: ${visitor}`, performance.now() - s)
        expect(visitor.findings).toEqual([])
      }
    },
    HOUR_MS,
  )
})
