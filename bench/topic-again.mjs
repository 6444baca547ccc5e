/**
 * What it costs to record a function's steps, to replay them, and to resume: a step without the sync, a
 * long run replayed with flat memory, the first live step behind many finished ones.
 */
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openStore } from '../dist/index.js'
import { median } from './rounds.mjs'
import { withScratch } from './scratch.mjs'

const STEPS = 100_000
const STEPS_QUICK = 10_000
const FINISHED = 10_000
const FINISHED_QUICK = 2_000
const RECORD_US_MAX = 100
const REPLAY_S_MAX = 10
const RESUME_S_MAX = 1
const MEMORY_SAMPLE_STEPS = 10_000

/** @param {{quick: boolean, tell: (line: string) => void}} options */
export async function again({ quick, tell }) {
  return withScratch(async (dir) => {
    const count = quick ? STEPS_QUICK : STEPS
    const store = await openStore(join(dir, 'store'), { durability: 'os' })
    const id = 'long'
    const before = performance.now()
    await store.record('long', count, loop, { id })
    const recordUs = ((performance.now() - before) * 1000) / count
    tell(`again: ${count} steps recorded`)
    const seconds = await replay(store, id)
    tell('again: replayed')
    const grownBytes = await grown(store, id)
    tell('again: replayed once more, for its memory')
    const resumes = []
    for (let round = 0; round < 3; round++) resumes.push(await resume(dir, round, quick))
    await store.close()
    return [
      {
        what: 'record a step, without the sync',
        median: recordUs,
        unit: 'us',
        bars: { medianMax: RECORD_US_MAX },
      },
      {
        what: `replay ${count.toLocaleString('en-US')} steps`,
        median: seconds,
        unit: 's',
        bars: { medianMax: REPLAY_S_MAX },
      },
      {
        what: 'heap that grew between a tenth of it and its end',
        median: grownBytes / count,
        unit: 'B/step',
      },
      {
        what: `resume behind ${(quick ? FINISHED_QUICK : FINISHED).toLocaleString('en-US')} steps, to the first live one`,
        median: median(resumes),
        unit: 's',
        bars: { medianMax: RESUME_S_MAX },
      },
    ]
  })
}

async function loop(run, count) {
  let carry = 0
  for (let i = 0; i < count; i++) carry = await run.step('add', { i, carry }, () => carry + i)
  return carry
}

async function replay(store, id) {
  const before = performance.now()
  const report = await store.replay(id, loop)
  if (!report.ok) throw new Error(report.text())
  return (performance.now() - before) / 1000
}

/** In a replay of its own: collecting garbage to look at the heap takes long. */
async function grown(store, id) {
  const heaps = []
  const agent = async (run, count) => {
    let carry = 0
    for (let i = 0; i < count; i++) {
      carry = await run.step('add', { i, carry }, () => 0)
      if (i % MEMORY_SAMPLE_STEPS === 0) heaps.push(heapNow())
    }
    return carry
  }
  const report = await store.replay(id, agent)
  if (!report.ok) throw new Error(report.text())
  const from = heaps[1] ?? heaps[0]
  return Math.max(0, heaps.at(-1) - from)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** What is alive. */
function heapNow() {
  collect()
  return process.memoryUsage().heapUsed
}

/** Seconds from the call to the body of the first step that was never recorded. */
async function resume(dir, round, quick) {
  const count = quick ? FINISHED_QUICK : FINISHED
  const place = join(dir, `resume-${round}`)
  const first = await openStore(place, { durability: 'os' })
  const stop = new Error('the process ends here')
  const agent = (last) => async (run, total) => {
    let carry = 0
    for (let i = 0; i <= total; i++) {
      if (i === total && last === undefined) throw stop
      carry = await run.step('add', { i, carry }, () => {
        if (i === total) last()
        return carry + i
      })
    }
    return carry
  }
  await first.record('long', count, agent(undefined), { id: 'long' })
  await first.close()
  const store = await openStore(place)
  const before = performance.now()
  let seconds = 0
  await store.resume(
    'long',
    agent(() => {
      seconds = (performance.now() - before) / 1000
    }),
  )
  await store.close()
  return seconds
}
