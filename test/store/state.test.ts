import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory } from '../../src/backend/memory.js'
import { encodeData } from '../../src/core/body.js'
import type { Hash } from '../../src/core/hash.js'
import { type Backend, openStore, type Run, type RunView, type Store } from '../../src/index.js'
import type { BundleSource } from '../../src/store/bundle-import.js'
import { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { treeFrom } from '../../src/value/tree.js'
import { redacted } from '../core/frames.js'
import { Machine } from '../crash/machine.js'
import { flipBit, logPath, tamper, temporaryStore } from './temporary.js'

const numRuns = process.env.DAGLOG_LONG ? 400 : 25

type State = Record<string, unknown>

const anyKey = fc.constantFrom('a', 'b', 'c', 'list', '7', 'x/~y', 'é')
const anyValue = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -0, 1.5, 'text', undefined, 12n ** 20n, [], {}),
  fc.string({ maxLength: 8 }),
  fc.dictionary(anyKey, fc.oneof(fc.nat(9), fc.string({ maxLength: 4 })), {
    noNullPrototype: true,
  }),
  fc.array(fc.oneof(fc.nat(9), fc.string({ maxLength: 4 })), { maxLength: 40 }),
  // Long enough to be objects of their own.
  fc.nat(3).map((n) => `${n}`.repeat(600)),
  fc
    .nat(3)
    .map((n) => Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, i % (n + 1)]))),
)

type Move =
  | { readonly do: 'set' | 'whole'; readonly key: string; readonly value: unknown }
  | { readonly do: 'delete'; readonly key: string }
  | { readonly do: 'push'; readonly value: unknown }
  | { readonly do: 'note' | 'nothing' | 'release' | 'reopen' | 'kill' | 'end' }

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('set' as const), key: anyKey, value: anyValue }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('whole' as const), key: anyKey, value: anyValue }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key: anyKey }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), value: anyValue }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('note' as const, 'nothing', 'release', 'reopen', 'kill', 'end'),
    }),
  },
)

/** A run, its state as a plain value, and what that was after each event. */
class Played {
  readonly states: State[] = []
  plain: State = {}

  constructor(
    private store: Store,
    private readonly dir: string,
    public run: Run,
  ) {}

  static async begin(): Promise<Played> {
    const { store, dir } = await temporaryStore(undefined, { durability: 'os' })
    return new Played(store, dir, await store.run('r'))
  }

  async play(moves: readonly Move[]): Promise<void> {
    for (const move of moves) {
      const before = this.plain
      await this.move(move)
      expect(this.run.state.toJSON()).toEqual(this.plain)
      const { seq } = (await this.run.head()) as { seq: number }
      // A move that changes the state appends nothing after that.
      while (this.states.length < seq) this.states.push(before)
      this.states[seq] ??= this.plain
    }
  }

  private async move(move: Move): Promise<void> {
    const next = structuredClone(this.plain)
    switch (move.do) {
      case 'set':
        next[move.key] = move.value
        await this.run.setState<State>((draft) => {
          draft[move.key] = move.value
        })
        break
      case 'delete':
        delete next[move.key]
        await this.run.setState<State>((draft) => {
          delete draft[move.key]
        })
        break
      case 'push': {
        const list = Array.isArray(next.list) ? next.list : []
        next.list = [...list, move.value]
        await this.run.setState<State>((draft) => {
          if (!Array.isArray(draft.list)) draft.list = []
          ;(draft.list as unknown[]).push(move.value)
        })
        break
      }
      case 'whole':
        await this.run.append('state/write', { value: { [move.key]: move.value } })
        this.plain = { [move.key]: move.value }
        return
      case 'nothing': {
        const before = await this.run.head()
        expect(await this.run.setState(() => {})).toBeUndefined()
        expect(await this.run.head()).toEqual(before)
        break
      }
      default:
        await this.be(move.do)
    }
    this.plain = next
  }

  private async be(what: 'note' | 'release' | 'reopen' | 'kill' | 'end'): Promise<void> {
    if (what === 'note') await this.run.append('note', this.states.length)
    else if (what === 'release') await this.run.release()
    else if (what === 'kill') {
      // The old one never lets go: another process takes the run from it.
      this.store = (await temporaryStore(this.dir, { durability: 'os' })).store
      this.run = await this.store.openRun('r', { force: true })
    } else {
      if (what === 'end') await this.run.end()
      else await this.run.close()
      this.store = (await temporaryStore(this.dir, { durability: 'os' })).store
      this.run = await this.store.openRun('r')
    }
  }

  /** Somebody else, who knows nothing but the disk. */
  async stranger(): Promise<{ store: Store; view: RunView }> {
    const { store } = await temporaryStore(this.dir)
    return { store, view: await store.inspectRun('r') }
  }
}

describe('the state of a run', () => {
  it('is what a plain object would be, at every event, whoever opens the run', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyMove, { minLength: 1, maxLength: 25 }), async (moves) => {
        const played = await Played.begin()
        await played.play(moves)
        const { store, view } = await played.stranger()
        const roots = new Map<Hash, State>()
        for (const [seq, plain] of played.states.entries()) {
          const tree = (await view.stateAt(seq)) ?? treeFrom({})
          expect(tree.toJSON()).toEqual(plain)
          expect(tree.hash()).toBe(treeFrom(plain).hash())
          expect(((await played.run.stateAt(seq)) ?? treeFrom({})).hash()).toBe(tree.hash())
          expect(roots.get(tree.hash()) ?? plain).toEqual(plain)
          roots.set(tree.hash(), plain)
        }
        expect((await view.stateAt())?.toJSON() ?? {}).toEqual(played.plain)
        const report = await store.verify('r')
        expect(report.runs[0]?.problems).toEqual([])
      }),
      { numRuns },
    )
  })

  it('is {} before it was written, and stays unwritten while nothing changes', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    expect(run.state.toJSON()).toEqual({})
    expect(await run.stateAt()).toBeUndefined()
    const before = await run.head()
    expect(await run.setState(() => {})).toBeUndefined()
    expect(await run.head()).toEqual(before)
  })

  it('is not written again by changes that come to nothing', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.append('state/write', { value: { a: [1, 2, { b: 'x'.repeat(500) }], c: 1 } })
    const before = await run.head()
    const nothings: ((draft: { a: unknown[]; c: number }) => void)[] = [
      (draft) => {
        draft.c = 1
      },
      (draft) => {
        draft.a = [1, 2, { b: 'x'.repeat(500) }]
      },
      (draft) => {
        draft.a.push(3)
        draft.a.pop()
      },
      (draft) => {
        draft.a[0] = 9
        draft.a[0] = 1
      },
    ]
    for (const nothing of nothings) expect(await run.setState(nothing)).toBeUndefined()
    expect(await run.head()).toEqual(before)
  })

  it('shows a change as soon as it is on its way, and changes build on each other', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.append('state/write', { value: { n: 0 } })
    const all = Array.from({ length: 20 }, () =>
      run.setState<{ n: number }>((draft) => {
        draft.n += 1
      }),
    )
    expect(run.state.get(['n'])).toBe(20)
    const seqs = (await Promise.all(all)).map((appended) => appended?.seq)
    const found = await Promise.all(seqs.map(async (seq) => (await run.stateAt(seq))?.get(['n'])))
    expect(found).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  })

  it('is taken as it is at the call', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const value = { list: [1] }
    const first = run.append('state/write', { value })
    value.list.push(2)
    await first
    await run.release()
    const second = run.append('state/write', { value })
    value.list.push(3)
    await second
    expect(run.state.toJSON()).toEqual({ list: [1, 2] })
    expect((await run.stateAt((await first).seq))?.toJSON()).toEqual({ list: [1] })
  })

  it('can be any value, and go back to what it was', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const values = [[1, 2], 'text', null, 5, { when: new Date(5), bytes: new Uint8Array([1]) }]
    for (const value of values) await run.append('state/write', { value })
    const early = await run.stateAt(1)
    expect(early?.toJSON()).toEqual([1, 2])
    await run.append('state/write', { value: early })
    expect(run.state.hash()).toBe(early?.hash())
    await run.append('state/write', { value: (await run.stateAt(5))?.view() })
    expect(run.state.toJSON()).toEqual(values[4])
    for await (const { seq, data } of run.events({ types: ['state/write'], from: 1, to: 5 }))
      expect(data.value).toEqual(values[seq - 1])
  })

  it('is the same to many who ask at once while the run grows', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    const view = await (await temporaryStore(dir)).store.inspectRun('r')
    for (let round = 1; round <= 5; round += 1) {
      await run.append('state/write', { value: round })
      const asked = Array.from({ length: 8 }, async () => [
        (await view.stateAt())?.toJSON(),
        (await view.summary()).events,
      ])
      for (const found of await Promise.all(asked)) expect(found).toEqual([round, round + 1])
    }
  })

  it('can be read after the run was closed, and then takes no lock', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.append('state/write', { value: { a: 1 } })
    await run.end()
    expect((await run.stateAt())?.toJSON()).toEqual({ a: 1 })
    await expect(run.setState((draft) => Object.assign(draft, { a: 2 }))).rejects.toThrow('CLOSED')
    await expect(run.append('state/write', { value: 3 })).rejects.toThrow('CLOSED')
    expect(run.state.toJSON()).toEqual({ a: 1 })
    const other = (await temporaryStore(dir)).store
    await (await other.openRun('r')).close()
  })
})

describe('a state that could not be written', () => {
  it('is refused with its place, and leaves everything as it was', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.append('state/write', { value: { a: { b: [1] } } })
    const [before, head] = [run.state, await run.head()]
    const refused = async (work: Promise<unknown>, pointer: string): Promise<void> => {
      await expect(work).rejects.toMatchObject({ code: 'VALUE_UNSUPPORTED', data: { pointer } })
      expect(run.state).toBe(before)
      expect(await run.head()).toEqual(head)
    }
    await refused(
      run.setState((draft) => {
        draft.fine = 'x'.repeat(1000)
        draft.a.b.push(() => 1)
      }),
      '/a/b/1',
    )
    await refused(run.append('state/write', { value: { a: [new Map()] } }), '/a/0')
    await refused(
      run.appendAll([
        { type: 'state/write', data: { value: { gone: 'x'.repeat(1000) } } },
        { type: 'note', data: { bad: Symbol('no') } },
      ]),
      '/bad',
    )
    await run.setState((draft) => {
      draft.a.b.push(2)
    })
    expect(run.state.toJSON()).toEqual({ a: { b: [1, 2] } })
  })

  it('leaves nothing behind that a later one counts on', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.append('state/write', { value: { a: 1 } })
    const before = run.state
    const value = { long: Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`k${i}`, i])) }
    const notes = Array.from({ length: 65_536 }, () => ({ type: 'note', data: 1 }))
    const failed = run.appendAll([{ type: 'state/write', data: { value } }, ...notes])
    // Called before anybody could know of the failure.
    const kept = run.setState<State>((draft) => {
      draft.b = value
    })
    await expect(failed).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    await kept
    expect(run.state.toJSON()).toEqual({ a: 1, b: value })
    expect(before.toJSON()).toEqual({ a: 1 })
    await run.append('state/write', { value })
    const other = (await temporaryStore(dir)).store
    expect((await other.verify('r')).runs[0]?.problems).toEqual([])
    const view = await other.inspectRun('r')
    expect((await view.stateAt())?.toJSON()).toEqual(value)
  })

  it('because the disk failed is not the state any more', async () => {
    const disk = new SimulatedDisk({ syncGate: () => Promise.resolve() })
    const { store } = await new Machine(disk).start()
    const run = await store.run('r')
    await run.setState<State>((draft) => {
      draft.a = 'x'.repeat(600)
    })
    const log = ({ name, path }: { name: string; path: string }): boolean =>
      name === 'append' && path.endsWith('log.000000.jsonl')
    disk.failNext(log, { code: 'ENOSPC' })
    const change = (draft: State): void => {
      draft.b = { c: 'y'.repeat(600) }
    }
    const lost = [run.setState(change), run.setState((draft) => Object.assign(draft, { d: 1 }))]
    expect(run.state.has(['d'])).toBe(true)
    for (const work of lost) await expect(work).rejects.toMatchObject({ kind: 'environment' })
    expect(run.state.toJSON()).toEqual({ a: 'x'.repeat(600) })
    await run.release()
    await run.setState(change)
    expect(run.state.toJSON()).toEqual({ a: 'x'.repeat(600), b: { c: 'y'.repeat(600) } })
    await store.close()
    const again = (await new Machine(disk).start()).store
    expect((await again.verify('r')).ok).toBe(true)
    expect((await (await again.inspectRun('r')).stateAt())?.get(['b', 'c'])).toBe('y'.repeat(600))
  })

  it('is told from one that is only slow: what others append meanwhile stays', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const slow = run.setState<State>((draft) => {
      draft.a = 1
    })
    const tooMany = Array.from({ length: 65_537 }, () => ({ type: 'note', data: 1 }))
    await expect(run.appendAll(tooMany)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(run.state.toJSON()).toEqual({ a: 1 })
    await slow
    expect(run.state.toJSON()).toEqual({ a: 1 })
  })
})

/** A state of many nodes, and a few changes of it. */
async function writeStates(run: Run): Promise<State[]> {
  const plain: State = {
    map: Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`key-${i}`, `${i}`.repeat(30)])),
    list: Array.from({ length: 300 }, (_, i) => ({ i, text: `${i}`.repeat(9) })),
    page: 'page '.repeat(5000),
  }
  const states: State[] = []
  const first = await run.append('state/write', { value: plain })
  states[first.seq] = structuredClone(plain)
  for (let i = 0; i < 12; i += 1) {
    const appended = await run.setState<typeof plain>((draft) => {
      ;(draft.map as State)[`key-${i * 31}`] = `changed ${i}`.repeat(20)
      ;(draft.list as unknown[]).push({ i })
    })
    ;(plain.map as State)[`key-${i * 31}`] = `changed ${i}`.repeat(20)
    ;(plain.list as unknown[]).push({ i })
    states[appended?.seq as number] = structuredClone(plain)
  }
  return states
}

function sourceOf(bytes: Buffer): BundleSource {
  const read = async (from: number, length: number): Promise<Buffer> =>
    bytes.subarray(from, from + length)
  return { name: 'bundle', bytes: bytes.length, read }
}

async function expectStates(view: RunView, states: readonly State[]): Promise<void> {
  for (const [seq, plain] of states.entries()) {
    if (plain === undefined) continue
    expect((await view.stateAt(seq))?.toJSON()).toEqual(plain)
  }
}

describe('states', () => {
  it('survive sealing, resting, gc and another process', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    const states = await writeStates(run)
    await run.end()
    await store.close()
    const other = (await temporaryStore(dir)).store
    expect(await other.context.backend.objectBytes('r')).toBe(0)
    await expectStates(await other.inspectRun('r'), states)
    await other.gc()
    await other.close()
    const last = (await temporaryStore(dir)).store
    await expectStates(await last.inspectRun('r'), states)
    expect((await last.verify('r')).ok).toBe(true)
    const again = await last.openRun('r')
    await again.setState<State>((draft) => {
      draft.page = 'short'
    })
    expect(again.state.toJSON()).toEqual({ ...states.at(-1), page: 'short' })
  })

  it('travel in a bundle, and come out of a salvage as states', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const states = await writeStates(run)
    await run.close()
    const pieces: Buffer[] = []
    for await (const piece of await store.exportBundle('r')) pieces.push(piece)
    const there = (await temporaryStore()).store
    await there.importBundle(sourceOf(Buffer.concat(pieces)))
    await expectStates(await there.inspectRun('r'), states)
    expect((await there.verify('r')).ok).toBe(true)

    const { run: id } = await store.salvage('r', { id: 'saved' })
    const saved = await store.openRun(id)
    expect(saved.state.toJSON()).toEqual(states.at(-1))
    await saved.setState<State>((draft) => {
      draft.page = 'short'
    })
    expect(saved.state.get(['page'])).toBe('short')
  })
})

describe('a fork', () => {
  it('begins with the state that its parent had there, and changes it for itself alone', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    const states = await writeStates(run)
    const at = 5
    const fork = await store.fork('r', { at, id: 'f' })
    expect(fork.state.toJSON()).toEqual(states[at])
    expect((await fork.stateAt(0))?.toJSON()).toEqual(states[at])
    expect(await fork.setState(() => {})).toBeUndefined()
    const change = (draft: State): void => {
      ;(draft.map as State)['key-1'] = 'forked'
    }
    const { seq } = (await fork.setState(change)) as { seq: number }
    const expected = structuredClone(states[at]) as State
    change(expected)
    expect(fork.state.toJSON()).toEqual(expected)
    expect((await fork.stateAt(seq - 1))?.toJSON()).toEqual(states[at])
    await expectStates(run, states)

    const grandchild = await store.fork('f', { at: seq - 1, id: 'g' })
    expect(grandchild.state.toJSON()).toEqual(states[at])
    for (const each of [run, fork, grandchild]) await each.close()
    const other = (await temporaryStore(dir)).store
    expect((await other.verify()).runs.map(({ problems }) => problems)).toEqual([[], [], []])
    expect((await (await other.openRun('f')).state).toJSON()).toEqual(expected)
    expect((await (await other.inspectRun('g')).stateAt())?.toJSON()).toEqual(states[at])
  })

  it('takes its state along in a bundle', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const states = await writeStates(run)
    await run.close()
    await (await store.fork('r', { at: 3, id: 'f' })).close()
    const pieces: Buffer[] = []
    for await (const piece of await store.exportBundle('f')) pieces.push(piece)
    const there = (await temporaryStore()).store
    await there.importBundle(sourceOf(Buffer.concat(pieces)))
    expect((await there.openRun('f')).state.toJSON()).toEqual(states[3])
  })

  it('whose parent is gone opens, says so when asked for its state, and can be given another', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.append('state/write', { value: { a: 1 } })
    await run.close()
    await (await store.fork('r', { id: 'f' })).close()
    await store.deleteRun('r', { force: true })
    const fork = await store.openRun('f')
    expect(() => fork.state).toThrow('RUN_NOT_FOUND')
    await expect(fork.stateAt()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    await expect(fork.setState(() => {})).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    await fork.append('note', 'works')
    await fork.append('state/write', { value: { b: 1 } })
    expect(fork.state.toJSON()).toEqual({ b: 1 })
  })
})

/** A backend in memory that has lost some objects. */
function losing(inner: Backend): { backend: Backend; gone: Set<Hash> } {
  const gone = new Set<Hash>()
  const has = (hash: Hash): boolean => !gone.has(hash)
  const backend: Backend = Object.assign(Object.create(inner), {
    getObject: async (hash: Hash, run: string) =>
      has(hash) ? inner.getObject(hash, run) : undefined,
    getObjectNow: (hash: Hash, run: string) =>
      has(hash) ? inner.getObjectNow?.(hash, run) : undefined,
    hasObject: async (hash: Hash, run: string) => has(hash) && inner.hasObject(hash, run),
  })
  return { backend, gone }
}

describe('verify', () => {
  it('counts each node of all states once', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await writeStates(run)
    await run.append('state/write', { value: run.state })
    const hashes = new Set<Hash>()
    for await (const { hash, kind } of store.context.backend.listObjects('r'))
      if (kind === 'tree') hashes.add(hash)
    const { runs } = await store.verify('r')
    let pages = 0
    for await (const { kind } of store.context.backend.listObjects('r'))
      pages += kind === 'tree' ? 0 : 1
    expect(runs[0]?.objects).toBe(hashes.size + pages)
  })

  it('names a node that is missing, each event that needs it, and nothing else', async () => {
    const { backend, gone } = losing(memory())
    const store = await openStore(backend)
    const run = await store.run('r')
    const states = await writeStates(run)
    await run.close()
    const hashes: Hash[] = []
    for await (const { hash } of backend.listObjects(undefined)) hashes.push(hash)
    expect(hashes.length).toBeGreaterThan(50)
    for (const hash of hashes.filter((_, i) => i % 7 === 0)) {
      gone.clear()
      gone.add(hash)
      const other = await openStore(backend)
      const needing: number[] = []
      for (const [seq, plain] of states.entries()) {
        if (plain === undefined) continue
        const view = await other.inspectRun('r')
        try {
          expect((await view.stateAt(seq))?.toJSON()).toEqual(plain)
        } catch (error) {
          expect(error).toMatchObject({ code: 'OBJECT_MISSING' })
          expect((error as Error).message).toContain(hash)
          needing.push(seq)
        }
      }
      expect(needing.length).toBeGreaterThan(0)
      const report = (await other.verify('r')).runs[0]
      expect(report?.problems.map(({ kind, seq, expected }) => ({ kind, seq, expected }))).toEqual(
        needing.map((seq) => ({ kind: 'object', seq, expected: hash })),
      )
    }
  })

  it('may find the last state gone: the run still opens, and only its state does not', async () => {
    const { backend, gone } = losing(memory())
    const store = await openStore(backend)
    const run = await store.run('r')
    await run.append('state/write', { value: { a: 1 } })
    gone.add(run.state.hash())
    await run.close()
    const again = await (await openStore(backend)).openRun('r')
    expect(() => again.state).toThrow('OBJECT_MISSING')
    await again.append('note', 'still here')
    await again.append('state/write', { value: { a: 2 } })
    expect(again.state.toJSON()).toEqual({ a: 2 })
  })
})

describe('a state that is asked for', () => {
  it('behind damage is not known, and is not taken to be an earlier one', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    for (const value of [1, 2, 3]) await run.append('state/write', { value })
    await run.close()
    // What was folded before the damage is still known.
    rmSync(join(dir, 'cache'), { recursive: true })
    tamper(logPath(dir, 'r'), (bytes) => flipBit(bytes, (bytes.indexOf('{"seq":2') + 200) * 8))
    const view = await (await temporaryStore(dir)).store.inspectRun('r')
    expect((await view.stateAt(1))?.toJSON()).toBe(1)
    for (const seq of [2, 3, undefined])
      await expect(view.stateAt(seq)).rejects.toMatchObject({ code: 'CHAIN_BROKEN' })
  })

  it('where it was redacted is not known either, until another is written', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    for (const value of [1, 'secret', 3]) await run.append('state/write', { value })
    const data = { seq: 2, reason: 'a secret', actor: 'test' }
    await run.appendEncoded([{ type: 'redaction', data: encodeData(data) }])
    await run.close()
    tamper(logPath(dir, 'r'), (bytes) => {
      const lines = bytes.toString('latin1').split(/(?<=\n)/)
      lines[2] = redacted(Buffer.from(lines[2] as string, 'latin1')).toString('latin1')
      return Buffer.from(lines.join(''), 'latin1')
    })
    rmSync(join(dir, 'cache'), { recursive: true })
    const other = (await temporaryStore(dir)).store
    const view = await other.inspectRun('r')
    expect((await view.stateAt(1))?.toJSON()).toBe(1)
    await expect(view.stateAt(2)).rejects.toMatchObject({ code: 'BODY_REDACTED', data: { seq: 2 } })
    expect((await view.stateAt(3))?.toJSON()).toBe(3)
    expect((await other.verify('r')).runs[0]).toMatchObject({ ok: true, redacted: [2] })
  })
})

describe('a thousand states of ten thousand keys', () => {
  it('cost about what one costs, on disk and when they are read', async () => {
    const KEYS = 10_000
    const VERSIONS = 1000
    const inner = memory()
    let reads = 0
    const backend: Backend = Object.assign(Object.create(inner), {
      getObjectNow: (hash: Hash, run: string) => {
        reads += 1
        return inner.getObjectNow?.(hash, run)
      },
    })
    const store = await openStore(backend)
    const run = await store.run('r')
    const value = Object.fromEntries(
      Array.from({ length: KEYS }, (_, i) => [`key-${i}`, `${i}`.padEnd(100, '.')]),
    )
    await run.append('state/write', { value })
    const one = await backend.objectBytes('r')
    const seqs: number[] = []
    for (let i = 0; i < VERSIONS; i += 1) {
      const appended = await run.setState<State>((draft) => {
        draft[`key-${(i * 7919) % KEYS}`] = `version ${i}`.padEnd(100, '.')
      })
      seqs.push(appended?.seq as number)
    }
    const all = await backend.objectBytes('r')
    expect((all - one) / VERSIONS).toBeLessThan(2500)

    const view = await (await openStore(backend)).inspectRun('r')
    const trees = await Promise.all(seqs.map((seq) => view.stateAt(seq)))
    reads = 0
    for (const tree of trees) expect(tree?.get(['key-1'])).toBeTypeOf('string')
    // The way to one key is the same in nearly all of them.
    expect(reads).toBeLessThan(VERSIONS)
  })
})
