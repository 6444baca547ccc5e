import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEAD_SHARE_MIN } from '../../src/backend/fs-compaction.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { memory } from '../../src/backend/memory.js'
import type { Ref } from '../../src/core/body.js'
import type { StoredObject } from '../../src/core/object.js'
import { DaglogError, type Run, type RunEvent } from '../../src/index.js'
import { Store } from '../../src/store/store.js'
import { valueObjects, wasSeen } from '../../src/store/values.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { writeRope } from '../../src/value/rope.js'
import type { FakeProcess } from '../backend/fake-processes.js'
import { GcWorld, liveIn, page, ROOT } from './gc-world.js'

const layout = new FsLayout(ROOT)

/** Values that share pieces with each other, and one that goes straight into a pack. */
const VALUES = [
  page('a', 9),
  { lines: page('b', 60).split('\n') },
  { lines: (page('a', 9) + page('b', 60)).split('\n'), more: page('a', 9) },
  { lines: page('b', 59).split('\n'), last: page('c', 7) },
  { list: [page('c', 7), { page: page('a', 9) }], text: 'short' },
  page('large', 1100),
  'short',
]

type Step =
  | { readonly op: 'append' | 'state'; readonly run: number; readonly value: number }
  | { readonly op: 'fork'; readonly run: number; readonly into: number }
  | { readonly op: 'close' | 'end' | 'release' | 'delete'; readonly run: number }
  | { readonly op: 'gc' | 'dry' | 'die' }

const RUNS = ['r0', 'r1', 'r2', 'r3'] as const
const run = fc.nat(RUNS.length - 1)
const value = fc.nat(VALUES.length - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ op: fc.constant('append' as const), run, value }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('state' as const), run, value }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('fork' as const), run, into: run }) },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constantFrom('close', 'end', 'end', 'release', 'delete', 'delete'),
      run,
    }),
  },
  { weight: 5, arbitrary: fc.record({ op: fc.constantFrom('gc' as const, 'dry' as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('die' as const) }) },
)

interface Kept {
  /** What was appended, in order: notes, and states as they were after. */
  readonly written: { readonly type: string; readonly value: unknown }[]
  open: Run | undefined
  /** Whether it holds its lock. */
  locked: boolean
  /** Of a fork: what it begins in. */
  readonly parent?: Kept
  /** Deleted by force. */
  gone?: boolean
}

/** Whether something that a run begins in was deleted by force. */
function isOrphan({ parent }: Kept): boolean {
  return parent !== undefined && (parent.gone === true || isOrphan(parent))
}

/** A fork that had read a part of its parent's state when that was deleted by force and collected. */
const ONCE_BROKE: Step[] = [
  { op: 'state', run: 2, value: 0 },
  { op: 'fork', run: 2, into: 0 },
  { op: 'delete', run: 2 },
  { op: 'state', run: 0, value: 0 },
  { op: 'append', run: 0, value: 0 },
  { op: 'gc' },
  { op: 'close', run: 0 },
  { op: 'gc' },
  { op: 'append', run: 0, value: 0 },
  { op: 'state', run: 0, value: 0 },
]

/** A store, and what must be in it. */
class Model {
  readonly runs = new Map<string, Kept>()
  private process: FakeProcess
  private store: Store | undefined
  collections = 0
  dropped = 0

  constructor(readonly world: GcWorld) {
    this.process = world.processes.start()
  }

  private async theStore(): Promise<Store> {
    this.store ??= await this.world.open({ table: this.process })
    return this.store
  }

  async take(step: Step): Promise<void> {
    if (step.op === 'gc' || step.op === 'dry') return this.collect(step.op === 'dry')
    if (step.op === 'die') return this.die()
    if (!('run' in step)) return
    const id = RUNS[step.run] as string
    if (step.op === 'append' || step.op === 'state') {
      await this.write(id, step.op, VALUES[step.value])
      return
    }
    const kept = this.runs.get(id)
    if (kept === undefined) return
    if (step.op === 'fork') await this.fork(id, RUNS[step.into] as string)
    else if (step.op === 'delete') await this.remove(id, kept)
    else await this.leave(kept, step.op)
  }

  private async opened(id: string): Promise<Kept & { open: Run }> {
    let kept = this.runs.get(id)
    if (kept === undefined) {
      kept = { written: [], open: undefined, locked: false }
      this.runs.set(id, kept)
    }
    kept.open ??= await (await this.theStore()).run(id)
    kept.locked = true
    return kept as Kept & { open: Run }
  }

  private async write(id: string, op: 'append' | 'state', value: unknown): Promise<void> {
    const kept = await this.opened(id)
    const { open, written } = kept
    if (op === 'append') {
      await open.append('note', { value })
      written.push({ type: 'note', value })
      return
    }
    const key = `k${written.length % 3}`
    const change = (draft: Record<string, unknown>): void => {
      draft[key] = value
    }
    const done = await open.setState(change).catch((error: DaglogError) => {
      // A fork that wrote no state yet has that of its parent, which may have been deleted by
      // force: before the fork was opened, or while it had read a part of that state.
      expect(error.code).toMatch(/^(?:RUN_NOT_FOUND|OBJECT_MISSING)$/)
      expect(isOrphan(kept)).toBe(true)
      expect(written.map(({ type }) => type)).not.toContain('state/write')
    })
    if (done) written.push({ type: 'state/write', value: open.state.toJSON() })
  }

  private async fork(id: string, into: string): Promise<void> {
    if (this.runs.has(into)) return
    const open = await (await this.theStore()).fork(id, { id: into })
    const parent = this.runs.get(id) as Kept
    this.runs.set(into, { written: [], open, locked: true, parent })
  }

  private async leave(kept: Kept, how: 'close' | 'end' | 'release'): Promise<void> {
    if (kept.open === undefined) return
    if (how === 'end' && kept.locked) await kept.open.end()
    else if (how === 'release') await kept.open.release()
    else await kept.open.close()
    kept.locked = false
    if (how !== 'release') kept.open = undefined
  }

  private async remove(id: string, kept: Kept): Promise<void> {
    await this.leave(kept, 'close')
    await (await this.theStore()).deleteRun(id, { force: true })
    kept.gone = true
    this.runs.delete(id)
  }

  /** The process is killed: its runs are nobody's. */
  private die(): void {
    this.process.die()
    this.process = this.world.processes.start()
    this.store = undefined
    for (const kept of this.runs.values()) {
      kept.open = undefined
      kept.locked = false
    }
  }

  private async collect(dryRun: boolean): Promise<void> {
    const store = await this.theStore()
    const locked = [...this.runs].filter(([, kept]) => kept.locked).map(([id]) => id)
    const before = this.world.disk.dump()
    const other = await this.world.open()
    for (const who of [other, store]) {
      if (locked.length > 0) {
        const error = await refusal(who.gc({ dryRun }))
        expect(error).toMatchObject({ code: 'STORE_LOCKED' })
        expect(locked).toContain(error.data.run)
        expect([...this.world.disk.dump().keys()].sort()).toEqual([...before.keys()].sort())
      } else {
        this.dropped += (await who.gc({ dryRun })).dead
        this.collections += 1
        if (!dryRun) await this.check()
      }
    }
    await other.close()
    if (dryRun) expect(packNames(this.world.disk.dump())).toEqual(packNames(before))
  }

  /**
   * Everything that should be there is; what should not is not, as far as that is worth the work.
   */
  async check(): Promise<void> {
    const fresh = await this.world.open()
    for (const [id, { written }] of this.runs) {
      const found: unknown[] = []
      const view = await fresh.inspectRun(id)
      for await (const event of view.events()) found.push(...(await writtenBy(view, event)))
      expect(found).toEqual(written)
    }
    const { runs } = await fresh.verify()
    expect(runs.flatMap(({ problems }) => problems)).toEqual([])
    const live = await liveIn(fresh)
    for (const objects of this.world.packed().values()) {
      const dead = objects.filter(({ hash }) => !live.has(hash))
      const share = bytesOf(dead) / Math.max(1, bytesOf(objects))
      expect(share).toBeLessThan(DEAD_SHARE_MIN)
    }
    await fresh.close()
    expect(this.world.notices).toEqual([])
  }
}

async function writtenBy(
  view: Awaited<ReturnType<Store['inspectRun']>>,
  { type, seq, data }: RunEvent,
): Promise<{ type: string; value: unknown }[]> {
  if (type === 'note') return [{ type, value: (data as { value: unknown }).value }]
  if (type === 'state/write') return [{ type, value: (await view.stateAt(seq))?.toJSON() }]
  return []
}

function packNames(files: ReadonlyMap<string, unknown>): string[] {
  return [...files.keys()].filter((path) => path.startsWith(layout.packs())).sort()
}

function bytesOf(objects: readonly { readonly bytes: number }[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0)
}

async function refusal(promise: Promise<unknown>): Promise<DaglogError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(DaglogError)
  return error as DaglogError
}

describe('gc', () => {
  it('keeps all that runs refer to, and nothing else, whatever was done before', async () => {
    let collections = 0
    let dropped = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
        async (steps) => {
          const model = new Model(new GcWorld())
          for (const op of ['append', 'end', 'delete', 'gc'] as const)
            await model.take({ op, run: 3, value: 3 } as Step)
          for (const each of steps) await model.take(each)
          for (const id of RUNS) await model.take({ op: 'close', run: RUNS.indexOf(id) })
          await model.take({ op: 'gc' })
          collections += model.collections
          dropped += model.dropped
        },
      ),
      { numRuns: process.env.DAGLOG_LONG ? 500 : 25, examples: [[ONCE_BROKE]] },
    )
    expect(collections).toBeGreaterThan(20)
    expect(dropped).toBeGreaterThan(0)
  }, 900_000)
})

/** Runs with values of their own and one that all have, all ended; and `gone`, which is deleted. */
async function shelf(world: GcWorld, ids: readonly string[] = ['a', 'b']): Promise<Store> {
  const store = await world.open()
  for (const id of [...ids, 'gone']) {
    const each = await store.run(id)
    await each.append('note', { value: page(`of ${id}`, 20) })
    await each.append('note', { value: page('of all', 20) })
    await each.append('note', { value: page(`last of ${id}`, 6) })
    await each.end()
  }
  await store.deleteRun('gone')
  return store
}

async function valuesOf(store: Store, id: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const { data } of (await store.inspectRun(id)).events({ types: ['note'] }))
    values.push((data as { value: unknown }).value)
  return values
}

/** Everything in packs, as a fingerprint. */
function packFiles(disk: SimulatedDisk): string[] {
  return packNames(disk.dump()).filter((path) => path.endsWith('.pack'))
}

describe('a store where something cannot be read', () => {
  const logOf = (id: string): string => layout.segment({ run: id }, 0)
  /** `pack` is one that runs need. */
  const harms: Record<string, [(disk: SimulatedDisk, pack: string) => void, expected: object]> = {
    'a flipped bit in a log': [
      (disk) => disk.flipBit(logOf('b'), 8 * 300),
      { code: 'CHAIN_BROKEN', data: { log: 'b' } },
    ],
    'a flipped bit in the last frame': [
      (disk) => disk.flipBit(logOf('b'), 8 * ((disk.sizeOf(logOf('b')) ?? 0) - 30)),
      { code: 'CHAIN_BROKEN', data: { log: 'b' } },
    ],
    'a log that was cut between two frames': [
      (disk) => {
        const log = disk.dump().get(logOf('b')) as Buffer
        disk.cut(logOf('b'), log.lastIndexOf(10, log.length - 2) + 1)
      },
      { code: 'CHAIN_BROKEN', data: { log: 'b' } },
    ],
    'a log that is gone': [
      (disk) => disk.remove(logOf('b')),
      { code: 'CHAIN_BROKEN', data: { log: 'b' } },
    ],
    'a run that is gone': [
      (disk) => disk.removeTree(layout.run('b')),
      { code: 'CHAIN_BROKEN', data: { run: 'b' } },
    ],
    "a flipped bit in the store's log": [
      (disk) => disk.flipBit(layout.segment('store', 0), 8 * 200),
      { code: 'CHAIN_BROKEN', data: { log: 'store' } },
    ],
    'a pack that is gone': [
      (disk, pack) => disk.remove(pack),
      { code: 'OBJECT_MISSING', data: { seq: expect.any(Number), run: expect.any(String) } },
    ],
    'a flipped bit in a pack': [
      (disk, pack) => disk.flipBit(pack, 8 * 900),
      { code: 'PACK_INVALID', data: { seq: expect.any(Number), run: expect.any(String) } },
    ],
    'a pack that may not be read': [
      (disk, pack) => {
        const opens = (call: { name: string; path: string }): boolean =>
          call.name === 'openFile' && call.path === pack
        for (let times = 0; times < 500; times += 1) disk.failNext(opens, { code: 'EACCES' })
      },
      { code: 'READ_FAILED', data: { system: 'EACCES' } },
    ],
    'a log that may not be read': [
      (disk) =>
        disk.failNext(({ name, path }) => name === 'openFile' && path === logOf('b'), {
          code: 'EIO',
        }),
      { code: 'READ_FAILED', data: { system: 'EIO' } },
    ],
  }

  it.each(Object.keys(harms))('loses nothing to gc: %s', async (name) => {
    const [harm, expected] = harms[name] as (typeof harms)[string]
    const world = new GcWorld()
    await (await shelf(world)).close()
    const live = await liveIn(await world.open())
    const [needed] = [...world.packed()].find(([, objects]) =>
      objects.some(({ hash }) => live.has(hash)),
    ) as [string, unknown]
    const packs = packFiles(world.disk)
    harm(world.disk, join(layout.packs(), `${needed}.pack`))
    const left = packFiles(world.disk)
    const store = await world.open()
    const error = await refusal(store.gc())
    expect(error).toMatchObject(expected)
    expect(error.message).toMatch(/run b|run a|store's log|EACCES|EIO/)
    const names = [...world.disk.dump().keys()]
    expect(names.filter((path) => path.endsWith('.pack')).sort()).toEqual(left)
    expect(packs.length).toBeGreaterThanOrEqual(left.length)
    // Writers are let in again.
    await (await store.run('new')).close()
    await store.close()
  })

  it('is collected once a run that somebody removed by hand is recorded as deleted', async () => {
    const world = new GcWorld()
    const store = await shelf(world)
    world.disk.removeTree(layout.run('b'))
    expect((await refusal(store.gc())).message).toContain('daglog rm b')
    await store.deleteRun('b')
    expect((await store.gc()).runs).toBe(1)
    expect((await valuesOf(store, 'a')).length).toBe(3)
  })
})

describe('a run whose end was torn by a crash', () => {
  async function torn(tail: string, cut = 0): Promise<GcWorld> {
    const world = new GcWorld()
    const table = world.processes.start()
    await (await shelf(world)).close()
    const run = await (await world.open({ table })).run('a')
    await run.append('note', { value: page('after', 12) })
    await run.append('note', { value: page('torn away', 12) })
    table.die()
    const path = layout.segment({ run: 'a' }, 0)
    const at = [...world.disk.dump().keys()].find((each) => each.startsWith(`${path.slice(0, -6)}`))
    const log = at as string
    if (cut > 0) world.disk.cut(log, (world.disk.sizeOf(log) ?? 0) - cut)
    const file = world.disk.openFile(log, 'append')
    if (tail !== '') file.append(Buffer.from(tail))
    file.close()
    return world
  }

  it('is no reason to refuse, and keeps what recovery would keep', async () => {
    for (const world of [await torn('{"seq":99,"ti'), await torn('', 20)]) {
      const store = await world.open()
      const { dead } = await store.gc()
      expect(dead).toBeGreaterThan(0)
      const run = await store.run('a')
      expect((await valuesOf(store, 'a')).length).toBeGreaterThanOrEqual(4)
      await run.close()
      expect((await store.verify()).ok).toBe(true)
      await store.gc()
      expect((await store.verify()).ok).toBe(true)
    }
  })

  it('waits for recovery where its last bytes may count', async () => {
    const world = await torn(`${'x'.repeat(50)}\n${'y'.repeat(50)}`)
    const store = await world.open()
    const error = await refusal(store.gc())
    expect(error).toMatchObject({ code: 'CHAIN_BROKEN', data: { run: 'a' } })
    expect(error.message).toContain('try: open the run once')
    await (await store.run('a')).close()
    await store.gc()
    expect((await store.verify()).ok).toBe(true)
  })
})

describe('a writer that comes while the store is collected', () => {
  /** A store whose backend stops within `sweepObjects`, after all was marked. */
  async function stopped(world: GcWorld): Promise<{ gc: Promise<unknown>; goOn: () => void }> {
    const store = await world.open()
    const { backend } = store.context
    let goOn = (): void => {}
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const sweep = backend.sweepObjects.bind(backend)
    let reached = (): void => {}
    const marked = new Promise<void>((resolve) => {
      reached = resolve
    })
    backend.sweepObjects = async (...args) => {
      reached()
      await gate
      return sweep(...args)
    }
    const gc = store.gc()
    await Promise.race([marked, gc])
    return { gc, goOn }
  }

  it('is refused, or waits as long as it was told to', async () => {
    const world = new GcWorld()
    const store = await shelf(world)
    const { gc, goOn } = await stopped(world)
    const error = await refusal(store.run('a'))
    expect(error).toMatchObject({ code: 'RUN_LOCKED', kind: 'retry' })
    expect(error.message).toContain('being collected')
    await expect(store.deleteRun('a')).rejects.toMatchObject({ code: 'RUN_LOCKED' })
    await expect(store.gc()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    const waiting = store.run('a', { lockWaitMs: 60_000 })
    setTimeout(goOn, 10)
    const run = await waiting
    await gc
    await run.append('note', { value: page('of gone', 20) })
    await run.close()
    expect((await (await world.open()).verify()).ok).toBe(true)
  })

  it('does not count on what it saw before: a value that was dropped is written again', async () => {
    const world = new GcWorld()
    const store = await shelf(world)
    // It has read the packs, and let go of its run; the packs that go stay open in it.
    const idle = await store.run('a')
    await idle.append('note', { value: page('of gone', 20) })
    await idle.append('note', { value: page('other', 3) })
    await idle.release()
    const other = await world.open()
    await other.deleteRun('b')
    expect((await other.gc()).dead).toBeGreaterThan(0)
    for (const name of ['of b', 'last of gone', 'of gone'])
      await idle.append('note', { value: page(name, 20) })
    await store.close()
    const fresh = await world.open()
    expect((await fresh.verify()).runs.flatMap(({ problems }) => problems)).toEqual([])
    expect((await valuesOf(fresh, 'a')).slice(-3)).toEqual(
      ['of b', 'last of gone', 'of gone'].map((name) => page(name, 20)),
    )
  })

  it('never loses a value, however their steps fall', async () => {
    const rounds = process.env.DAGLOG_LONG ? 400 : 30
    let collected = 0
    for (let seed = 1; seed <= rounds; seed += 1) {
      const world = new GcWorld()
      await (await shelf(world)).close()
      const [collector, writer] = [await world.open(), await world.open({ lockWaitMs: 60_000 })]
      for (const store of [collector, writer]) slow(store, seed * 31 + (store === writer ? 7 : 0))
      const gc = collector.gc().then(
        () => {
          collected += 1
        },
        (error: DaglogError) => expect(error).toMatchObject({ code: 'STORE_LOCKED' }),
      )
      const work = (async () => {
        const run = await writer.run(seed % 2 === 0 ? 'a' : 'new')
        await run.append('note', { value: page('of gone', 20) })
        await run.append('note', { value: page('of all', 20) })
        await (seed % 3 === 0 ? run.end() : run.close())
      })()
      await Promise.all([gc, work])
      const fresh = await world.open()
      const { runs } = await fresh.verify()
      expect(
        runs.flatMap(({ problems }) => problems),
        `seed ${seed}`,
      ).toEqual([])
      await fresh.gc()
      expect((await fresh.verify()).ok, `seed ${seed}`).toBe(true)
    }
    expect(collected).toBeGreaterThan(0)
    expect(collected).toBeLessThanOrEqual(rounds)
  }, 900_000)
})

/** Let others go first, now and then, before each call to the medium. */
function slow(store: Store, seed: number): void {
  const { backend } = store.context
  let state = seed
  const pause = async (): Promise<void> => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    for (let turn = (state >>> 16) % 5; turn > 0; turn -= 1)
      await new Promise((resolve) => setImmediate(resolve))
  }
  const calls = [
    'openWriter',
    'exclude',
    'listRuns',
    'getObject',
    'putObjects',
    'sealObjects',
    'sweepObjects',
    'segments',
  ]
  for (const name of calls as 'openWriter'[]) {
    const call = backend[name].bind(backend)
    backend[name] = async (...args) => {
      await pause()
      return call(...args)
    }
  }
}

describe('what is walked', () => {
  it('is a value by how it is read, not by its bytes alone: what a user wrote may look like a node', async () => {
    const backend = memory()
    const objects: StoredObject[] = []
    const bytes = Buffer.from(page('whole', 700))
    const { root, sha256, size } = writeRope(bytes, (object) =>
      objects.push({ ...object, bytes: Buffer.from(object.bytes) }),
    )
    await backend.createRun('r')
    await backend.putObjects('r', objects, { direct: false })
    const rope: Ref = { pointer: '', sha256, root, size, kind: 'text' }
    const blob: Ref = { pointer: '', sha256: root, root, size: 1, kind: 'bytes' }
    const walked = async (refs: readonly Ref[]): Promise<Set<string>> => {
      const seen = new Set<string>()
      for (const ref of refs) for await (const _ of valueObjects(backend, ref, 'r', seen));
      return new Set(objects.map(({ hash }) => hash).filter((hash) => wasSeen(seen, hash)))
    }
    expect(objects.length).toBeGreaterThan(5)
    expect((await walked([rope])).size).toBe(objects.length)
    expect((await walked([blob])).size).toBe(1)
    expect((await walked([blob, rope])).size).toBe(objects.length)
    expect((await walked([rope, blob])).size).toBe(objects.length)
  })

  it('is missing for whoever asks, also after another found it missing', async () => {
    const backend = memory()
    const objects: StoredObject[] = []
    const { root, sha256, size } = writeRope(Buffer.from(page('whole', 700)), (object) =>
      objects.push({ ...object, bytes: Buffer.from(object.bytes) }),
    )
    await backend.createRun('r')
    const ref: Ref = { pointer: '', sha256, root, size, kind: 'text' }
    const seen = new Set<string>()
    const found = async (): Promise<number> => {
      let count = 0
      for await (const { object } of valueObjects(backend, ref, 'r', seen))
        if (object !== undefined) count += 1
      return count
    }
    expect(await found()).toBe(0)
    await backend.putObjects('r', objects, { direct: false })
    expect(await found()).toBe(objects.length)
  })

  it('is not a run on its way: it is discarded, and whoever brings it is told to try again', async () => {
    const world = new GcWorld()
    const store = await shelf(world)
    const { backend } = store.context
    const draft = await backend.draftRun('arriving')
    const writer = await backend.openWriter({ run: 'arriving' }, { program: 'import' })
    expect(await refusal(store.gc())).toMatchObject({ data: { run: 'arriving' } })
    await writer.release()
    await (await world.open()).gc()
    await expect(draft?.publish()).rejects.toMatchObject({ code: 'STORE_LOCKED', kind: 'retry' })
    expect((await store.runs()).map(({ id }) => id).sort()).toEqual(['a', 'b'])
    expect(world.disk.list(layout.tmp())).toEqual([])
  })
})

describe('a collector that died', () => {
  it('keeps nobody out, and leaves nothing that the next one does not clear away', async () => {
    const world = new GcWorld()
    const store = await shelf(world)
    const table = world.processes.start()
    const dying = await world.open({ table })
    await dying.context.backend.exclude('gc')
    await expect(store.run('a')).rejects.toMatchObject({ code: 'RUN_LOCKED' })
    table.die()
    await (await store.run('a')).close()
    await store.gc()
    expect(world.disk.list(layout.locks())).toEqual([])
  })

  it('at any moment, by power loss, has lost nothing; the next one finishes', async () => {
    const world = new GcWorld()
    const store = await shelf(world)
    await store.deleteRun('b')
    const moments: SimulatedDisk[] = []
    world.disk.onOperation = ({ phase, changes }) => {
      if (phase === 'before' && changes) moments.push(world.disk.clone())
    }
    await store.gc()
    world.disk.onOperation = undefined
    moments.push(world.disk.clone())
    let states = 0
    for (const moment of moments) {
      for (const disk of moment.crashStates({ limit: process.env.DAGLOG_LONG ? 200 : 8 })) {
        states += 1
        const after = new GcWorld(disk)
        const table = after.processes.start({ boot: 'boot-2' })
        const found = await after.open({ table })
        expect((await found.verify()).runs.flatMap(({ problems }) => problems)).toEqual([])
        await found.gc()
        expect(await valuesOf(found, 'a')).toEqual(
          ['of a', 'of all', 'last of a'].map((name, at) => page(name, [20, 20, 6][at])),
        )
        const live = await liveIn(found)
        for (const objects of after.packed().values())
          expect(objects.every(({ hash }) => live.has(hash))).toBe(true)
      }
    }
    expect(states).toBeGreaterThan(20)
  }, 900_000)
})

describe('a store in memory', () => {
  it('is collected like any other, and lets no writer in meanwhile', async () => {
    const store = await Store.open(memory(), { create: true, onNotice: () => {} })
    for (const id of ['a', 'b']) {
      const each = await store.run(id)
      await each.append('note', { value: page(id) })
      if (id === 'b') expect(await refusal(store.gc())).toMatchObject({ data: { run: 'b' } })
      await each.close()
    }
    await store.deleteRun('b')
    const dry = await store.gc({ dryRun: true })
    const running = store.gc()
    await expect(store.run('a')).rejects.toMatchObject({ code: 'RUN_LOCKED' })
    await expect(store.gc()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    const done = await running
    expect(done).toMatchObject({ runs: 1, dead: dry.dead, deadBytes: dry.deadBytes })
    expect(done.freedBytes).toBe(dry.deadBytes)
    expect(dry.freedBytes).toBe(0)
    expect(await valuesOf(store, 'a')).toEqual([page('a')])
    expect(await store.gc()).toMatchObject({ dead: 0, live: done.live })
  })
})
