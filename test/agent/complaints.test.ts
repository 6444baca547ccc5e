/**
 * What people complain of in engines that run functions again, row by row, and input that is bad.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { memory, openStore, type Run, step } from '../../src/index.js'

type OpenStore = Awaited<ReturnType<typeof openStore>>
const stores: OpenStore[] = []
async function fresh(): Promise<OpenStore> {
  const store = await openStore(memory())
  stores.push(store)
  return store
}
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('complaints', () => {
  it('7, 9: a divergence names step, pointer, both places in the code, and which side is which', async () => {
    const store = await fresh()
    const r1 = await store.record('a', 1, (run) => run.step('ask', { q: { text: 'one' } }, () => 1))
    const r3 = await store.replay(r1.id, (run: Run) =>
      run.step('ask', { q: { text: 'two' } }, () => 1),
    )
    expect(r3.text()).toMatch(
      /input-changed: "ask" is given something else\n {4}recorded {2}"ask" .*complaints\.test\.ts:\d+:\d+\n {4}now {7}"ask" .*complaints\.test\.ts:\d+:\d+\n {6}\/q\/text\n {8}recorded {2}"one"\n {8}now {7}"two"/,
    )
    expect(JSON.parse(JSON.stringify(r3))).toMatchObject({
      ok: false,
      first: { kind: 'input-changed', path: 'ask', changes: [{ pointer: '/q/text' }] },
    })
  })

  it('11, 25: a function whose code changed is a report, never a corrupt log', async () => {
    const store = await fresh()
    const r1 = await store.record('a', 1, async (run) => {
      await run.step('one', 1, () => 1)
      return run.step('two', 2, () => 2)
    })
    const removed = await store.replay(r1.id, (run: Run) => run.step('two', 2, () => 2))
    expect(removed.divergences.map(({ kind, path }) => [kind, path])).toEqual([['missing', 'one']])
    const added = await store.replay(r1.id, async (run: Run) => {
      await run.step('one', 1, () => 1)
      await run.step('new', 9, () => 9)
      return run.step('two', 2, () => 2)
    })
    expect(added.first).toMatchObject({ kind: 'extra', path: 'new', now: { name: 'new' } })
    const renamed = await store.replay(r1.id, async (run: Run) => {
      await run.step('eins', 1, () => 1)
      return run.step('two', 2, () => 2)
    })
    expect(renamed.first).toMatchObject({
      kind: 'renamed',
      recorded: { name: 'one' },
      now: { name: 'eins' },
    })
    const reordered = await store.replay(r1.id, async (run: Run) => {
      const two = await run.step('two', 2, () => 2)
      await run.step('one', 1, () => 1)
      return two
    })
    expect(reordered).toMatchObject({ ok: true, notes: [{ kind: 'order', path: 'two' }] })
    expect((await store.verify()).ok).toBe(true)
  })

  it('12, 16, 17: all, race, any and allSettled go the way they went, whoever is quicker now', async () => {
    const store = await fresh()
    let slow = 0
    const agent = async (run: Run) => {
      const wait = (name: string, count: number) =>
        run.step(name, null, async () => {
          await turns(slow === 0 ? count : 10 - count)
          if (name === 'bad') throw new TypeError('bad')
          return name
        })
      const race = await Promise.race([wait('a', 2), wait('b', 8)])
      const any = await Promise.any([wait('bad', 1), wait('c', 9), wait('d', 4)])
      const settled = await Promise.allSettled([wait('bad', 1), wait('e', 3)])
      const failed = settled[0] as PromiseRejectedResult
      return [race, any, failed.reason instanceof TypeError, await wait(`after ${race} ${any}`, 1)]
    }
    const r1 = await store.record('a', null, agent)
    expect(r1.output).toEqual(['a', 'd', true, 'after a d'])
    slow = 1
    const r3 = await store.replay(r1.id, agent)
    expect(r3).toMatchObject({ ok: true, notes: [] })
    expect(r3.output).toEqual(r1.output)
  })

  it('20: two calls of one name and another input are two steps', async () => {
    const store = await fresh()
    const agent = (run: Run) => Promise.all([1, 2].map((n) => run.step('get', { n }, () => n * 10)))
    const r1 = await store.record('a', null, agent)
    expect((await store.replay(r1.id, agent)).output).toEqual([10, 20])
  })

  it('21, 22: what has ended is never run again, and what runs was recorded before', async () => {
    const store = await fresh()
    const ran: string[] = []
    let fails = true
    const agent = async (run: Run) => {
      await run.step('bill', 1, () => ran.push('bill'), { effect: 'write' })
      if (fails) throw new Error('the process dies here')
      return run.step('rest', 1, () => ran.push('rest'))
    }
    const r1 = await store.record('a', null, agent)
    expect(() => r1.output).toThrow('the process dies here')
    fails = false
    const r2 = await store.resume(r1.id, agent)
    expect(r2.ok).toBe(true)
    expect(ran).toEqual(['bill', 'rest'])
  })

  it('28: replay answers, a fork asks again: separate verbs, and neither touches the run', async () => {
    const store = await fresh()
    const asked: unknown[] = []
    const agent = (run: Run) =>
      run.step('ask', { question: 'go?' }, (s) => {
        asked.push(s.input)
        return `answer ${asked.length}`
      })
    const r1 = await store.record('a', null, agent)
    const head = await (await store.inspectRun(r1.id)).head()
    expect((await store.replay(r1.id, agent)).output).toBe('answer 1')
    const forked = await store.forkRun(
      r1.id,
      { at: 'ask', edit: () => ({ question: 'stop?' }) },
      agent,
    )
    expect(forked.output).toBe('answer 2')
    expect(asked).toEqual([{ question: 'go?' }, { question: 'stop?' }])
    expect(await (await store.inspectRun(r1.id)).head()).toEqual(head)
  })
})

describe('a step in doubt', () => {
  /** A run in which `name` began and never ended. */
  async function doubtful(store: OpenStore, options: object): Promise<string> {
    let began = (): void => {}
    const isRunning = new Promise<void>((resolve) => (began = resolve))
    const r1 = await store.record('a', null, (run: Run) =>
      Promise.race([
        run.step(
          'pay',
          7,
          () => {
            began()
            return new Promise(() => {})
          },
          options,
        ),
        isRunning.then(() => Promise.reject(new Error('the process dies here'))),
      ]),
    )
    return r1.id
  }

  it('that writes stops the function with an error that names it, swallowed or not', async () => {
    const store = await fresh()
    const id = await doubtful(store, { effect: 'write' })
    const r2 = await store.resume(id, async (run: Run) => {
      await run.step('pay', 7, () => 1, { effect: 'write' }).catch(() => 'swallowed')
    })
    expect(r2.error).toMatchObject({ code: 'STEP_IN_DOUBT', data: { path: 'pay' } })
    expect(r2.inDoubt).toEqual([{ path: 'pay', effect: 'write', went: 'refused' }])
  })

  it('that has a check is asked whether it was done', async () => {
    const store = await fresh()
    const id = await doubtful(store, { effect: 'write' })
    const r2 = await store.resume(id, (run: Run) =>
      run.step('pay', 7, () => 'paid twice', {
        effect: 'write',
        check: () => ({ done: true, output: 'paid once' }),
      }),
    )
    expect(r2.output).toBe('paid once')
    expect(r2.inDoubt).toEqual([{ path: 'pay', effect: 'write', went: 'checked' }])
  })

  it('that reads runs again, under the same idempotency key; a fork has another', async () => {
    const store = await fresh()
    const keys: string[] = []
    const agent = (run: Run) =>
      run.step(
        'pay',
        7,
        (s) => {
          keys.push(s.idempotencyKey)
          return 'done'
        },
        { effect: 'read' },
      )
    const id = await doubtful(store, { effect: 'read' })
    const r2 = await store.resume(id, agent)
    expect(r2.inDoubt).toEqual([{ path: 'pay', effect: 'read', went: 'again' }])
    const r4 = await store.forkRun(id, { at: 'pay', edit: (input) => input }, agent)
    expect(r4.output).toBe('done')
    expect(new Set(keys).size).toBe(2)
    expect((await store.replay(id, agent)).ok).toBe(true)
  })
})

describe('bad input', () => {
  it('a key of its own twice at once is refused; one after the other they are two', async () => {
    const store = await fresh()
    const agent = async (run: Run) => {
      const both = await Promise.allSettled(
        [1, 2].map((n) => run.step('get', n, () => turns(2).then(() => n), { key: 'k' })),
      )
      const third = await run.step('get', 3, () => 3, { key: 'k' })
      return [...both.map(({ status }) => status), third]
    }
    const r1 = await store.record('a', null, agent)
    expect(r1.output).toEqual(['fulfilled', 'rejected', 3])
    const codes = await store.record('b', null, async (run) => {
      const run2 = () => run.step('get', 1, () => turns(1), { key: 'k' })
      const both = await Promise.allSettled([run2(), run2()])
      return (both[1] as PromiseRejectedResult).reason.code
    })
    expect(codes.output).toBe('STEP_KEY_TAKEN')
    expect((await store.replay(r1.id, agent)).ok).toBe(true)
  })

  it('what `ignore` names may differ', async () => {
    const store = await fresh()
    const agent = (id: number) => (run: Run) =>
      run.step('get', { id, q: 1 }, () => 'x', { ignore: ['/id'] })
    const r1 = await store.record('a', null, agent(1))
    expect((await store.replay(r1.id, agent(2))).ok).toBe(true)
  })

  it('a replay of a replay says the same', async () => {
    const store = await fresh()
    const agent = (run: Run) => run.step('get', 1, () => step('inner', 2, () => 3))
    const r1 = await store.record('a', null, agent)
    const r3 = await store.replay(r1.id, agent)
    const r4 = await store.replay(r3.id, agent)
    expect(r4).toMatchObject({ ok: true, source: r3.id })
    expect(r4.output).toBe(3)
  })

  it('a replay inside of a function that is replayed is a step like any other', async () => {
    const store = await fresh()
    const inner = (run: Run) => run.step('in', 1, () => 1)
    const r1 = await store.record('inner', null, inner)
    const outer = (run: Run) =>
      run.step('check', { of: r1.id }, async () => (await store.replay(r1.id, inner)).ok)
    const r2 = await store.record('outer', null, outer)
    const runs = (await store.runs()).length
    expect((await store.replay(r2.id, outer)).output).toBe(true)
    expect((await store.runs()).length).toBe(runs + 1)
  })

  it('a function that gives something else in the end is told of, though all its steps are the same', async () => {
    const store = await fresh()
    let count = 0
    const agent = async (run: Run) => {
      await run.step('get', 1, () => 1)
      count += 1
      return { count }
    }
    const r1 = await store.record('a', null, agent)
    const r3 = await store.replay(r1.id, agent)
    expect(r3.first).toMatchObject({
      kind: 'output-changed',
      path: '',
      changes: [{ pointer: '/count' }],
    })
  })

  it('a pure step that gives something else is found by verify', async () => {
    const store = await fresh()
    let count = 0
    const agent = (run: Run) =>
      run.step(
        'sum',
        1,
        () => {
          count += 1
          if (count === 3) throw new RangeError('three')
          return count
        },
        { effect: 'none' },
      )
    const r1 = await store.record('a', null, agent)
    const r3 = await store.replay(r1.id, agent, { verify: 'pure' })
    expect(r3.output).toBe(1)
    expect(r3.first).toMatchObject({ kind: 'output-changed', path: 'sum' })
    const r4 = await store.replay(r1.id, agent, { verify: 'pure' })
    expect(r4.first).toMatchObject({ kind: 'error-changed', path: 'sum' })
  })

  it('a recording that was cut replays to its end, and says so', async () => {
    const store = await fresh()
    const agent = (run: Run) => run.step('hang', 1, () => new Promise(() => {}))
    const signal = new AbortController()
    const run = await store.createRun({ id: 'cut', name: 'a' })
    await run.append('agent/start', { name: 'a', verb: 'record' })
    await run.append('step/start', { id: 'n1', key: 'none', name: 'other' })
    await run.close()
    const r3 = await store.replay('cut', agent, { signal: signal.signal })
    expect(r3.first?.kind).toBe('extra')
    await expect(
      store.forkRun('cut', { at: 'nowhere', edit: () => 1 }, agent),
    ).rejects.toMatchObject({ code: 'STEP_NOT_FOUND' })
  })

  it('a cancellation is delivered where it was, with its reason', async () => {
    const store = await fresh()
    const abort = new AbortController()
    const seen: unknown[][] = []
    const agent = async (run: Run) => {
      const told: unknown[] = []
      seen.push(told)
      await run.step('one', 1, () => 1)
      told.push(await run.step('two', 2, (s) => s.signal.aborted))
      const waits = run.step('three', 3, async (s) => {
        abort.abort(new TypeError('enough'))
        await turns(2)
        s.signal.throwIfAborted()
      })
      await waits.catch((error) => told.push(error instanceof TypeError, error.message))
      return 'ended'
    }
    const r1 = await store.record('a', null, agent, { signal: abort.signal })
    expect(r1.output).toBe('ended')
    const r3 = await store.replay(r1.id, agent)
    expect(r3.text()).toMatch(/^same/)
    expect(seen).toEqual([
      [false, true, 'enough'],
      [false, true, 'enough'],
    ])
    const ends: unknown[] = []
    for await (const { data } of (await store.inspectRun(r3.id)).events({ types: ['step/end'] }))
      ends.push(data.status)
    expect(ends).toEqual(['ok', 'ok', 'cancelled'])
  })

  it.runIf(process.env.DAGLOG_LONG)('an output of 100 MB is answered like any other', async () => {
    const store = await fresh()
    const agent = async (run: Run) => {
      const page = await run.step('page', null, () => 'x'.repeat(100 * 1024 * 1024))
      return run.step('size', null, () => page.length)
    }
    const r1 = await store.record('a', null, agent)
    expect(r1.output).toBe(100 * 1024 * 1024)
    expect((await store.replay(r1.id, agent)).ok).toBe(true)
  })

  it('errors come back as what they were', async () => {
    const store = await fresh()
    const thrown = [
      new TypeError('type'),
      new RangeError('range', { cause: new SyntaxError('cause') }),
      new DOMException('aborted', 'AbortError'),
      new AggregateError([new URIError('uri'), 'text'], 'many'),
      Object.assign(new Error('no file'), { code: 'ENOENT' }),
      'a text',
      null,
    ]
    const seen: unknown[][] = []
    const agent = async (run: Run) => {
      const caught: unknown[] = []
      for (const error of thrown)
        await run.step('fail', null, () => Promise.reject(error)).catch((e) => caught.push(e))
      seen.push(caught)
    }
    const r1 = await store.record('a', null, agent)
    expect((await store.replay(r1.id, agent)).ok).toBe(true)
    expect(seen[1]).toEqual(seen[0])
    expect(seen[1]?.map((e) => Object.getPrototypeOf(e ?? {}))).toEqual(
      seen[0]?.map((e) => Object.getPrototypeOf(e ?? {})),
    )
  })
})
