import { describe, expect, it } from 'vitest'
import type { Backend } from '../../src/backend/backend.js'
import { type Hash, memory, openStore, type Run, type RunView } from '../../src/index.js'
import { type WalkedStep, type WalkTotals, walkRun } from '../../src/store/walk.js'

async function walked(
  view: Pick<RunView, 'id' | 'events' | 'condition'>,
): Promise<{ readonly steps: WalkedStep[]; readonly totals: WalkTotals }> {
  const walk = walkRun(view)
  const steps: WalkedStep[] = []
  for await (const step of walk) steps.push(step)
  return { steps, totals: walk.totals() }
}

/** Record a run, do something to its store, and walk it. */
async function recorded(
  work: (run: Run) => Promise<unknown>,
  spoil?: (backend: Backend) => unknown,
): Promise<{ readonly steps: WalkedStep[]; readonly totals: WalkTotals }> {
  const backend = memory()
  let time = 0
  const store = await openStore(backend, { now: () => ++time })
  const run = await store.createRun({ id: 'r' })
  await work(run)
  await run.close()
  await spoil?.(backend)
  const result = await walked(await store.inspectRun('r'))
  await store.close()
  return result
}

const returns = (output: unknown) => () => output
const big = (text: string) => text.repeat(10_000)

async function agent(run: Run): Promise<void> {
  await run.step('plan', { goal: 'x' }, async (plan) => {
    await plan.step('fetch', 'u', returns(big('page')))
    await plan.step('fetch', 'v', returns([1, 2]))
  })
  const deps = ['n1']
  await run.step('act', 5, () => Promise.reject(new TypeError('no\nway')), { deps }).catch(String)
}

describe('a walk', () => {
  it('gives the steps in order of start, with what went in and out', async () => {
    const { steps, totals } = await recorded(agent)
    expect(
      steps.map(({ id, path, depth, status, durationMs }) => [id, path, depth, status, durationMs]),
    ).toEqual([
      ['n1', 'plan', 0, 'ok', 5],
      ['n2', 'plan/fetch', 1, 'ok', 1],
      ['n3', 'plan/fetch#2', 1, 'ok', 1],
      ['n4', 'act', 0, 'error', 1],
    ])
    expect(steps.map(({ input }) => input)).toEqual([
      { bytes: 12, preview: '{"goal":"x"}' },
      { bytes: 1, preview: '"u"' },
      { bytes: 1, preview: '"v"' },
      { bytes: 1, preview: '5' },
    ])
    expect(steps[1]?.output?.bytes).toBe(40_000)
    expect(steps[1]?.output?.preview).toMatch(/^"pagepage.*…$/)
    expect(steps[2]?.output).toEqual({ bytes: 5, preview: '[1,2]' })
    expect(steps[3]?.error?.preview).toBe('TypeError: no\\nway')
    expect(steps[3]?.deps).toEqual(['n1'])
    expect(totals).toMatchObject({
      steps: 4,
      ended: { ok: 3, error: 1, open: 0 },
      payloads: 7,
      problems: [],
      odd: [],
      incomplete: [],
      verdict: 'ok',
    })
    expect(JSON.parse(JSON.stringify({ steps, totals }))).toEqual({ steps, totals })
  })

  it('gives a step as soon as it and all before it have ended', async () => {
    const given: number[] = []
    let read = 0
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    for (let i = 0; i < 5; i++) await run.step('work', i, returns(i))
    const counting: Pick<RunView, 'id' | 'events' | 'condition'> = {
      id: 'r',
      condition: () => run.condition(),
      events: (options) =>
        (async function* () {
          for await (const event of run.events(options)) {
            read += 1
            yield event
          }
        })() as never,
    }
    for await (const _ of walkRun(counting)) given.push(read)
    expect(given).toEqual([2, 4, 6, 8, 10])
    await store.close()
  })

  it('goes on where payloads are missing, and says which', async () => {
    const { steps, totals } = await recorded(agent, (backend) => {
      backend.getObject = async () => undefined
    })
    expect(steps).toHaveLength(4)
    expect(steps[1]?.output).toEqual({ bytes: 40_000 })
    expect(steps[1]?.problems).toMatchObject([{ seq: 3, code: 'OBJECT_MISSING' }])
    expect(steps[2]?.problems).toEqual([])
    expect(totals).toMatchObject({ verdict: 'damaged', problems: steps[1]?.problems })
  })

  it('finds payloads that are not as they were recorded', async () => {
    const many = async (run: Run) => {
      for (let i = 0; i < 5; i++) await run.step('work', i, returns(`${i}${big('x')}`))
    }
    const { steps, totals } = await recorded(many, (backend) => {
      const getObject = backend.getObject.bind(backend)
      let count = 0
      backend.getObject = async (hash: Hash, ...rest) => {
        const bytes = await getObject(hash, ...rest)
        count += 1
        return bytes === undefined || count % 2 === 0 ? bytes : Buffer.from(bytes).fill(0x79, 3, 4)
      }
    })
    expect(steps.map(({ problems }) => problems.map(({ code }) => code))).toEqual([
      ['OBJECT_CORRUPT'],
      [],
      ['OBJECT_CORRUPT'],
      [],
      ['OBJECT_CORRUPT'],
    ])
    expect(totals).toMatchObject({ steps: 5, verdict: 'damaged' })
    expect(totals.problems).toHaveLength(3)
  })

  it('says what is still open', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    await run.step('done', 1, returns(1))
    await run.append('step/start', { id: 'x', key: 'k', name: 'going' })
    await run.step('after', 1, returns(2))
    const { steps, totals } = await walked(run)
    expect(steps.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'done ok',
      'going open',
      'after ok',
    ])
    expect(steps[1]).not.toHaveProperty('durationMs')
    expect(totals).toMatchObject({ verdict: 'incomplete', incomplete: ['1 step is open'] })
    await store.close()
  })

  it('lets no recorded text reach a terminal as it is', async () => {
    const evil = '\u001b]0;owned\u0007\r\n\u202e'
    const { steps } = await recorded((run) =>
      run.step('work', { [evil]: evil }, () => Promise.reject(new Error(evil))).catch(String),
    )
    const shown = [steps[0]?.input?.preview, steps[0]?.error?.preview].join('')
    expect(shown).toMatch(/^[ -~]+$/)
    expect(shown).toContain('\\u001b]0;owned')
  })

  it('tells odd events, and gaps that it found', async () => {
    const odd = await recorded((run) => run.append('step/end', { id: 'nobody' } as never))
    expect(odd.totals).toMatchObject({ verdict: 'ok', odd: [{ seq: 1, type: 'step/end' }] })
    const gap = await recorded(agent, (backend) => {
      const read = backend.read.bind(backend)
      backend.read = async (name, segment, from, length) => {
        const bytes = await read(name, segment, from, length)
        const at = from === 0 ? bytes.indexOf('"fetch"') : -1
        return at < 0 ? bytes : Buffer.from(bytes).fill(0x78, at + 1, at + 2)
      }
    })
    expect(gap.totals.verdict).toBe('damaged')
    expect(gap.totals.problems[0]).toMatchObject({ code: 'FRAME_INVALID' })
    expect(gap.steps.map(({ id }) => id)).not.toContain('n2')
    expect(gap.steps.map(({ id }) => id)).toContain('n4')
  })

  it('has no totals before its end', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    await agent(run)
    const walk = walkRun(run)
    for await (const _ of walk) break
    expect(() => walk.totals()).toThrow(/USAGE.*has not ended/)
    await store.close()
  })

  it('lets through what is no damage', async () => {
    const { steps } = await recorded(agent)
    expect(steps).toHaveLength(4)
    await expect(
      recorded(agent, (backend) => {
        backend.getObject = () => Promise.reject(new Error('no disk'))
      }),
    ).rejects.toThrow('no disk')
  })
})
