/**
 * Power loss at every moment, on a disk that keeps any part of what was not synced.
 * Short in CI; DAGLOG_LONG=1 visits many more states at each moment.
 */
import { describe, expect, it } from 'vitest'
import { losePower } from './power-loss.js'
import { SCENARIOS } from './scenarios.js'

const isLong = process.env.DAGLOG_LONG !== undefined
const HOUR_MS = 3_600_000

/** The four extremes of each moment, and a sample of what is between; or nearly everything. */
const limitOf = ({ isLarge = false }): number => (isLong ? (isLarge ? 60 : 600) : isLarge ? 4 : 8)

describe('power lost at any moment', () => {
  // Pages so small that a frame lies on several, and a torn one can have holes.
  it.each(Object.entries(SCENARIOS))(
    'takes nothing that was acknowledged, and is never called damage: %s',
    async (name, scenario) => {
      const disk = { pageBytes: 256 }
      const visitor = await losePower(scenario, { limit: limitOf(scenario), disk })
      console.log(`${name}: ${visitor}`)
      expect(visitor.findings).toEqual([])
    },
    HOUR_MS,
  )

  it.each([
    [64, 'atomic appends'],
    [64, 'values out of line'],
    [4096, 'atomic appends'],
    [4096, 'values out of line'],
    [4096, 'taking over from dead processes'],
  ])(
    'the same with pages of %i bytes: %s',
    async (pageBytes, name) => {
      const scenario = SCENARIOS[name]!
      const limit = limitOf(scenario)
      const visitor = await losePower(scenario, { limit, seed: pageBytes, disk: { pageBytes } })
      console.log(`${name}, pages of ${pageBytes}: ${visitor}`)
      expect(visitor.findings).toEqual([])
    },
    HOUR_MS,
  )
})
