/**
 * Many runs of one store at once, each with its own log and its own syncs.
 */
import { join } from 'node:path'
import { openStore } from '../dist/index.js'
import { bareFile } from './bare.mjs'
import { median, p99, rate, ratio, takeTurns } from './rounds.mjs'
import { frameText, SMALL } from './sample.mjs'
import { withScratch } from './scratch.mjs'

const RUNS = 64

/** @param {{quick: boolean}} options */
export function runs64({ quick }) {
  const [rounds, each] = quick ? [7, 8] : [31, 12]
  return withScratch(async (dir) => {
    const store = await openStore(join(dir, 'store'))
    const runs = []
    const files = []
    for (let number = 0; number < RUNS; number += 1) {
      runs.push(await store.createRun({ id: `run-${number}` }))
      files.push(bareFile(join(dir, `${number}.bare`)))
    }
    const bytes = Buffer.from(frameText(SMALL))
    const waits = []
    const inEach = (list, append) =>
      rate(RUNS * each, () =>
        Promise.all(
          list.map(async (item) => {
            for (let made = 0; made < each; made += 1) await append(item)
          }),
        ),
      )
    const { ours, limit } = await takeTurns(rounds, {
      ours: () =>
        inEach(runs, async (run) => {
          const began = performance.now()
          await run.append(SMALL.type, SMALL.data)
          waits.push(performance.now() - began)
        }),
      limit: () => inEach(files, (file) => file.append(bytes)),
    })
    for (const file of files) file.close()
    await store.close()
    return [
      {
        what: `${RUNS} runs at once, small events`,
        median: median(ours),
        unit: 'events/s',
        p99: { value: p99(waits), unit: 'ms' },
        limit: { what: `${RUNS} bare files`, median: median(limit), ratio: ratio(ours, limit) },
      },
    ]
  })
}
