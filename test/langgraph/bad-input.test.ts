/**
 * Logs that were cut, objects that are gone, disks that are full, threads that are deleted
 * meanwhile: the graph fails loudly at that step, and what was there before can be read.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { directory, openStore } from '../../src/index.js'
import { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { smallDisk } from '../crash/small-disk.js'
import { temporaryDir } from '../store/temporary.js'
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
  saverOver,
  type Tuple,
} from './savers.js'

const config = { configurable: { thread_id: 't' }, recursionLimit: 100, durability: 'sync' }

/** What a tuple says, to be compared with what it says later. */
const said = ({ checkpoint, metadata, pendingWrites }: Tuple): string =>
  JSON.stringify({ checkpoint, metadata, pendingWrites })

async function saidById(saver: Saver): Promise<Map<string, string>> {
  const tuples = await listed(saver, configOf('t'))
  return new Map(tuples.map((tuple) => [tuple.checkpoint.id, said(tuple)]))
}

/** A store with a thread of some steps, closed. */
async function steppedStore(steps = 6): Promise<{ dir: string; before: Map<string, string> }> {
  const dir = join(temporaryDir(), 'store')
  const store = await openStore(dir, { onNotice: () => {} })
  const saver = await saverOver(store)
  await graphs.steppingGraph(saver, { steps }).invoke({ messages: [] }, config)
  const before = await saidById(saver)
  await saver.close()
  await store.close()
  return { dir, before }
}

function logOf(dir: string): string {
  const [run] = readdirSync(join(dir, 'runs'))
  const log = readdirSync(join(dir, 'runs', run!)).find((name) => name.startsWith('log.'))
  return join(dir, 'runs', run!, log!)
}

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? error,
  )

describe.skipIf(real.skip !== undefined)('a log that was cut', () => {
  it.each([0.3, 0.6, 0.95])(
    'at %d of it: the rest is read, and nothing is put upon it',
    async (at) => {
      const { dir, before } = await steppedStore()
      const log = logOf(dir)
      truncateSync(log, Math.floor(statSync(log).size * at))
      const store = await openStore(dir, { onNotice: () => {} })
      const saver = await saverOver(store)
      const left = await saidById(saver)
      expect(left.size).toBeLessThan(before.size)
      // Of its last steps some writes may be gone; of none another state is told.
      for (const [id, text] of left) {
        expect(JSON.parse(text).checkpoint).toEqual(JSON.parse(before.get(id)!).checkpoint)
      }
      const graph = graphs.steppingGraph(saver, { steps: 20 })
      expect(await codeOf(graph.invoke({ messages: [] }, config))).toBe('CHAIN_BROKEN')
      expect((await store.verify()).ok).toBe(false)
      expect((await saidById(saver)).size).toBe(left.size)
      await saver.close()
      await store.close()
    },
  )

  it('by a crash, before anybody knew more of it: the graph goes on', async () => {
    const { dir, before } = await steppedStore()
    const log = logOf(dir)
    truncateSync(log, statSync(log).size - 20)
    // As if the store had not heard of the head of this run.
    for (const name of readdirSync(dir))
      if (/^store\.\d/.test(name)) truncateSync(join(dir, name), 0)
    rmSync(join(dir, 'cache'), { recursive: true })
    const { saver } = await openDaglog(dir)
    expect(before.size - (await saidById(saver)).size).toBeLessThanOrEqual(1)
    const graph = graphs.steppingGraph(saver, { steps: 9 })
    const { messages } = await graph.invoke({ messages: [] }, config)
    expect(messages.map(({ id }: { id: string }) => id)).toEqual(
      Array.from({ length: messages.length }, (_, i) => `ai-${i + 1}`),
    )
  })
})

describe.skipIf(real.skip !== undefined)('an object that is gone', () => {
  it('is an error for what holds it, and only for that', async () => {
    const dir = join(temporaryDir(), 'store')
    const store = await openStore(dir, { onNotice: () => {} })
    const saver = await saverOver(store)
    await putAll(saver, 't', checkpointOf(1, { a: 'small' }))
    const large = Array.from({ length: 400_000 }, (_, i) => `word ${i}`).join(' ')
    await putAll(saver, 't', checkpointOf(2, { a: large }, { a: 2 }), { parent: 1 })
    await putAll(saver, 't', checkpointOf(3, { a: 'small again' }, { a: 3 }), { parent: 2 })
    await saver.close()
    await store.close()
    // What is so large lies in a pack of its own.
    const packs = readdirSync(join(dir, 'packs')).map((name) => join(dir, 'packs', name))
    const [largest] = packs.toSorted((one, two) => statSync(two).size - statSync(one).size)
    rmSync(largest!)
    const later = await openStore(dir, { onNotice: () => {} })
    const found = await saverOver(later)
    const a = async (n: number) =>
      (await found.getTuple(configOf('t', idOf(n))))?.checkpoint.channel_values.a
    expect(await codeOf(a(2))).toBe('OBJECT_MISSING')
    expect([await a(1), await a(3)]).toEqual(['small', 'small again'])
    expect(await codeOf(listed(found, configOf('t')))).toBe('OBJECT_MISSING')
    expect((await later.verify()).ok).toBe(false)
    await found.close()
    await later.close()
  })
})

describe.skipIf(real.skip !== undefined)('a thread that is deleted meanwhile', () => {
  it.each(['sync', 'exit'])('ends the graph that still runs on it (%s)', async (durability) => {
    const { saver } = await openDaglog()
    const told = async (step: number) => {
      if (step === 4) await saver.deleteThread('t')
      // Nodes that do anything let others do so too.
      await new Promise((done) => setImmediate(done))
    }
    const graph = graphs.steppingGraph(saver, { steps: 8, told })
    const ended = await codeOf(graph.invoke({ messages: [] }, { ...config, durability }))
    if (durability === 'exit') {
      // It puts one checkpoint at its end, and that is the beginning of a thread.
      expect(ended).toBe('ok')
      return
    }
    expect(ended).toBe('CHECKPOINT_DELETED')
    expect(await listedIds(saver, { configurable: { thread_id: 't' } })).toEqual([])
    const again = await graphs
      .steppingGraph(saver, { steps: 2 })
      .invoke({ messages: [] }, { ...config, durability })
    expect(again.step).toBe(2)
  })
})

describe.skipIf(real.skip !== undefined)('a disk that is full', () => {
  for (const durability of ['sync', 'async']) {
    it(`fails the step (${durability}); what was there is read, and the graph goes on with room`, async () => {
      const disk = new SimulatedDisk()
      const backend = () => directory(resolve('/store'), { disk } as object)
      const store = await openStore(backend(), { onNotice: () => {} })
      const saver = await saverOver(store)
      const steps: number[] = []
      const told = async (step: number) => {
        steps.push(step)
        const turn = () => new Promise((done) => setImmediate(done))
        await turn()
        if (step !== 6) return
        // Puts may come long after their steps.
        while ((await listedIds(saver, configOf('t'))).length < 4) await turn()
        disk.capacityBytes = 1
      }
      const graph = graphs.steppingGraph(saver, { steps: 30, told })
      const failed = await graph
        .invoke({ messages: [] }, { ...config, durability })
        .catch((error: unknown) => error)
      expect(failed).toMatchObject({ code: 'WRITE_FAILED' })
      expect(String(failed)).toMatch(/ENOSPC/)
      if (durability === 'sync') expect(steps.at(-1)).toBeLessThanOrEqual(7)
      const before = await saidById(saver)
      expect(before.size).toBeGreaterThanOrEqual(4)
      await saver.close().catch(() => {})
      await store.close().catch(() => {})

      const reading = await openStore(backend(), { onNotice: () => {} })
      const reader = await saverOver(reading)
      expect(await saidById(reader)).toEqual(before)
      expect(await codeOf(putAll(reader, 't', checkpointOf(1, { a: 1 })))).toBe('WRITE_FAILED')
      disk.capacityBytes = Number.POSITIVE_INFINITY
      const { messages, step } = await graphs
        .steppingGraph(reader, { steps: 12 })
        .invoke(null, { ...config, durability })
      expect([step, messages.length]).toEqual([12, 12])
      expect((await reading.verify()).ok).toBe(true)
      await reader.close()
      await reading.close()
    })
  }

  it('really: a graph on a small file system fails, is read, and goes on with room', async (context) => {
    const disk = smallDisk(768 * 1024)
    if (disk === undefined) {
      console.log('skipped: a tmpfs cannot be mounted here (needs root)')
      return context.skip()
    }
    const dir = join(disk, 'store')
    const store = await openStore(dir, { onNotice: () => {} })
    const saver = await saverOver(store)
    // What the nodes write takes the room too.
    const grown = { ...config, recursionLimit: 1000 }
    const told = (step: number) => {
      try {
        writeFileSync(join(disk, `file-${step}`), randomBytes(24 * 1024))
      } catch (error) {
        // The node's own file does not fit either: now it is the saver's turn.
        expect(error).toMatchObject({ code: 'ENOSPC' })
      }
    }
    const failed = await graphs
      .steppingGraph(saver, { steps: 900, told })
      .invoke({ messages: [] }, grown)
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'WRITE_FAILED' })
    expect(String(failed)).toMatch(/ENOSPC/)
    const before = await saidById(saver)
    expect(before.size).toBeGreaterThan(5)
    await saver.close().catch(() => {})
    await store.close().catch(() => {})

    execFileSync('mount', ['-o', 'remount,size=16m', disk])
    const later = await openStore(dir, { onNotice: () => {} })
    const reader = await saverOver(later)
    const found = await saidById(reader)
    // A checkpoint may be on the disk though nobody was told so; none that was there is another.
    for (const [id, text] of before) expect(found.get(id)).toBe(text)
    const { step: reached = 0 } = (await reader.getTuple(configOf('t')))!.checkpoint
      .channel_values as { step?: number }
    const { step, messages } = await graphs
      .steppingGraph(reader, { steps: reached + 3 })
      .invoke(null, grown)
    expect([step, messages.length]).toEqual([reached + 3, reached + 3])
    expect((await later.verify()).ok).toBe(true)
    await reader.close()
    await later.close()
  })
})

describe.skipIf(real.skip !== undefined)('what a step of a graph costs', () => {
  it('one sync of the log and one of the objects, for its writes and its checkpoint', async () => {
    const disk = new SimulatedDisk()
    const backend = directory(resolve('/store'), { disk } as object)
    const store = await openStore(backend, { onNotice: () => {} })
    const saver = await saverOver(store)
    const syncs = { log: 0, objects: 0 }
    const STEPS = 20
    const told = (step: number) => {
      if (step !== 1) return
      // From here on, so that opening does not count.
      disk.onOperation = ({ name, path, phase }) => {
        if (name !== 'sync' || phase !== 'before' || !path.includes('langgraph')) return
        syncs[path.endsWith('.jsonl') ? 'log' : 'objects'] += 1
      }
    }
    await graphs.steppingGraph(saver, { steps: STEPS, told }).invoke({ messages: [] }, config)
    disk.onOperation = undefined
    expect(syncs).toEqual({ log: STEPS, objects: STEPS })
    await saver.close()
    await store.close()
  })
})
