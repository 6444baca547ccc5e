/**
 * What no other saver gives: pruning that is safe, copies that copy nothing, sizes, searches.
 */
import { describe, expect, it } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import type { DaglogSaver } from '../../src/langgraph.js'
import {
  checkpointOf,
  configOf,
  graphs,
  idOf,
  listedIds,
  metadataOf,
  openDaglog,
  putAll,
  real,
} from './savers.js'

const ours = (saver: unknown): DaglogSaver => saver as DaglogSaver

describe.skipIf(real.skip !== undefined)('prune', () => {
  it('keeps the end of every branch and what is pending there', async () => {
    const { saver, reopen } = await openDaglog()
    for (let n = 1; n <= 4; n += 1)
      await putAll(saver, 't', checkpointOf(n, { a: n }), n > 1 ? { parent: n - 1 } : {})
    await putAll(saver, 't', checkpointOf(5, { a: 'fork' }), { parent: 2 })
    await saver.putWrites(configOf('t', idOf(4)), [['__interrupt__', 'ok?']], 'task')
    await saver.putWrites(configOf('t', idOf(2)), [['a', 'old']], 'task')
    const dry = await ours(saver).prune({ dryRun: true })
    expect(dry).toEqual([{ thread: 't', deleted: 3, kept: 2 }])
    expect(await listedIds(saver, configOf('t'))).toHaveLength(5)
    expect(await ours(saver).prune()).toEqual([{ thread: 't', deleted: 3, kept: 2 }])
    const later = await reopen()
    expect(await listedIds(later, configOf('t'))).toEqual([idOf(5), idOf(4)])
    const [write] = (await later.getTuple(configOf('t', idOf(4))))?.pendingWrites ?? []
    expect(write).toEqual(['task', '__interrupt__', 'ok?'])
    await expect(later.putWrites(configOf('t', idOf(2)), [['a', 1]], 'late')).rejects.toMatchObject(
      { code: 'CHECKPOINT_DELETED' },
    )
    await putAll(later, 't', checkpointOf(6, { a: 'on' }), { parent: 4 })
  })

  it('goes by count and by age', async () => {
    const { saver } = await openDaglog()
    for (let n = 1; n <= 6; n += 1)
      await putAll(saver, 't', checkpointOf(n, { a: n }), n > 1 ? { parent: n - 1 } : {})
    const year = 365 * 24 * 3600 * 1000
    expect(await ours(saver).prune({ olderThanMs: 100 * year })).toEqual([
      { thread: 't', deleted: 0, kept: 6 },
    ])
    expect(await ours(saver).prune({ threads: ['t'], keep: 2 })).toEqual([
      { thread: 't', deleted: 4, kept: 2 },
    ])
  })

  it.each([
    { keep: Number.NaN },
    { keep: -1 },
    { olderThanMs: Number.NaN },
    { keep: '2' as unknown as number },
  ])('takes %j for a mistake, and deletes nothing', async (options) => {
    const { saver } = await openDaglog()
    await putAll(saver, 't', checkpointOf(1, { a: 1 }))
    await putAll(saver, 't', checkpointOf(2, { a: 2 }), { parent: 1 })
    await expect(ours(saver).prune(options)).rejects.toMatchObject({ code: 'USAGE' })
    expect(await listedIds(saver, configOf('t'))).toHaveLength(2)
  })

  it('by age leaves what does not say when it was made', async () => {
    const { saver } = await openDaglog()
    await putAll(saver, 't', { ...checkpointOf(1, { a: 1 }), ts: 'yesterday' })
    await putAll(saver, 't', checkpointOf(2, { a: 2 }), { parent: 1 })
    await putAll(saver, 't', checkpointOf(3, { a: 3 }), { parent: 2 })
    const [byAge] = await ours(saver).prune({ olderThanMs: 1 })
    expect(byAge).toMatchObject({ deleted: 1 })
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(3), idOf(1)])
  })

  it('keeps what the checkpoint of a subgraph belongs to', async () => {
    const { saver } = await openDaglog()
    for (let n = 1; n <= 3; n += 1)
      await putAll(saver, 't', checkpointOf(n, { a: n }), n > 1 ? { parent: n - 1 } : {})
    const metadata = metadataOf(1, { parents: { '': idOf(2) } })
    await putAll(saver, 't', checkpointOf(9, { b: 1 }), { ns: 'node:1', metadata })
    await ours(saver).prune()
    expect(await listedIds(saver, configOf('t'))).toEqual([idOf(3), idOf(2)])
  })

  it('leaves a graph that is asking a person able to go on', async () => {
    const opened = await openDaglog()
    const config = { configurable: { thread_id: 't' } }
    await graphs.askingGraph(opened.saver).invoke({ log: [] }, config)
    await ours(opened.saver).prune()
    const graph = graphs.askingGraph(await opened.reopen())
    expect((await graph.getState(config)).tasks[0].interrupts).toHaveLength(1)
    await graph.invoke(new graphs.Command({ resume: 'yes' }), config)
    expect((await graph.getState(config)).next).toEqual([])
  })
})

describe.skipIf(real.skip !== undefined)('a copy of a thread', () => {
  it('has all of it, and goes its own way', async () => {
    const { saver, reopen } = await openDaglog()
    const page = 'page '.repeat(100_000)
    await putAll(saver, 'a', checkpointOf(1, { page }))
    await putAll(saver, 'a', checkpointOf(2, { page, n: 1 }), { parent: 1 })
    await saver.putWrites(configOf('a', idOf(2)), [['n', 2]], 'task')
    await ours(saver).copyThread('a', 'b')
    await putAll(saver, 'b', checkpointOf(3, { page, n: 'b' }), { parent: 2 })
    await putAll(saver, 'a', checkpointOf(4, { page, n: 'a' }), { parent: 2 })
    const later = await reopen()
    expect(await listedIds(later, configOf('b'))).toEqual([idOf(3), idOf(2), idOf(1)])
    expect(await listedIds(later, configOf('a'))).toEqual([idOf(4), idOf(2), idOf(1)])
    const tuple = await later.getTuple(configOf('b', idOf(2)))
    expect(tuple?.checkpoint.channel_values).toEqual({ page, n: 1 })
    expect(tuple?.pendingWrites).toEqual([['task', 'n', 2]])
    await ours(later).deleteThread('a')
    expect((await later.getTuple(configOf('b')))?.checkpoint.channel_values.n).toBe('b')
  })

  it('needs a thread, and a place of its own', async () => {
    const { saver } = await openDaglog()
    await expect(ours(saver).copyThread('none', 'b')).rejects.toThrow(DaglogError)
    await putAll(saver, 'a', checkpointOf(1, { a: 1 }))
    await putAll(saver, 'b', checkpointOf(1, { a: 1 }))
    await expect(ours(saver).copyThread('a', 'b')).rejects.toMatchObject({ code: 'RUN_EXISTS' })
  })

  it('is neither made of a deleted thread nor put over one', async () => {
    const { saver } = await openDaglog()
    await putAll(saver, 'a', checkpointOf(1, { a: 1 }))
    await putAll(saver, 'gone', checkpointOf(2, { a: 2 }))
    await saver.deleteThread('gone')
    await expect(ours(saver).copyThread('gone', 'c')).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    })
    const over = ours(saver).copyThread('a', 'gone')
    await expect(over).rejects.toMatchObject({ code: 'RUN_EXISTS' })
    await expect(over).rejects.toThrow(/was deleted.*try: another name/)
    expect(await listedIds(saver, configOf('gone'))).toEqual([])
  })

  it('may have the name of a thread that was erased', async () => {
    const { saver } = await openDaglog(undefined, { erase: true })
    await putAll(saver, 'a', checkpointOf(1, { a: 1 }))
    await putAll(saver, 'gone', checkpointOf(2, { a: 2 }))
    await saver.deleteThread('gone')
    await ours(saver).copyThread('a', 'gone')
    expect(await listedIds(saver, configOf('gone'))).toEqual([idOf(1)])
    await putAll(saver, 'gone', checkpointOf(3, { a: 3 }), { parent: 1 })
    expect(await listedIds(saver, configOf('gone'))).toEqual([idOf(3), idOf(1)])
  })
})

describe.skipIf(real.skip !== undefined)('what a saver can be asked', () => {
  it('which channel costs what', async () => {
    const { saver } = await openDaglog()
    const big = Array.from({ length: 50 }, (_, i) => ({ id: i, text: `${i} `.repeat(500) }))
    await putAll(saver, 't', checkpointOf(1, { big, small: 'x' }))
    await putAll(saver, 't', checkpointOf(2, { big: [...big, 1], small: 'y' }), { parent: 1 })
    const [first, second] = await ours(saver).sizes()
    expect([first?.channel, second?.channel]).toEqual(['big', 'small'])
    // The second list shares its elements with the first.
    const bytes = JSON.stringify(big).length
    expect(first!.bytes).toBeGreaterThan(bytes)
    expect(first!.bytes).toBeLessThan(bytes * 1.2)
  })

  it('which checkpoints were put for whom, and to delete those of a run', async () => {
    const { saver } = await openDaglog()
    const put = (n: number, metadata: object) =>
      saver.put(
        { configurable: { thread_id: `t${n}` }, metadata: { ...metadata } },
        checkpointOf(n, { a: n }),
        metadataOf(n),
        { a: 1 },
      )
    await put(1, { user_id: 'ann', run_id: 'r1' })
    await put(2, { user_id: 'bob', run_id: 'r2' })
    const found: unknown[] = []
    for await (const { thread, id } of ours(saver).search({ user_id: 'bob' })) {
      found.push([thread, id])
    }
    expect(found).toEqual([['t2', idOf(2)]])
    const tuple = await saver.getTuple(configOf('t2'))
    expect(Object.keys(tuple?.metadata ?? {})).toEqual(['source', 'step', 'parents'])
    expect(await ours(saver).deleteForRuns(['r2', 'r9'])).toBe(1)
    expect(await saver.getTuple(configOf('t2'))).toBeUndefined()
    expect(await saver.getTuple(configOf('t1'))).toBeDefined()
  })
})
