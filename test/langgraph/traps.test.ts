/**
 * The traps of LangGraph's contract that its own suite does not test, each by its number in the
 * issue.
 * A peer that falls into one is held to falling: should it stop, the note about it is out of date.
 */
import { describe, expect, it } from 'vitest'
import type { DaglogSaver } from '../../src/langgraph.js'
import {
  checkpointOf,
  configOf,
  graphs,
  idOf,
  listed,
  listedIds,
  lives,
  metadataOf,
  openDaglog,
  openMemory,
  promise,
  putAll,
  real,
  type Saver,
  type Tuple,
  valuesOf,
} from './savers.js'

const writesOf = (tuple: Tuple | undefined): unknown[] =>
  (tuple?.pendingWrites ?? []).map(([task, channel, value]) => [task, channel, value])

describe.skipIf(real.skip !== undefined)('1: writes before their put', () => {
  promise('wait for it, unseen, and come with it', async (opened) => {
    await putAll(opened.saver, 't', checkpointOf(1, { a: 'one' }))
    await opened.saver.putWrites(configOf('t', idOf(2)), [['a', 'early']], 'task-1')
    expect(await opened.saver.getTuple(configOf('t', idOf(2)))).toBeUndefined()
    expect((await opened.saver.getTuple(configOf('t')))?.checkpoint.id).toBe(idOf(1))
    expect(await listedIds(opened.saver, configOf('t'))).toEqual([idOf(1)])
    const saver = await opened.reopen()
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(1)])
    await putAll(saver, 't', checkpointOf(2, { a: 'two' }), { parent: 1 })
    const tuple = await saver.getTuple(configOf('t'))
    expect(tuple?.checkpoint.id).toBe(idOf(2))
    expect(writesOf(tuple)).toEqual([['task-1', 'a', 'early']])
  })

  promise('come in a thread that has nothing else yet', async (opened) => {
    await opened.saver.putWrites(configOf('t', idOf(1)), [['a', 'early']], 'task-1')
    expect(await opened.saver.getTuple(configOf('t'))).toBeUndefined()
    expect(await listedIds(opened.saver, configOf('t'))).toEqual([])
    const saver = await opened.reopen()
    await putAll(saver, 't', checkpointOf(1, { a: 'one' }))
    expect(writesOf(await saver.getTuple(configOf('t')))).toEqual([['task-1', 'a', 'early']])
  })

  promise('are taken together with puts that have not ended', async ({ saver }) => {
    const all: Promise<unknown>[] = []
    for (let n = 1; n <= 20; n += 1) {
      all.push(saver.putWrites(configOf('t', idOf(n)), [['a', n]], `task-${n}`))
      const parent = n === 1 ? {} : { parent: n - 1 }
      all.push(putAll(saver, 't', checkpointOf(n, { a: n }, { a: n }), parent))
      all.push(saver.putWrites(configOf('t', idOf(n)), [['b', n]], `task-${n}b`))
    }
    await Promise.all(all)
    const tuples = await listed(saver, configOf('t'))
    expect(tuples.map(({ checkpoint }) => checkpoint.channel_values.a)).toEqual(
      Array.from({ length: 20 }, (_, i) => 20 - i),
    )
    for (const tuple of tuples) {
      const n = tuple.checkpoint.channel_values.a
      expect(writesOf(tuple)).toEqual([
        [`task-${n}`, 'a', n],
        [`task-${n}b`, 'b', n],
      ])
    }
  })
})

describe.skipIf(real.skip !== undefined)('2: newVersions', () => {
  promise('without a value clear a channel, and what is not in them stays', async (opened) => {
    await putAll(opened.saver, 't', checkpointOf(1, { a: 'A', b: { deep: ['B'] } }))
    const { saver } = opened
    const second = checkpointOf(2, { b: { deep: ['B'] } }, { a: 2, b: 1 })
    await saver.put(configOf('t', idOf(1)), second, metadataOf(2), { a: 2 })
    const third = checkpointOf(3, { b: { deep: ['B'] }, c: null }, { a: 2, b: 1, c: 3 })
    await saver.put(configOf('t', idOf(2)), third, metadataOf(3), { c: 3 })
    for await (const now of lives(opened)) {
      expect(await valuesOf(now, 't', 1)).toStrictEqual({ a: 'A', b: { deep: ['B'] } })
      expect(await valuesOf(now, 't', 2)).toStrictEqual({ b: { deep: ['B'] } })
      expect(await valuesOf(now, 't', 3)).toStrictEqual({ b: { deep: ['B'] }, c: null })
    }
  })

  promise('leave a channel that has a value and no version', async ({ saver }) => {
    const sends = [{ node: 'n', args: { i: 1 } }]
    await putAll(saver, 't', checkpointOf(1, { a: 'A', __pregel_tasks: sends }, { a: 1 }))
    expect(await valuesOf(saver, 't')).toStrictEqual({ a: 'A', __pregel_tasks: sends })
  })
})

describe.skipIf(real.skip !== undefined)('3: the earlier value of a channel', () => {
  const kept = async (saver: Saver) => {
    await putAll(saver, 't', checkpointOf(1, { a: 'parent', k: 'same' }))
    for (const [n, a] of [
      [2, 'left'],
      [3, 'right'],
    ] as const) {
      const fork = checkpointOf(n, { a, k: 'same' }, { a: 2, k: 1 })
      await saver.put(configOf('t', idOf(1)), fork, metadataOf(n), { a: 2 })
    }
  }

  promise('is that of the branch, where a copy of it names its parent', async (opened) => {
    await kept(opened.saver)
    for (const [n, a] of [
      [4, 'left'],
      [5, 'right'],
    ] as const) {
      const copy = checkpointOf(n, { a, k: 'same' }, { a: 2, k: 1 })
      await opened.saver.put(configOf('t', idOf(1)), copy, metadataOf(n, { source: 'fork' }), {})
    }
    for await (const now of lives(opened)) {
      expect(await valuesOf(now, 't', 4)).toEqual({ a: 'left', k: 'same' })
      expect(await valuesOf(now, 't', 5)).toEqual({ a: 'right', k: 'same' })
    }
  })

  promise('is found for a copy that names nothing', async (opened) => {
    await kept(opened.saver)
    const copy = checkpointOf(4, { a: 'right', k: 'same' }, { a: 2, k: 1 })
    await opened.saver.put(configOf('t'), copy, metadataOf(4, { source: 'fork' }), {})
    for await (const now of lives(opened)) {
      const tuple = await now.getTuple(configOf('t'))
      expect(tuple?.checkpoint.channel_values).toEqual({ a: 'right', k: 'same' })
      expect(tuple?.parentConfig).toBeUndefined()
    }
  })
})

describe.skipIf(real.skip !== undefined)('4: versions', () => {
  promise('that repeat across branches keep their own values', async (opened) => {
    const { saver } = opened
    await putAll(saver, 't', checkpointOf(1, { a: 0 }))
    for (const n of [2, 3, 4])
      await putAll(saver, 't', checkpointOf(n, { a: n }, { a: 2 }), { parent: 1 })
    await putAll(saver, 't', checkpointOf(5, { a: 2, b: 'on 2' }, { a: 2, b: 3 }), { parent: 2 })
    for await (const now of lives(opened))
      for (const n of [2, 3, 4]) expect(await valuesOf(now, 't', n)).toEqual({ a: n })
  })

  promise(
    'are numbers that count unless told, and come back as they were given',
    async (opened) => {
      const { saver } = opened
      expect([saver.getNextVersion(undefined), saver.getNextVersion(1)]).toEqual([1, 2])
      const strings = { a: '00000000000000000000000000000002.0.243', b: 2.5 }
      const checkpoint = checkpointOf(1, { a: 1, b: 2 }, strings)
      checkpoint.versions_seen = { node: { a: strings.a }, __input__: {}, __proto__x: { b: 1 } }
      await putAll(saver, 't', checkpoint)
      for await (const now of lives(opened))
        expect((await now.getTuple(configOf('t')))?.checkpoint).toEqual(checkpoint)
    },
  )
})

describe.skipIf(real.skip !== undefined)('5: the order of pending writes', () => {
  promise(
    'is by path, task and number, by code point, without a path first',
    async (opened) => {
      const { saver } = opened
      await putAll(saver, 't', checkpointOf(1, { a: 1 }))
      const paths = ['~b, 10', '~b, 9', '~\u{1f600}', '~\uffee', '', '~B', '~é', '~\ud800']
      for (const [at, path] of paths.entries())
        await saver.putWrites(configOf('t', idOf(1)), [['a', path]], `task-${at}`, path)
      await saver.putWrites(configOf('t', idOf(1)), [['a', 'no path']], 'a task')
      const order = [
        'no path',
        '',
        '~B',
        '~b, 10',
        '~b, 9',
        '~é',
        '~\ud800',
        '~\uffee',
        '~\u{1f600}',
      ]
      for await (const now of lives(opened)) {
        const tuple = await now.getTuple(configOf('t'))
        expect(tuple?.pendingWrites.map(([, , value]) => value)).toEqual(order)
        const [again] = await listed(now, configOf('t'))
        expect(again?.pendingWrites).toEqual(tuple?.pendingWrites)
      }
    },
    { SqliteSaver: 'orders by task and number alone' },
  )

  promise('counts numbers as numbers', async ({ saver }) => {
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    const writes = Array.from({ length: 12 }, (_, i): [string, unknown] => ['a', i])
    await saver.putWrites(configOf('t', idOf(1)), writes, 'task')
    const tuple = await saver.getTuple(configOf('t'))
    expect(tuple?.pendingWrites.map(([, , value]) => value)).toEqual(writes.map(([, i]) => i))
  })
})

const SPECIAL = ['__error__', '__scheduled__', '__interrupt__', '__resume__']

describe.skipIf(real.skip !== undefined)('6: the number of a write', () => {
  promise('is taken once by an ordinary one, and again by a special one', async (opened) => {
    await putAll(opened.saver, 't', checkpointOf(1, { a: 1 }))
    const put = (saver: Saver, value: string, task = 'task') =>
      saver.putWrites(
        configOf('t', idOf(1)),
        [
          ['a', value],
          ['b', value],
        ],
        task,
      )
    const special = async (saver: Saver, value: string) => {
      for (const channel of SPECIAL)
        await saver.putWrites(configOf('t', idOf(1)), [[channel, value]], 'task')
    }
    await put(opened.saver, 'first')
    await special(opened.saver, 'first')
    await put(opened.saver, 'second')
    const saver = await opened.reopen()
    await put(saver, 'third')
    await special(saver, 'second')
    await put(saver, 'first', 'task of its own')
    const found = new Map(
      (await saver.getTuple(configOf('t')))?.pendingWrites.map(([task, channel, value]) => [
        `${task} ${channel}`,
        value,
      ]),
    )
    expect(found.size).toBe(8)
    for (const [key, value] of found)
      expect([key, value]).toEqual([key, key.includes('__') ? 'second' : 'first'])
  })

  promise('says where special writes stand among the others', async ({ saver }) => {
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    const writes = ['a', ...SPECIAL, 'b'].map((name): [string, unknown] => [name, name])
    await saver.putWrites(configOf('t', idOf(1)), writes, 'task')
    const tuple = await saver.getTuple(configOf('t'))
    expect(tuple?.pendingWrites.map(([, channel]) => channel)).toEqual([
      ...SPECIAL.toReversed(),
      'a',
      'b',
    ])
  })
})

describe.skipIf(real.skip !== undefined)('7: a call with writes of both kinds', () => {
  promise(
    'decides for each: the ordinary one stays, the special one is replaced',
    async ({ saver }) => {
      await putAll(saver, 't', checkpointOf(1, { a: 1 }))
      for (const value of ['first', 'second']) {
        const writes: [string, unknown][] = [
          ['a', value],
          ['__interrupt__', value],
        ]
        await saver.putWrites(configOf('t', idOf(1)), writes, 'task')
      }
      expect(writesOf(await saver.getTuple(configOf('t')))).toEqual([
        ['task', '__interrupt__', 'second'],
        ['task', 'a', 'first'],
      ])
    },
    { SqliteSaver: 'keeps both as they were' },
  )
})

describe.skipIf(real.skip !== undefined)('8: the same checkpoint put again', () => {
  promise('is replaced, keeps its writes and is listed once', async (opened) => {
    const { saver } = opened
    await putAll(saver, 't', checkpointOf(1, { a: 'old', gone: 1 }))
    await saver.putWrites(configOf('t', idOf(1)), [['a', 'write']], 'task')
    await putAll(saver, 't', checkpointOf(2, { a: 'next' }, { a: 2 }), { parent: 1 })
    const metadata = metadataOf(7, { again: true })
    await putAll(saver, 't', checkpointOf(1, { a: 'new' }, { a: 3 }), { metadata })
    for await (const now of lives(opened)) {
      expect(await listedIds(now, configOf('t'))).toEqual([idOf(2), idOf(1)])
      const tuple = await now.getTuple(configOf('t', idOf(1)))
      expect(tuple?.checkpoint).toEqual(checkpointOf(1, { a: 'new' }, { a: 3 }))
      expect(tuple?.metadata).toEqual(metadata)
      expect(writesOf(tuple)).toEqual([['task', 'a', 'write']])
      expect(await valuesOf(now, 't', 2)).toEqual({ a: 'next' })
    }
  })
})

/** As users, and those who mean harm, may give them. */
const ODD_IDS = [
  'T',
  't',
  '../../escape',
  '/etc/passwd',
  'a\0b',
  'a/b',
  'a-b',
  'con',
  'é',
  'e\u0301',
  '\ud800',
  '\ud801',
  '\ufffd',
  ' ',
  '.',
  '..',
  '@last',
  'x'.repeat(10_240),
  `${'x'.repeat(10_239)}y`,
  '{"thread_id":"t"}',
  "'; drop table checkpoints; --",
]

describe.skipIf(real.skip !== undefined)('9: ids and namespaces', () => {
  const keepApart =
    (ids: readonly string[]) => async (opened: { saver: Saver; reopen(): Promise<Saver> }) => {
      for (const [n, thread] of ids.entries())
        await putAll(opened.saver, thread, checkpointOf(n + 1, { a: thread }))
      for await (const saver of lives(opened)) {
        for (const [n, thread] of ids.entries()) {
          const [tuple, ...others] = await listed(saver, configOf(thread))
          expect(tuple?.config).toEqual(configOf(thread, idOf(n + 1)))
          expect(tuple?.checkpoint.channel_values.a).toBe(thread)
          expect(others).toEqual([])
        }
      }
      await opened.saver.deleteThread(ids[0] as string)
      expect(await opened.saver.getTuple(configOf(ids[0] as string))).toBeUndefined()
      for (const thread of ids.slice(1))
        expect(await valuesOf(opened.saver, thread)).toEqual({ a: thread })
    }
  promise('of any shape are threads of their own', keepApart(ODD_IDS), {
    SqliteSaver: 'takes lone surrogates for the same character',
  })
  promise(
    'of words that JavaScript knows too',
    keepApart(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']),
    { MemorySaver: 'refuses three of them' },
  )

  promise('keep subgraphs apart, and go with their thread', async (opened) => {
    const spaces = ['', 'node:1', 'node:1|inner:2', 'node:2', '__proto__x']
    for (const thread of ['t', 'other'])
      for (const [n, ns] of spaces.entries()) {
        await putAll(opened.saver, thread, checkpointOf(n + 1, { a: ns + thread }), { ns })
        await opened.saver.putWrites(configOf(thread, idOf(n + 1), ns), [['a', ns]], 'task')
      }
    const saver = await opened.reopen()
    for (const ns of spaces) {
      const [tuple] = await listed(saver, configOf('t', undefined, ns))
      expect(tuple?.checkpoint.channel_values).toEqual({ a: `${ns}t` })
      expect(writesOf(tuple)).toEqual([['task', 'a', ns]])
    }
    expect(await listed(saver, { configurable: { thread_id: 't' } })).toHaveLength(5)
    await saver.deleteThread('t')
    expect(await listed(saver, { configurable: { thread_id: 't' } })).toEqual([])
    for (const ns of spaces)
      expect(await saver.getTuple(configOf('t', undefined, ns))).toBeUndefined()
    expect(await listed(saver, { configurable: { thread_id: 'other' } })).toHaveLength(5)
    // A thread of that name begins anew, and nothing of the old comes with it.
    await putAll(saver, 't', checkpointOf(9, { a: 'anew' }))
    const later = await opened.reopen()
    expect(writesOf(await later.getTuple(configOf('t')))).toEqual([])
    expect(await listed(later, { configurable: { thread_id: 't' } })).toHaveLength(1)
  })

  it('a parent that was deleted is not put upon', async () => {
    const { saver } = await openDaglog()
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    await saver.deleteThread('t')
    await expect(putAll(saver, 't', checkpointOf(2, { a: 2 }), { parent: 1 })).rejects.toThrow()
    await putAll(saver, 't', checkpointOf(3, { a: 3 }))
    await expect(putAll(saver, 't', checkpointOf(4, { a: 4 }), { parent: 1 })).rejects.toThrow()
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(3)])
  })

  it('an id that was deleted may begin a thread anew, without what it was before', async () => {
    const opened = await openDaglog()
    await putAll(opened.saver, 't', checkpointOf(1, { a: 'before' }))
    await opened.saver.putWrites(configOf('t', idOf(1)), [['a', 'before']], 'task')
    await opened.saver.deleteThread('t')
    const late = opened.saver.putWrites(configOf('t', idOf(1)), [['a', 'late']], 'late')
    await expect(late).rejects.toMatchObject({ code: 'CHECKPOINT_DELETED' })
    await putAll(opened.saver, 't', checkpointOf(1, { b: 'anew' }))
    await opened.saver.putWrites(configOf('t', idOf(1)), [['b', 'anew']], 'task')
    await putAll(opened.saver, 't', checkpointOf(2, { b: 'on' }, { b: 2 }), { parent: 1 })
    for await (const now of lives(opened)) {
      expect(await listedIds(now, configOf('t'))).toEqual([idOf(2), idOf(1)])
      expect(await valuesOf(now, 't', 1)).toEqual({ b: 'anew' })
      const tuple = await now.getTuple(configOf('t', idOf(1)))
      expect(writesOf(tuple)).toEqual([['task', 'b', 'anew']])
    }
  })

  it('a checkpoint that was pruned is not put upon, and its thread goes on', async () => {
    const { saver } = await openDaglog()
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    await putAll(saver, 't', checkpointOf(2, { a: 2 }), { parent: 1 })
    await (saver as unknown as DaglogSaver).prune()
    const late = putAll(saver, 't', checkpointOf(3, { a: 3 }), { parent: 1 })
    await expect(late).rejects.toMatchObject({ code: 'CHECKPOINT_DELETED' })
    await putAll(saver, 't', checkpointOf(3, { a: 3 }), { parent: 2 })
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(3), idOf(2)])
  })
})

describe.skipIf(real.skip !== undefined)('10: list', () => {
  const fill = async (saver: Saver) => {
    for (let n = 1; n <= 6; n += 1) {
      const metadata = metadataOf(n, {
        parents: { x: { y: n % 2 } },
        source: n > 3 ? 'loop' : 'input',
      })
      await putAll(saver, 't', checkpointOf(n, { a: n }), { metadata })
    }
    await putAll(saver, 'other', checkpointOf(9, { a: 9 }), { metadata: metadataOf(9) })
  }
  const numbers = async (
    saver: Saver,
    ...given: Parameters<typeof listed> extends [Saver, ...infer R] ? R : never
  ) => (await listed(saver, ...given)).map(({ checkpoint }) => checkpoint.channel_values.a)

  promise('is newest first, of a thread, before an id, so many', async (opened) => {
    await fill(opened.saver)
    const saver = await opened.reopen()
    expect(await numbers(saver, configOf('t'))).toEqual([6, 5, 4, 3, 2, 1])
    expect(await numbers(saver, configOf('t'), { limit: 2 })).toEqual([6, 5])
    expect(await numbers(saver, configOf('t'), { before: configOf('t', idOf(4)) })).toEqual([
      3, 2, 1,
    ])
    const before = { configurable: { checkpoint_id: idOf(4) } }
    expect(await numbers(saver, configOf('t'), { before, limit: 1 })).toEqual([3])
    expect((await numbers(saver, {})).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 9])
  })

  promise('filters by metadata, and takes undefined for no filter', async ({ saver }) => {
    await fill(saver)
    expect(await numbers(saver, configOf('t'), { filter: { source: 'input' } })).toEqual([3, 2, 1])
    const filter = { source: 'input', step: 2 }
    expect(await numbers(saver, configOf('t'), { filter })).toEqual([2])
    expect(await numbers(saver, configOf('t'), { filter: { nope: 1 } })).toEqual([])
    expect(await numbers(saver, configOf('t'), { filter: { nope: undefined } })).toHaveLength(6)
  })

  promise(
    'filters by metadata of metadata',
    async ({ saver }) => {
      await fill(saver)
      const filter = { parents: { x: { y: 1 } } }
      expect(await numbers(saver, configOf('t'), { filter })).toEqual([5, 3, 1])
    },
    { MemorySaver: 'compares by identity' },
  )

  promise(
    'is empty where the limit is 0',
    async ({ saver }) => {
      await fill(saver)
      expect(await numbers(saver, configOf('t'), { limit: 0 })).toEqual([])
    },
    { SqliteSaver: 'takes 0 for no limit' },
  )

  promise(
    'is of one checkpoint where that is named',
    async ({ saver }) => {
      await fill(saver)
      expect(await numbers(saver, configOf('t', idOf(2)))).toEqual([2])
    },
    { SqliteSaver: 'lists all' },
  )

  promise('may be left at any time, and taken up beside puts', async ({ saver }) => {
    await fill(saver)
    for await (const tuple of saver.list(configOf('t'))) {
      expect(tuple.checkpoint.id).toBe(idOf(6))
      break
    }
    const open = saver.list(configOf('t'))
    await open.next()
    await putAll(saver, 't', checkpointOf(7, { a: 7 }))
    await open.return(undefined)
    const never = saver.list(configOf('t'))
    expect(await numbers(saver, configOf('t'))).toEqual([7, 6, 5, 4, 3, 2, 1])
    await never.return(undefined)
  })
})

describe.skipIf(real.skip !== undefined)('11: the config of a tuple', () => {
  promise(
    'has three keys, whatever was asked with',
    async ({ saver }) => {
      await putAll(saver, 't', checkpointOf(1, { a: 1 }))
      const asked = {
        configurable: { ...configOf('t', idOf(1)).configurable, more: 1 },
        tags: ['x'],
      }
      expect((await saver.getTuple(asked))?.config).toStrictEqual(configOf('t', idOf(1)))
    },
    { MemorySaver: 'gives what it was given', SqliteSaver: 'gives what it was given' },
  )

  promise(
    'may name the checkpoint by its older word',
    async ({ saver }) => {
      await putAll(saver, 't', checkpointOf(1, { a: 1 }))
      await putAll(saver, 't', checkpointOf(2, { a: 2 }))
      const asked = { configurable: { thread_id: 't', thread_ts: idOf(1) } }
      expect((await saver.getTuple(asked))?.checkpoint.channel_values).toEqual({ a: 1 })
    },
    { SqliteSaver: 'does not know it' },
  )
})

describe.skipIf(real.skip !== undefined)('12: a checkpoint of an older version', () => {
  promise('gets the sends of its parent, by getTuple and by list', async (opened) => {
    await putAll(opened.saver, 't', checkpointOf(1, { a: 1 }))
    const write = (value: unknown, task: string, path?: string) =>
      opened.saver.putWrites(configOf('t', idOf(1)), [['__pregel_tasks', value]], task, path)
    await write('send-1', 'task-1')
    await write('send-2', 'task-2')
    const old = { ...checkpointOf(2, { a: 2 }, { a: 7 }), v: 3 }
    await putAll(opened.saver, 't', old, { parent: 1 })
    const saver = await opened.reopen()
    const [first] = await listed(saver, configOf('t'))
    for (const tuple of [await saver.getTuple(configOf('t')), first]) {
      expect(tuple?.checkpoint.channel_values).toEqual({
        a: 2,
        __pregel_tasks: ['send-1', 'send-2'],
      })
      expect(tuple?.checkpoint.channel_versions).toEqual({ a: 7, __pregel_tasks: 7 })
    }
  })
})

describe.skipIf(real.skip !== undefined)('13: references to live state', () => {
  promise('are read before put first waits', async (opened) => {
    const checkpoint = checkpointOf(1, {
      list: [{ text: 'before' }],
      map: new Map([['k', ['before']]]),
    })
    const metadata = metadataOf(1, { parents: { '': 'before' } })
    const put = putAll(opened.saver, 't', checkpoint, { metadata })
    const { list, map } = checkpoint.channel_values as {
      list: { text: string }[]
      map: Map<string, string[]>
    }
    list[0]!.text = 'after'
    list.push({ text: 'more' })
    map.get('k')!.push('after')
    map.set('l', [])
    checkpoint.channel_values.late = 1
    checkpoint.channel_versions.late = 1
    ;(metadata.parents as Record<string, string>)[''] = 'after'
    await put
    for await (const now of lives(opened)) {
      const tuple = await now.getTuple(configOf('t'))
      expect(tuple?.checkpoint.channel_values).toEqual({
        list: [{ text: 'before' }],
        map: new Map([['k', ['before']]]),
      })
      expect(tuple?.checkpoint.channel_versions).toEqual({ list: 1, map: 1 })
      expect(tuple?.metadata.parents).toEqual({ '': 'before' })
    }
  })

  promise('are read before putWrites first waits', async (opened) => {
    await putAll(opened.saver, 't', checkpointOf(1, { a: 1 }))
    const value = { deep: ['before'] }
    const writes: [string, unknown][] = [
      ['a', value],
      ['b', value],
    ]
    const put = opened.saver.putWrites(configOf('t', idOf(1)), writes, 'task')
    value.deep[0] = 'after'
    writes.pop()
    await put
    for await (const now of lives(opened))
      expect(writesOf(await now.getTuple(configOf('t')))).toEqual([
        ['task', 'a', { deep: ['before'] }],
        ['task', 'b', { deep: ['before'] }],
      ])
  })

  promise('of what changed in place are noticed by the next put', async (opened) => {
    const state = { list: [{ text: 'one' }, { text: 'two' }] }
    await putAll(opened.saver, 't', checkpointOf(1, state))
    state.list[0]!.text = 'ONE'
    await putAll(opened.saver, 't', checkpointOf(2, state, { list: 2 }), { parent: 1 })
    for await (const now of lives(opened)) {
      expect(await valuesOf(now, 't', 1)).toEqual({ list: [{ text: 'one' }, { text: 'two' }] })
      expect(await valuesOf(now, 't', 2)).toEqual({ list: [{ text: 'ONE' }, { text: 'two' }] })
    }
  })

  promise('are not what a tuple gives: it is the caller’s to change', async (opened) => {
    const value = () => ({ list: [{ text: 'kept', tags: ['x'] }], set: new Set([1]) })
    await putAll(opened.saver, 't', checkpointOf(1, value()))
    await opened.saver.putWrites(configOf('t', idOf(1)), [['a', value()]], 'task')
    for await (const now of lives(opened)) {
      const spoil = (tuple: Tuple | undefined) => {
        for (const given of [tuple?.checkpoint.channel_values, tuple?.pendingWrites[0]?.[2]]) {
          const { list, set } = given as ReturnType<typeof value>
          expect({ list, set }).toEqual(value())
          list[0]!.text = 'spoiled'
          list[0]!.tags.push('spoiled')
          list.push({ text: 'spoiled', tags: [] })
          set.add(2)
        }
        tuple!.checkpoint.channel_versions.list = 99
        tuple!.metadata.step = 99
        tuple!.pendingWrites.pop()
      }
      for (let i = 0; i < 2; i += 1) {
        spoil(await now.getTuple(configOf('t', idOf(1))))
        spoil((await listed(now, configOf('t'))).at(-1))
      }
      const tuple = await now.getTuple(configOf('t', idOf(1)))
      expect(tuple?.checkpoint).toEqual(checkpointOf(1, value()))
      expect(tuple?.metadata).toEqual(metadataOf(1))
      // What was given is not touched either by the next put of it.
      await putAll(
        now,
        't',
        checkpointOf(2, tuple!.checkpoint.channel_values, { list: 1, set: 1 }),
        {
          parent: 1,
        },
      )
      expect(await valuesOf(now, 't', 2)).toEqual(value())
    }
  })

  promise('are not what a listing gives: it may be changed while it goes on', async (opened) => {
    const messages = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ text: `${i} `.repeat(40), tags: ['x'] }))
    for (let n = 1; n <= 20; n += 1) {
      const parent = n > 1 ? { parent: n - 1 } : {}
      await putAll(
        opened.saver,
        't',
        checkpointOf(n, { messages: messages(n) }, { messages: n }),
        parent,
      )
    }
    for await (const now of lives(opened)) {
      let last: Tuple | undefined
      for await (const tuple of now.list(configOf('t'))) {
        const given = tuple.checkpoint.channel_values.messages as ReturnType<typeof messages>
        for (const message of given) message.text = `spoiled ${message.tags.push('spoiled')}`
        given.pop()
        last ??= tuple
      }
      for (let n = 1; n <= 20; n += 1)
        expect(await valuesOf(now, 't', n)).toEqual({ messages: messages(n) })
      // What was changed is told from what was stored where it is put again.
      const spoiled = structuredClone(last!.checkpoint.channel_values)
      const { channel_values } = last!.checkpoint
      await putAll(now, 'other', checkpointOf(1, channel_values, { messages: 1 }))
      expect(await valuesOf(now, 'other', 1)).toEqual(spoiled)
    }
  })

  promise('may be changed by a node that was given them', async (opened) => {
    const { HumanMessage } = graphs
    const config = { configurable: { thread_id: 't' } }
    const chat = () => graphs.chatGraph(opened.saver)
    await chat().invoke({ messages: [new HumanMessage({ id: 'h', content: 'Oslo' })] }, config)
    await opened.reopen()
    const state = await chat().getState(config)
    state.values.messages[0].content = 'spoiled'
    state.values.messages[1].tool_calls[0].args.q = 'spoiled'
    state.values.messages.length = 1
    const again = await chat().invoke(
      { messages: [new HumanMessage({ id: 'h2', content: 'Bonn' })] },
      config,
    )
    expect(again.messages).toHaveLength(8)
    expect(again.messages[0].content).toBe('Oslo')
    expect(again.messages[1].tool_calls[0].args).toEqual({ q: 'Oslo' })
  })
})

describe.skipIf(real.skip !== undefined)('14: a DeltaChannel', () => {
  const config = { configurable: { thread_id: 't' } }
  const shape = (messages: { id: string; content: string; getType(): string }[]) =>
    messages.map((message) => [message.getType(), message.id, message.content])

  promise('is rebuilt over its snapshots, in each step of its history', async (opened) => {
    const options = { steps: 25, delta: 7 }
    const plain = graphs.steppingGraph((await openMemory()).saver, { steps: 25 })
    await plain.invoke({ messages: [] }, { ...config, recursionLimit: 100 })
    const graph = () => graphs.steppingGraph(opened.saver, options)
    await graph().invoke({ messages: [] }, { ...config, recursionLimit: 100 })
    const expected = await graphs.historyOf(plain, config)
    await opened.reopen()
    const found = await graphs.historyOf(graph(), config)
    expect(found).toHaveLength(expected.length)
    for (const [at, snapshot] of found.entries()) {
      expect(shape(snapshot.values.messages ?? [])).toEqual(
        shape(expected[at].values.messages ?? []),
      )
    }
    // A branch goes over its own ancestors alone.
    const old = found.find((snapshot: { values: { step?: number } }) => snapshot.values.step === 10)
    const { HumanMessage } = graphs
    const branch = await graph().updateState(old.config, {
      messages: [new HumanMessage({ id: 'branch', content: 'branch' })],
    })
    const { values } = await graph().getState(branch)
    expect(shape(values.messages).map(([, id]) => id)).toEqual([
      ...Array.from({ length: 10 }, (_, i) => `ai-${i + 1}`),
      'branch',
    ])
  })

  promise('has the history that a walk over all tuples gives', async (opened) => {
    const { BaseCheckpointSaver } = await real.load('@langchain/langgraph-checkpoint')
    const graph = graphs.steppingGraph(opened.saver, { steps: 9, delta: 4 })
    await graph.invoke({ messages: [] }, { ...config, recursionLimit: 100 })
    const saver = await opened.reopen()
    const channels = ['messages', 'step', 'not there']
    for (const { config: asked } of [{ config }, ...(await listed(saver, config))]) {
      const walk = BaseCheckpointSaver.prototype.getDeltaChannelHistory
      const walked = await walk.call(saver, { config: asked, channels })
      expect(await saver.getDeltaChannelHistory({ config: asked, channels })).toEqual(walked)
    }
    expect(await saver.getDeltaChannelHistory({ config, channels: [] })).toEqual({})
  })

  promise('keeps its snapshots and counters as they were', async (opened) => {
    const { DeltaSnapshot, isDeltaSnapshot } = await real.load('@langchain/langgraph-checkpoint')
    const value = new DeltaSnapshot([1, { deep: 2 }])
    const metadata = metadataOf(1, { counters_since_delta_snapshot: { messages: [3, 5] } })
    await putAll(opened.saver, 't', checkpointOf(1, { messages: value }), { metadata })
    for await (const now of lives(opened)) {
      const tuple = await now.getTuple(configOf('t'))
      const found = tuple?.checkpoint.channel_values.messages
      expect(isDeltaSnapshot(found)).toBe(true)
      expect(found).toEqual(value)
      expect(tuple?.metadata).toEqual(metadata)
    }
  })
})

describe.skipIf(real.skip !== undefined)('15: metadata', () => {
  promise('comes back as it was given, and nothing of the config with it', async (opened) => {
    const metadata = metadataOf(-1, { source: 'input', parents: { '': 'x' }, writes: { a: [1] } })
    const config = { ...configOf('t'), metadata: { user_id: 'u' }, tags: ['y'], runId: 'r' }
    const checkpoint = checkpointOf(1, { a: 1 })
    await opened.saver.put(config, checkpoint, metadata, checkpoint.channel_versions)
    for await (const now of lives(opened)) {
      const tuple = await now.getTuple(configOf('t'))
      expect(tuple?.metadata).toStrictEqual(metadata)
      expect(tuple?.config).toStrictEqual(configOf('t', idOf(1)))
    }
  })
})
