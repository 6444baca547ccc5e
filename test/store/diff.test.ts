import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DaglogError, memory, openStore, type Run, type RunView } from '../../src/index.js'
import { type Difference, diffRuns, type RunDiff } from '../../src/store/diff.js'

type Agent = (run: Run) => Promise<unknown>

/** Record two runs in one store, at different times, and compare them. */
async function compared(
  left: Agent,
  right: Agent,
  limit?: number,
): Promise<RunDiff & { readonly reads: number }> {
  const backend = memory()
  let time = 0
  const store = await openStore(backend, { now: () => ++time })
  for (const [id, agent] of Object.entries({ left, right })) {
    const run = await store.createRun({ id })
    await agent(run)
    await run.close()
  }
  let reads = 0
  const getObject = backend.getObject.bind(backend)
  backend.getObject = (...request) => {
    reads += 1
    return getObject(...request)
  }
  const sides = { left: await store.inspectRun('left'), right: await store.inspectRun('right') }
  const diff = await diffRuns({ ...sides, ...(limit !== undefined && { limit }) })
  await store.close()
  return { ...diff, reads }
}

/** What a difference is and where, in short. */
function named({ differences }: RunDiff): string[] {
  return differences.map(
    ({ kind, path, tainted, soft }) =>
      `${kind} ${path}${tainted ? ' (tainted)' : ''}${soft ? ' (soft)' : ''}`,
  )
}

const returns = (output: unknown) => () => output

/** A step of a made-up agent: what it is given, the steps inside it, what it gives. */
interface Plan {
  readonly name: string
  readonly input: unknown
  readonly output: unknown
  readonly inside: readonly Plan[]
  readonly parallel: boolean
}

const plans = fc.letrec<{ plan: Plan; list: Plan[] }>((tie) => ({
  plan: fc.record({
    name: fc.constantFrom('fetch', 'llm', 'a/b'),
    input: fc.constantFrom<unknown>(undefined, 1, 'x', { q: 'x' }, 'y'.repeat(5_000)),
    output: fc.constantFrom<unknown>(undefined, 1, 'page', ['z'.repeat(5_000)]),
    inside: fc.oneof({ maxDepth: 3 }, fc.constant([]), tie('list')),
    parallel: fc.boolean(),
  }),
  list: fc.array(tie('plan'), { maxLength: 4 }),
})).list

/** Do what was planned; `delay` says how many turns of the loop a step takes. */
async function perform(run: Run, list: readonly Plan[], parallel: boolean, delay: () => number) {
  const one = ({ name, input, output, inside, parallel }: Plan) =>
    run.step(name, input, async () => {
      await perform(run, inside, parallel, delay)
      for (let turn = delay(); turn > 0; turn--) await Promise.resolve()
      return output
    })
  if (parallel) await Promise.all(list.map(one))
  else for (const plan of list) await one(plan)
}

function delays(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return (state >>> 8) % 200
  }
}

describe('two runs', () => {
  it('are the same where they did the same, however long each step took', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(), fc.nat(), async (list, a, b) => {
        const diff = await compared(
          (run) => perform(run, list, true, delays(a)),
          (run) => perform(run, list, true, delays(b)),
        )
        expect(diff).toMatchObject({ same: true, odd: { left: [], right: [] } })
        expect(diff.differences.filter(({ soft }) => !soft)).toEqual([])
        expect(diff.steps.same).toBe(diff.steps.left)
        expect(diff.reads).toBe(0)
      }),
      { numRuns: process.env.DAGLOG_LONG ? 1_000 : 60 },
    )
  })

  it('differ first in the one step that gave something else', async () => {
    const list = fc.tuple(plans, fc.nat()).filter(([all]) => flat(all).length > 0)
    await fc.assert(
      fc.asyncProperty(list, async ([all, at]) => {
        const flatList = flat(all)
        const chosen = flatList[at % flatList.length]
        const changed = (plan: Plan): Plan => ({
          ...plan,
          inside: plan.inside.map(changed),
          ...(plan === chosen && { output: 'something else' }),
        })
        const still = () => 0
        const diff = await compared(
          (run) => perform(run, all, false, still),
          (run) => perform(run, all.map(changed), false, still),
        )
        expect(diff).toMatchObject({ same: false, first: { kind: 'output' } })
        expect(diff.differences).toHaveLength(1)
        expect(diff.steps.same).toBe(flatList.length - 1)
        expect(diff.first?.left?.id).toBe(diff.first?.right?.id)
        expect(
          diff.first?.path.endsWith(chosen?.name ?? '') || diff.first?.path.includes('#'),
        ).toBe(true)
      }),
      { numRuns: process.env.DAGLOG_LONG ? 1_000 : 60 },
    )
  })
})

it('every step of two runs is the same, differs, or is inside what only one run has', async () => {
  await fc.assert(
    fc.asyncProperty(plans, plans, async (a, b) => {
      const still = () => 0
      const diff = await compared(
        (run) => perform(run, a, false, still),
        (run) => perform(run, b, false, still),
        Number.POSITIVE_INFINITY,
      )
      const { steps, differences } = diff
      for (const [side, only] of [
        ['left', 'missing'],
        ['right', 'extra'],
      ] as const) {
        const alone = differences.filter(({ kind }) => kind === only)
        const hard = differences.filter(({ kind, soft }) => kind !== only && !soft)
        const differing = new Set(hard.flatMap((difference) => difference[side]?.id ?? []))
        const inside = alone.reduce((sum, difference) => sum + (difference.inside ?? 0), 0)
        expect(steps.same + differing.size + alone.length + inside).toBe(steps[side])
      }
      expect(diff.same).toBe(steps.same === steps.left && steps.same === steps.right)
      const [first] = differences.filter(({ soft }) => !soft)
      expect(diff.first).toEqual(first)
      expect(first?.tainted).toBeUndefined()
    }),
    { numRuns: process.env.DAGLOG_LONG ? 1_000 : 60 },
  )
})

function flat(list: readonly Plan[]): Plan[] {
  return list.flatMap((plan) => [plan, ...flat(plan.inside)])
}

describe('a difference', () => {
  it('of inputs is shown as places in them, and what follows is marked', async () => {
    const agent = (url: string, page: string) => async (run: Run) => {
      await run.step('fetch.page', { url, deep: { n: 1 } }, returns(page))
      await run.step('score', { page, max: 5 }, returns(page.length))
      await run.step('other', 'same', returns('same'))
    }
    const diff = await compared(agent('https://a', 'page a'), agent('https://b', 'page of b'))
    expect(named(diff)).toEqual([
      'input fetch.page',
      'output fetch.page (tainted)',
      'input score (tainted)',
      'output score (tainted)',
    ])
    expect(diff.first).toEqual({
      kind: 'input',
      path: 'fetch.page',
      left: { id: 'n1', seq: 1 },
      right: { id: 'n1', seq: 1 },
      changes: [{ pointer: '/url', op: 'replace', left: 'https://a', right: 'https://b' }],
    })
    expect(diff.differences[1]?.text).toEqual({ left: 'page a', right: 'page of b' })
    expect(diff.steps).toEqual({ left: 3, right: 3, same: 1 })
  })

  it('is followed into prompts that its text was put into', async () => {
    const agent = (page: string, model: string) => async (run: Run) => {
      await run.step('fetch', 'u', returns(page))
      await run.step('llm', { prompt: `Sum this up: ${page}!` }, returns(1))
      await run.step('judge', { model }, returns(1))
    }
    const diff = await compared(
      agent('a long enough page', 'model-1'),
      agent('another page of text', 'model-2'),
    )
    expect(named(diff)).toEqual(['output fetch', 'input llm (tainted)', 'input judge'])
  })

  it('is inherited by deps and by what is inside, and goes up to what it is inside of', async () => {
    const agent = (n: number) => async (run: Run) => {
      await run.step('plan', 1, async (plan) => plan.step('llm', 1, returns(`thought ${n}`)))
      await run.step('use', 1, returns(n), { deps: ['n1'] })
      await run.step('alone', 1, returns(n))
      await run.step('outer', { n: `number ${n}` }, async (outer) => {
        await outer.step('inner', 1, returns(n))
      })
    }
    expect(named(await compared(agent(1), agent(2)))).toEqual([
      'output plan/llm',
      'output plan (tainted)',
      'output use (tainted)',
      'output alone',
      'input outer',
      'output outer/inner (tainted)',
    ])
  })

  it('can be a step that only one run has, told once with what is inside it', async () => {
    const step = (run: Run, n: number) =>
      run.step('work', n, async (work) => {
        await work.step('a', n, returns(n))
        await work.step('b', n, returns(n))
      })
    const both = async (run: Run) => {
      await step(run, 1)
      await step(run, 2)
      await step(run, 3)
    }
    const without = async (run: Run) => {
      await step(run, 1)
      await step(run, 3)
    }
    const missing = await compared(both, without)
    expect(named(missing)).toEqual(['missing work#2'])
    expect(missing.first).toEqual({
      kind: 'missing',
      path: 'work#2',
      left: { id: 'n4', seq: 7 },
      changes: [],
      inside: 2,
    })
    expect(missing.steps).toEqual({ left: 9, right: 6, same: 6 })
    const extra = await compared(without, both)
    expect(named(extra)).toEqual(['extra work#2'])
    expect(extra.first).toMatchObject({ right: { id: 'n4', seq: 7 }, inside: 2 })
  })

  it('can be another name for the same input', async () => {
    const agent = (name: string) => async (run: Run) => {
      await run.step('first', 0, returns(0))
      await run.step(name, { q: 'x' }, async (outer) => outer.step('inner', 1, returns(2)))
    }
    const diff = await compared(agent('search'), agent('lookup'))
    expect(named(diff)).toEqual(['renamed search'])
    expect(diff.first?.changes).toEqual([
      { pointer: '/name', op: 'replace', left: 'search', right: 'lookup' },
    ])
  })

  it('is no new name where steps without input gave different things', async () => {
    const agent = (name: string, output: string) => (run: Run) => run.step(name, returns(output))
    expect(named(await compared(agent('a', 'x'), agent('b', 'y')))).toEqual([
      'missing a',
      'extra b',
    ])
    expect(named(await compared(agent('a', 'x'), agent('b', 'x')))).toEqual(['renamed a'])
  })

  it('of status comes with its error, but never with a stack', async () => {
    const failing = (message: string) => async (run: Run) => {
      const error = () => Promise.reject(new TypeError(message, { cause: new Error('deep') }))
      await run.step('work', 1, error).catch(String)
    }
    const fine = (run: Run) => run.step('work', 1, returns('ok'))
    expect((await compared(failing('a'), failing('a'))).same).toBe(true)
    const other = await compared(failing('a'), failing('b'))
    expect(named(other)).toEqual(['error work'])
    expect(other.first?.changes).toEqual([
      { pointer: '/message', op: 'replace', left: 'a', right: 'b' },
    ])
    const status = await compared(fine, failing('a'))
    expect(named(status)).toEqual(['status work'])
    expect(status.first?.changes).toEqual([
      { pointer: '/status', op: 'replace', left: 'ok', right: 'error' },
      {
        pointer: '/error',
        op: 'add',
        right: { name: 'TypeError', message: 'a', cause: { name: 'Error', message: 'deep' } },
      },
    ])
  })

  it('of texts that are JSON is shown inside the JSON, else as two texts', async () => {
    const agent = (output: string) => (run: Run) => run.step('work', 1, returns(output))
    const json = await compared(agent('{"a":[1,2],"b":1}'), agent('{"b":1,"a":[1,3]}'))
    expect(json.first).toMatchObject({
      parsed: true,
      changes: [{ pointer: '/a/1', op: 'replace', left: 2, right: 3 }],
    })
    const spaces = await compared(agent('{"a":1}'), agent('{"a": 1}'))
    expect(spaces.first).toMatchObject({
      changes: [],
      text: { left: '{"a":1}', right: '{"a": 1}' },
    })
    expect((await compared(agent('12'), agent('13'))).first?.text).toEqual({
      left: '12',
      right: '13',
    })
  })

  it('of order alone makes no run differ', async () => {
    const agent = (names: readonly string[]) => async (run: Run) => {
      for (const name of names) await run.step(name, 1, returns(name))
    }
    const diff = await compared(agent(['a', 'b', 'c']), agent(['b', 'c', 'a']))
    expect(diff).toMatchObject({ same: true, steps: { same: 3 } })
    expect(diff.first).toBeUndefined()
    expect(named(diff)).toEqual(['order b (soft)'])
  })
})

describe('alignment', () => {
  const agent =
    (calls: readonly (readonly [name: string, input: unknown])[]) => async (run: Run) => {
      for (const [name, input] of calls) await run.step(name, input, returns(input))
    }

  it('goes by what steps are, not by where they stand', async () => {
    const calls = Array.from({ length: 30 }, (_, i) => ['work', `input ${i}`] as [string, string])
    const diff = await compared(agent(calls), agent(calls.toSpliced(10, 0, ['new', 'x'])))
    expect(named(diff)).toEqual(['extra new'])
  })

  it('looks for a changed step between the same neighbours first', async () => {
    const diff = await compared(
      agent([
        ['llm', 'A'],
        ['llm', 'B'],
        ['llm', 'C'],
      ]),
      agent([
        ['llm', 'A'],
        ['llm', 'X'],
        ['llm', 'B'],
        ['llm', 'C changed'],
      ]),
    )
    expect(named(diff)).toEqual(['extra llm#2', 'input llm#3', 'output llm#3 (tainted)'])
  })

  it('lets the same step happen more often', async () => {
    const diff = await compared(
      agent([
        ['poll', 'x'],
        ['poll', 'x'],
      ]),
      agent([
        ['poll', 'x'],
        ['poll', 'x'],
        ['poll', 'x'],
      ]),
    )
    expect(named(diff)).toEqual(['extra poll#3'])
  })

  it('goes on inside steps whose input changed', async () => {
    const outer = (goal: string, inner: unknown) => (run: Run) =>
      run.step('plan', { goal }, async (plan) => {
        await plan.step('a', 1, returns(1))
        await plan.step('b', 1, returns(inner))
      })
    const diff = await compared(outer('first goal', 'x'), outer('second goal', 'y'))
    expect(named(diff)).toEqual(['input plan', 'output plan/b (tainted)'])
    expect(diff.steps.same).toBe(1)
  })

  it('stays exact and quick for many steps', async () => {
    const many = (changed: number) => async (run: Run) => {
      const steps = Array.from({ length: 1_000 }, (_, i) =>
        run.step(`s${i % 10}`, i, returns(i === changed ? 'changed' : i)),
      )
      await Promise.all(steps)
    }
    const diff = await compared(many(-1), many(700))
    expect(named(diff)).toEqual(['output s0#71'])
  })
})

describe('large payloads', () => {
  const big = (text: string) => text.repeat(20_000)

  it('are read only where their hashes differ', async () => {
    const agent = (last: string) => async (run: Run) => {
      await run.step('fetch', { page: [big('input')] }, returns(big('abc')))
      await run.step('use', 1, returns({ list: [big('def'), last] }))
    }
    const same = await compared(agent('x'), agent('x'))
    expect(same).toMatchObject({ same: true, reads: 0 })
    const diff = await compared(agent('x'), agent('y'))
    expect(named(diff)).toEqual(['output use'])
    expect(diff.first?.changes).toEqual([
      { pointer: '/list/1', op: 'replace', left: 'x', right: 'y' },
    ])
  })

  it('come with the hash of their bytes', async () => {
    const agent = (text: string) => (run: Run) => run.step('fetch', 1, returns(text.repeat(5_000)))
    const diff = await compared(agent('a'), agent('b'))
    expect(diff.first?.left?.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(diff.first?.left?.sha256).not.toBe(diff.first?.right?.sha256)
    expect(diff.first?.text?.right).toBe('b'.repeat(5_000))
  })

  it('that only have their keys in another order are equal', async () => {
    const agent = (output: object) => (run: Run) => run.step('work', 1, returns(output))
    const a = 'a'.repeat(5_000)
    expect(await compared(agent({ a, b: 1 }), agent({ b: 1, a }))).toMatchObject({
      same: true,
      differences: [],
      steps: { same: 1 },
    })
  })

  it('are told apart by what JSON cannot carry', async () => {
    const agent = (list: unknown[]) => (run: Run) => run.step('work', 1, returns(list))
    const texts = Array.from({ length: 2_000 }, (_, i) => String(i))
    const diff = await compared(agent(texts), agent(texts.with(7, 7n as never)))
    expect(diff.first?.changes).toEqual([{ pointer: '/7', op: 'replace', left: '7', right: 7n }])
  })

  it('that cannot be read are told, and the rest is compared', async () => {
    const backend = memory()
    const store = await openStore(backend)
    for (const id of ['left', 'right']) {
      const run = await store.createRun({ id })
      await run.step('fetch', 1, returns(id.repeat(5_000)))
      await run.step('use', 1, returns(id))
      await run.close()
    }
    backend.getObject = async () => undefined
    const sides = { left: await store.inspectRun('left'), right: await store.inspectRun('right') }
    const diff = await diffRuns(sides)
    expect(named(diff)).toEqual(['output fetch', 'output use'])
    expect(diff.first).toMatchObject({
      changes: [],
      unreadable: { left: { code: 'OBJECT_MISSING' }, right: { code: 'OBJECT_MISSING' } },
    })
    await store.close()
  })
})

describe('events about no step', () => {
  const agent =
    (events: readonly (readonly [type: string, data: unknown])[]) => async (run: Run) => {
      for (const [type, data] of events) await run.append(type, data)
    }

  it('are aligned by what they say', async () => {
    const notes = Array.from(
      { length: 20 },
      (_, i) => ['note', { text: `note ${i}` }] as [string, { text: string }],
    )
    expect((await compared(agent(notes), agent(notes))).same).toBe(true)
    const diff = await compared(
      agent(notes),
      agent(notes.with(5, ['note', { text: 'changed' }]).toSpliced(12, 1)),
    )
    expect(diff.differences).toEqual([
      {
        kind: 'event',
        path: 'note',
        left: { seq: 6 },
        right: { seq: 6 },
        changes: [{ pointer: '/text', op: 'replace', left: 'note 5', right: 'changed' }],
      },
      { kind: 'event', path: 'note', left: { seq: 13 }, changes: [] },
    ])
  })

  it('do not differ by ids that providers mint, by chunks or by stacks', async () => {
    const session = (id: string, stack: string) =>
      [
        ['turn/start', { turn: 1 }],
        ['user/message', { content: 'hi' }],
        ['assistant/chunk', { message: 1, pieces: [id] }],
        ['assistant/message', { content: [{ type: 'tool_use', id, name: 'f', input: {} }] }],
        ['tool/call', { id, name: 'f', arguments: '{}' }],
        ['tool/result', { id, content: 'done' }],
        ['turn/end', { turn: 1, reason: 'error', error: { name: 'E', message: 'm', stack } }],
      ] as const
    const diff = await compared(agent(session('call_1', 'at a')), agent(session('toolu_2', 'at b')))
    expect(diff).toMatchObject({ same: true, differences: [] })
  })

  it('stand among the steps in the order of the left run', async () => {
    const mixed = (n: number) => async (run: Run) => {
      await run.append('note', `before ${n}`)
      await run.step('work', 1, returns(`gave ${n}`))
      await run.append('note', { gave: `gave ${n}` })
    }
    expect(named(await compared(mixed(1), mixed(2)))).toEqual([
      'event note',
      'output work',
      'event note (tainted)',
    ])
  })

  it('that end a run count only where both have ended', async () => {
    const ended = (status: 'ok' | 'error') => async (run: Run) => {
      await run.step('work', 1, returns(1))
      await run.end(status)
    }
    const open = (run: Run) => run.step('work', 1, returns(1))
    expect((await compared(open, ended('ok'))).same).toBe(true)
    expect(named(await compared(ended('ok'), ended('error')))).toEqual(['event run/end'])
  })
})

describe('a comparison', () => {
  it('lists as many differences as asked for, counts the rest, and always knows the first', async () => {
    const agent = (n: number) => async (run: Run) => {
      for (let i = 0; i < 10; i++) await run.step(`s${i}`, i, returns(`${n} and ${i}`))
    }
    const all = await compared(agent(1), agent(2))
    expect(all.differences).toHaveLength(10)
    const some = await compared(agent(1), agent(2), 3)
    expect(some).toMatchObject({ same: false, cut: 7, differences: all.differences.slice(0, 3) })
    const none = await compared(agent(1), agent(2), 0)
    expect(none).toMatchObject({ same: false, cut: 10, differences: [], first: all.first })
    expect(none.steps.same).toBe(0)
  })

  it('says what it could not compare', async () => {
    const agent = async (run: Run) => {
      await run.append('step/end', { id: 'nobody', status: 'ok' })
      await run.append('step/start', 'no object' as never)
    }
    const diff = await compared(agent, async () => undefined)
    expect(diff).toMatchObject({ same: true, odd: { left: [{ seq: 1 }, { seq: 2 }], right: [] } })
  })

  it('takes steps with long names, and errors with long stacks', async () => {
    const agent = (message: string) => async (run: Run) => {
      const error = Object.assign(new Error(message), { stack: Math.random() + 's'.repeat(9_000) })
      await run.step('n'.repeat(9_000), { a: 1 }, () => Promise.reject(error)).catch(String)
    }
    expect((await compared(agent('a'), agent('a'))).same).toBe(true)
    const diff = await compared(agent('a'), agent('b'))
    expect(diff.differences).toHaveLength(1)
    expect(diff.first).toMatchObject({ kind: 'error', path: 'n'.repeat(9_000) })
  })

  it('lets through what is no damage', async () => {
    const broken: Pick<RunView, 'id' | 'events' | 'event'> = {
      id: 'r',
      events: () => {
        throw new DaglogError('READ_FAILED', 'no disk')
      },
      event: async () => undefined,
    }
    await expect(diffRuns({ left: broken, right: broken })).rejects.toMatchObject({
      code: 'READ_FAILED',
    })
  })
})

// A difference is plain data: what is printed of it can be read again.
it('a difference is printed as JSON', async () => {
  const diff = await compared(
    (run) => run.step('a', { x: 1 }, returns(1)),
    (run) => run.step('a', { x: 2 }, returns(1)),
  )
  const read = JSON.parse(JSON.stringify(diff)) as { first: Difference }
  expect(read.first).toEqual(diff.first)
})
