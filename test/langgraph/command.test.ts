/** What the command line says of threads. */
import { describe, expect, it } from 'vitest'
import type { DaglogSaver } from '../../src/langgraph.js'
import { daglog, say } from '../cli/command.js'
import { checkpointOf, configOf, graphs, idOf, openDaglog, putAll, real } from './savers.js'

describe.skipIf(real.skip !== undefined)('a thread on the command line', () => {
  it('shows its checkpoints, writes and deletions in words', async () => {
    const { saver, store, dir } = await openDaglog()
    await putAll(saver, 'talk', checkpointOf(1, { page: 'p'.repeat(9000), n: 1 }))
    await saver.putWrites(configOf('talk', idOf(1)), [['n', 2]], 'task')
    await putAll(saver, 'talk', checkpointOf(2, { page: 'p'.repeat(9000), n: 2 }), { parent: 1 })
    await putAll(saver, 'talk', checkpointOf(3, { inner: true }), { ns: 'node:1' })
    await saver.close()
    await store.close()
    const at = ['--store', dir]
    const shown = await say(['show', 'langgraph/talk', ...at])
    expect(shown).toMatch(/langgraph\/checkpoint \S+ step 1 loop {2}2 channels/)
    expect(shown).toMatch(/langgraph\/checkpoint \S+ step 1 loop after \S+ {2}2 channels/)
    expect(shown).toMatch(/langgraph\/checkpoint \S+ node:1 step 1/)
    expect(shown).toMatch(/langgraph\/writes +on \S+ n/)
    // The last checkpoint of the graph itself, unless another is named.
    expect(await say(['state', 'langgraph/talk', '/n', ...at])).toBe('2')
    expect(await say(['state', 'langgraph/talk@5', ...at])).toBe('{"inner":true}')
    expect(await say(['state', 'langgraph/talk@3', '/n', ...at])).toBe('1')
    const { out, code } = await daglog(['diff', 'langgraph/talk@2', 'langgraph/talk@4', ...at])
    expect(code).toBe(1)
    expect(out).toContain('/n  1 -> 2')
    expect(out).toContain('1 change')
    expect(await say(['verify', ...at])).toMatch(/^ok/)
  })

  it('shows messages as their fields', async () => {
    const { saver, store, dir } = await openDaglog()
    const message = new graphs.HumanMessage({ content: 'hello', id: 'h' })
    await putAll(saver, 'talk', checkpointOf(1, { messages: [message] }))
    await saver.close()
    await store.close()
    const said = await say(['state', 'langgraph/talk', '/messages/0', '--store', dir])
    expect(JSON.parse(said)).toMatchObject({ type: 'HumanMessage', content: 'hello', id: 'h' })
  })

  it('that is a copy speaks of what came before too', async () => {
    const { saver, store, dir } = await openDaglog()
    await putAll(saver, 'a', checkpointOf(1, { n: 1 }))
    await putAll(saver, 'a', checkpointOf(2, { n: 2 }), { parent: 1 })
    await (saver as unknown as DaglogSaver).copyThread('a', 'b')
    const at = ['--store', dir]
    const state = (run: string) => say(['state', run, '/n', ...at])
    expect(await state('langgraph/b')).toBe('2')
    await putAll(saver, 'b', checkpointOf(3, { n: 'b' }), { parent: 2 })
    await putAll(saver, 'a', checkpointOf(4, { n: 'a' }), { parent: 2 })
    await saver.close()
    await store.close()
    expect([await state('langgraph/a'), await state('langgraph/b')]).toEqual(['"a"', '"b"'])
    const { out, code, err } = await daglog(['diff', 'langgraph/b@1', 'langgraph/b@2', ...at])
    expect([code, err]).toEqual([1, ''])
    expect(out).toContain('/n  2 -> "b"')
    const shown = await say(['show', 'langgraph/b', ...at])
    expect(shown).toMatch(/langgraph\/checkpoint \S+ step 1 loop after \S+/)
  })
})
