import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import type { RunEvent } from '../../src/core/event.js'
import type { Hash } from '../../src/core/hash.js'
import { filesTouched } from '../../src/fold/files-touched.js'
import { messages } from '../../src/fold/messages.js'
import type { AnyProjection, Projection } from '../../src/fold/projection.js'
import type { Reader } from '../../src/fold/reader.js'
import { Registry } from '../../src/fold/registry.js'
import { requestHeader } from '../../src/fold/request-header.js'
import { steps } from '../../src/fold/steps.js'
import { todo } from '../../src/fold/todo.js'
import { turns } from '../../src/fold/turns.js'
import { anyEvents } from './any-events.js'

const BUILT_IN: readonly AnyProjection[] = [
  messages,
  turns,
  steps,
  todo,
  requestHeader,
  filesTouched,
]

function event(seq: number, type: string, data: unknown = {}): RunEvent {
  return { seq, time: seq, type, data, hash: 'h' as Hash }
}

const count: Projection<number> = {
  key: 'count',
  version: 1,
  init: () => 0,
  apply: (state) => state + 1,
}

/** What a transcript line says, in this test: its own words as user messages. */
const shouting: Reader<{ read: number }> = {
  key: 'shouting',
  version: 1,
  types: ['import/lines'],
  init: () => ({ read: 0 }),
  read: ({ read }, { data }) => ({
    state: { read: read + 1 },
    events: (data as { words: string[] }).words.map((word, line) => ({
      line,
      type: 'user/message',
      data: { content: `${word} ${read}` },
    })),
  }),
}

function folded(events: readonly RunEvent[], projections = BUILT_IN): Registry {
  const registry = new Registry([])
  for (const projection of projections) registry.add(projection)
  for (const one of events) registry.apply(one)
  return registry
}

describe('each built-in projection', () => {
  it('folds a prefix and then the rest to the same as all, wherever it is split', () => {
    fc.assert(
      fc.property(anyEvents(), fc.nat(), (events, n) => {
        const at = n % (events.length + 1)
        const whole = folded(events)
        const before = folded(events.slice(0, at))
        // A snapshot goes through JSON.
        const after = new Registry([], { state: [], asOfSeq: at - 1 })
        for (const { projection, state } of before.all()) {
          after.add(projection, { state: JSON.parse(JSON.stringify(state)), asOfSeq: at - 1 })
        }
        for (const one of events) after.apply(one)
        for (const { projection, state } of whole.all()) {
          const other = after.unit(projection)
          expect(other?.state).toEqual(JSON.parse(JSON.stringify(state)))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('gives the same reference for an event that does not concern it', () => {
    fc.assert(
      fc.property(anyEvents(), (events) => {
        const registry = folded(events)
        const states = registry.all().map(({ state }) => state)
        for (const type of ['cart/add', 'note', 'writer/open', 'assistant/chunk']) {
          registry.apply(event(registry.asOfSeq + 1, type, { content: 1, items: 2, id: 3 }))
        }
        expect(registry.all().every(({ state }, index) => state === states[index])).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it('survives data of any shape, also where a known type has foreign data', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...KNOWN), fc.jsonValue()), { maxLength: 30 }),
        (rows) => {
          const registry = folded(rows.map(([type, data], seq) => event(seq, type, data)))
          expect(registry.all().map(({ failure }) => failure)).toEqual(
            BUILT_IN.map(() => undefined),
          )
          for (const projection of BUILT_IN) registry.view(projection)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('changes neither the state that it is given nor the event', () => {
    fc.assert(
      fc.property(anyEvents(), (events) => {
        const registry = new Registry([])
        for (const projection of BUILT_IN) registry.add(projection)
        for (const one of events) {
          for (const { state } of registry.all()) deepFreeze(state)
          registry.apply(deepFreeze(one))
        }
        expect(registry.all().every(({ failure }) => failure === undefined)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})

const KNOWN = [
  'turn/start',
  'turn/end',
  'step/start',
  'step/end',
  'user/message',
  'assistant/message',
  'tool/call',
  'tool/result',
  'todo/write',
  'compaction',
  'request/header',
] as const

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}

describe('a registry', () => {
  it('gives each event once to each unit, however often it is given', () => {
    const registry = new Registry([])
    registry.add(count)
    for (const seq of [0, 1, 1, 0, 2]) registry.apply(event(seq, 'note'))
    expect(registry.view(count)).toBe(3)
  })

  it('does no work behind a state that did not change', () => {
    let views = 0
    const seen: Projection<number, string> = {
      ...count,
      key: 'seen',
      apply: (state, { type }) => (type === 'note' ? state + 1 : state),
      view: (state) => {
        views += 1
        return `${state}`
      },
    }
    const registry = new Registry([])
    registry.add(seen)
    registry.apply(event(0, 'note'))
    expect(registry.view(seen)).toBe('1')
    registry.apply(event(1, 'cart/add'))
    registry.view(seen)
    expect(views).toBe(1)
  })

  it('refuses another version under a key that is taken, and takes the same again', () => {
    const registry = new Registry([])
    registry.add(count)
    registry.add({ ...count })
    const conflict = (): void => registry.add({ ...count, version: 2 })
    expect(conflict).toThrow(expect.objectContaining({ code: 'PROJECTION_CONFLICT' }))
    expect(registry.all()).toHaveLength(1)
  })

  it('sets a unit that throws aside alone, with the seq and the cause', () => {
    const touchy: Projection<number> = {
      ...count,
      key: 'touchy',
      apply: (state, { seq }) => {
        if (seq === 2) throw new RangeError('two is too many')
        return state + 1
      },
    }
    const registry = new Registry([])
    registry.add(touchy)
    registry.add(count)
    for (let seq = 0; seq < 5; seq += 1) registry.apply(event(seq, 'note'))
    expect(registry.view(count)).toBe(5)
    expect(registry.unit(touchy)?.state).toBe(2)
    let thrown: unknown
    try {
      registry.view(touchy)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(DaglogError)
    expect(thrown).toMatchObject({ code: 'PROJECTION_FAILED', data: { key: 'touchy', seq: 2 } })
    expect((thrown as Error).cause).toBeInstanceOf(RangeError)
  })

  it('lets a unit that began further on wait for the others', () => {
    const registry = new Registry([])
    registry.add(count, { state: 3, asOfSeq: 2 })
    registry.add({ ...count, key: 'late' })
    for (let seq = 0; seq < 5; seq += 1) registry.apply(event(seq, 'note'))
    expect(registry.view(count)).toBe(5)
    expect(registry.view({ ...count, key: 'late' })).toBe(5)
  })

  it('says which types concern anybody, and all where one wants all', () => {
    const registry = new Registry([shouting])
    registry.add(todo)
    expect(registry.types()).toEqual(['todo/write', 'import/lines'])
    expect(['todo/write', 'import/lines', 'note'].map((type) => registry.wants(type))).toEqual([
      true,
      true,
      false,
    ])
    registry.add(count)
    expect(registry.types()).toBeUndefined()
  })
})

describe('what readers find', () => {
  it('is folded behind the raw event, in order of line, with its own time', () => {
    const registry = new Registry([shouting])
    registry.add(messages)
    registry.apply(event(0, 'import/lines', { words: ['a', 'b'] }))
    registry.apply(event(1, 'import/lines', { words: ['c'] }))
    expect(registry.view(messages).map(({ seq, line, content }) => [seq, line, content])).toEqual([
      [0, 0, 'a 0'],
      [0, 1, 'b 0'],
      [1, 0, 'c 1'],
    ])
    expect(registry.readerStates).toEqual([{ read: 2 }])
  })

  it('goes on from the state that a snapshot has', () => {
    const registry = new Registry([shouting], { state: [{ read: 7 }], asOfSeq: 4 })
    registry.add(messages, { state: messages.init(), asOfSeq: 4 })
    registry.apply(event(5, 'import/lines', { words: ['x'] }))
    expect(registry.view(messages)[0]?.content).toBe('x 7')
  })
})

test('a copy does not reach back', () => {
  const registry = folded([event(0, 'note')], [count])
  const copy = registry.copy()
  copy.apply(event(1, 'note'))
  expect([registry.view(count), copy.view(count)]).toEqual([1, 2])
})

test('what comes from before a fork reaches those that inherit, and only at their beginning', () => {
  const own: Projection<number> = { ...count, key: 'own', inherits: false }
  const resumed: Projection<number> = { ...count, key: 'resumed' }
  const registry = new Registry([])
  registry.add(count)
  registry.add(own)
  registry.add(resumed, { state: 10, asOfSeq: 0 })
  for (let seq = 0; seq < 3; seq += 1) registry.apply({ ...event(seq, 'note'), run: 'p' as Hash })
  registry.apply(event(0, 'run/start'))
  registry.apply(event(1, 'note'))
  expect([count, own, resumed].map((one) => registry.view(one))).toEqual([5, 2, 11])
})
