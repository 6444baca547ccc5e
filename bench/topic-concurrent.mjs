/**
 * Many appenders on one run at once: how well their events share syncs.
 */
import { join } from 'node:path'
import { openStore } from '../dist/index.js'
import { bareFile } from './bare.mjs'
import { median, p99, rate, ratio, takeTurns } from './rounds.mjs'
import { frameText, LARGE, SMALL } from './sample.mjs'
import { withScratch } from './scratch.mjs'

const APPENDERS = 64
const RATIO_MIN = 0.4
const EVENTS_PER_SECOND_MIN = 60_000

/** @param {{quick: boolean}} options */
export function concurrent({ quick }) {
  const [rounds, groups] = quick ? [9, 30] : [61, 40]
  return withScratch(async (dir) => {
    const store = await openStore(join(dir, 'store'))
    const rows = []
    for (const [what, event, bars] of [
      ['small events', SMALL, { ratioMin: RATIO_MIN, medianMin: EVENTS_PER_SECOND_MIN }],
      ['2 KB events', LARGE, {}],
    ]) {
      const run = await store.createRun()
      const file = bareFile(join(dir, `${run.id}.bare`))
      const frame = frameText(event)
      const group = Buffer.from(frame.repeat(APPENDERS))
      const waits = []
      const appender = async () => {
        for (let made = 0; made < groups; made += 1) {
          const began = performance.now()
          await run.append(event.type, event.data)
          waits.push(performance.now() - began)
        }
      }
      const { ours, limit } = await takeTurns(rounds, {
        ours: () =>
          rate(APPENDERS * groups, () => Promise.all(Array.from({ length: APPENDERS }, appender))),
        limit: () =>
          rate(APPENDERS * groups, async () => {
            for (let made = 0; made < groups; made += 1) await file.append(group)
          }),
      })
      rows.push({
        what: `${APPENDERS} appenders on one run, ${what}`,
        median: median(ours),
        unit: 'events/s',
        p99: { value: p99(waits), unit: 'ms' },
        limit: {
          what: `one write and sync for ${APPENDERS} frames`,
          median: median(limit),
          ratio: ratio(ours, limit),
        },
        bars,
      })
      file.close()
      await run.close()
    }
    await store.close()
    return rows
  })
}
