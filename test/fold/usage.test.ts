import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/event.js'
import { PRICE_TABLE } from '../../src/fold/price-table.js'
import { costOf, type Price, withPrices } from '../../src/fold/prices.js'
import { type ModelUsage, usage } from '../../src/fold/usage.js'
import { countOnce, type RunCalls } from '../../src/fold/usage-across.js'
import { memory, openStore } from '../../src/index.js'
import {
  count,
  item,
  type Line,
  line,
  meta,
  START,
  said,
  sessionOf,
  told,
  vector,
} from './readers/rollouts.js'

function usageOf(events: readonly RunEvent[]): ModelUsage {
  const state = events.reduce((state, event) => usage.apply(state, event), usage.init())
  return usage.view?.(state) as ModelUsage
}

const ofRollout = (lines: readonly Line[], batch?: number): ModelUsage =>
  usageOf(sessionOf(lines, batch))
const inputs = ({ calls }: Pick<ModelUsage, 'calls'>): unknown[] =>
  calls.map(({ usage }) => usage.inputTokens)

function answer(seq: number, data: object, derived = true): RunEvent {
  return {
    ...{
      seq,
      time: START + seq,
      type: 'assistant/message',
      hash: '' as never,
      data: data as never,
    },
    ...(derived ? { line: 0 } : {}),
  }
}

describe('usage of a run', () => {
  it('T40: counts a message once, with the last and largest word on it', () => {
    const told = (outputTokens: number): object => ({
      id: 'msg_1',
      model: 'm',
      content: [],
      usage: { inputTokens: 100, outputTokens },
    })
    const { calls } = usageOf([answer(1, told(1)), answer(2, told(250)), answer(9, told(1))])
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({
      time: START + 1,
      usage: { inputTokens: 100, outputTokens: 250 },
    })
  })

  it('tells requests of one message id apart, and messages of a live run by what they say', () => {
    const one = { id: 'a', content: [], usage: { inputTokens: 5 } }
    const request = (request: string): object => ({ ...one, source: { request } })
    expect(usageOf([answer(1, request('r1')), answer(2, request('r2'))]).calls).toHaveLength(2)
    const turn = (seq: number): RunEvent => ({
      ...answer(seq, { turn: seq }, false),
      type: 'turn/start',
    })
    const live = [
      turn(1),
      answer(2, one, false),
      answer(3, { ...one, restates: true }, false),
      turn(4),
      answer(5, one, false),
    ]
    expect(usageOf(live).calls).toHaveLength(2)
    // An id that a provider uses again names another call, unless the run says otherwise.
    expect(usageOf([turn(1), answer(2, one, false), answer(3, one, false)]).calls).toHaveLength(2)
  })

  it('gives the same whatever the events say, and the same state where they say nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (id, counted) => {
        const event = answer(1, { id, usage: counted, model: counted })
        expect(() => usageOf([event, event])).not.toThrow()
      }),
    )
    const state = usage.init()
    expect(usage.apply(state, answer(1, { content: 'hi' }))).toBe(state)
    expect(usage.apply(state, answer(1, { usage: { inputTokens: 0 } }))).toBe(state)
  })

  it('is kept current by a run, and found by a project() of it', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'live' })
    await run.append('assistant/message', {
      content: 'hi',
      model: 'gpt-5',
      usage: { inputTokens: 7 },
    })
    expect((await run.project(usage)).calls).toMatchObject([
      { model: 'gpt-5', usage: { inputTokens: 7 } },
    ])
    const fork = await store.fork('live')
    expect((await fork.project(usage)).calls).toEqual([])
    await store.close()
  })
})

describe('usage in a rollout', () => {
  it('counts a call once, however often its count is told', () => {
    const lines = [
      meta(),
      told('token_count', { info: null, rate_limits: {} }),
      count([100, 0, 10, 0], [100, 0, 10, 0]),
      count([100, 0, 10, 0], [100, 0, 10, 0]),
      count([250, 90, 30, 5], [150, 90, 20, 5]),
      count([250, 90, 30, 5], [0, 0, 0, 0]),
    ]
    for (const batch of [1, 2, 9]) expect(inputs(ofRollout(lines, batch))).toEqual([100, 150])
  })

  it('counts a response that has a record of its own once, whichever is told first', () => {
    const record = (id: string, last: readonly number[]): Line =>
      line('token_usage_record', { thread_id: 'own', response_id: id, usage: vector(last) })
    const [one, two] = [
      [100, 0, 10, 0],
      [50, 0, 5, 0],
    ] as const
    const counts = [count([100, 0, 10, 0], one), count([150, 0, 15, 0], two)] as const
    expect(
      inputs(ofRollout([meta(), record('r1', one), counts[0], record('r2', two), counts[1]])),
    ).toEqual([100, 50])
    expect(
      inputs(ofRollout([meta(), counts[0], record('r1', one), counts[1], record('r2', two)])),
    ).toEqual([100, 50])
    expect(inputs(ofRollout([meta(), record('r1', one), record('r2', one)]))).toEqual([100, 100])
  })

  it('takes the last call from what it says, and says where the total grew by something else', () => {
    const events = sessionOf([
      meta(),
      count([100, 0, 1, 0], [100, 0, 1, 0]),
      count([400, 0, 2, 0], [50, 0, 1, 0]),
    ])
    expect(inputs(usageOf(events))).toEqual([100, 50])
    expect(
      events.some(({ data }) => (data as { record?: string }).record?.endsWith('total-differs')),
    ).toBe(true)
  })

  it('names model, provider and directory of each call', () => {
    const context = (model: string, cwd: string): Line => line('turn_context', { model, cwd })
    const { calls } = ofRollout([
      meta({ model_provider: 'acme' }),
      context('m1', '/a'),
      count([10, 0, 1, 0], [10, 0, 1, 0]),
      context('m2', '/b'),
      count([30, 0, 2, 0], [20, 0, 1, 0]),
    ])
    expect(calls).toMatchObject([
      { model: 'm1', provider: 'acme', project: '/a' },
      { model: 'm2', provider: 'acme', project: '/b' },
    ])
  })
})

/** A parent of three calls, a minute apart. */
const COUNTS = [
  [
    [100, 0, 10, 0],
    [100, 0, 10, 0],
  ],
  [
    [300, 80, 30, 0],
    [200, 80, 20, 0],
  ],
  [
    [600, 180, 60, 0],
    [300, 100, 30, 0],
  ],
] as const

const parentLines = (from = 0): Line[] => [
  meta({ id: 'parent' }, from),
  ...COUNTS.flatMap(([total, last], at) => [
    said('user', `q${at}`, from + at * 60),
    count(total, last, from + at * 60 + 30),
  ]),
]

/** What a fork did itself: its total goes on from the parent's. */
const own = (at: number): Line[] => [
  told('task_started', { started_at: (START + at * 1000) / 1000 }, at),
  count([1000, 200, 100, 0], [400, 20, 40, 0], at + 30),
]

function fork(copy: readonly Line[], metaData: object, at: number): RunCalls {
  const first = meta({ id: 'fork', forked_from_id: 'parent', ...metaData }, at)
  return { run: 'fork', ...ofRollout([first, ...copy, ...own(at + 60)]) }
}

const parent = (): RunCalls => ({ run: 'parent', ...ofRollout(parentLines()) })
const counted = (...runs: RunCalls[]): unknown[] => inputs(countOnce(runs))

describe('T41: usage across forks and sub-agents', () => {
  const restamped = parentLines().map((one) => ({
    ...one,
    timestamp: new Date(START + 900_000).toISOString(),
  }))

  it('counts what a fork copied once, with the times of old or of the fork', () => {
    for (const copy of [parentLines(), restamped]) {
      const child = fork(copy, {}, 900)
      expect(inputs(child)).toEqual([100, 200, 300, 400])
      expect(counted(parent(), child)).toEqual([100, 200, 300, 400])
    }
  })

  it('leaves out what was copied of a session that is not here, and says so', () => {
    for (const copy of [parentLines(), restamped]) {
      const { calls, missing } = countOnce([fork(copy, {}, 900)])
      expect(inputs({ calls })).toEqual([400])
      expect(missing).toEqual([{ session: 'parent', calls: 3 }])
    }
  })

  it('believes the parent more than the clock', () => {
    // Copied up to the second call, the third is the fork's own though it came at once.
    const [total, last] = [
      [500, 90, 33, 0],
      [200, 10, 3, 0],
    ]
    const copy = [...restamped.slice(0, 5), count(total, last, 900)]
    expect(counted(parent(), fork(copy, {}, 900))).toEqual([100, 200, 300, 200, 400])
  })

  it('believes what a record says of itself: its ordinal, its thread', () => {
    const ordered = parentLines().map((one, at) => ({ ...one, ordinal: at + 1 }))
    const child = fork(
      ordered,
      { forked_from_id: undefined, parent_thread_id: 'parent', subagent_history_start_ordinal: 50 },
      0,
    )
    expect(child.calls.map(({ copied }) => copied)).toEqual([
      'record',
      'record',
      'record',
      undefined,
    ])
    expect(counted(child)).toEqual([400])
    const theirs = line('token_usage_record', {
      thread_id: 'parent',
      response_id: 'r',
      usage: vector([9, 0, 9, 0]),
    })
    expect(counted({ run: 'x', ...ofRollout([meta(), theirs]) })).toEqual([])
  })

  it('counts all of a fork by reference, of a fresh sub-agent, and equal numbers of strangers', () => {
    const by = fork([], { history_base: { thread_id: 'parent', end_ordinal_exclusive: 9 } }, 900)
    expect(counted(parent(), by)).toEqual([100, 200, 300, 400])
    const child = {
      run: 'child',
      ...ofRollout([
        meta({ id: 'child', parent_thread_id: 'parent' }, 5),
        count(COUNTS[0][0], COUNTS[0][1], 9),
      ]),
    }
    expect(counted(parent(), child)).toEqual([100, 200, 300, 100])
    const stranger = {
      run: 'other',
      ...ofRollout(
        parentLines().map((one) => (one.type === 'session_meta' ? meta({ id: 'other' }) : one)),
      ),
    }
    expect(counted(parent(), stranger)).toEqual([100, 200, 300, 100, 200, 300])
  })

  it('T19: counts a call once that two versions of one session hold', () => {
    const shorter = ofRollout([meta({ id: 'parent' }), ...parentLines().slice(3)])
    const { calls, counted } = countOnce([parent(), { run: 'parent.2', ...shorter }])
    expect(inputs({ calls })).toEqual([100, 200, 300])
    expect(counted).toBe(2)
  })

  it('counts a message that two transcripts hold by its id', () => {
    const run = (run: string): RunCalls => ({
      run,
      ...usageOf([answer(1, { id: 'msg_1', usage: { inputTokens: 5 } })]),
    })
    expect(countOnce([run('a'), run('b')])).toMatchObject({ calls: [{ run: 'a' }], counted: 1 })
  })
})

describe('prices', () => {
  const price: Price = { model: 'm', input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2 }
  const day = (text: string): number => Date.parse(text)
  const call = (usage: object, model = 'm', time = START) => ({ model, time, usage })

  it('are applied to each kind of token once', () => {
    const all = {
      inputTokens: 10e6,
      cacheReadTokens: 4e6,
      cacheWriteTokens: 1e6,
      outputTokens: 1e6,
      reasoningTokens: 1e6,
    }
    expect(costOf(call(all), [price])).toBeCloseTo(5 * 1 + 4 * 0.1 + 1 * 2 + 10)
  })

  it('that are not here make the cost unknown, never a guess', () => {
    expect(costOf(call({ inputTokens: 1 }, 'm-mini'), [price])).toBeUndefined()
    expect(costOf({ time: 0, usage: { inputTokens: 1 } }, [price])).toBeUndefined()
    expect(
      costOf(call({ cacheWriteTokens: 5, cacheWrite1hTokens: 5, inputTokens: 5 }), [price]),
    ).toBeUndefined()
    const short = { ...price, inputTokensMax: 100 }
    expect(costOf(call({ inputTokens: 101 }), [short])).toBeUndefined()
    expect(costOf(call({ inputTokens: 101 }), [short, { ...price, input: 2 }])).toBeCloseTo(202e-6)
    expect(costOf(call({ inputTokens: 99 }), [{ ...price, input: 2 }, short])).toBeCloseTo(99e-6)
  })

  it('hold from their day on, and for snapshots of a model', () => {
    const prices = [price, { ...price, input: 3, from: '2026-10-07' }]
    expect(costOf(call({ inputTokens: 1e6 }, 'm', day('2026-10-06')), prices)).toBe(1)
    expect(costOf(call({ inputTokens: 1e6 }, 'm', day('2026-10-07')), prices)).toBe(3)
    expect(costOf(call({ inputTokens: 1e6 }, 'm-20260101', day('2026-01-02')), prices)).toBe(1)
    expect(costOf(call({ inputTokens: 1e6 }, 'm-2026-01-01', day('2026-01-02')), prices)).toBe(1)
  })

  it('of the user come first, for every day and length', () => {
    const mine = withPrices([{ model: 'gpt-5', input: 7, output: 7 }], PRICE_TABLE)
    expect(costOf(call({ inputTokens: 1e6 }, 'gpt-5'), mine)).toBe(7)
    expect(costOf(call({ inputTokens: 1e6 }, 'gpt-5-codex'), mine)).toBe(1.25)
  })

  it('in the table are sane, and say where they are from and when they were looked up', () => {
    for (const { model, input, output, cacheRead = 0, source, checked } of PRICE_TABLE) {
      expect([model, output > input, cacheRead < input]).toEqual([model, true, true])
      expect(source).toMatch(/\S/)
      expect(checked).toMatch(/^\d{4}-\d\d-\d\d$/)
    }
    const names = PRICE_TABLE.map(
      ({ model, from, inputTokensMax }) => `${model} ${from} ${inputTokensMax}`,
    )
    expect(names).toEqual([...new Set(names)])
  })

  it('match the example of the price page: a million tokens of each kind', () => {
    const million = {
      inputTokens: 4e6,
      cacheReadTokens: 1e6,
      cacheWriteTokens: 2e6,
      cacheWrite1hTokens: 1e6,
      outputTokens: 1e6,
    }
    expect(costOf(call(million, 'claude-opus-4-5-20251101'), PRICE_TABLE)).toBeCloseTo(
      5 + 0.5 + 6.25 + 10 + 25,
    )
  })
})

it('items of a rollout without counts cost nothing', () => {
  expect(ofRollout([meta(), item({ type: 'reasoning' })]).calls).toEqual([])
})
