/**
 * One unchanged function, recorded, resumed, replayed and forked.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { DaglogError, memory, openStore, type Run } from '../../src/index.js'

type AnyStore = Awaited<ReturnType<typeof openStore>>
const stores: AnyStore[] = []
async function fresh(): Promise<AnyStore> {
  const store = await openStore(memory())
  stores.push(store)
  return store
}
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

/** What bodies did, in order. */
function world() {
  const done: string[] = []
  const agent = async (run: Run, input: { n: number }) => {
    const page = await run.step('fetch', { n: input.n }, (s) => {
      done.push(`fetch ${s.input.n}`)
      return { text: `page ${s.input.n}` }
    })
    const [a, b] = await Promise.all([
      run.step('score', { page }, async (s) => {
        const inner = await s.step('weigh', { page: s.input.page }, (w) => {
          done.push('weigh')
          return w.input.page.text.length
        })
        return inner * 2
      }),
      run.step(
        'send',
        { page },
        () => {
          done.push('send')
          return 'sent'
        },
        { effect: 'write' },
      ),
    ])
    return { a, b }
  }
  return { done, agent }
}

describe('a function that was recorded', () => {
  it('replays with no body run, in a run of its own', async () => {
    const store = await fresh()
    const { done, agent } = world()
    const r1 = await store.record('job', { n: 1 }, agent)
    expect(r1.output).toEqual({ a: 12, b: 'sent' })
    const before = await (await store.inspectRun(r1.id)).head()
    done.length = 0
    const r3 = await store.replay(r1.id, agent)
    expect(r3.text()).toMatch(/^same/)
    expect(r3).toMatchObject({ ok: true, complete: true, answered: 3, divergences: [], notes: [] })
    expect(r3.output).toEqual(r1.output)
    expect(done).toEqual([])
    expect(await (await store.inspectRun(r1.id)).head()).toEqual(before)
    expect((await (await store.inspectRun(r3.id)).summary()).parent?.kind).toBe('replay')
    expect(await store.resolve('@last')).toBe(r1.id)
    expect((await store.verify()).ok).toBe(true)
  })

  it('resumes to the same result, and finished steps are answered from the log', async () => {
    const store = await fresh()
    const { done, agent } = world()
    const r1 = await store.record('job', { n: 1 }, agent)
    done.length = 0
    const r2 = await store.resume(r1.id, agent)
    expect(r2).toMatchObject({ id: r1.id, ok: true, answered: 3, inDoubt: [] })
    expect(r2.output).toEqual(r1.output)
    expect(done).toEqual([])
  })

  it('tells of a changed input which step, where in it, and where in the code', async () => {
    const store = await fresh()
    const { agent } = world()
    const r1 = await store.record('job', { n: 1 }, agent)
    const changed = async (run: Run, input: { n: number }) => {
      try {
        await run.step('fetch', { n: input.n + 1 }, () => 'never')
      } catch {
        return 'swallowed'
      }
      return undefined
    }
    const r3 = await store.replay(r1.id, changed)
    expect(r3.ok).toBe(false)
    expect(r3.first).toMatchObject({
      kind: 'input-changed',
      path: 'fetch',
      tainted: false,
      changes: [{ pointer: '/n', op: 'replace', left: 1, right: 2 }],
      recorded: { run: r1.id, name: 'fetch', site: expect.stringContaining('again.test.ts:') },
      now: { run: r3.id, site: expect.stringContaining('again.test.ts:') },
    })
    expect(r3.text()).toContain('/n')
  })

  it('forks with one input edited: before it nothing runs, behind it all does', async () => {
    const store = await fresh()
    const { done, agent } = world()
    const r1 = await store.record('job', { n: 1 }, agent)
    done.length = 0
    const edit = (input: { page: { text: string } }) => ({ page: { text: `${input.page.text}!!` } })
    const r4 = await store.forkRun(r1.id, { at: 'score/weigh', edit }, agent)
    // What was written before is not written again, and needs no leave.
    expect(r4.output).toEqual({ a: 16, b: 'sent' })
    const refused = await store.forkRun(r1.id, { at: 'score', edit }, agent)
    expect(refused.error).toMatchObject({ code: 'WRITE_NOT_ALLOWED' })
    done.length = 0
    const r5 = await store.forkRun(r1.id, { at: 'score', edit, allow: ['send'] }, agent)
    expect(r5.output).toEqual({ a: 16, b: 'sent' })
    expect(r5).toMatchObject({ edit: 'made', answered: 1 })
    expect(done.sort()).toEqual(['send', 'weigh'])
    expect((await store.verify()).ok).toBe(true)
    const diff = await store.diff(r1.id, r5.id)
    expect(diff).toBeDefined()
    expect(await store.replay(r5.id, agent)).toMatchObject({ ok: true, divergences: [] })
  })
})

it('two that resume at once: one wins, the other is told', async () => {
  const store = await fresh()
  const { agent } = world()
  const r1 = await store.record('job', { n: 1 }, agent)
  const results = await Promise.allSettled([store.resume(r1.id, agent), store.resume(r1.id, agent)])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const lost = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult
  expect(lost.reason).toBeInstanceOf(DaglogError)
  expect(lost.reason.code).toBe('RUN_LOCKED')
})
