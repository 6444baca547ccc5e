import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, openStore, type Run, type RunEvent } from '../../src/index.js'
import { recordStep } from '../../src/store/record-step.js'

async function freshRun(): Promise<Run> {
  return (await openStore(memory())).createRun({ id: 'r' })
}

async function eventsOf(run: Run): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run.events({ from: 1 })) events.push(event)
  return events
}

/** What a step's two events say, without when and where. */
function said(events: readonly RunEvent[]): unknown[] {
  return events.map(({ type, data }) => ({ type, data }))
}

describe('a step recorded in one piece', () => {
  it('says the same as one that was run, id, key and payloads', async () => {
    const payload = fc.oneof(
      fc.constant(undefined),
      fc.string({ unit: 'binary' }),
      fc.uint8Array(),
      fc.jsonValue(),
      fc.constant('x'.repeat(9000)),
    )
    const step = fc.record({ name: fc.constantFrom('a', 'b'), input: payload, output: payload })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        const [recorded, ran] = [await freshRun(), await freshRun()]
        for (const { name, input, output } of steps) {
          await recordStep(recorded, { name, input, output })
          if (input === undefined) await ran.step(name, () => output)
          else await ran.step(name, input, () => output)
        }
        expect(said(await eventsOf(recorded))).toEqual(said(await eventsOf(ran)))
      }),
      { numRuns: 60 },
    )
  })

  it('is one atomic append, and gives the head that it makes', async () => {
    const run = await freshRun()
    const appends: number[] = []
    const appendEncoded = run.appendEncoded.bind(run)
    run.appendEncoded = (events) => {
      appends.push(events.length)
      return appendEncoded(events)
    }
    const { id, end } = await recordStep(run, {
      name: 'x',
      error: { name: 'Error', message: 'no' },
    })
    expect([id, appends]).toEqual(['n1', [2]])
    expect(await run.head()).toEqual(end)
    const [, ended] = await eventsOf(run)
    expect(ended?.data).toEqual({
      id: 'n1',
      status: 'error',
      error: { name: 'Error', message: 'no' },
    })
  })

  it('depends on steps that are there, and is refused with those that are not', async () => {
    const run = await freshRun()
    await recordStep(run, { name: 'a' })
    await run.step('b', {}, async (outer) => {
      await recordStep(run, { name: 'c', deps: ['n1', 'n2', outer.id] })
    })
    await run.append('step/start', { id: 'own', key: 'k', name: 'own id' })
    await recordStep(run, { name: 'd', deps: ['own', 'n3'] })
    const before = await run.head()
    await expect(recordStep(run, { name: 'e', deps: ['n1', 'n9', 'N1'] })).rejects.toMatchObject({
      code: 'EVENT_INVALID',
      data: { steps: ['n9', 'N1'] },
    })
    expect(await run.head()).toEqual(before)
    expect((await recordStep(run, { name: 'f' })).id).toBe('n5')
  })

  it('records what was given, whatever becomes of it meanwhile', async () => {
    const run = await freshRun()
    const input = { list: [1] }
    const recording = recordStep(run, { name: 'x', input })
    input.list.push(2)
    await recording
    expect((await eventsOf(run))[0]?.data).toMatchObject({ input: { list: [1] } })
  })
})
