/**
 * More than one worker on a thread: in turns they go on where the other was; at once, each of their
 * checkpoints is kept with its parent, or they are told that they cannot write.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { temporaryDir } from '../store/temporary.js'
import { bundleOf } from './bundle.js'
import {
  checkpointOf,
  configOf,
  graphs,
  idOf,
  listed,
  listedIds,
  openDaglog,
  putAll,
  real,
  type Saver,
} from './savers.js'

const config = { configurable: { thread_id: 't' }, recursionLimit: 100 }
/** Waits for as long as a slow machine may need, and lets go as soon as it has written. */
const SHORT = { lockWaitMs: 60_000, lockIdleMs: 1 }

const say = (saver: Saver, n: number) =>
  graphs
    .chatGraph(saver)
    .invoke({ messages: [new graphs.HumanMessage({ id: `h${n}`, content: `word ${n}` })] }, config)

/** Each checkpoint but the first has its parent in the list. */
async function checkLineage(saver: Saver): Promise<number> {
  const tuples = await listed(saver, configOf('t'))
  const ids = new Set(tuples.map(({ checkpoint }) => checkpoint.id))
  for (const { parentConfig } of tuples) {
    const parent = parentConfig?.configurable?.checkpoint_id
    if (parent !== undefined) expect(ids.has(parent as string)).toBe(true)
  }
  return ids.size
}

describe.skipIf(real.skip !== undefined)('two workers in turns', () => {
  it('go on where the other was, each time', async () => {
    const one = await openDaglog(undefined, SHORT)
    const two = await openDaglog(one.dir, SHORT)
    for (let n = 1; n <= 8; n += 1) {
      const { messages } = await say((n % 2 === 0 ? one : two).saver, n)
      expect(messages).toHaveLength(4 * n)
      for (const { saver } of [one, two]) {
        const { values } = await graphs.chatGraph(saver).getState(config)
        expect(values.messages).toHaveLength(4 * n)
      }
    }
    expect(await listedIds(one.saver, config)).toEqual(await listedIds(two.saver, config))
    await checkLineage(one.saver)
  })

  it('see what the other deleted, forked and began anew', async () => {
    const one = await openDaglog(undefined, SHORT)
    const two = await openDaglog(one.dir, SHORT)
    await say(one.saver, 1)
    const history = await graphs.historyOf(graphs.chatGraph(two.saver), config)
    const fork = { messages: [new graphs.HumanMessage({ id: 'f', content: 'fork' })] }
    const at = await graphs.chatGraph(two.saver).updateState(history[2].config, fork, 'tools')
    const { values } = await graphs.chatGraph(one.saver).getState(at)
    expect(values.messages.at(-1).content).toBe('fork')
    await two.saver.deleteThread('t')
    expect(await one.saver.getTuple(config)).toBeUndefined()
    expect((await say(one.saver, 2)).messages).toHaveLength(4)
    expect((await graphs.chatGraph(two.saver).getState(config)).values.messages).toHaveLength(4)
  })
})

describe.skipIf(real.skip !== undefined)('two workers at once', () => {
  it('keep each checkpoint that they put, with its writes', async () => {
    const one = await openDaglog(undefined, SHORT)
    const two = await openDaglog(one.dir, SHORT)
    const all = Array.from({ length: 24 }, async (_, i) => {
      const { saver } = i % 2 === 0 ? one : two
      await putAll(saver, 't', checkpointOf(i, { a: i, big: 'x'.repeat(5000) }))
      await saver.putWrites(configOf('t', idOf(i)), [['a', i]], `task-${i}`)
    })
    await Promise.all(all)
    for (const { saver } of [one, two]) {
      const tuples = await listed(saver, configOf('t'))
      expect(tuples.map(({ checkpoint }) => checkpoint.channel_values.a)).toEqual(
        Array.from({ length: 24 }, (_, i) => 23 - i),
      )
      for (const { checkpoint, pendingWrites } of tuples) {
        const { a } = checkpoint.channel_values
        expect(pendingWrites).toEqual([[`task-${a}`, 'a', a]])
      }
    }
  })

  it('are told where one may not wait, and nothing of it was written', async () => {
    const one = await openDaglog(undefined, { lockIdleMs: 60_000 })
    const two = await openDaglog(one.dir, { lockWaitMs: 0 })
    await say(one.saver, 1)
    const before = await listedIds(two.saver, config)
    await expect(say(two.saver, 2)).rejects.toMatchObject({ code: 'RUN_LOCKED' })
    expect(await listedIds(two.saver, config)).toEqual(before)
    await one.saver.close()
    expect((await say(two.saver, 2)).messages).toHaveLength(8)
  })

  it('in processes of their own lose nothing of what was acknowledged', async () => {
    const work = temporaryDir()
    const dir = join(work, 'store')
    const bundle = await bundleOf('talking-graph.mjs', work)
    await (await openStore(dir)).close()
    const talks = ['p', 'q'].map((name) => talk([bundle, dir, name, '6']))
    const told = (await Promise.all(talks)).flat()
    const { saver } = await openDaglog(dir)
    const ids = new Set(await listedIds(saver, configOf('t')))
    expect(told.length).toBeGreaterThan(12)
    for (const id of told) expect(ids.has(id)).toBe(true)
    await checkLineage(saver)
  })
})

/** The ids of the checkpoints that a process of its own put. */
function talk(args: string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    let wrong = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
    })
    child.stderr.on('data', (chunk) => {
      wrong += chunk
    })
    child.on('error', reject)
    child.on('close', (status) => {
      if (status === 0) resolve(said.trim().split('\n'))
      else reject(new Error(`the worker ended with ${status}: ${wrong}`))
    })
  })
}
