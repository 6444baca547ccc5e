/**
 * The clock and the random numbers of JavaScript itself, as those of a run.
 */
import nodeCrypto, { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, openStore, type Run } from '../../src/index.js'

/** Each way to draw, as something that can be compared. */
const DRAWS: Readonly<Record<string, () => unknown>> = {
  'Date.now': () => Date.now(),
  'new Date': () => new Date().getTime(),
  Date: () => Date().length,
  'Math.random': () => Math.random(),
  'crypto.randomUUID': () => crypto.randomUUID(),
  'node:crypto randomUUID': () => nodeCrypto.randomUUID(),
  'randomUUID by name': () => randomUUID(),
  'crypto.getRandomValues': () => [...crypto.getRandomValues(new Uint8Array(8))],
  'getRandomValues of words': () => [...nodeCrypto.getRandomValues(new Uint32Array(3))],
}

function members(): unknown[] {
  return [
    Object.getOwnPropertyDescriptor(globalThis, 'Date'),
    Object.getOwnPropertyDescriptor(Math, 'random'),
    Object.getOwnPropertyDescriptors(Object.getPrototypeOf(crypto)),
    Object.getOwnPropertyDescriptor(nodeCrypto, 'randomUUID'),
    Object.getOwnPropertyDescriptor(nodeCrypto, 'getRandomValues'),
    randomUUID,
  ]
}

function agentOf(names: readonly string[]) {
  return async (run: Run) => {
    const drawn: unknown[] = []
    for (const name of names) {
      const draw = DRAWS[name] as () => unknown
      drawn.push(draw(), await run.step('inside', {}, async () => [await turn(), draw()]))
    }
    return drawn
  }
}

describe('globals of a run', () => {
  it('are the same in a replay, two at once too, and others have their own meanwhile', async () => {
    const store = await openStore(memory())
    const names = fc.array(fc.constantFrom(...Object.keys(DRAWS)), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(names, names, async (left, right) => {
        const before = members()
        const agents = [left, right].map(agentOf)
        const first = await Promise.all(
          agents.map((agent) => store.record('job', 0, agent, { globals: true })),
        )
        const again = Promise.all(
          first.map(({ id }, at) => store.replay(id, agents[at] as (typeof agents)[number])),
        )
        const [a, b] = [crypto.randomUUID(), randomUUID()]
        expect(a).not.toBe(b)
        for (const [at, { ok, output }] of (await again).entries())
          expect([ok, output]).toEqual([true, first[at]?.output])
        expect(members()).toEqual(before)
      }),
      { numRuns: 25 },
    )
    await store.close()
  })

  it('are not recorded unless asked for', async () => {
    const store = await openStore(memory())
    const { id } = await store.record('job', 0, agentOf(['Date.now', 'Math.random']))
    expect(await (await store.inspectRun(id)).last('tick')).toBeUndefined()
    await store.close()
  })

  it('leave a Date that is one', async () => {
    const store = await openStore(memory())
    const { output } = await store.record(
      'job',
      0,
      async (run) => {
        const date = new Date()
        class Day extends Date {}
        const kept = await run.step('keep', { date }, () => new Date(5))
        return [
          date instanceof Date,
          new Day() instanceof Date,
          kept.getTime(),
          new Date(2020, 1).getFullYear(),
          Date.UTC(1970),
          Date.name,
        ]
      },
      { globals: true },
    )
    expect(output).toEqual([true, true, 5, 2020, 0, 'Date'])
    await store.close()
  })
})
