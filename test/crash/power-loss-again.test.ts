/**
 * Power loss while others go on after a crash: after a kill, that left much unsynced, and during
 * the recovery from an earlier power loss.
 * Short in CI; DAGLOG_LONG=1 visits many more states.
 */
import { describe, expect, it } from 'vitest'
import { killThenLosePower, losePowerTwice } from './power-loss.js'
import { goOn, SCENARIOS } from './scenarios.js'

const isLong = process.env.DAGLOG_LONG !== undefined
const HOUR_MS = 3_600_000
const disk = { pageBytes: 256 }

describe('power lost after a kill', () => {
  it.each(Object.entries(SCENARIOS))(
    'takes nothing that those who went on have acknowledged: %s',
    async (name, scenario) => {
      const { sequel = goOn, isLarge = false } = scenario
      // What the dead did not sync is lost in the worst state.
      const options = { limit: isLong && !isLarge ? 12 : 4, lastOnly: !isLong, disk }
      const visitor = await killThenLosePower(scenario, sequel, options)
      console.log(`${name}, killed: ${visitor}`)
      expect(visitor.findings).toEqual([])
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
      const first = { limit: isLong ? 12 : 4, select: isTelling }
      const options = { first, limit: isLong ? 8 : 4, lastOnly: !isLong, disk }
      const visitor = await losePowerTwice(SCENARIOS[name]!, goOn, options)
      console.log(`${name}, lost twice: ${visitor}`)
      expect(visitor.findings).toEqual([])
    },
    HOUR_MS,
  )

  /** Moments at which something that matters is not synced; all of them in the long mode. */
  function isTelling(what: string): boolean {
    return isLong || / (?:sync|remove) .*(?:log|objects)|the end/.test(what)
  }
})
