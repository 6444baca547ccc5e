/**
 * Power loss at every moment, on a disk that keeps any part of what was not synced.
 * Short in CI; DAGLOG_LONG=1 visits many more states at each moment.
 */
import { describe, expect, it } from 'vitest'
import {
  killThenLosePower,
  losePower,
  losePowerTwice,
  type Scenario,
  type Visitor,
} from './power-loss.js'
import { goOn, SCENARIOS } from './scenarios.js'

const isLong = process.env.DAGLOG_LONG !== undefined
const HOUR_MS = 3_600_000

/** So small that a frame lies on several pages, and a torn one can have holes. */
const disk = { pageBytes: 256 }

const scenarios = Object.entries(SCENARIOS)

function check(name: string, visitor: Visitor): void {
  console.log(`${name}: ${visitor}`)
  expect(visitor.findings).toEqual([])
}

describe('power lost at any moment', () => {
  it.each(scenarios)(
    'takes nothing that was acknowledged, and is never called damage: %s',
    async (name, scenario) => {
      check(name, await losePower(scenario, { limit: isLong ? 600 : 8, disk }))
    },
    HOUR_MS,
  )

  it(
    'nor where only whole writes are lost, at every size of page',
    async () => {
      for (const pageBytes of [64, 4096])
        for (const name of ['atomic appends', 'values out of line']) {
          const options = { limit: isLong ? 600 : 8, seed: pageBytes, disk: { pageBytes } }
          check(`${name}, pages of ${pageBytes}`, await losePower(SCENARIOS[name]!, options))
        }
    },
    HOUR_MS,
  )
})

describe('power lost while others go on after a kill', () => {
  it.each(scenarios)(
    'takes nothing that was acknowledged, though the dead synced it half: %s',
    async (name, scenario) => {
      const sequel = scenario.sequel ?? goOn
      check(name, await killThenLosePower(scenario, sequel, { limit: isLong ? 12 : 2, disk }))
    },
    HOUR_MS,
  )
})

describe('power lost again during recovery', () => {
  it.each([
    'atomic appends',
    'values out of line',
    'turns whose heads are noted',
    'taking over from dead processes',
  ])(
    'takes nothing that was acknowledged: %s',
    async (name) => {
      const scenario = SCENARIOS[name] as Scenario
      const first = { limit: isLong ? 24 : 3, select: isTelling }
      check(name, await losePowerTwice(scenario, goOn, { first, limit: isLong ? 8 : 3, disk }))
    },
    HOUR_MS,
  )

  /** Moments at which something that matters is not synced; all, in the long mode. */
  function isTelling(what: string): boolean {
    return isLong || / (?:sync|remove) .*(?:log|objects)|the end/.test(what)
  }
})
