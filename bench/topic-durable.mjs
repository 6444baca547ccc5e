/**
 * One writer, one event at a time, each durable before the next is made.
 */
import { join } from 'node:path'
import { openStore } from '../dist/index.js'
import { bareFile, barePromises } from './bare.mjs'
import { median, p99, rate, ratio, takeTurns } from './rounds.mjs'
import { frameText, LARGE, SMALL } from './sample.mjs'
import { withScratch } from './scratch.mjs'

const RATIO_MIN = 0.75

/** @param {{quick: boolean}} options */
export function durable({ quick }) {
  const [rounds, count, warmUps] = quick ? [9, 40, 10] : [41, 80, 25]
  return withScratch(async (dir) => {
    const store = await openStore(join(dir, 'store'))
    const rows = []
    for (const [what, event] of [
      ['small events', SMALL],
      ['2 KB events', LARGE],
    ]) {
      const bytes = Buffer.from(frameText(event))
      const run = await store.createRun()
      const file = bareFile(join(dir, `${run.id}.bare`))
      const promises = await barePromises(join(dir, `${run.id}.promises`))
      const waits = []
      const repeat = (append) =>
        rate(count, async () => {
          for (let made = 0; made < count; made += 1) await append()
        })
      const sides = {
        ours: () =>
          repeat(async () => {
            const began = performance.now()
            await run.append(event.type, event.data)
            waits.push(performance.now() - began)
          }),
        calls: () => repeat(() => file.append(bytes)),
        handles: () => repeat(() => promises.append(bytes)),
      }
      const { ours, calls, handles } = await takeTurns(rounds, sides, warmUps)
      const row = {
        what: `${what}, ${bytes.length} B frames`,
        median: median(ours),
        unit: 'events/s',
      }
      rows.push({
        ...row,
        p99: { value: p99(waits), unit: 'ms' },
        limit: {
          what: 'writeSync + awaited fdatasync',
          median: median(calls),
          ratio: ratio(ours, calls),
        },
        bars: { ratioMin: RATIO_MIN },
      })
      rows.push({
        ...row,
        what: `${what}, the same`,
        limit: {
          what: 'FileHandle write + datasync',
          median: median(handles),
          ratio: ratio(ours, handles),
        },
      })
      file.close()
      await promises.close()
      await run.close()
    }
    await store.close()
    return rows
  })
}
