/**
 * Random programs: a replay always equals the recording, and a run that was killed anywhere resumes to a
 * result that its own log explains.
 * Short in CI; DAGLOG_LONG=1 runs thousands. Seeds are printed: DAGLOG_SEED repeats.
 */
import { describe, expect, it } from 'vitest'
import { memory, openStore } from '../../src/index.js'
import { agentOf, drawer, randomProgram, worldOf } from './programs.js'

const LONG = process.env.DAGLOG_LONG !== undefined
const COUNT = LONG ? 3_000 : 120
const FIRST = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000)

describe('random programs', () => {
  it(
    'replay to what was recorded, with no body run and no note',
    { timeout: LONG ? 3_600_000 : 120_000 },
    async () => {
      console.log(`seed ${FIRST} (set DAGLOG_SEED to repeat)`)
      let answered = 0
      for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
        const draw = drawer(seed)
        const program = randomProgram(draw)
        const store = await openStore(memory())
        const r1 = await store.record('p', 'in', agentOf(program, worldOf(draw)))
        const world = worldOf(drawer(seed + 1))
        const r3 = await store.replay(r1.id, agentOf(program, world))
        expect([seed, r3.text().split('\n')[0]]).toEqual([seed, expect.stringMatching(/^same/)])
        expect([seed, r3.status, r3.output]).toEqual([seed, r1.status, r1.output])
        expect([seed, r3.notes.length, world.ran]).toEqual([seed, 0, []])
        answered += r3.answered
        await store.close()
      }
      console.log(`${COUNT} programs, ${answered} steps answered`)
      expect(answered).toBeGreaterThan(COUNT)
    },
  )
})
