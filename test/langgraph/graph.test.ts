/**
 * Compiled graphs of the real LangGraph over each saver: forks, questions to people, graphs in
 * graphs, time travel, streams. What a graph does over the in-memory saver is what it must do over
 * any other.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { graphs, type Opened, openDaglog, openMemory, promise, real } from './savers.js'

// The graphs' types are there only where they are installed.
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Graph = any
type Snapshot = Graph
type BuildGraph = (saver: object) => Graph

const config = { configurable: { thread_id: 't' }, recursionLimit: 100 }

/** A graph over the saver as it stands now. */
const over = (opened: Opened, build: BuildGraph): Graph => build(opened.saver)

/**
 * A history without what each run draws for itself: ids, times. Checkpoints are told by their place
 * in it.
 */
function shapeOf(history: readonly Snapshot[]): unknown {
  const ids = history.map(({ config: at }) => at.configurable.checkpoint_id)
  const placeOf = (at?: Graph) =>
    at === undefined ? undefined : ids.indexOf(at.configurable.checkpoint_id)
  return history.map((snapshot) => ({
    values: plain(snapshot.values),
    next: snapshot.next,
    source: snapshot.metadata.source,
    step: snapshot.metadata.step,
    parent: placeOf(snapshot.parentConfig),
    tasks: snapshot.tasks.map(({ name, interrupts, error, result }: Graph) => ({
      name,
      interrupts: interrupts.map(({ value }: Graph) => value),
      error: error === undefined ? undefined : String(error.message ?? error),
      result: plain(result),
    })),
  }))
}

/** As plain data, with the kind of each message. */
function plain(value: unknown): unknown {
  return value === undefined
    ? undefined
    : JSON.parse(
        JSON.stringify(value, (_, inner) =>
          typeof inner?.getType === 'function'
            ? { kind: inner.getType(), ...inner.toDict().data }
            : inner,
        ),
      )
}

const historyShape = async (graph: Graph, at: object = config) =>
  shapeOf(await graphs.historyOf(graph, at))

const human = (id: string, content: string) => new graphs.HumanMessage({ id, content })

describe.skipIf(real.skip !== undefined)('forks (langgraphjs#1812)', () => {
  promise(
    'by updateState, twice from one checkpoint, are two states and a third',
    async (opened) => {
      const graph = () => over(opened, graphs.forkGraph)
      await graph().invoke({ x: '0' }, config)
      const history = await graphs.historyOf(graph(), config)
      const between = history.find(({ next }: Snapshot) => next[0] === 'b')
      const first = await graph().updateState(between.config, { y: 'EDIT-1' }, 'a')
      const second = await graph().updateState(between.config, { y: 'EDIT-2' }, 'a')
      await opened.reopen()
      const y = async (at: object) => (await graph().getState(at)).values.y
      expect([await y(first), await y(second)]).toEqual(['EDIT-1', 'EDIT-2'])
      expect((await graph().invoke(null, second)).y).toBe('b(EDIT-2)')
      expect((await graph().invoke(null, first)).y).toBe('b(EDIT-1)')
      expect(await y(history[0].config)).toBe('b(a(0))')
      expect([await y(first), await y(second)]).toEqual(['EDIT-1', 'EDIT-2'])
    },
  )

  promise('by a message to an old checkpoint store what they return', async (opened) => {
    const graph = () => over(opened, graphs.chatGraph)
    for (const n of [1, 2, 3]) await graph().invoke({ messages: [human(`h${n}`, `m${n}`)] }, config)
    const history = await graphs.historyOf(graph(), config)
    const after1 = history.find(
      ({ values, next }: Snapshot) => values.messages?.length === 4 && next.length === 0,
    )
    const returned = await graph().invoke({ messages: [human('f', 'fork')] }, after1.config)
    await opened.reopen()
    const contents = (values: Graph) => values.messages.map(({ text }: Graph) => text)
    const tip = await graph().getState(config)
    expect(contents(tip.values)).toEqual(contents(returned))
    expect(contents(tip.values)).toContain('so: found fork')
    expect(contents((await graph().getState(history[0].config)).values)).toEqual(
      contents(history[0].values),
    )
  })

  promise('by a copy of a checkpoint have its state and go their own way', async (opened) => {
    const graph = () => over(opened, graphs.forkGraph)
    await graph().invoke({ x: '0' }, config)
    const history = await graphs.historyOf(graph(), config)
    const between = history.find(({ next }: Snapshot) => next[0] === 'b')
    const edited = await graph().updateState(between.config, { y: 'EDIT' }, 'a')
    for (const [at, y] of [
      [between.config, 'a(0)'],
      [edited, 'EDIT'],
      [history[0].config, 'b(a(0))'],
    ]) {
      const copy = await graph().updateState(at, null, '__copy__')
      await opened.reopen()
      expect((await graph().getState(copy)).values).toEqual({ x: '0', y })
    }
  })
})

describe.skipIf(real.skip !== undefined)('a graph that asks', () => {
  for (const durability of ['async', 'sync', 'exit']) {
    promise(`goes on in another process, each node run once (${durability})`, async (opened) => {
      const ran: string[] = []
      const graph = () => graphs.askingGraph(opened.saver, (name: string) => ran.push(name))
      const asked = { ...config, durability }
      const { Command } = graphs
      const first = await graph().invoke({}, asked)
      expect(first.__interrupt__.map(({ value }: Graph) => value.question)).toEqual(['one?'])
      await opened.reopen()
      const [task] = (await graph().getState(config)).tasks
      expect(task.interrupts[0].value.words.toSorted()).toEqual(['p', 'q', 'r', 'split'])
      const second = await graph().invoke(new Command({ resume: 'yes' }), asked)
      expect(second.__interrupt__.map(({ value }: Graph) => value)).toEqual([
        { question: 'two?', first: 'yes' },
      ])
      await opened.reopen()
      const last = await graph().invoke(new Command({ resume: 'no' }), asked)
      expect(last.answer).toBe('yes+no')
      expect(last.words.slice(-2)).toEqual(['yes', 'no'])
      await opened.reopen()
      const state = await graph().getState(config)
      expect([state.values.answer, state.next]).toEqual(['yes+no', []])
      expect(ran.toSorted()).toEqual(['ask', 'ask', 'ask', 'fan p', 'fan q', 'fan r', 'split'])
    })
  }

  promise('does not run again what ended before its neighbour failed', async (opened) => {
    const ran: string[] = []
    let broken = true
    const graph = () =>
      graphs.failingGraph(opened.saver, {
        fails: () => broken,
        ran: (name: string) => ran.push(name),
      })
    await expect(graph().invoke({ words: [] }, config)).rejects.toThrow('the tool broke')
    await opened.reopen()
    const { tasks } = await graph().getState(config)
    expect(tasks.find(({ name }: Graph) => name === 'bad').error).toMatchObject({
      message: 'the tool broke',
    })
    broken = false
    const { words } = await graph().invoke(null, config)
    expect(words.toSorted()).toEqual(['bad', 'good'])
    expect(ran.filter((name) => name === 'good')).toEqual(['good'])
  })
})

describe.skipIf(real.skip !== undefined)('graphs in graphs', () => {
  promise('ask from the innermost, show their state, and go with their thread', async (opened) => {
    const graph = () => over(opened, graphs.nestedGraph)
    await graph().invoke({ path: [] }, config)
    await opened.reopen()
    const state = await graph().getState(config, { subgraphs: true })
    const inner = state.tasks[0].state
    const innermost = inner.tasks[0].state
    expect(state.values.path).toEqual(['top'])
    expect(inner.values.path).toEqual(['top', 'before'])
    expect(innermost.values.path).toEqual(['top', 'before', 'deep'])
    expect(innermost.next).toEqual(['ask'])
    await opened.reopen()
    const { answer, path } = await graph().invoke(new graphs.Command({ resume: 'so' }), config)
    expect(answer).toBe('so')
    expect(path.at(-1)).toBe('end')
    const spaces = new Set<unknown>()
    for await (const tuple of opened.saver.list({ configurable: { thread_id: 't' } }))
      spaces.add(tuple.config.configurable?.checkpoint_ns)
    expect([...spaces].map((ns) => String(ns).split('|').length).toSorted()).toEqual([1, 1, 2])
    await opened.saver.deleteThread('t')
    for await (const tuple of opened.saver.list({ configurable: { thread_id: 't' } }))
      expect(tuple).toBeUndefined()
  })

  promise('answer about any of their checkpoints', async (opened) => {
    const graph = () => over(opened, graphs.nestedGraph)
    await graph().invoke({ path: [] }, config)
    const { tasks } = await graph().getState(config, { subgraphs: true })
    const { thread_id, checkpoint_ns } = tasks[0].state.config.configurable
    const at = { configurable: { thread_id, checkpoint_ns } }
    const history = await graphs.historyOf(graph(), at)
    await opened.reopen()
    for (const snapshot of history) {
      const again = await graph().getState(snapshot.config)
      expect(again.values).toEqual(snapshot.values)
    }
    expect(history.length).toBeGreaterThan(1)
  })
})

describe.skipIf(real.skip !== undefined)('streams', () => {
  it('say the same as over the in-memory saver, in each mode', async () => {
    const [ours, theirs] = [await openDaglog(), await openMemory()]
    const told = async (opened: Opened) => {
      const graph = over(opened, graphs.askingGraph)
      const lines: unknown[] = []
      const streamMode = ['values', 'updates', 'tasks', 'checkpoints']
      for (const input of [
        {},
        new graphs.Command({ resume: 1 }),
        new graphs.Command({ resume: 2 }),
      ])
        for await (const [mode, chunk] of await graph.stream(input, { ...config, streamMode }))
          lines.push(withoutIds([mode, chunk]))
      return lines
    }
    const expected = await told(theirs)
    expect(expected.length).toBeGreaterThan(20)
    expect(await told(ours)).toEqual(expected)
  })
})

/** Ids and times are drawn anew by each run. */
function withoutIds(value: unknown): unknown {
  const drawn = new Set(['id', 'checkpoint_id', 'checkpoint_map', 'ts', 'timestamp', 'run_id'])
  return JSON.parse(
    JSON.stringify(value, (name, inner) => {
      if (drawn.has(name)) return undefined
      return typeof inner === 'string'
        ? inner.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
        : inner
    }),
  )
}

type Act = readonly ['say' | 'edit' | 'fork' | 'copy' | 'go' | 'reopen' | 'delete', number]

const anyAct: fc.Arbitrary<Act> = fc.tuple(
  fc.constantFrom('say', 'say', 'edit', 'fork', 'copy', 'go', 'reopen', 'delete'),
  fc.nat(20),
)

describe.skipIf(real.skip !== undefined)('any history of a graph', () => {
  const act = async (opened: Opened, [name, n]: Act, turn: number): Promise<void> => {
    const graph = over(opened, graphs.chatGraph)
    const history = await graphs.historyOf(graph, config)
    const at = history.length === 0 ? config : history[n % history.length].config
    const said = { messages: [human(`h${turn}`, `word ${turn}`)] }
    if (name === 'say') await graph.invoke(said, config)
    else if (name === 'reopen') await opened.reopen()
    else if (name === 'delete') await (n === 0 ? opened.saver.deleteThread('t') : undefined)
    else if (name === 'edit') await graph.updateState(at, said, 'tools')
    else if (history.length === 0) return
    else if (name === 'fork') await graph.invoke(said, at)
    else if (name === 'copy') await graph.updateState(at, null, '__copy__')
    else await graph.invoke(null, at)
  }

  it('is the same as over the in-memory saver, after each act', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyAct, { minLength: 1, maxLength: 8 }), async (acts) => {
        const [ours, theirs] = [await openDaglog(), await openMemory()]
        for (const [turn, one] of acts.entries()) {
          const outcome = (opened: Opened) =>
            act(opened, one, turn).then(
              () => 'done',
              (error: Error) => error.name,
            )
          expect(await outcome(ours), one[0]).toBe(await outcome(theirs))
          expect(await historyShape(over(ours, graphs.chatGraph))).toEqual(
            await historyShape(over(theirs, graphs.chatGraph)),
          )
        }
        expect((await ours.store.verify()).ok).toBe(true)
      }),
      { numRuns: process.env.DAGLOG_LONG ? 300 : 25 },
    )
  })
})
