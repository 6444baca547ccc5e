import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/event.js'
import type { Hash } from '../../src/core/hash.js'
import { StepGraph } from '../../src/fold/step-graph.js'
import { memory, openStore, type Run } from '../../src/index.js'
import { anyValue } from '../value/values.js'

const hash = 'a'.repeat(64) as Hash

function graphOf(events: readonly Partial<RunEvent>[]): StepGraph {
  const graph = StepGraph.whole()
  for (const [seq, event] of events.entries())
    graph.apply({ seq, time: 100 + seq, type: 'note', data: undefined, hash, ...event })
  return graph
}

function start(id: unknown, rest: object = {}): Partial<RunEvent> {
  return { type: 'step/start', data: { id, key: `key of ${id}`, name: 'work', ...rest } }
}

function end(id: unknown, rest: object = {}): Partial<RunEvent> {
  return { type: 'step/end', data: { id, status: 'ok', ...rest } }
}

async function recorded(work: (run: Run) => Promise<unknown>, refs = false): Promise<StepGraph> {
  const store = await openStore(memory(), { now: () => 1000 })
  const run = await store.createRun({ id: 'r' })
  await work(run)
  const graph = StepGraph.whole()
  for await (const event of run.events({ refs })) graph.apply(event)
  await store.close()
  return graph
}

describe('the graph of steps', () => {
  it('takes events of any shape, and gives parents and deps that stand before, with unique ids', () => {
    const ids = fc.constantFrom<unknown>('n1', 'n2', 'n3', '', 7, null, {})
    const data = fc.oneof(
      anyValue,
      fc.record(
        {
          id: ids,
          key: fc.oneof(fc.string(), anyValue),
          name: fc.oneof(fc.constantFrom('a', 'b'), anyValue),
          parent: ids,
          deps: fc.oneof(fc.array(ids), anyValue),
          effect: anyValue,
          status: fc.oneof(fc.constantFrom('ok', 'error'), anyValue),
          input: anyValue,
          output: anyValue,
          error: anyValue,
        },
        { requiredKeys: ['id'] },
      ),
    )
    const types = fc.constantFrom('step/start', 'step/end', 'note', 'log/gap')
    const event = fc.record({
      type: types,
      data,
      redacted: fc.constantFrom(false, true, undefined),
    })
    fc.assert(
      fc.property(
        fc.array(event as fc.Arbitrary<Partial<RunEvent>>, { maxLength: 12 }),
        (events) => {
          const { nodes, odd } = graphOf(events)
          const before = new Set<string>()
          for (const node of nodes) {
            for (const id of [...node.deps, ...(node.parent === undefined ? [] : [node.parent])])
              expect(before.has(id)).toBe(true)
            expect(before.has(node.id)).toBe(false)
            before.add(node.id)
          }
          // Each event about steps is in a node, or odd, or both.
          const told = new Set(odd.map(({ seq }) => seq))
          for (const node of nodes) told.add(node.seqs.start).add(node.seqs.end ?? node.seqs.start)
          const about = events.filter(({ type }) => type !== 'note')
          expect(told.size).toBe(about.length)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('holds what a run recorded', async () => {
    const { nodes, odd } = await recorded(async (run) => {
      await run.step('plan', { goal: 'x' }, async (plan) => {
        await plan.step('llm', 1, () => 'one')
        await plan.step('llm', 2, () => 'two', { effect: 'read' })
      })
      const deps = ['n1', 'n3']
      await run
        .step('act', undefined, () => Promise.reject(new TypeError('no')), { deps })
        .catch(String)
    })
    expect(odd).toEqual([])
    expect(
      nodes.map(({ id, name, path, depth, status }) => [id, name, path, depth, status]),
    ).toEqual([
      ['n1', 'plan', 'plan', 0, 'ok'],
      ['n2', 'llm', 'plan/llm', 1, 'ok'],
      ['n3', 'llm', 'plan/llm#2', 1, 'ok'],
      ['n4', 'act', 'act', 0, 'error'],
    ])
    expect(nodes[0]).toMatchObject({
      deps: [],
      seqs: { start: 1, end: 6 },
      times: { start: 1000, end: 1000 },
      input: { value: { goal: 'x' }, refs: [] },
    })
    expect(nodes[0]).not.toHaveProperty('output')
    expect(nodes[2]).toMatchObject({ parent: 'n1', effect: 'read', output: { value: 'two' } })
    expect(nodes[3]).toMatchObject({ deps: ['n1', 'n3'] })
    expect(nodes[3]?.error).toMatchObject({ value: { name: 'TypeError', message: 'no' } })
    expect(nodes[3]).not.toHaveProperty('input')
    expect(nodes.every(({ key }) => /^[0-9a-f]{64}$/.test(key))).toBe(true)
  })

  it('says where large payloads lie, also parts of them', async () => {
    const page = 'x'.repeat(100_000)
    const { nodes } = await recorded(
      (run) => run.step('fetch', { url: 'u', cached: { page } }, () => page),
      true,
    )
    expect(nodes[0]).toMatchObject({
      input: {
        value: { url: 'u', cached: { page: null } },
        refs: [{ pointer: '/cached/page', size: 100_000, kind: 'text' }],
      },
      output: { value: null, refs: [{ pointer: '', size: 100_000, kind: 'text' }] },
    })
  })

  it('counts names under each parent alone', () => {
    const { nodes } = graphOf([
      start('a', { name: 'x' }),
      start('b', { name: 'x', parent: 'a' }),
      start('c', { name: 'x', parent: 'a' }),
      start('d', { name: 'x' }),
      start('e', { name: 'x', parent: 'd' }),
    ])
    expect(nodes.map(({ path }) => path)).toEqual(['x', 'x/x', 'x/x#2', 'x#2', 'x#2/x'])
  })

  it('says of each thing that does not fit what it left out', () => {
    const { nodes, odd } = graphOf([
      start('a', { parent: 'a', deps: ['b', 'a', 3], effect: 'maybe' }),
      start('a'),
      end('b'),
      end('a', { status: 'fine', error: 'broken' }),
      end('a'),
      start({}),
      start('c', { name: 3, key: null, deps: 'a' }),
      { type: 'step/start', redacted: true },
      { type: 'step/end', data: null },
      { type: 'log/gap', data: { reason: 'gone' } },
    ])
    expect(nodes.map(({ id, name, status, deps }) => [id, name, status, deps])).toEqual([
      ['a', 'work', 'error', []],
      ['c', '3', 'open', []],
    ])
    expect(odd.map(({ seq, why }) => `${seq} ${why}`)).toEqual([
      '0 parent "a" has not begun',
      '0 effect is none of none, read, write',
      '0 dep "b" has not begun',
      '0 dep "a" has not begun',
      '0 dep "3" has not begun',
      '1 step "a" has begun before',
      '2 step "b" has not begun',
      '3 status is none of ok, error, interrupted, cancelled',
      '4 step "a" has ended before',
      '5 id is no text',
      '6 name is no text',
      '6 key is no text',
      '6 deps is no list',
      '7 redacted',
      '8 data is no object',
      '9 events cannot be read here',
    ])
  })

  it('keeps only what it is told of payloads', () => {
    const graph = StepGraph.of(({ value }, member) => `${member} ${value}`)
    graph.apply({ seq: 0, time: 0, hash, ...start('a', { input: 5 }) } as RunEvent)
    graph.apply({ seq: 1, time: 0, hash, ...end('a', { output: 6 }) } as RunEvent)
    expect(graph.nodes).toMatchObject([{ input: 'input 5', output: 'output 6' }])
    expect(JSON.parse(JSON.stringify(graph))).toMatchObject({ nodes: [{ id: 'a' }], odd: [] })
  })

  it('is deep or wide without trouble', () => {
    const deep = Array.from({ length: 5_000 }, (_, i) => start(`n${i}`, { parent: `n${i - 1}` }))
    const graph = graphOf(deep)
    expect(graph.nodes.at(-1)).toMatchObject({ depth: 4_999 })
    expect(graph.nodes.at(-1)?.path).toHaveLength(5_000 * 5 - 1)
    const wide = graphOf(Array.from({ length: 20_000 }, (_, i) => start(`n${i}`)))
    expect(wide.nodes.at(-1)?.path).toBe('work#20000')
  })
})
