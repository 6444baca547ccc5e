import fs from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { Disk } from '../../src/backend/disk.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { FsLocks } from '../../src/backend/fs-locks.js'
import type { DiskOperationTest } from '../../src/testing/disk-operation.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { FakeProcesses } from './fake-processes.js'
import { cleanUp, fileText, freshNode, freshSimulated, writeFile } from './stores.js'

afterAll(cleanUp)

const LOG = { run: 'r' }

function locksOf(
  { disk, root }: { disk: Disk; root: string },
  world = new FakeProcesses(),
): { locks: FsLocks; layout: FsLayout; world: FakeProcesses } {
  const layout = new FsLayout(root)
  return { locks: new FsLocks(disk, layout, world.start()), layout, world }
}

describe.each([
  ['node', freshNode],
  ['simulated', freshSimulated],
] as const)('a lock on a %s disk', (_, fresh) => {
  it('is held by one at a time, and says by whom', () => {
    const store = fresh()
    const { locks, layout, world } = locksOf(store)
    expect(locks.inspect(LOG, 0)).toBeUndefined()
    const token = locks.acquire(LOG, 0, 'first') as string
    expect(token).toMatch(/^[0-9a-f]{16}$/)
    const other = world.start()
    const others = new FsLocks(store.disk, layout, other)
    expect(others.acquire(LOG, 0, 'second')).toBeUndefined()
    expect(locks.acquire(LOG, 0, 'again')).toBeUndefined()
    expect(others.inspect(LOG, 0)).toEqual({
      holder: { pid: 101, host: 'here', program: 'first' },
      liveness: 'alive',
    })
    expect(store.disk.list(layout.tmp())).toEqual([])
  })

  it('is one of a segment of a log: other segments and logs are free', () => {
    const { locks } = locksOf(fresh())
    for (const log of [LOG, 'store', { run: 'r.1' }, { run: 'R' }] as const) {
      expect(locks.acquire(log, 0, 'p')).toBeDefined()
      expect(locks.acquire(log, 1, 'p')).toBeDefined()
      expect(locks.numbers(log).toSorted()).toEqual([0, 1])
    }
  })

  it('is given back with its token, and by nobody else', () => {
    const store = fresh()
    const { locks, layout, world } = locksOf(store)
    const token = locks.acquire(LOG, 0, 'p') as string
    const others = new FsLocks(store.disk, layout, world.start())
    others.release(LOG, 0, 'another token')
    others.release(LOG, 0, '')
    expect(locks.inspect(LOG, 0)).toBeDefined()
    locks.release(LOG, 1, token)
    expect(locks.inspect(LOG, 0)).toBeDefined()
    locks.release(LOG, 0, token)
    expect(locks.inspect(LOG, 0)).toBeUndefined()
    locks.release(LOG, 0, token)
    expect(others.acquire(LOG, 0, 'next')).toBeDefined()
    locks.release(LOG, 0, token)
    expect(locks.inspect(LOG, 0)?.holder.program).toBe('next')
  })

  it('of a segment that a higher one has made meaningless goes, those from there on stay', () => {
    const { locks } = locksOf(fresh())
    for (const segment of [0, 1, 2, 11]) locks.acquire(LOG, segment, 'p')
    locks.acquire({ run: 'r2' }, 0, 'p')
    locks.removeBelow(LOG, 2)
    expect(locks.numbers(LOG).toSorted((a, b) => a - b)).toEqual([2, 11])
    expect(locks.numbers({ run: 'r2' })).toEqual([0])
  })

  it('says whether its holder lives, as far as that can be known', () => {
    const store = fresh()
    const { layout, world } = locksOf(store)
    const asking = new FsLocks(store.disk, layout, world.start())
    const dead = world.start()
    const holders = {
      alive: world.start(),
      dead,
      rebooted: world.start({ boot: 'boot-0' }),
      container: world.start({ namespace: 'pid:[2]' }),
      elsewhere: world.start({ host: 'there' }),
    }
    dead.die()
    const expected = {
      alive: 'alive',
      dead: 'dead',
      rebooted: 'dead',
      container: 'unknown',
      elsewhere: 'unknown',
    }
    for (const [run, table] of Object.entries(holders)) {
      new FsLocks(store.disk, layout, table).acquire({ run }, 0, 'p')
      expect([run, asking.inspect({ run }, 0)?.liveness]).toEqual([
        run,
        expected[run as keyof typeof expected],
      ])
    }
  })

  it('that says nothing we know is held by nobody we can ask', () => {
    const store = fresh()
    const { locks, layout } = locksOf(store)
    const odd = ['{}', '[]', 'null', '5', '"text"', '{"pid":"1","host":"here"}', '{"pid":1}']
    for (const [segment, text] of odd.entries()) {
      writeFile(store.disk, layout.lock(LOG, segment), text)
      expect([text, locks.inspect(LOG, segment)?.liveness]).toEqual([text, 'unknown'])
    }
  })

  it('that is torn or empty was left by a power loss: its holder did not survive', () => {
    const store = fresh()
    const { locks, layout } = locksOf(store)
    const torn = ['', '\0\0\0\0', '{"pid":10', '{"pid":101,"start":"7","boot":"\0\0\0\0\0\0\0\0']
    for (const [segment, text] of torn.entries()) {
      writeFile(store.disk, layout.lock(LOG, segment), text)
      expect([text, locks.inspect(LOG, segment)?.liveness]).toEqual([text, 'dead'])
    }
  })

  it('is not taken for another log’s, whatever their names', () => {
    const { locks } = locksOf(fresh())
    locks.acquire({ run: 'a.0.lock' }, 0, 'p')
    locks.acquire({ run: 'a' }, 3, 'p')
    expect(locks.numbers({ run: 'a' })).toEqual([3])
    expect(locks.numbers({ run: 'a.0.lock' })).toEqual([0])
    expect(locks.numbers({ run: 'a.0' })).toEqual([])
  })
})

describe('a lock on a disk that fails', () => {
  const isDraft = ({ path }: { path: string }): boolean => path.includes('lock.')

  it('is written whole though the disk takes it in pieces', () => {
    const store = freshSimulated()
    const { locks, layout } = locksOf(store)
    store.disk.shortWriteNext(isDraft, 5)
    const token = locks.acquire(LOG, 0, 'p') as string
    expect(store.disk.faultsLeft).toBe(0)
    expect(JSON.parse(fileText(store.disk, layout.lock(LOG, 0)))).toMatchObject({ token })
  })

  it('is held although the very last call failed, which only tidies up', () => {
    const store = freshSimulated()
    const { locks, layout } = locksOf(store)
    store.disk.failNext(({ name }) => name === 'remove', { code: 'EIO' })
    const token = locks.acquire(LOG, 0, 'p') as string
    locks.release(LOG, 0, token)
    expect(store.disk.list(layout.locks())).toEqual([])
  })

  it('is not there where acquiring it failed at any other call', () => {
    const calls = countCalls(freshSimulated(), (store) => {
      locksOf(store).locks.acquire(LOG, 0, 'p')
    })
    expect(calls).toBeGreaterThan(3)
    for (let at = 0; at < calls; at += 1) {
      const store = freshSimulated()
      const { locks, layout } = locksOf(store)
      failCall(store.disk, at, ({ name }) => name !== 'remove')
      let acquired: string | undefined
      try {
        acquired = locks.acquire(LOG, 0, 'p')
      } catch {
        // Whoever asked is told, and does not hold it.
      }
      if (acquired === undefined) {
        expect([at, store.disk.list(layout.locks())]).toEqual([at, []])
        expect(locks.acquire(LOG, 0, 'again')).toBeDefined()
      }
    }
  })

  it('locks nobody out after a power loss, whatever is left of it', () => {
    const store = freshSimulated()
    const { locks } = locksOf(store)
    locks.acquire(LOG, 0, 'p')
    const states = store.disk.crashStates({ limit: 2000 })
    for (const disk of states) {
      const world = new FakeProcesses()
      const after = new FsLocks(disk, new FsLayout(store.root), world.start({ boot: 'boot-2' }))
      const held = after.inspect(LOG, 0)
      if (held !== undefined) expect(held.liveness).toBe('dead')
    }
    expect(states.visited).toBeGreaterThan(1)
  })
})

function countCalls<S extends { disk: SimulatedDisk }>(store: S, act: (store: S) => void): number {
  let calls = 0
  store.disk.onOperation = ({ phase }) => {
    if (phase === 'before') calls += 1
  }
  act(store)
  return calls
}

/** Make the disk's call number `at` from now fail, where it is of the kind that is asked for. */
function failCall(disk: SimulatedDisk, at: number, test: DiskOperationTest): void {
  let calls = 0
  const isIt: DiskOperationTest = (operation) => {
    calls += 1
    return calls === at + 1 && test(operation)
  }
  disk.failNext(isIt, { code: 'EIO' })
}

it('a lock is a private file', () => {
  const store = freshNode()
  const { locks, layout } = locksOf(store)
  locks.acquire(LOG, 0, 'p')
  expect(fs.statSync(layout.lock(LOG, 0)).mode & 0o777).toBe(0o600)
})
