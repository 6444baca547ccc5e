import { afterAll, describe, expect, it } from 'vitest'
import type { Backend, LogName, LogWriter } from '../../src/backend/backend.js'
import { directory } from '../../src/backend/fs.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { DaglogError } from '../../src/core/errors.js'
import { type FakeProcess, FakeProcesses } from './fake-processes.js'
import { cleanUp, fileText, freshNode, freshSimulated, type TestStore } from './stores.js'

afterAll(cleanUp)

const LOG: LogName = { run: 'r' }
const OPTIONS = { program: 'test' }

/** A store as one process has it. */
function logsOf({ disk, root }: TestStore, table: FakeProcess): Backend {
  return directory(root, { disk, processes: table })
}

async function rejection(promise: Promise<unknown>): Promise<DaglogError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(DaglogError)
  return error as DaglogError
}

const commit = (writer: LogWriter, text: string, sync = true): Promise<void> =>
  writer.commit(Buffer.from(text), { sync })

async function textOf(logs: Backend, log: LogName = LOG): Promise<string[]> {
  const texts: string[] = []
  for (const { number, bytes } of await logs.segments(log))
    texts.push((await logs.read(log, number, 0, bytes)).toString())
  return texts
}

describe.each([
  ['node', freshNode],
  ['simulated', freshSimulated],
] as const)('a log on a %s disk', (_, fresh) => {
  it('is written by many in turn, in one segment', async () => {
    const store = fresh()
    const world = new FakeProcesses()
    for (const text of ['a', 'b', 'c']) {
      const logs = logsOf(store, world.start())
      const writer = await logs.openWriter(LOG, OPTIONS)
      expect([writer.segment, writer.opened]).toEqual([0, 'clean'])
      await commit(writer, text)
      await writer.release()
    }
    expect(await textOf(logsOf(store, world.start()))).toEqual(['abc'])
    expect(store.disk.list(new FsLayout(store.root).locks())).toEqual([])
  })

  it('is locked while it is written, and says by whom', async () => {
    const store = fresh()
    const world = new FakeProcesses()
    const holder = world.start()
    await logsOf(store, holder).openWriter(LOG, { program: 'agent' })
    for (const logs of [logsOf(store, world.start()), logsOf(store, holder)]) {
      const error = await rejection(logs.openWriter(LOG, OPTIONS))
      expect(error).toMatchObject({ code: 'RUN_LOCKED', kind: 'retry' })
      expect(error.data).toEqual({
        pid: holder.identity.pid,
        host: 'here',
        program: 'agent',
        alive: true,
      })
      expect(error.message).toMatch(/run r .*pid 101 on here \(agent\); try: wait/)
      expect((await logs.holder(LOG))?.alive).toBe(true)
    }
  })

  it('is locked apart from other logs, and from that of the store', async () => {
    const store = fresh()
    layOutMore(store, 'r2')
    const logs = logsOf(store, new FakeProcesses().start())
    for (const log of [LOG, { run: 'r2' }, 'store'] as const) await logs.openWriter(log, OPTIONS)
    expect((await rejection(logs.openWriter('store', OPTIONS))).code).toBe('STORE_LOCKED')
  })

  it('is taken over from a dead writer in the next segment, which is new', async () => {
    const store = fresh()
    const world = new FakeProcesses()
    const dead = world.start()
    await commit(await logsOf(store, dead).openWriter(LOG, OPTIONS), 'a')
    dead.die()
    const logs = logsOf(store, world.start())
    expect((await logs.holder(LOG))?.alive).toBe(false)
    const writer = await logs.openWriter(LOG, OPTIONS)
    expect([writer.segment, writer.opened]).toEqual([1, 'taken'])
    await commit(writer, 'b')
    await writer.release()
    expect(await logs.holder(LOG)).toBeUndefined()
    const next = await logs.openWriter(LOG, OPTIONS)
    expect([next.segment, next.opened]).toEqual([1, 'clean'])
    expect(await textOf(logs)).toEqual(['a', 'b'])
  })

  it('is taken over after a reboot, but never from where we cannot look, unless forced', async () => {
    const elsewhere = [{ host: 'there' }, { namespace: 'pid:[2]' }]
    for (const place of elsewhere) {
      const store = fresh()
      const world = new FakeProcesses()
      const foreign = world.start(place)
      const old = await logsOf(store, foreign).openWriter(LOG, OPTIONS)
      foreign.die()
      const logs = logsOf(store, world.start())
      const error = await rejection(logs.openWriter(LOG, OPTIONS))
      expect(error.code).toBe('RUN_LOCKED')
      expect(error.data.alive).toBeUndefined()
      expect(error.message).toMatch(/cannot be asked whether it lives.*try: take over by force/)
      expect((await logs.openWriter(LOG, { ...OPTIONS, force: true })).opened).toBe('taken')
      expect((await rejection(commit(old, 'late'))).code).toBe('WRITER_FENCED')
    }
    const store = fresh()
    const world = new FakeProcesses()
    await logsOf(store, world.start({ boot: 'boot-0', namespace: 'pid:[9]' })).openWriter(
      LOG,
      OPTIONS,
    )
    expect((await logsOf(store, world.start()).openWriter(LOG, OPTIONS)).opened).toBe('taken')
  })

  it('T10: fences a living writer by force: nothing of it is acknowledged any more', async () => {
    const store = fresh()
    const world = new FakeProcesses()
    const old = await logsOf(store, world.start()).openWriter(LOG, OPTIONS)
    await commit(old, 'kept')
    const taker = world.start()
    const logs = logsOf(store, taker)
    const writer = await logs.openWriter(LOG, { ...OPTIONS, force: true })
    const counted = (await logs.segments(LOG))[0]?.bytes
    const error = await rejection(commit(old, 'late'))
    expect(error).toMatchObject({ code: 'WRITER_FENCED', kind: 'retry' })
    expect(error.message).toContain(`pid ${taker.identity.pid} on here`)
    expect(await rejection(commit(old, 'later'))).toBe(error)
    expect((await rejection(commit(old, 'unsynced', false))).code).toBe('WRITER_FENCED')
    await old.release()
    await commit(writer, 'next')
    expect(counted).toBe(4)
    expect(await textOf(logs)).toEqual(['keptlate', 'next'])
    expect((await logs.holder(LOG))?.pid).toBe(taker.identity.pid)
  })

  it('may be taken over by force when nobody holds it: that is a turn like any other', async () => {
    const store = fresh()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, { ...OPTIONS, force: true })
    expect([writer.segment, writer.opened]).toEqual([0, 'clean'])
  })

  it('T11: fences a writer behind whose back somebody wrote, lock or no lock', async () => {
    const store = fresh()
    const layout = new FsLayout(store.root)
    const writer = await logsOf(store, new FakeProcesses().start()).openWriter(LOG, OPTIONS)
    await commit(writer, 'a')
    const file = store.disk.openFile(layout.segment(LOG, 0), 'append')
    file.append(Buffer.from('x'))
    file.close()
    expect((await rejection(commit(writer, 'b'))).code).toBe('WRITER_FENCED')
    expect(fileText(store.disk, layout.segment(LOG, 0))).toBe('ax')
  })

  it('is read from any byte, and no further than it goes', async () => {
    const store = fresh()
    const logs = logsOf(store, new FakeProcesses().start())
    await commit(await logs.openWriter(LOG, OPTIONS), 'abcdef')
    expect(await logs.segments(LOG)).toMatchObject([{ number: 0, bytes: 6 }])
    expect((await logs.read(LOG, 0, 2, 3)).toString()).toBe('cde')
    expect((await logs.read(LOG, 0, 4, 100)).toString()).toBe('ef')
    expect((await logs.read(LOG, 0, 6, 1)).length).toBe(0)
    expect((await logs.read(LOG, 0, 60, 1)).length).toBe(0)
    expect(await logs.segments({ run: 'none' })).toEqual([])
  })

  it('is cut back, and goes on from there', async () => {
    const store = fresh()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    await commit(writer, 'good torn')
    await writer.cut(4)
    await commit(writer, '!')
    expect(await textOf(logs)).toEqual(['good!'])
  })

  it('takes nothing from a writer that let go', async () => {
    const store = fresh()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    await writer.release()
    expect((await rejection(commit(writer, 'x'))).code).toBe('CLOSED')
    await writer.release()
    expect(await textOf(logs)).toEqual([''])
  })

  it('is not disturbed by what else lies in its directory', async () => {
    const store = fresh()
    const layout = new FsLayout(store.root)
    for (const name of ['log.7.jsonl', 'log.000007.jsonl.bak', 'objects.open', '.DS_Store']) {
      store.disk.openFile(`${layout.run('r')}/${name}`, 'create').close()
    }
    const logs = logsOf(store, new FakeProcesses().start())
    expect((await logs.segments(LOG)).map(({ number }) => number)).toEqual([0])
    expect((await logs.openWriter(LOG, OPTIONS)).opened).toBe('clean')
  })
})

function layOutMore(store: TestStore, run: string): void {
  const layout = new FsLayout(store.root)
  store.disk.makeDir(layout.run(run))
  store.disk.openFile(layout.segment({ run }, 0), 'create').close()
}

describe('a log on a disk that fails', () => {
  const isSegment = ({ path }: { path: string }): boolean => path.endsWith('.jsonl')

  it('takes a commit in as many pieces as the disk wants', async () => {
    const store = freshSimulated()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    store.disk.shortWriteNext(isSegment, 2)
    store.disk.shortWriteNext(isSegment, 1)
    await commit(writer, 'whole')
    await commit(writer, '!')
    expect(await textOf(logs)).toEqual(['whole!'])
    expect(store.disk.faultsLeft).toBe(0)
  })

  it('T6, T7: has nothing of a commit that found the disk full, and takes no other from that writer', async () => {
    const store = freshSimulated()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    await commit(writer, 'good')
    store.disk.capacityBytes = sizeOf(store) + 3
    const error = await rejection(commit(writer, 'too long'))
    expect(error).toMatchObject({ code: 'WRITE_FAILED', kind: 'environment' })
    expect(error.data).toEqual({ code: 'ENOSPC' })
    expect(error.cause).toMatchObject({ code: 'ENOSPC' })
    expect(await textOf(logs)).toEqual(['good'])
    store.disk.capacityBytes = Number.POSITIVE_INFINITY
    expect(await rejection(commit(writer, 'x'))).toBe(error)
    expect(await rejection(commit(writer, 'x', false))).toBe(error)
    await writer.release()
    const next = await logs.openWriter(LOG, OPTIONS)
    expect(next.opened).toBe('clean')
    await commit(next, '!')
    expect(await textOf(logs)).toEqual(['good!'])
  })

  it('reports the failure of the write, also where cutting back fails too', async () => {
    const store = freshSimulated()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    await commit(writer, 'good')
    store.disk.shortWriteNext(isSegment, 3)
    store.disk.failNext(({ name, bytes }) => name === 'append' && bytes === 5, { code: 'EIO' })
    store.disk.failNext(({ name }) => name === 'truncate', { code: 'EROFS' })
    expect((await rejection(commit(writer, 'too long'))).data).toEqual({ code: 'EIO' })
    expect(store.disk.faultsLeft).toBe(0)
    expect(await textOf(logs)).toEqual(['goodtoo'])
  })

  it('never syncs again for a writer whose sync failed, and never acknowledges', async () => {
    const store = freshSimulated()
    const writer = await logsOf(store, new FakeProcesses().start()).openWriter(LOG, OPTIONS)
    await commit(writer, 'a')
    store.disk.failNext(({ name }) => name === 'sync', { code: 'EIO' })
    const error = await rejection(commit(writer, 'b'))
    expect(error).toMatchObject({ code: 'WRITE_FAILED', data: { code: 'EIO' } })
    let writes = 0
    store.disk.onOperation = ({ name, phase }) => {
      if (phase === 'before' && (name === 'sync' || name === 'syncNow' || name === 'append'))
        writes += 1
    }
    for (const sync of [true, false]) expect(await rejection(commit(writer, 'c', sync))).toBe(error)
    expect(writes).toBe(0)
  })

  // What a failed sync left in the page cache reads back whole and may never reach the disk.
  it('does not go on behind bytes whose sync failed', async () => {
    const store = freshSimulated()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    await commit(writer, '<a>')
    store.disk.failNext(({ name }) => name === 'sync', { code: 'EIO' })
    await rejection(commit(writer, '<lost>'))
    await writer.release()
    const next = await logs.openWriter(LOG, OPTIONS)
    await commit(next, '<b>')
    for (const disk of store.disk.crashStates()) {
      const text = fileText(disk, new FsLayout(store.root).segment(LOG, 0))
      expect(text.replace('<lost>', '')).toBe('<a><b>')
    }
  })

  it.each([
    ['clean', () => {}],
    ['taken', (table: FakeProcess) => table.die()],
  ] as const)('stays free where opening it (%s) fails at any call', async (_, before) => {
    for (let failAt = 0; ; failAt += 1) {
      const store = freshSimulated()
      const world = new FakeProcesses()
      const first = world.start()
      const writer = await logsOf(store, first).openWriter(LOG, OPTIONS)
      await commit(writer, '<a>')
      if (_ === 'clean') await writer.release()
      before(first)
      const logs = logsOf(store, world.start())
      let calls = 0
      store.disk.failNext(
        ({ name, path }) => {
          if (name === 'remove' && path.includes('tmp')) return false
          calls += 1
          return calls === failAt + 1
        },
        { code: 'EIO' },
      )
      try {
        await logs.openWriter(LOG, OPTIONS)
        if (store.disk.faultsLeft > 0) return // Every call has failed once.
        continue // A call whose failure does not matter.
      } catch {
        expect(store.disk.faultsLeft).toBe(0)
      }
      const again = await logs.openWriter(LOG, OPTIONS)
      await commit(again, '<b>')
      expect((await textOf(logs)).join('')).toBe('<a><b>')
    }
  })

  // A short write, then a pause; meanwhile somebody takes over and counts what is there. If the
  // write then failed and were cut back, bytes would be gone that the new writer has named.
  it('does not cut back what a new writer has counted', async () => {
    const store = freshSimulated()
    const world = new FakeProcesses()
    const old = await logsOf(store, world.start()).openWriter(LOG, OPTIONS)
    const logs = logsOf(store, world.start())
    store.disk.shortWriteNext(isSegment, 3)
    store.disk.failNext(({ name, bytes }) => name === 'append' && bytes === 5, { code: 'ENOSPC' })
    const path = new FsLayout(store.root).segment(LOG, 0)
    let counted: number | undefined
    store.disk.onOperation = ({ name, phase, bytes }) => {
      if (name !== 'append' || phase !== 'before' || bytes !== 5) return
      store.disk.onOperation = undefined
      void logs.openWriter(LOG, { ...OPTIONS, force: true })
      counted = store.disk.sizeOf(path)
    }
    await rejection(commit(old, '<a><b>x!'))
    expect(counted).toBe(3)
    expect(store.disk.sizeOf(path)).toBe(counted)
  })

  it('is cut by nobody who was taken over from', async () => {
    const store = freshSimulated()
    const world = new FakeProcesses()
    const old = await logsOf(store, world.start()).openWriter(LOG, OPTIONS)
    await commit(old, 'acknowledged')
    const logs = logsOf(store, world.start())
    await logs.openWriter(LOG, { ...OPTIONS, force: true })
    await old.cut(0).catch(() => {})
    expect(await textOf(logs)).toEqual(['acknowledged', ''])
  })

  it('lets go of its lock though closing the file fails', async () => {
    const store = freshSimulated()
    const logs = logsOf(store, new FakeProcesses().start())
    const writer = await logs.openWriter(LOG, OPTIONS)
    store.disk.failNext(({ name, path }) => name === 'close' && path.endsWith('.jsonl'), {
      code: 'EIO',
    })
    await writer.release().catch(() => {})
    expect((await logs.openWriter(LOG, OPTIONS)).opened).toBe('clean')
  })
})

describe('a log after a power loss', () => {
  it('holds all that was acknowledged, whenever the power went', async () => {
    const store = freshSimulated({ pageBytes: 4 })
    const world = new FakeProcesses()
    const acknowledged: string[] = []
    const disks: { disk: typeof store.disk; kept: string }[] = []
    store.disk.onOperation = ({ phase, changes }) => {
      if (phase === 'after' && changes)
        disks.push({ disk: store.disk.clone(), kept: acknowledged.join('') })
    }
    const first = world.start()
    let writer = await logsOf(store, first).openWriter(LOG, OPTIONS)
    for (const text of ['<1>', '<2>']) {
      await commit(writer, text)
      acknowledged.push(text)
    }
    first.die()
    writer = await logsOf(store, world.start()).openWriter(LOG, OPTIONS)
    await commit(writer, '<3>')
    acknowledged.push('<3>')
    await writer.release()
    store.disk.onOperation = undefined
    expect(disks.length).toBeGreaterThan(10)
    for (const { disk, kept } of disks) {
      for (const state of disk.crashStates({ limit: 50 })) {
        const after = { disk: state, root: store.root }
        const logs = logsOf(after, new FakeProcesses().start({ boot: 'boot-2' }))
        const text = (await textOf(logs)).join('')
        expect(text.startsWith(kept), `${text} holds ${kept}`).toBe(true)
        await logs.openWriter(LOG, OPTIONS)
      }
    }
  })

  it('is all durable once a writer has it, what a killed one left unsynced too', async () => {
    for (const segments of [1, 2]) {
      const store = freshSimulated()
      const world = new FakeProcesses()
      let killed = world.start()
      let writer = await logsOf(store, killed).openWriter(LOG, OPTIONS)
      for (let taken = 1; taken < segments; taken += 1) {
        await commit(writer, '<old>', false)
        killed.die()
        killed = world.start()
        writer = await logsOf(store, killed).openWriter(LOG, OPTIONS)
      }
      await commit(writer, '<unsynced>', false)
      const objects = store.disk.openFile(new FsLayout(store.root).openObjects('r'), 'create')
      objects.append(Buffer.from('objects'))
      store.disk.syncDir(new FsLayout(store.root).run('r'))
      killed.die()
      const logs = logsOf(store, world.start())
      await logs.openWriter(LOG, OPTIONS)
      const seen = await textOf(logs)
      for (const disk of store.disk.crashStates()) {
        const after = { disk, root: store.root }
        expect(await textOf(logsOf(after, world.start({ boot: 'boot-2' })))).toEqual(seen)
        expect(fileText(disk, new FsLayout(store.root).openObjects('r'))).toBe('objects')
      }
    }
  })

  // The writer counts what it reads after opening as durable. A paused writer can still add to the
  // old segment between the sync in openWriter and that read; those bytes are counted in
  // `previous.length` and are not durable, so a power loss then looks like damage. Lengths must be
  // taken before the sync, or synced after.
  it('has no bytes that the new writer counted and nobody synced', async () => {
    const store = freshSimulated()
    const world = new FakeProcesses()
    const old = await logsOf(store, world.start()).openWriter(LOG, OPTIONS)
    await commit(old, '<a>')
    store.disk.onOperation = ({ name, path, phase }) => {
      if (name !== 'syncNow' || phase !== 'after' || !path.endsWith('log.000000.jsonl')) return
      store.disk.onOperation = undefined
      const woken = store.disk.openFile(path, 'append')
      woken.append(Buffer.from('<b>'))
      woken.close()
    }
    const logs = logsOf(store, world.start())
    const writer = await logs.openWriter(LOG, { ...OPTIONS, force: true })
    const counted = (await logs.segments(LOG))[0]?.bytes
    await writer.settle()
    await commit(writer, `<0:${counted}>`)
    for (const disk of store.disk.crashStates()) {
      const after = logsOf({ disk, root: store.root }, world.start({ boot: 'boot-2' }))
      expect((await after.segments(LOG))[0]?.bytes).toBeGreaterThanOrEqual(counted as number)
    }
  })
})

describe('a log that is not there', () => {
  it('is created once, with a first segment', async () => {
    const logs = logsOf(freshSimulated(), new FakeProcesses().start())
    expect(await logs.createRun('new')).toBe(true)
    expect(await logs.segments({ run: 'new' })).toMatchObject([{ number: 0, bytes: 0 }])
    expect(await logs.createRun('new')).toBe(false)
  })

  it('cannot be written, and no lock is left for having tried', async () => {
    const store = freshSimulated()
    const logs = logsOf(store, new FakeProcesses().start())
    for (let round = 0; round < 2; round += 1) {
      await rejection(logs.openWriter({ run: 'none' }, OPTIONS))
    }
    expect(store.disk.list(new FsLayout(store.root).locks())).toEqual([])
  })
})

function sizeOf({ disk }: TestStore<ReturnType<typeof freshSimulated>['disk']>): number {
  let bytes = 0
  for (const content of disk.dump().values()) bytes += content.length
  return bytes
}
