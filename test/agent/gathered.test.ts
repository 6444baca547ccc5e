/**
 * What a replay answers is written in groups: in the order of the calls, and not in silence where it
 * cannot be.
 */
import { expect, it } from 'vitest'
import type { Run } from '../../src/index.js'
import { SimulatedDisk } from '../../src/testing.js'
import { Machine } from '../crash/machine.js'

const STEPS = 150

async function agent(run: Run): Promise<number> {
  let sum = 0
  for (let i = 0; i < STEPS; i += 1) {
    sum += await run.step('add', { i }, () => i)
    if (i % 50 === 49) await run.append('note', { i })
  }
  return sum
}

/** Types and numbers of steps, in the order of the log. */
async function told(events: AsyncIterable<{ readonly type: string; readonly data: unknown }>) {
  const lines: string[] = []
  for await (const { type, data } of events) {
    const { id = '', i = '' } = data as { id?: string; i?: number }
    if (/^(step\/|note)/.test(type)) lines.push(`${type} ${id}${i}`)
  }
  return lines
}

it('writes the events of the recording in its order, in far fewer writes', async () => {
  const disk = new SimulatedDisk()
  const { store } = await new Machine(disk).start()
  const count = async (work: () => Promise<unknown>): Promise<number> => {
    let appends = 0
    disk.onOperation = ({ name, path, phase }) => {
      if (phase === 'before' && name === 'append' && path.endsWith('.jsonl')) appends += 1
    }
    await work()
    disk.onOperation = undefined
    return appends
  }
  const recorded = await count(() => store.record('sum', 0, agent, { id: 'r1' }))
  const replayed = await count(async () => {
    const report = await store.replay('r1', agent, { id: 'r2' })
    expect(report.text()).toMatch(/^same/)
  })
  expect(recorded).toBeGreaterThan(2 * STEPS)
  expect(replayed).toBeLessThan(STEPS)
  const order = await told((await store.inspectRun('r2')).events())
  expect(order).toEqual(await told((await store.inspectRun('r1')).events()))
  expect((await store.verify('r2')).ok).toBe(true)
  await store.close()
})

it('fails where any of its writes does, and what was written before stands', async () => {
  for (let failing = 1; failing <= 12; failing += 1) {
    const disk = new SimulatedDisk()
    const { store } = await new Machine(disk).start()
    await store.record('sum', 0, agent, { id: 'r1' })
    let appends = 0
    const isLog = ({ name, path }: { name: string; path: string }): boolean =>
      name === 'append' && path.includes('r2') && path.endsWith('.jsonl') && ++appends === failing
    disk.failNext(isLog, { code: 'ENOSPC' })
    const replay = store.replay('r1', agent, { id: 'r2' })
    await expect(replay, `write ${failing}`).rejects.toMatchObject({ kind: 'environment' })
    await store.close()
    const again = (await new Machine(disk).start()).store
    expect((await again.verify('r1')).ok).toBe(true)
    await again.close()
  }
})
