import { describe, expect, it } from 'vitest'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { memory } from '../../src/backend/memory.js'
import type { DuReport, RunUsage } from '../../src/index.js'
import { Store } from '../../src/store/store.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { GcWorld, page, ROOT } from './gc-world.js'

const layout = new FsLayout(ROOT)

function of(report: DuReport, id: string): RunUsage {
  const found = report.runs.find((run) => run.id === id)
  if (found === undefined) throw new Error(`no run ${id}`)
  return found
}

/** Bytes of the files of a disk that a store is made of: no locks, no cache, no drafts. */
function filesOf(disk: SimulatedDisk): number {
  const kept = /\/packs\/|\/runs\/[^/]+\/(?:log\.|objects\.open)|\/store\.\d+\.jsonl$/
  return [...disk.dump()]
    .filter(([path]) => kept.test(path))
    .reduce((sum, [, bytes]) => sum + bytes.length, 0)
}

async function write(store: Store, id: string, pages: readonly string[]): Promise<void> {
  const run = await store.run(id)
  for (const each of pages) await run.append('note', { text: each })
  await run.end()
}

const [A, B, C] = [page('a', 20), page('b', 20), page('c', 20)]

describe('du', () => {
  it('counts what a run holds alone, and what others hold too, each object once', async () => {
    const world = new GcWorld()
    const store = await world.open()
    await write(store, 'one', [A, B, A])
    await write(store, 'two', [B, C])
    await write(store, 'three', [B])
    await write(store, 'none', ['short'])
    const report = await store.du()
    expect(report.runs.map(({ id }) => id)).toEqual(['none', 'one', 'three', 'two'])
    expect(of(report, 'one')).toMatchObject({ unique: A.length, shared: B.length })
    expect(of(report, 'two')).toMatchObject({ unique: C.length, shared: B.length })
    expect(of(report, 'three')).toMatchObject({ unique: 0, shared: B.length })
    expect(of(report, 'none')).toMatchObject({ unique: 0, shared: 0, values: 0 })
    expect(of(report, 'one').values).toBe(2 * A.length + B.length)
    const logs = report.runs.reduce((sum, { log }) => sum + log, 0)
    const { totals } = report
    expect(totals.logical).toBe(logs + 2 * A.length + 3 * B.length + C.length)
    expect(totals.unique).toBe(logs + A.length + B.length + C.length)
    expect(totals.ratio).toBeCloseTo(totals.logical / totals.stored, 10)
  })

  it('adds up to the files on the disk, sealed or not, at rest or not', async () => {
    const world = new GcWorld()
    const store = await world.open()
    await write(store, 'ended', [A, B])
    const long = await store.run('long')
    for (let at = 0; at < 400; at += 1) await long.append('note', { at, text: 'x'.repeat(300) })
    await long.end()
    const open = await store.run('open')
    await open.append('note', { text: C })
    for (const stage of ['open', 'closed']) {
      const report = await store.du()
      expect(report.totals.stored, stage).toBe(filesOf(world.disk))
      const { packs, open: own, logs, stored } = report.totals
      expect(packs + own + logs).toBe(stored)
      expect(of(report, 'open').open).toBeGreaterThan(C.length)
      expect(of(report, 'ended').open).toBe(0)
      // Laid to rest, a log takes less than is read of it.
      expect(of(report, 'long').logStored).toBeLessThan(of(report, 'long').log / 2)
      expect(of(report, 'open').logStored).toBe(of(report, 'open').log)
      await open.close()
    }
  })

  it('counts a run that only forks others by its own events', async () => {
    const store = await new GcWorld().open()
    await write(store, 'one', [A])
    await (await store.fork('one', { id: 'fork' })).close()
    const report = await store.du()
    expect(of(report, 'one')).toMatchObject({ unique: A.length, shared: 0 })
    expect(of(report, 'fork')).toMatchObject({ unique: 0, shared: 0 })
  })

  it('says of a run that cannot be read why, and counts the others', async () => {
    const harms: [(disk: SimulatedDisk) => void, RegExp][] = [
      [(disk) => disk.flipBit(layout.segment({ run: 'bad' }, 0), 8 * 400), /CHAIN_BROKEN/],
      [(disk) => disk.removeTree(layout.packs()), /OBJECT_MISSING/],
      [
        (disk) => {
          const log = layout.segment({ run: 'bad' }, 0)
          for (let times = 0; times < 9; times += 1)
            disk.failNext(({ name, path }) => name === 'openFile' && path === log, { code: 'EIO' })
        },
        /READ_FAILED/,
      ],
    ]
    for (const [harm, expected] of harms) {
      const world = new GcWorld()
      const store = await world.open()
      await write(store, 'bad', [A])
      const good = await store.run('good')
      await good.append('note', { text: B })
      await good.close()
      await store.close()
      harm(world.disk)
      const report = await (await world.open()).du()
      expect(of(report, 'bad').problem).toMatch(expected)
      expect(of(report, 'good').problem).toBeUndefined()
      expect(of(report, 'good').unique).toBe(B.length)
      expect(of(report, 'bad').log + of(report, 'good').log).toBeGreaterThan(0)
    }
  })

  it('writes nothing and needs no lock', async () => {
    const world = new GcWorld()
    const run = await (await world.open()).run('held')
    await run.append('note', { text: A })
    const before = world.disk.dump()
    const report = await (await world.open()).du()
    expect(of(report, 'held').unique).toBe(A.length)
    const names = [...world.disk.dump().keys()].filter((path) => !path.startsWith(layout.cache()))
    expect(names).toEqual([...before.keys()].filter((path) => !path.startsWith(layout.cache())))
  })

  it('of an empty store, and of one in memory', async () => {
    const empty = await (await new GcWorld().open()).du()
    expect(empty.runs).toEqual([])
    expect(empty.totals).toMatchObject({ logical: 0, unique: 0, packs: 0, open: 0 })
    const store = await Store.open(memory(), { create: true, onNotice: () => {} })
    await write(store, 'one', [A, A])
    const { runs, totals } = await store.du()
    expect(runs[0]).toMatchObject({ unique: A.length, shared: 0, values: 2 * A.length, open: 0 })
    expect(totals.packs).toBe(A.length)
  })
})
