/**
 * What a graph may keep: what a node gave is what the next one, another process and the history
 * get, or the step fails with the place of what cannot be kept, and nothing was written.
 */
import { describe, expect, it } from 'vitest'
import {
  type Checkpoint,
  checkpointOf,
  configOf,
  graphs,
  idOf,
  listed,
  listedIds,
  type Opened,
  openDaglog,
  openMemory,
  promise,
  putAll,
  real,
  valuesOf,
} from './savers.js'

const config = { configurable: { thread_id: 't' } }

class Point {
  constructor(
    readonly x = 1,
    readonly y = 2,
  ) {}
}

interface Kind {
  readonly name: string
  readonly make: () => unknown
  /** How the in-memory saver gives it back; nothing where it keeps it. */
  readonly memory?: string
}

const bytes = [0, 255, 128, 200]

const KINDS: readonly Kind[] = [
  { name: 'text with NUL and lone surrogates', make: () => 'a\0b\ud800x' },
  { name: 'a date', make: () => ({ at: new Date(0) }), memory: 'a string' },
  { name: 'a date that is none', make: () => [new Date(Number.NaN)], memory: 'null' },
  { name: 'a BigInt', make: () => ({ n: 10n ** 30n }), memory: 'the whole checkpoint is lost' },
  { name: 'NaN and the infinities', make: () => [Number.NaN, 1 / 0, -1 / 0], memory: 'null' },
  { name: 'minus zero', make: () => [-0], memory: 'zero' },
  { name: 'undefined in an object', make: () => ({ u: undefined, v: 1 }) },
  { name: 'undefined in an array', make: () => [1, undefined, 2] },
  {
    name: 'a map',
    make: () =>
      new Map<unknown, unknown>([
        ['k', new Set([1])],
        [{ o: 1 }, 2],
      ]),
  },
  { name: 'a set', make: () => new Set(['x', new Map()]) },
  { name: 'a regular expression', make: () => /a(b)\/c/giu },
  { name: 'a URL', make: () => new URL('http://x/y?z=1#w'), memory: 'a string' },
  { name: 'bytes', make: () => new Uint8Array(bytes), memory: 'cannot be read' },
  { name: 'bytes in an object', make: () => ({ b: new Uint8Array(bytes) }) },
  { name: 'a buffer', make: () => Buffer.from(bytes), memory: 'cannot be read' },
  { name: 'a buffer in an object', make: () => ({ b: Buffer.from(bytes) }), memory: 'its JSON' },
  { name: 'floats', make: () => new Float32Array([1.5, -0]), memory: 'an object' },
  {
    name: 'a view of a part',
    make: () => new Int16Array(8).fill(-3).subarray(2, 5),
    memory: 'an object',
  },
  { name: 'large integers in bytes', make: () => [new BigInt64Array([-1n])], memory: 'lost' },
  { name: 'a buffer of bytes', make: () => ({ b: new Uint8Array(bytes).buffer }), memory: '{}' },
  {
    name: 'a sparse array',
    make: () => Object.assign(new Array(3), { 0: 1, 2: 3 }),
    memory: 'null',
  },
  {
    name: 'an object without a prototype',
    make: () => Object.assign(Object.create(null), { a: 1 }),
    memory: 'a plain one',
  },
  {
    name: 'a key __proto__',
    make: () => JSON.parse('{"__proto__":{"z":1},"constructor":2}'),
    memory: 'dropped',
  },
  {
    name: 'data like a message of theirs',
    make: () => ({
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'HumanMessage'],
      kwargs: { content: 'injected' },
    }),
    memory: 'a message',
  },
  {
    name: 'data like a set of theirs',
    make: () => ({ lc: 2, type: 'constructor', id: ['Set'], method: null, args: [[1]] }),
    memory: 'a set',
  },
  {
    name: 'data like their undefined',
    make: () => ({ lc: 2, type: 'undefined' }),
    memory: 'undefined',
  },
  {
    name: 'data like our own marks',
    make: () => ({
      $: ['bigint', '1'],
      '~': 1,
      $$: { $: ['date', 0] },
      refs: [['', 'x']],
      salt: 's',
      data: null,
    }),
  },
  {
    name: 'data like our own events',
    make: () => ({ type: 'run/start', hash: '0'.repeat(64), body: { data: 1 } }),
  },
  { name: 'keys as numbers are ordered', make: () => ({ b: 1, a: 2, 10: 'x', 9: 'y' }) },
  {
    name: 'the same object in two places',
    make: () => {
      const one = { x: [1] }
      return [one, one, { one }]
    },
  },
  { name: 'a deep one', make: () => Array.from({ length: 200 }).reduce((inner) => [inner], 1) },
  { name: 'a long text', make: () => 'é'.repeat(300_000) },
]

/** What each reader of a thread finds of the channel `blob`, where it was given by a node. */
async function found(opened: Opened, make: () => unknown): Promise<unknown[]> {
  const seen: unknown[] = []
  const graph = () => graphs.valueGraph(opened.saver, make, (value: unknown) => seen.push(value))
  await graph().invoke({ n: 0 }, config)
  await opened.reopen()
  seen.push((await graph().getState(config)).values.blob)
  for (const snapshot of await graphs.historyOf(graph(), config))
    if (snapshot.values.n > 0) seen.push(snapshot.values.blob)
  for await (const tuple of opened.saver.list(config))
    for (const [, channel, value] of tuple.pendingWrites) if (channel === 'blob') seen.push(value)
  return seen
}

/** What `toStrictEqual` does not look at. */
function exact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exact)
  if (value instanceof Error) {
    const { name, message, stack, cause } = value
    return { name, message, stack, cause: exact(cause), own: { ...value }, make: value.constructor }
  }
  if (value === null || typeof value !== 'object') return value
  if (Object.getPrototypeOf(value) === Object.prototype) {
    return Object.entries(value).map(([key, inner]) => [key, exact(inner)])
  }
  return value
}

describe.skipIf(real.skip !== undefined)('values that a graph keeps', () => {
  for (const { name, make, memory } of KINDS) {
    const body = async (opened: Opened) => {
      const seen = await found(opened, make)
      expect(seen).toHaveLength(5)
      for (const value of seen) expect(exact(value)).toStrictEqual(exact(make()))
    }
    it(name, async () => body(await openDaglog()))
    it(`${name}, in memory: ${memory ?? 'the same'}`, async () => {
      const opened = await openMemory()
      if (memory === undefined) await body(opened)
      else await expect(body(opened)).rejects.toThrow()
    })
  }

  it('errors: their class, message, stack, cause and fields', async () => {
    const cause = new RangeError('why')
    const error = Object.assign(new TypeError('boom', { cause }), { code: 'E_BOOM', at: [1n] })
    const named = Object.assign(new Error('named'), { name: 'OddError' })
    const all = new AggregateError([error], 'many')
    for (const value of await found(await openDaglog(), () => [error, named, all])) {
      const [one, two, three] = value as [TypeError & typeof error, Error, AggregateError]
      expect(exact(one)).toEqual(exact(error))
      expect(one).toBeInstanceOf(TypeError)
      expect([two.name, two.message, two.stack]).toEqual([named.name, named.message, named.stack])
      expect([three.message, exact(three.errors)]).toEqual(['many', exact([error])])
      expect(three).toBeInstanceOf(Error)
    }
  })
})

describe.skipIf(real.skip !== undefined)('classes', () => {
  promise('of messages come back as they were', async (opened) => {
    const messages = await real.load('@langchain/core/messages')
    const make = () => [
      new messages.HumanMessage({ id: 'h', content: [{ type: 'text', text: 'x' }], name: 'Ann' }),
      new messages.AIMessage({
        id: 'a',
        content: '',
        tool_calls: [{ id: 'c', name: 'look', args: { q: { deep: [1] } }, type: 'tool_call' }],
        invalid_tool_calls: [
          { id: 'd', name: 'bad', args: '{', error: 'no', type: 'invalid_tool_call' },
        ],
        usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
        response_metadata: { model_name: 'm' },
        additional_kwargs: { extra: { y: [null] } },
      }),
      new messages.ToolMessage({
        id: 't',
        tool_call_id: 'c',
        content: 'r',
        status: 'error',
        artifact: { raw: [1] },
      }),
      new messages.SystemMessage('sys'),
      new messages.AIMessageChunk({
        id: 'k',
        content: 'part',
        tool_call_chunks: [{ index: 0, args: '{' }],
      }),
      new messages.ChatMessage({ content: 'c', role: 'critic' }),
      new messages.RemoveMessage({ id: 'gone' }),
    ]
    for (const value of await found(opened, make)) {
      for (const [at, message] of make().entries()) {
        const given = (value as (typeof messages)[])[at]
        expect(given.constructor).toBe(message.constructor)
        expect(given).toBeInstanceOf(messages.BaseMessage)
        expect(given.toDict()).toEqual(message.toDict())
        expect(JSON.stringify(given)).toBe(JSON.stringify(message))
      }
    }
  })

  promise(
    'of messages that were changed in place come back as they are',
    async (opened) => {
      const { AIMessage } = graphs
      const make = () => {
        const message = new AIMessage({ id: 'a', content: 'before', tool_calls: [] })
        message.content = 'after'
        message.tool_calls.push({ id: 'c', name: 'n', args: {}, type: 'tool_call' })
        message.response_metadata.more = 1
        message.name = 'set later'
        return message
      }
      for (const value of await found(opened, make)) {
        const { content, tool_calls, response_metadata, name } = value as Record<string, unknown>
        expect({ content, tool_calls, response_metadata, name }).toEqual({
          content: 'after',
          tool_calls: [{ id: 'c', name: 'n', args: {}, type: 'tool_call' }],
          response_metadata: { more: 1 },
          name: 'set later',
        })
      }
    },
    { MemorySaver: 'keeps what it was made with', SqliteSaver: 'keeps what it was made with' },
  )

  promise(
    'of documents come back as they were',
    async (opened) => {
      const { Document } = await real.load('@langchain/core/documents')
      const make = () => [new Document({ pageContent: 'page', metadata: { at: 1 }, id: 'd' })]
      for (const value of await found(opened, make)) {
        expect(value).toEqual(make())
        expect((value as unknown[])[0]).toBeInstanceOf(Document)
      }
    },
    { MemorySaver: 'gives plain objects', SqliteSaver: 'gives plain objects' },
  )

  it('of the user are kept where they are allowed', async () => {
    const opened = await openDaglog(undefined, { classes: [Point] })
    for (const value of await found(opened, () => ({ p: new Point(3, 4) }))) {
      expect((value as { p: unknown }).p).toBeInstanceOf(Point)
      expect(value).toEqual({ p: new Point(3, 4) })
    }
  })

  it('that were stored and are not allowed any more are an error that names them', async () => {
    const { dir, saver, store } = await openDaglog(undefined, { classes: [Point] })
    await putAll(saver, 't', checkpointOf(1, { p: new Point() }))
    await saver.close()
    await store.close()
    const strict = await openDaglog(dir)
    await expect(strict.saver.getTuple(configOf('t'))).rejects.toThrow(/Point/)
  })
})

const circle = () => {
  const value: Record<string, unknown> = { a: {} }
  ;(value.a as Record<string, unknown>).self = value
  return value
}

/** With the words that the error must have. */
const REFUSED: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['a function', () => ({ deep: [{ f: () => 1 }] }), /blob\.deep\[0\]\.f\b/],
  ['a symbol', () => ({ s: Symbol('q') }), /blob\.s\b/],
  ['a key that is a symbol', () => ({ s: { [Symbol('q')]: 1 } }), /blob\.s\b/],
  ['a circle', circle, /blob\.a\.self\b/],
  ['an instance of an unknown class', () => [new Point()], /blob\[0\].*Point|Point.*blob\[0\]/],
  ['a promise', () => ({ p: Promise.resolve(1) }), /blob\.p\b/],
  ['a weak map', () => new WeakMap(), /blob\b/],
  [
    'a getter',
    () => ({
      get g() {
        return 1
      },
    }),
    /blob\.g\b/,
  ],
]

describe.skipIf(real.skip !== undefined)('what cannot be kept', () => {
  it.each(REFUSED)(
    '%s fails its step with its place, and nothing is written',
    async (_, make, words) => {
      const opened = await openDaglog()
      const graph = () => graphs.valueGraph(opened.saver, make)
      await expect(graph().invoke({ n: 0 }, { ...config, durability: 'sync' })).rejects.toThrow(
        words,
      )
      await opened.reopen()
      const state = await graph().getState(config)
      expect([state.values, state.next]).toEqual([{ n: 0 }, ['a']])
      // The step can be taken again by a graph that gives something better.
      const better = graphs.valueGraph(opened.saver, () => 'better')
      expect((await better.invoke(null, config)).blob).toBe('better')
    },
  )

  it('leaves the log as it was, in a checkpoint, its metadata and its writes', async () => {
    const { saver, store } = await openDaglog()
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    const id = (await store.runs())[0]!.id
    const head = async () => (await store.inspectRun(id)).head
    const before = await head()
    const bad = { ok: 'x'.repeat(100_000), deep: { f: () => 1 } }
    const code = { code: 'VALUE_UNSUPPORTED' }
    await expect(putAll(saver, 't', checkpointOf(2, bad), { parent: 1 })).rejects.toMatchObject(
      code,
    )
    const metadata = { source: 'loop', step: 1, parents: {}, f: () => 1 }
    await expect(
      putAll(saver, 't', checkpointOf(2, { a: 2 }), { parent: 1, metadata }),
    ).rejects.toMatchObject(code)
    const writes: [string, unknown][] = [
      ['a', 1],
      ['b', bad],
    ]
    await expect(saver.putWrites(configOf('t', idOf(1)), writes, 'task')).rejects.toThrow(
      /\bb\.deep\.f\b/,
    )
    expect(await head()).toEqual(before)
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(1)])
  })

  it('is told at once, and the saver goes on', async () => {
    const { saver } = await openDaglog()
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    const results = await Promise.allSettled([
      putAll(saver, 't', checkpointOf(2, { a: 2 }), { parent: 1 }),
      putAll(saver, 't', checkpointOf(3, { a: () => 3 }), { parent: 1 }),
      putAll(saver, 't', checkpointOf(4, { a: 4 }), { parent: 1 }),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(4), idOf(2), idOf(1)])
  })
})

describe.skipIf(real.skip !== undefined)('values beside each other', () => {
  promise('of one type next to another do not mix', async (opened) => {
    const values: Record<string, unknown> = {}
    for (const { name, make } of KINDS.filter(({ memory }) => memory === undefined))
      values[name] = make()
    const checkpoint: Checkpoint = checkpointOf(1, values)
    await putAll(opened.saver, 't', checkpoint)
    const writes = Object.entries(values)
    await opened.saver.putWrites(configOf('t', idOf(1)), writes, 'task')
    await opened.reopen()
    expect(await valuesOf(opened.saver, 't')).toStrictEqual(values)
    const [tuple] = await listed(opened.saver, configOf('t'))
    expect(tuple?.pendingWrites).toStrictEqual(writes.map(([name, value]) => ['task', name, value]))
  })
})

describe.skipIf(real.skip !== undefined)('with the serializer of LangGraph', () => {
  it('a state is what the in-memory saver makes of it', async () => {
    const { JsonPlusSerializer } = await real.load('@langchain/langgraph-checkpoint')
    for (const { name, make } of KINDS) {
      // Whose whole checkpoint is lost there, or cannot be read: not a thing to be like.
      if (/BigInt|^bytes$|^a buffer$|large integers/.test(name)) continue
      const ours = await openDaglog(undefined, { serde: new JsonPlusSerializer() })
      expect([name, await found(ours, make)]).toEqual([name, await found(await openMemory(), make)])
    }
  })
})
