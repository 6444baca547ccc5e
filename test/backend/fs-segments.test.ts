import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Disk } from '../../src/backend/disk.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { FsSegments } from '../../src/backend/fs-segments.js'
import { GENESIS } from '../../src/core/hash.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { bodyOf, logOf, type TestLog } from '../core/frames.js'
import { cleanUp, freshNode, freshSimulated, type TestStore } from './stores.js'

const LOG = { run: 'r' }
const START = { seq: 0, prev: GENESIS }

afterAll(cleanUp)

function frames(count: number, from = 0): TestLog {
  return logOf(Array.from({ length: count }, (_, i) => ({ body: bodyOf(`frame ${from + i}`) })))
}

/** Segments as a process of its own sees them. */
function segmentsOn({ disk, root }: TestStore): { segments: FsSegments; told: string[] } {
  const told: string[] = []
  const segments = new FsSegments(disk, new FsLayout(root), (message) => told.push(message))
  return { segments, told }
}

/** All bytes there are, in reads of an odd length. */
function contentOf(segments: FsSegments, number = 0): Buffer {
  const bytes = segments.list(LOG).find((segment) => segment.number === number)?.bytes ?? 0
  const parts: Buffer[] = []
  for (let at = 0; at < bytes; at += 777)
    parts.push(segments.read(LOG, number, at, Math.min(777, bytes - at)))
  return Buffer.concat(parts)
}

/** What a writer does: opens the tail, appends, syncs. */
function append(
  { disk, root }: TestStore,
  segments: FsSegments,
  bytes: Uint8Array,
  number = 0,
): void {
  disk.syncDir(new FsLayout(root).run('r'))
  segments.syncAll(LOG)
  const { file } = segments.openTail(LOG, number)
  try {
    expect(file.append(bytes)).toBe(bytes.length)
    file.syncNow()
  } finally {
    file.close()
  }
}

function names({ disk, root }: TestStore): string[] {
  return disk.list(new FsLayout(root).run('r')).sort()
}

/** `parts` of a log one after the other, each laid to rest but the last. */
async function layered(store: TestStore, parts: readonly Buffer[]): Promise<void> {
  for (const [index, part] of parts.entries()) {
    const { segments } = segmentsOn(store)
    append(store, segments, part)
    if (index < parts.length - 1) await segments.rest(LOG, 0, START)
  }
}

function partsOf({ bytes, ends }: TestLog, counts: readonly number[]): Buffer[] {
  const parts: Buffer[] = []
  let from = 0
  let frame = 0
  for (const count of counts) {
    frame += count
    const to = ends[frame - 1] as number
    parts.push(bytes.subarray(from, to))
    from = to
  }
  return parts
}

describe('a segment', () => {
  it('reads the same in pieces at rest and text, at any place', async () => {
    const store = freshNode()
    const log = frames(300)
    const parts = partsOf(log, [120, 1, 150, 29])
    await layered(store, parts)
    const bases = [0, 1, 2, 3].map((count) => Buffer.concat(parts.slice(0, count)).length)
    expect(names(store)).toEqual(
      [
        'log.000000.z',
        `log.000000.${bases[1]}.z`,
        `log.000000.${bases[2]}.z`,
        `log.000000.${bases[3]}.jsonl`,
      ].sort(),
    )
    const { segments, told } = segmentsOn(store)
    expect(segments.list(LOG)).toMatchObject([{ number: 0, bytes: log.bytes.length }])
    fc.assert(
      fc.property(fc.nat(log.bytes.length + 5), fc.nat(30_000), (from, length) => {
        const expected = log.bytes.subarray(from, from + length)
        expect(segments.read(LOG, 0, from, length).equals(expected)).toBe(true)
      }),
      { numRuns: 200 },
    )
    expect([told, segments.faults(LOG)]).toEqual([[], []])
  })

  it('is left alone where there is nothing to lay to rest', async () => {
    const store = freshNode()
    const { segments } = segmentsOn(store)
    await segments.rest(LOG, 0, START)
    await segments.rest(LOG, 3, START)
    expect(names(store)).toEqual(['log.000000.jsonl'])
    append(store, segments, frames(5).bytes)
    await segments.rest(LOG, 0, START)
    const before = names(store)
    await segments.rest(LOG, 0, START)
    expect(names(store)).toEqual(before)
  })

  it('of a run that was deleted and made anew has nothing of the old one', async () => {
    const store = freshNode()
    const { segments } = segmentsOn(store)
    const [old, fresh] = [frames(9), frames(9, 20)]
    for (const log of [old, fresh]) {
      append(store, segments, log.bytes)
      await segments.rest(LOG, 0, START)
      expect(contentOf(segments).equals(log.bytes)).toBe(true)
      const layout = new FsLayout(store.root)
      store.disk.removeTree(layout.run('r'))
      store.disk.makeDir(layout.run('r'))
      store.disk.openFile(layout.segment(LOG, 0), 'create').close()
    }
  })
})

/**
 * Plays `rest` on a simulated disk and calls `visit` before each of its calls and after the last.
 */
async function eachMomentOfRest(
  store: TestStore<SimulatedDisk>,
  visit: (what: string) => void,
): Promise<void> {
  let visiting = false
  const stop = (what: string): void => {
    if (visiting) return
    visiting = true
    visit(what)
    visiting = false
  }
  const { segments } = segmentsOn(store)
  store.disk.onOperation = ({ phase, changes, name, path }) => {
    if (phase === 'before' && changes) stop(`before ${name} ${path}`)
  }
  await segments.rest(LOG, 0, START)
  store.disk.onOperation = undefined
  stop('the end')
}

describe('laying a segment to rest', () => {
  const log = frames(60)
  const [first, second] = partsOf(log, [40, 20]) as [Buffer, Buffer]

  it('hides no byte from another reader at any moment', async () => {
    const store = freshSimulated()
    await layered(store, [first, second])
    const known = segmentsOn(store)
    expect(contentOf(known.segments).equals(log.bytes)).toBe(true)
    let moments = 0
    await eachMomentOfRest(store, (what) => {
      moments += 1
      for (const { segments, told } of [known, segmentsOn(store)]) {
        expect([what, contentOf(segments).equals(log.bytes)]).toEqual([what, true])
        expect([what, segments.list(LOG).length, told]).toEqual([what, 1, []])
      }
    })
    expect(moments).toBeGreaterThan(5)
  })

  it('may lose power at any moment: there is one history, and it goes on', async () => {
    const store = freshSimulated()
    await layered(store, [first, second])
    const more = frames(5, 100).bytes
    let states = 0
    const found: { what: string; disk: SimulatedDisk }[] = []
    await eachMomentOfRest(store, (what) => {
      for (const disk of store.disk.crashStates({ limit: 300 })) found.push({ what, disk })
    })
    for (const { what, disk } of found) {
      states += 1
      const after = { disk, root: store.root }
      const { segments, told } = segmentsOn(after)
      const wrong = (claim: string, holds: boolean): void => {
        expect([what, claim, names(after), holds]).toEqual([what, claim, names(after), true])
      }
      wrong('all is there', contentOf(segments).equals(log.bytes))
      append(after, segments, more)
      const grown = Buffer.concat([log.bytes, more])
      wrong('it can be appended to', contentOf(segments).equals(grown))
      await segments.rest(LOG, 0, START)
      wrong('it can be laid to rest again', contentOf(segments).equals(grown))
      const fresh = segmentsOn(after)
      wrong('others see that, too', contentOf(fresh.segments).equals(grown))
      append(after, fresh.segments, more)
      const last = Buffer.concat([grown, more])
      wrong('and can go on', contentOf(fresh.segments).equals(last))
      const left = [...names(after)]
      const bases = left.map((name) => name.replace(/(jsonl|z)$/, ''))
      wrong('nothing is there twice', new Set(bases).size === left.length)
      wrong(
        'all but the end is packed',
        left.filter((name) => name.endsWith('.jsonl')).length === 1,
      )
      wrong('nobody is told of damage', [...told, ...fresh.told].length === 0)
    }
    expect(states).toBeGreaterThan(20)
  })

  it('may be interrupted, gone on with, and lose power then', async () => {
    const store = freshSimulated()
    append(store, segmentsOn(store).segments, first)
    const killed: { what: string; disk: SimulatedDisk }[] = []
    // The process is killed: nothing that it did is lost, and nothing of it is durable yet.
    await eachMomentOfRest(store, (what) => killed.push({ what, disk: store.disk.clone() }))
    for (const { what, disk } of killed) {
      const after = { disk, root: store.root }
      append(after, segmentsOn(after).segments, second)
      for (const state of disk.crashStates({ limit: 100 })) {
        const { segments } = segmentsOn({ disk: state, root: store.root })
        const content = contentOf(segments)
        expect([what, content.equals(log.bytes)]).toEqual([what, true])
      }
    }
  })

  it('that fails leaves all as it was, and can be tried again', async () => {
    for (let at = 0; ; at += 1) {
      const store = freshSimulated()
      await layered(store, [first, second])
      let count = 0
      store.disk.failNext(({ name }) => CHANGING.has(name) && count++ === at, { code: 'EIO' })
      const { segments } = segmentsOn(store)
      const failed = await segments.rest(LOG, 0, START).then(
        () => false,
        () => true,
      )
      if (store.disk.faultsLeft > 0) {
        expect(failed).toBe(false)
        break
      }
      expect([at, failed]).toEqual([at, true])
      expect(contentOf(segmentsOn(store).segments).equals(log.bytes)).toBe(true)
      append(store, segments, frames(1, 500).bytes)
      const grown = Buffer.concat([log.bytes, frames(1, 500).bytes])
      await segments.rest(LOG, 0, START)
      expect(contentOf(segmentsOn(store).segments).equals(grown)).toBe(true)
      expect(names(store).filter((name) => name.endsWith('.jsonl')).length).toBe(1)
      expect(store.disk.list(new FsLayout(store.root).tmp())).toEqual([])
    }
  })
})

const CHANGING: ReadonlySet<string> = new Set([
  ...['append', 'sync', 'syncNow', 'rename', 'remove', 'syncDir', 'openFile'],
])

describe('a part at rest that is damaged', () => {
  const log = frames(60)
  const [first, second] = partsOf(log, [40, 20]) as [Buffer, Buffer]

  async function damaged(change: (file: Buffer) => Buffer | undefined): Promise<TestStore> {
    const store = freshNode()
    await layered(store, [first, second])
    const path = new FsLayout(store.root).piece(LOG, { segment: 0, base: 0, form: 'z' })
    const changed = change(readAll(store.disk, path))
    store.disk.remove(path)
    if (changed !== undefined) {
      const file = store.disk.openFile(path, 'create')
      file.append(changed)
      file.close()
    }
    return store
  }

  it('reads as zeros of its length, and hides nothing of what lies behind it', async () => {
    const halves = [
      (file: Buffer) => flippedAt(file, 100),
      (file: Buffer) => flippedAt(flippedAt(file, 100), file.length - 5),
      (file: Buffer) => file.subarray(0, 120),
      (file: Buffer) => file.subarray(0, 0),
      () => undefined,
    ]
    for (const change of halves) {
      const store = await damaged(change)
      const { segments } = segmentsOn(store)
      expect(segments.list(LOG)).toMatchObject([{ number: 0, bytes: log.bytes.length }])
      const content = contentOf(segments)
      const expected = Buffer.concat([Buffer.alloc(first.length), second])
      expect([String(change), content.equals(expected)]).toEqual([String(change), true])
      append(store, segments, second)
      expect(contentOf(segments).equals(Buffer.concat([expected, second]))).toBe(true)
    }
  })

  it('is told of, also where reading gets around it', async () => {
    const store = await damaged((file) => flippedAt(file, file.length - 5))
    const { segments, told } = segmentsOn(store)
    expect(contentOf(segments).equals(log.bytes)).toBe(true)
    expect(told.length).toBeGreaterThan(0)
    expect(segments.faults(LOG)).toEqual([expect.stringContaining('log.000000.z')])
    const gone = await damaged(() => undefined)
    expect(segmentsOn(gone).segments.faults(LOG).length).toBe(1)
  })
})

function flippedAt(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ 4
  return copy
}

function readAll(disk: Disk, path: string): Buffer {
  const file = disk.openFile(path, 'read')
  const bytes = Buffer.alloc(file.size())
  file.read(bytes, 0)
  file.close()
  return bytes
}
