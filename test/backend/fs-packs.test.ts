/**
 * Packs on disk: found, indexed again, merged and swept, beside others who read and whenever power
 * is lost.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEAD_SHARE_MIN, FsCompaction } from '../../src/backend/fs-compaction.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { FsPacks } from '../../src/backend/fs-packs.js'
import { DaglogError, systemCode } from '../../src/core/errors.js'
import { type Hash, sha256 } from '../../src/core/hash.js'
import { PACKS_SMALL_MAX } from '../../src/core/limits.js'
import type { StoredObject } from '../../src/core/object.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { freshSimulated } from './stores.js'

const layout = new FsLayout('/store')

/** One process's view of the packs of a disk. */
class Viewer {
  readonly notices: string[] = []
  readonly packs: FsPacks
  readonly compaction: FsCompaction

  constructor(readonly disk: SimulatedDisk) {
    const onNotice = (message: string, cause?: unknown): void => {
      this.notices.push(`${message}: ${cause}`)
    }
    this.packs = new FsPacks(disk, layout, onNotice, 'stored')
    this.compaction = new FsCompaction(this.packs, onNotice)
  }

  /** Names of the packs there are. */
  get names(): Hash[] {
    return [...this.packs.names()].sort()
  }
}

function blob(text: string): StoredObject {
  const bytes = Buffer.from(text)
  return { hash: sha256(bytes), kind: 'blob', bytes }
}

/** Objects of about 100 bytes. */
function some(name: string, count: number): StoredObject[] {
  return Array.from({ length: count }, (_, at) => blob(`${name} ${at} `.padEnd(100, '.')))
}

function packFile(name: Hash): string {
  return join(layout.packs(), `${name}.pack`)
}

function indexFile(name: Hash): string {
  return join(layout.packs(), `${name}.idx`)
}

/** A disk with a pack for each list. */
async function diskWith(
  ...lists: StoredObject[][]
): Promise<{ disk: SimulatedDisk; made: Hash[] }> {
  const { disk } = freshSimulated()
  const { packs } = new Viewer(disk)
  const made: Hash[] = []
  for (const list of lists) made.push((await packs.add(list)) as Hash)
  packs.close()
  return { disk, made }
}

function expectAll(viewer: Viewer, objects: readonly StoredObject[]): void {
  for (const { hash, bytes } of objects) {
    expect(viewer.packs.has(hash)).toBe(true)
    expect(Buffer.from(bytes).equals(viewer.packs.get(hash) as Uint8Array)).toBe(true)
  }
}

function smallPacks(count = PACKS_SMALL_MAX): StoredObject[][] {
  return Array.from({ length: count }, (_, at) => some(`pack ${at}`, 5))
}

describe('small packs', () => {
  it('become one once there are sixteen', async () => {
    const lists = smallPacks()
    const { disk } = await diskWith(...lists.slice(1))
    const viewer = new Viewer(disk)
    await viewer.compaction.mergeSmall()
    expect(viewer.names.length).toBe(PACKS_SMALL_MAX - 1)
    await viewer.packs.add(lists[0] as StoredObject[])
    await viewer.compaction.mergeSmall()
    expect(viewer.names.length).toBe(1)
    expectAll(viewer, lists.flat())
    expectAll(new Viewer(disk), lists.flat())
    expect(disk.list(layout.packs()).length).toBe(2)
    expect(disk.list(layout.tmp())).toEqual([])
    expect(viewer.notices).toEqual([])
  })

  it('are found at every moment of a merge by a process that listed them before', async () => {
    const lists = smallPacks()
    const { disk } = await diskWith(...lists)
    const reader = new Viewer(disk)
    const fresh = (): Viewer => new Viewer(disk.clone())
    // Some of them it has read already, the others it only knows of.
    expectAll(reader, lists.slice(0, 4).flat())
    const merger = new Viewer(disk)
    let looks = 0
    let looking = false
    disk.onOperation = ({ phase, changes }) => {
      if (phase !== 'after' || !changes || looking) return
      looking = true
      looks += 1
      expectAll(reader, lists.flat())
      expectAll(fresh(), lists.flat())
      looking = false
    }
    await merger.compaction.mergeSmall()
    disk.onOperation = undefined
    expect(merger.names.length).toBe(1)
    expect(looks).toBeGreaterThan(20)
    expectAll(reader, lists.flat())
    expect(reader.notices).toEqual([])
  })

  it('T12: are merged by two at once without a loss', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const lists = smallPacks(PACKS_SMALL_MAX + 2)
      const { disk } = await diskWith(...lists)
      const [a, b] = [new Viewer(disk), new Viewer(disk)]
      if (seed % 2 === 1) await a.packs.add(some(`late ${seed}`, 3))
      const first = a.compaction.mergeSmall()
      for (let turn = 0; turn < seed; turn += 1) await Promise.resolve()
      await Promise.all([first, b.compaction.mergeSmall()])
      expectAll(new Viewer(disk), lists.flat())
      expect([...a.notices, ...b.notices]).toEqual([])
    }
  })

  it('that are damaged stay as they are, and keep no others from being merged', async () => {
    const lists = smallPacks(PACKS_SMALL_MAX + 1)
    const { disk, made } = await diskWith(...lists)
    const damaged = made[3] as Hash
    disk.flipBit(packFile(damaged), 8 * 60)
    const before = Buffer.from(disk.dump().get(packFile(damaged)) as Buffer)
    const viewer = new Viewer(disk)
    await viewer.compaction.mergeSmall()
    expect(viewer.names.length).toBe(2)
    expect(disk.dump().get(packFile(damaged))?.equals(before)).toBe(true)
    expect(viewer.notices.join()).toContain(damaged)
    expectAll(new Viewer(disk), lists.filter((_, at) => at !== 3).flat())
  })

  it('stay as they are where there is no room for another', async () => {
    const lists = smallPacks()
    const { disk } = await diskWith(...lists)
    const before = disk.dump()
    disk.capacityBytes = [...before.values()].reduce((sum, bytes) => sum + bytes.length, 1000)
    const viewer = new Viewer(disk)
    await viewer.compaction.mergeSmall()
    expect(viewer.notices.join()).toContain('could not be merged')
    expect(disk.dump()).toEqual(before)
    expectAll(viewer, lists.flat())
  })
})

describe('an index', () => {
  it('that is missing or not as it was written is made again, byte for byte', async () => {
    const list = some('kept', 40)
    const { disk, made } = await diskWith(list)
    const path = indexFile(made[0] as Hash)
    const good = disk.dump().get(path) as Buffer
    const harms = [
      () => disk.remove(path),
      () => disk.cut(path, 0),
      () => disk.cut(path, good.length - 1),
      ...[0, 8, 41, 60, good.length - 2].map((byte) => () => disk.flipBit(path, byte * 8)),
    ]
    for (const harm of harms) {
      harm()
      const viewer = new Viewer(disk)
      expectAll(viewer, list)
      expect(disk.dump().get(path)?.equals(good)).toBe(true)
    }
  })

  it('of a damaged pack is not kept: a good copy in its place is read whole', async () => {
    const list = some('kept', 40)
    const { disk, made } = await diskWith(list)
    const name = made[0] as Hash
    const good = Buffer.from(disk.dump().get(packFile(name)) as Buffer)
    disk.remove(indexFile(name))
    disk.flipBit(packFile(name), 8 * 100)
    const first = new Viewer(disk)
    expect(first.packs.has((list[0] as StoredObject).hash)).toBe(false)
    expect(first.notices.join()).toContain('is damaged')
    expect(disk.exists(indexFile(name))).toBe(false)
    disk.overwrite(packFile(name), 0, good)
    expectAll(new Viewer(disk), list)
  })

  it('that cannot be saved is used all the same', async () => {
    const list = some('kept', 40)
    const { disk, made } = await diskWith(list)
    disk.remove(indexFile(made[0] as Hash))
    disk.failNext(({ name, path }) => name === 'openFile' && path.startsWith(layout.tmp()), {
      code: 'EROFS',
    })
    const viewer = new Viewer(disk)
    expectAll(viewer, list)
    expect(viewer.notices.join()).toContain('could not be saved')
  })
})

describe('a pack that is not whole', () => {
  it('hides nothing of others, and nothing in blocks of its own that are whole', async () => {
    const large = some('large', 3).map(({ bytes }, at) => blob(`${at}${bytes}`.repeat(2000)))
    const lists = [some('a', 5), large, some('c', 5)]
    const { disk, made } = await diskWith(...lists)
    disk.flipBit(packFile(made[1] as Hash), 8 * 1000)
    const viewer = new Viewer(disk)
    expectAll(viewer, [...(lists[0] as []), ...large.slice(1), ...(lists[2] as [])])
    expect(() => viewer.packs.get((large[0] as StoredObject).hash)).toThrow(DaglogError)
    expect([...viewer.packs.objects()].length).toBeGreaterThanOrEqual(10)
  })

  it('is no reason to say that an object is not there, where it cannot be opened', async () => {
    const { disk, made } = await diskWith(some('a', 5), some('b', 5))
    const viewer = new Viewer(disk)
    const unknown = blob('nobody has it').hash
    const path = packFile(made[0] as Hash)
    const opens = (code: string): void =>
      disk.failNext((call) => call.name === 'openFile' && call.path === path, { code })
    const codeOf = (ask: () => unknown): string | undefined => {
      try {
        ask()
        return undefined
      } catch (error) {
        return systemCode(error)
      }
    }
    opens('EMFILE')
    expect(codeOf(() => viewer.packs.has(some('b', 5)[0]?.hash as Hash))).toBeUndefined()
    expect(codeOf(() => viewer.packs.has(unknown))).toBeUndefined() // It could be opened again.
    const other = new Viewer(disk)
    for (let times = 0; times < 2; times += 1) opens('EACCES')
    expect(codeOf(() => other.packs.get(unknown))).toBe('EACCES')
    for (let times = 0; times < 2; times += 1) opens('EACCES')
    expect(new Viewer(disk).packs.keeps(unknown)).toBe(false)
  })

  it('is never swept, nor is anything beside it', async () => {
    const lists = [some('a', 5), some('b', 5), some('c', 5)]
    const harms: ((disk: SimulatedDisk, name: Hash) => void)[] = [
      (disk, name) => disk.flipBit(packFile(name), 8 * 70),
      (disk, name) => disk.cut(packFile(name), 100),
      (disk, name) => disk.cut(packFile(name), 0),
      (disk, name) => {
        disk.remove(indexFile(name))
        disk.flipBit(packFile(name), 8 * 70)
      },
      (disk, name) => {
        disk.remove(indexFile(name))
        disk.cut(packFile(name), 400)
      },
      (disk, name) => {
        const read = (call: { name: string; path: string }): boolean =>
          call.name === 'openFile' && call.path === packFile(name)
        for (let times = 0; times < 4; times += 1) disk.failNext(read, { code: 'EACCES' })
      },
    ]
    for (const harm of harms) {
      const { disk, made } = await diskWith(...lists)
      harm(disk, made[1] as Hash)
      const before = [...disk.dump().keys()].sort()
      const viewer = new Viewer(disk)
      await expect(viewer.compaction.sweep(() => false, { dryRun: false })).rejects.toThrow()
      expect([...disk.dump().keys()].filter((path) => path.endsWith('.pack')).length).toBe(3)
      expect([...disk.dump().keys()].sort()).toEqual(before)
    }
  })
})

describe('a sweep', () => {
  const kept = some('kept', 20)
  const dropped = some('dropped', 20)
  const isLive = (hash: Hash): boolean => kept.some((object) => object.hash === hash)

  it('drops packs of dead objects, and writes those anew that are mostly dead', async () => {
    const { disk, made } = await diskWith(
      dropped.slice(0, 5),
      [...kept.slice(0, 5), ...dropped.slice(5, 10)],
      [...kept.slice(5, 15), ...dropped.slice(10, 11)],
      [...kept.slice(15), ...dropped.slice(11, 15)],
    )
    const viewer = new Viewer(disk)
    const dry = await viewer.compaction.sweep(isLive, { dryRun: true })
    expect(viewer.names).toEqual(made.toSorted())
    const swept = await viewer.compaction.sweep(isLive, { dryRun: false })
    expect(dry).toEqual({ ...swept, freedBytes: 0 })
    expect(swept).toMatchObject({ live: 20, dead: 15, deadBytes: 1500 })
    expect(viewer.names.length).toBe(2)
    // One of eleven is below the share that is worth the work.
    expect(viewer.names).toContain(made[2])
    expect(1 / 11).toBeLessThan(DEAD_SHARE_MIN)
    expectAll(new Viewer(disk), kept)
    expect([...new Viewer(disk).packs.objects()].length).toBe(21)
    expect(disk.list(layout.packs()).length).toBe(4)
  })

  it('leaves nothing where nothing is live, not even indexes without a pack', async () => {
    const { disk, made } = await diskWith(dropped, some('more', 5))
    disk.remove(packFile(made[0] as Hash))
    const { dead } = await new Viewer(disk).compaction.sweep(() => false, { dryRun: false })
    expect(dead).toBe(5)
    expect(disk.list(layout.packs())).toEqual([])
  })

  it('is not undone by a process that still has the old packs open', async () => {
    const { disk } = await diskWith(dropped, kept)
    const other = new Viewer(disk)
    expectAll(other, dropped)
    await new Viewer(disk).compaction.sweep(isLive, { dryRun: false })
    // Whoever becomes a writer looks anew; otherwise it would count on what is gone.
    other.packs.refresh()
    for (const { hash } of dropped) expect(other.packs.keeps(hash)).toBe(false)
    expectAll(other, kept)
  })
})

/** Lose power before each change to the disk and at the end, in all ways up to `limit`. */
async function atEachLoss(
  disk: SimulatedDisk,
  act: () => Promise<unknown>,
  check: (after: SimulatedDisk) => void,
): Promise<number> {
  const moments: SimulatedDisk[] = []
  disk.onOperation = ({ phase, changes }) => {
    if (phase === 'before' && changes) moments.push(disk.clone())
  }
  await act()
  disk.onOperation = undefined
  moments.push(disk.clone())
  let states = 0
  const limit = process.env.DAGLOG_LONG ? 300 : 16
  for (const moment of moments) {
    for (const after of moment.crashStates({ limit, seed: moments.length })) {
      states += 1
      check(after)
    }
  }
  return states
}

describe('after a power loss', () => {
  it('in a merge every object is found', async () => {
    const lists = smallPacks()
    const { disk } = await diskWith(...lists)
    const viewer = new Viewer(disk)
    const states = await atEachLoss(
      disk,
      () => viewer.compaction.mergeSmall(),
      (after) => expectAll(new Viewer(after), lists.flat()),
    )
    expect(viewer.names.length).toBe(1)
    expect(states).toBeGreaterThan(100)
  }, 900_000)

  it('in a sweep every live object is found, and the next sweep finishes the work', async () => {
    const kept = some('kept', 12)
    const isLive = (hash: Hash): boolean => kept.some((object) => object.hash === hash)
    const { disk } = await diskWith(
      some('dead', 6),
      [...kept.slice(0, 4), ...some('dropped', 4)],
      [...kept.slice(4, 8), ...some('gone', 3)],
      kept.slice(8),
    )
    const viewer = new Viewer(disk)
    const left: SimulatedDisk[] = []
    const states = await atEachLoss(
      disk,
      () => viewer.compaction.sweep(isLive, { dryRun: false }),
      (after) => {
        expectAll(new Viewer(after), kept)
        left.push(after)
      },
    )
    expect(states).toBeGreaterThan(50)
    for (const after of left) {
      await new Viewer(after).compaction.sweep(isLive, { dryRun: false })
      const again = new Viewer(after)
      expectAll(again, kept)
      expect([...again.packs.objects()].every(({ hash }) => isLive(hash))).toBe(true)
    }
  })

  it('in adding a pack it is there whole, or not at all', async () => {
    const { disk } = await diskWith(some('before', 3))
    const list = some('added', 30)
    const viewer = new Viewer(disk)
    await atEachLoss(
      disk,
      () => viewer.packs.add(list),
      (after) => {
        const found = new Viewer(after)
        const there = list.filter(({ hash }) => found.packs.has(hash))
        expect([0, list.length]).toContain(there.length)
        expectAll(found, some('before', 3))
        expect(found.notices).toEqual([])
      },
    )
  })
})
