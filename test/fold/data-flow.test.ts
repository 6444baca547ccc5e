import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { valueDigest } from '../../src/core/canonical.js'
import type { RunEvent } from '../../src/core/event.js'
import type { Hash } from '../../src/core/hash.js'
import { DataFlow, type FlowEdge } from '../../src/fold/data-flow.js'
import { visitValues } from '../../src/fold/value-keys.js'
import { anyValue } from '../value/values.js'

const hash = 'a'.repeat(64) as Hash

class Log {
  readonly flow = new DataFlow()
  #seq = 0

  append(type: string, data: unknown): void {
    const seq = this.#seq++
    this.flow.apply({ seq, time: seq, type, data, hash } as RunEvent)
  }

  start(id: string, input: unknown, rest: object = {}): void {
    this.append('step/start', { id, key: id, name: id, input, ...rest })
  }

  end(id: string, output: unknown): void {
    this.append('step/end', { id, status: 'ok', output })
  }

  step(id: string, input: unknown, output: unknown, rest: object = {}): void {
    this.start(id, input, rest)
    this.end(id, output)
  }

  edges(): FlowEdge[] {
    return [...this.flow.edges()]
  }

  /** `a>b` for each inferred edge. */
  inferred(): string[] {
    return this.edges()
      .filter(({ kind }) => kind === 'inferred')
      .map(({ from, to }) => `${from}>${to}`)
  }
}

/** Keys of all that counts in a value. */
function keysOf(value: unknown): string[] {
  const keys: string[] = []
  visitValues(value, ({ key }) => {
    keys.push(key)
    return undefined
  })
  return keys
}

const PAGE = 'a page that is long enough to tell where it came from'

describe('keys of values', () => {
  const long = (value: unknown) => [value, PAGE]

  it('are equal exactly where digests are', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (left, right) => {
        const same = valueDigest(long(left)) === valueDigest(long(right))
        expect(keysOf(long(left)).at(-1) === keysOf(long(right)).at(-1)).toBe(same)
        expect(keysOf(long(structuredClone(left))).at(-1)).toBe(keysOf(long(left)).at(-1))
      }),
      { numRuns: 500 },
    )
  })

  it('do not depend on the order of members', () => {
    expect(keysOf({ a: PAGE, b: 1 }).at(-1)).toBe(keysOf({ b: 1, a: PAGE }).at(-1))
    expect(keysOf({ a: PAGE, b: 1 }).at(-1)).not.toBe(keysOf({ a: PAGE, b: 2 }).at(-1))
  })

  it('stop at a depth and a count, and say so', () => {
    let deep: unknown = PAGE
    for (let depth = 0; depth < 10_000; depth++) deep = [deep]
    expect(visitValues(deep, () => undefined).whole).toBe(false)
    const wide = Array.from({ length: 100_001 }, (_, at) => at)
    expect(visitValues(wide, () => undefined).whole).toBe(false)
    expect(visitValues([PAGE], () => undefined).whole).toBe(true)
  })
})

/** A payload that no other one is like, and a wrapping of it. */
const wrapping = fc.constantFrom<(value: unknown) => unknown>(
  (value) => value,
  (value) => ({ page: value }),
  (value) => [1, { deep: [value] }],
  (value) => ({ messages: [{ role: 'user', content: 'hi' }, value], n: 1 }),
)

describe('the data flow of a run', () => {
  it('has exactly the edges of a program whose steps hand on what others gave', () => {
    const step = fc.record({
      uses: fc.uniqueArray(fc.nat(), { maxLength: 3 }),
      wrap: wrapping,
      shape: fc.nat(3),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const log = new Log()
        const outputs: unknown[] = []
        const expected: string[] = []
        for (const [at, { uses, wrap, shape }] of steps.entries()) {
          const from =
            at === 0 ? [] : [...new Set(uses.map((use) => use % at))].sort((a, b) => a - b)
          const text = `what step ${at} gave, and nobody else`
          const output = [text, { text, n: at }, [{ text }], { role: 'assistant', content: text }][
            shape
          ]
          // What goes in is a copy: nothing hangs on who holds which object.
          log.step(
            `s${at}`,
            { at, given: from.map((one) => wrap(structuredClone(outputs[one]))) },
            output,
          )
          outputs.push(output)
          for (const one of from) expected.push(`s${one}>s${at}`)
        }
        expect(log.inferred()).toEqual(expected)
      }),
    )
  })

  it('never makes an edge of trivial values, whatever their number', () => {
    const trivial = fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      -1,
      12.5,
      '',
      'ok',
      'done',
      'gpt-4o',
      [],
      {},
      { ok: true },
      [1, 2],
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(trivial, trivial), { maxLength: 30 }), (steps) => {
        const log = new Log()
        for (const [at, [input, output]] of steps.entries()) log.step(`s${at}`, { input }, output)
        expect(log.inferred()).toEqual([])
      }),
    )
  })

  it('finds one message of an output, and names both places', () => {
    const log = new Log()
    const message = { role: 'assistant', content: 'I shall look that up for you' }
    log.step('llm', { messages: [] }, { id: 'chat-1', choices: [{ index: 0, message }] })
    log.step('next', { messages: [{ role: 'user', content: 'go on' }, { ...message }] }, 'done')
    expect(log.edges()).toEqual([
      {
        kind: 'inferred',
        from: 'llm',
        to: 'next',
        pieces: [{ from: '/output/choices/0/message', to: '/input/messages/1' }],
      },
    ])
  })

  it('looks into texts of JSON, on either side', () => {
    const log = new Log()
    log.step('llm', {}, { call: { arguments: '{"url":"https://example.com/a"}' } })
    log.step('fetch', { url: 'https://example.com/a' }, { status: 200, page: PAGE })
    log.step('next', { content: JSON.stringify({ status: 200, page: PAGE }) }, '')
    expect(log.inferred()).toEqual(['llm>fetch', 'fetch>next'])
  })

  it('follows what a step threw', () => {
    const log = new Log()
    log.start('fetch', {})
    const error = { name: 'Error', message: 'the server closed the connection', stack: PAGE }
    log.append('step/end', { id: 'fetch', status: 'error', error })
    log.step('next', { told: 'the server closed the connection', page: PAGE }, '')
    expect(log.edges().map(({ pieces }) => pieces)).toEqual([
      [{ from: '/error/message', to: '/input/told' }],
    ])
  })

  it('knows the same value of two steps as two, where it is used twice', () => {
    const log = new Log()
    log.step('a', {}, PAGE)
    log.step('b', {}, PAGE)
    log.step('c', { left: PAGE, right: PAGE }, '')
    log.step('d', { only: PAGE }, '')
    expect(log.inferred()).toEqual(['a>c', 'b>c', 'b>d'])
    expect(log.edges().at(-1)?.pieces[0]?.alike).toBe(1)
  })

  it('takes no setting that is handed through for something that was given', () => {
    const log = new Log()
    log.step('a', { model: 'a-model-of-2026-11' }, { model: 'a-model-of-2026-11', text: PAGE })
    log.step('b', { model: 'a-model-of-2026-11' }, { type: 'application/json' })
    log.step('c', { model: 'a-model-of-2026-11' }, { type: 'application/json' })
    log.step('d', { model: 'a-model-of-2026-11', type: 'application/json' }, '')
    expect(log.inferred()).toEqual([])
  })

  it('gives what a step hands on whole to that step, and a part of it to where it came from', () => {
    const log = new Log()
    const [first, second] = [{ text: `${PAGE} one` }, { text: `${PAGE} two` }]
    log.step('list', {}, [first, second])
    log.step('filter', { list: [first, second] }, [first, second])
    log.step('sort', { list: [first, second] }, [second, first])
    log.step('all', { list: [first, second] }, '')
    log.step('one', { item: first }, '')
    expect(log.inferred()).toEqual(['list>filter', 'filter>sort', 'filter>all', 'list>one'])
  })

  it('says of a history that grows which call it came through', () => {
    const log = new Log()
    const history: unknown[] = [{ role: 'user', content: 'hello, what is there to do?' }]
    for (let turn = 1; turn <= 3; turn++) {
      const said = { role: 'assistant', content: `answer ${turn} of the assistant` }
      log.append('step/start', {
        id: `c${turn}`,
        key: '',
        name: 'llm',
        input: { messages: structuredClone(history) },
      })
      log.end(`c${turn}`, said)
      history.push(said)
    }
    expect(log.edges().map(({ from, to, through }) => [from, to, through])).toEqual([
      ['c1', 'c2', undefined],
      ['c1', 'c3', 'c2'],
      ['c2', 'c3', undefined],
    ])
  })

  it('marks what is declared and what is nested, and keeps what was found of it', () => {
    const log = new Log()
    log.step('a', {}, PAGE)
    log.step('b', {}, 1)
    log.start('c', { page: PAGE }, { deps: ['a', 'b'] })
    log.step('d', { page: PAGE }, '', { parent: 'c' })
    expect(
      log.edges().map(({ kind, from, to, pieces }) => [kind, from, to, pieces.length]),
    ).toEqual([
      ['declared', 'a', 'c', 1],
      ['declared', 'b', 'c', 0],
      ['nested', 'c', 'd', 0],
      ['inferred', 'a', 'd', 1],
    ])
  })

  it('follows a session: a model is given what was said before, a tool what a model asked for', () => {
    const log = new Log()
    const call = { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Rome' } }
    log.append('user/message', { content: 'weather?' })
    log.start('m1', { provider: 'openai', request: hash })
    log.append('assistant/message', { content: [call] })
    log.end('m1', { content: [call] })
    log.start('t1', { city: 'Rome' })
    log.append('tool/call', call)
    log.append('tool/result', { id: 'call_1', content: 'sun' })
    log.end('t1', 'sun')
    log.start('m2', { provider: 'openai', request: hash })
    expect(log.inferred()).toEqual(['m1>t1', 'm1>m2', 't1>m2'])
  })

  it('takes events of any shape', () => {
    const ids = fc.constantFrom<unknown>('n1', 'n2', 7, null, {})
    const data = fc.oneof(
      anyValue,
      fc.record({
        id: ids,
        parent: ids,
        deps: anyValue,
        input: anyValue,
        output: anyValue,
        content: anyValue,
      }),
    )
    const type = fc.constantFrom(
      'step/start',
      'step/end',
      'assistant/message',
      'tool/call',
      'tool/result',
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(type, data)), (events) => {
        const log = new Log()
        for (const [kind, value] of events) log.append(kind, value)
        const places = new Map(log.flow.nodes.map(({ id }, at) => [id, at]))
        // No circle: each edge goes onward.
        for (const { from, to } of log.edges())
          expect(places.get(from)!).toBeLessThan(places.get(to)!)
      }),
    )
  })

  it('keeps nothing of what 100,000 steps gave but what may be found again, and no more edges than found', () => {
    const log = new Log()
    for (let at = 0; at < 100_000; at++) {
      const input = { at, before: `the text that step ${at - 1} gave` }
      log.step(`s${at}`, input, { at, text: `the text that step ${at} gave` })
    }
    expect(log.flow.nodes.length).toBe(100_000)
    expect(log.edges().length).toBe(99_999)
  }, 60_000)
})
