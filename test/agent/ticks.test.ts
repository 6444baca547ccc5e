/**
 * Values that are another each time, recorded where they are drawn.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, openStore, type Run, type RunView } from '../../src/index.js'
import { world } from './guarded-world.js'

/** A function of draws and steps; the number says which. */
type Program = readonly (0 | 1 | 2 | 3 | 4)[]

const program: fc.Arbitrary<Program> = fc.array(fc.constantFrom(0, 1, 2, 3, 4), { maxLength: 40 })

/** Gives all that was drawn, also inside of steps and side by side. */
function agentOf(list: Program, stopAt = Number.POSITIVE_INFINITY) {
  return async (run: Run): Promise<unknown[]> => {
    const drawn: unknown[] = []
    for (const [at, what] of list.entries()) {
      if (at === stopAt) throw new Error('stopped here')
      if (what === 0) drawn.push(run.now())
      else if (what === 1) drawn.push(run.random())
      else if (what === 2) drawn.push(run.uuid())
      else if (what === 3) drawn.push(await run.step('draw', {}, () => [run.uuid(), run.now()]))
      else {
        const both = [run.step('a', {}, () => run.random()), run.step('b', {}, () => run.random())]
        drawn.push(await Promise.all(both))
      }
    }
    return drawn
  }
}

async function eventsOf(view: RunView): Promise<{ type: string; data: unknown }[]> {
  const events: { type: string; data: unknown }[] = []
  for await (const { type, data } of view.events()) events.push({ type, data })
  return events
}

describe('what is drawn in a function', () => {
  it('is the same in each replay, and in a resume of what was stopped anywhere', async () => {
    let time = 0
    const store = await openStore(memory(), { now: () => ++time })
    await fc.assert(
      fc.asyncProperty(program, fc.nat(), async (list, cut) => {
        const first = await store.record('job', 0, agentOf(list))
        const again = await store.replay(first.id, agentOf(list))
        expect([again.ok, again.output]).toEqual([true, first.output])
        const twice = await store.replay(again.id, agentOf(list))
        expect([twice.ok, twice.output]).toEqual([true, first.output])

        const stopAt = cut % (list.length + 1)
        const stopped = await store.record('job', 0, agentOf(list, stopAt))
        const resumed = await store.resume(stopped.id, agentOf(list))
        const replayed = await store.replay(stopped.id, agentOf(list))
        expect([replayed.ok, replayed.output]).toEqual([true, resumed.output])
      }),
      { numRuns: 40 },
    )
    await store.close()
  })

  it('stands in the log before whatever was done with it, in the same append', async () => {
    const store = await openStore(memory())
    const { id } = await store.record('job', 0, async (run) => {
      const at = run.now()
      await run.step('use', { at }, () => 'done')
      run.uuid()
    })
    const events = await eventsOf(await store.inspectRun(id))
    expect(events.map(({ type }) => type)).toEqual([
      'run/start',
      'run/meta',
      'agent/start',
      'tick',
      'step/start',
      'step/end',
      'tick',
      'agent/end',
      'run/end',
    ])
    await store.close()
  })

  it('takes few events, however much it is', async () => {
    const store = await openStore(memory())
    const { id } = await store.record('job', 0, async (run) => {
      for (let at = 0; at < 1000; at++) run.random()
    })
    const events = await eventsOf(await store.inspectRun(id))
    expect(events.filter(({ type }) => type === 'tick').length).toBe(Math.ceil(1000 / 32))
    await store.close()
  })

  it('is drawn anew by a fork behind its cut, and kept before it', async () => {
    const store = await openStore(memory())
    const agent = async (run: Run) => {
      const before = run.uuid()
      await run.step('cut', {}, (step) => step.input)
      return [before, run.uuid()]
    }
    const first = await store.record('job', 0, agent)
    const fork = await store.forkRun(first.id, { at: 'cut', edit: () => ({ other: true }) }, agent)
    expect(fork.output[0]).toBe(first.output[0])
    expect(fork.output[1]).not.toBe(first.output[1])
    const again = await store.replay(fork.id, agent)
    expect([again.ok, again.output]).toEqual([true, fork.output])
    await store.close()
  })

  it('is a divergence where it was not drawn before', async () => {
    const store = await openStore(memory())
    const { id } = await store.record('job', 0, async () => 'fine')
    const replayed = await store.replay(id, async (run) => {
      run.uuid()
      return 'fine'
    })
    expect(replayed.first).toMatchObject({ kind: 'extra', path: 'uuid' })
    await store.close()
  })

  it('is recorded in a plain run, too, also when it is closed right after', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    const id = run.uuid()
    await run.close()
    const [, tick] = await eventsOf(await store.inspectRun('r'))
    expect(tick).toMatchObject({ type: 'tick', data: { values: [[expect.any(String), id]] } })
    await store.close()
  })
})

describe('a replay', () => {
  it('reaches nobody, and says so even where the function swallows that', async () => {
    const server = await world()
    const store = await openStore(memory())
    let careless = false
    const agent = async (run: Run) => {
      const ask = () => fetch(`http://127.0.0.1:${server.port}/`).then((reply) => reply.text())
      const answer = await run.step('ask', {}, ask)
      if (careless) await ask().catch(() => undefined)
      return answer
    }
    const { id } = await store.record('job', 0, agent)
    const before = server.count()
    expect((await store.replay(id, agent)).ok).toBe(true)
    careless = true
    const replayed = await store.replay(id, agent)
    expect([replayed.ok, replayed.output]).toEqual([false, 'fine'])
    expect(replayed.first).toMatchObject({
      kind: 'traffic-miss',
      note: expect.stringContaining(`fetch to http://127.0.0.1:${server.port} was refused`),
    })
    expect(server.count()).toBe(before)
    await store.close()
    await server.close()
  })
})
