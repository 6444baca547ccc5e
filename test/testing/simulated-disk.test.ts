import { resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DiskFile } from '../../src/backend/disk.js'
import type { DiskOperationEvent } from '../../src/testing/disk-operation.js'
import { SimulatedDisk, type SimulatedDiskOptions } from '../../src/testing/simulated-disk.js'

const numRuns = process.env.DAGLOG_LONG ? 3000 : 200
const root = resolve('/')
const at = (name: string) => resolve('/', name)

/** What is on a disk, by name. */
function contentOf(disk: SimulatedDisk): Record<string, string> {
  const files = [...disk.dump()].map(([path, bytes]) => [path.slice(root.length), String(bytes)])
  return Object.fromEntries(files.sort(([a], [b]) => (a! < b! ? -1 : 1)))
}

function statesOf(disk: SimulatedDisk, limit = 100_000): Record<string, string>[] {
  const states = disk.crashStates({ limit })
  expect(states.coverage).toBe('all')
  const contents = [...states].map(contentOf)
  expect(contents.length).toBe(states.visited)
  return contents
}

/** The contents of the file `a` in every state, sorted; undefined where it is gone. */
function outcomesOf(disk: SimulatedDisk): (string | undefined)[] {
  return statesOf(disk)
    .map(({ a }) => a)
    .sort()
}

/** A disk with these files, all durable. */
function diskWith(
  files: Record<string, string>,
  options: SimulatedDiskOptions = {},
): { disk: SimulatedDisk; open: (name: string) => DiskFile } {
  const disk = new SimulatedDisk(options)
  for (const [name, content] of Object.entries(files)) {
    disk.makeDir(at(`${name}/..`))
    const file = disk.openFile(at(name), 'create')
    file.append(Buffer.from(content))
    file.syncNow()
    for (const dir of [at(`${name}/..`), root]) disk.syncDir(dir)
  }
  expect(disk.crashStates().coverage).toBe('all')
  expect([...disk.crashStates()].length).toBe(1)
  return { disk, open: (name) => disk.openFile(at(name), 'append') }
}

function append(file: DiskFile, text: string): void {
  expect(file.append(Buffer.from(text))).toBe(text.length)
}

interface Inode {
  now: string
  durable: string
}

/** A second model of one directory, as plain as can be: what is seen, and what was synced. */
class PlainModel {
  now = new Map<string, Inode>()
  durable = new Map<string, Inode>()

  seen(): Record<string, string> {
    return sorted([...this.now].map(([name, inode]) => [name, inode.now]))
  }

  synced(): Record<string, string> {
    return sorted([...this.durable].map(([name, inode]) => [name, inode.durable]))
  }
}

function sorted(entries: [string, string][]): Record<string, string> {
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

type Step = readonly [name: string, target: string, act: (typeof ACTS)[number], text: string]

const ACTS = ['append', 'cut', 'sync', 'rename', 'link', 'remove', 'syncDir'] as const
const fileName = fc.constantFrom('a', 'a', 'b', 'c')
const step = fc.tuple(fileName, fileName, fc.constantFrom(...ACTS), fc.string({ maxLength: 3 }))

/** Do one step on both; a missing file is made first. */
function take(disk: SimulatedDisk, model: PlainModel, [name, target, act, text]: Step): void {
  const inode = model.now.get(name) ?? { now: '', durable: '' }
  if (!model.now.has(name)) disk.openFile(at(name), 'create')
  model.now.set(name, inode)
  if (act === 'syncDir') {
    disk.syncDir(root)
    model.durable = new Map(model.now)
  } else if (act === 'append') {
    disk.openFile(at(name), 'append').append(Buffer.from(text, 'latin1'))
    inode.now += Buffer.from(text, 'latin1').toString()
  } else if (act === 'cut') {
    const bytes = Math.floor(inode.now.length / 2)
    disk.openFile(at(name), 'append').truncate(bytes)
    inode.now = inode.now.slice(0, bytes)
  } else if (act === 'sync') {
    disk.openFile(at(name), 'append').syncNow()
    inode.durable = inode.now
  } else if (act === 'remove') {
    disk.remove(at(name))
    model.now.delete(name)
  } else if (act === 'rename') {
    disk.rename(at(name), at(target))
    if (model.now.get(target) === inode) return
    model.now.delete(name)
    model.now.set(target, inode)
  } else if (!model.now.has(target)) {
    disk.link(at(name), at(target))
    model.now.set(target, inode)
  }
}

describe('crash states', () => {
  it('begin with all that was seen, and hold the state of what was synced alone', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const [disk, model] = [new SimulatedDisk(), new PlainModel()]
        for (const each of steps) take(disk, model, each)
        const states = [...disk.crashStates({ limit: 50 })].map(contentOf)
        expect(contentOf(disk)).toEqual(model.seen())
        expect(states[0]).toEqual(model.seen())
        expect(states).toContainEqual(model.synced())
      }),
      { numRuns },
    )
  })

  it('never lose what was synced, if nothing cut or renamed it', () => {
    const appendOnly = step.map(([name, target, act, text]): Step => {
      return [name, target, ['cut', 'rename', 'remove'].includes(act) ? 'append' : act, text]
    })
    fc.assert(
      fc.property(fc.array(appendOnly, { maxLength: 25 }), fc.nat(), (steps, seed) => {
        const [disk, model] = [new SimulatedDisk({ pageBytes: 2 }), new PlainModel()]
        for (const each of steps) take(disk, model, each)
        for (const state of disk.crashStates({ limit: 100, seed })) {
          const content = contentOf(state)
          for (const [name, synced] of Object.entries(model.synced())) {
            expect(content[name]?.startsWith(synced)).toBe(true)
          }
        }
      }),
      { numRuns },
    )
  })

  it('of one file are every subset of its changes, zeros for what is missing, every tear', () => {
    const change: fc.Arbitrary<Change> = fc.oneof(
      fc.stringMatching(/^[a-z]{1,5}$/).map((text) => ({ append: text })),
      fc.nat(8).map((bytes) => ({ cut: bytes })),
      fc.constantFrom({ sync: 'works' }, { sync: 'fails' }),
    )
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Z]{0,6}$/),
        fc.array(change, { maxLength: 6, size: 'max' }),
        fc.constantFrom(3, 4096),
        (base, changes, pageBytes) => {
          const { disk, open } = diskWith({ a: base }, { pageBytes })
          const file = open('a')
          for (const each of changes) {
            if ('append' in each) append(file, each.append)
            else if ('cut' in each) file.truncate(each.cut)
            else if (each.sync === 'works') file.syncNow()
            else {
              disk.failNext(({ name }) => name === 'syncNow', { code: 'EIO' })
              expect(() => file.syncNow()).toThrow('EIO')
            }
          }
          const expected = expectedOutcomes(base, changes, pageBytes)
          expect(outcomesOf(disk)).toEqual([...expected].sort())
        },
      ),
      {
        numRuns: numRuns * 5,
        examples: [
          // A durable cut above what certainly survives; one above an earlier cut that may be lost.
          ['A', [{ append: 'bc' }, { sync: 'fails' }, { cut: 2 }, { sync: 'works' }], 4096],
          [
            'ABC',
            [{ cut: 1 }, { append: 'xy' }, { sync: 'fails' }, { cut: 2 }, { sync: 'works' }],
            3,
          ],
        ],
      },
    )
  })

  it('are at rest: a state has no crash states but itself', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 15 }), (steps) => {
        const [disk, model] = [new SimulatedDisk(), new PlainModel()]
        for (const each of steps) take(disk, model, each)
        for (const state of disk.crashStates({ limit: 20 })) {
          expect(statesOf(state)).toEqual([contentOf(state)])
        }
      }),
      { numRuns },
    )
  })

  it('are those of the moment of the call, each a disk of its own', () => {
    const { disk, open } = diskWith({ a: 'synced' })
    append(open('a'), 'xy')
    const states = disk.crashStates()
    disk.remove(at('a'))
    disk.syncDir(root)
    const seen = [...states].map((state) => {
      const before = contentOf(state).a
      append(state.openFile(at('a'), 'append'), '!')
      expect(contentOf(state).a).toBe(`${before}!`)
      return before
    })
    expect(seen.sort()).toEqual(['synced', 'synced\0\0', 'syncedx', 'syncedxy'])
    expect([...states].map((state) => contentOf(state).a).sort()).toEqual(seen)
    expect(contentOf(disk)).toEqual({})
  })
})

type Change = { append: string } | { cut: number } | { sync: string }

/** Text put at an offset, or (without text) a length. */
interface Piece {
  at: number
  text: string | undefined
  state: 'open' | 'durable' | 'lost'
  write: number
}

/** What may be left of a file, from the definition and without a thought for speed. */
function expectedOutcomes(base: string, changes: Change[], pageBytes: number): Set<string> {
  const pieces = piecesOf(base, changes, pageBytes)
  const open = pieces.filter(({ state }) => state !== 'durable')
  const outcomes = new Set<string>()
  for (let end = 0; end <= open.length; end++) {
    for (let mask = 0; mask < 1 << end; mask++) {
      const survived = pieces.flatMap((piece) => {
        const index = open.indexOf(piece)
        if (index < 0 || (index < end && ((mask >> index) & 1) === 1)) return [piece]
        if (index >= end || piece.text === undefined) return []
        return [{ ...piece, text: '\0'.repeat(piece.text.length) }]
      })
      outcomes.add(written(base, survived))
    }
  }
  const torn = open.findLast(({ text }) => text !== undefined)?.write
  const whole = pieces.filter(({ write }) => write === torn).map(({ text }) => text)
  const first = pieces.findIndex(({ write }) => write === torn)
  for (let bytes = 1; bytes < whole.join('').length; bytes++) {
    const rest = pieces.filter(({ write }, index) => index > first && write !== torn)
    outcomes.add(
      written(base, [
        ...pieces.slice(0, first),
        { ...pieces[first]!, text: whole.join('').slice(0, bytes) },
        ...rest.filter(({ state }) => state === 'durable'),
      ]),
    )
  }
  return outcomes
}

function piecesOf(base: string, changes: Change[], pageBytes: number): Piece[] {
  const pieces: Piece[] = []
  let length = base.length
  for (const [write, change] of changes.entries()) {
    if ('sync' in change) {
      const state = change.sync === 'works' ? 'durable' : 'lost'
      for (const piece of pieces) if (piece.state === 'open') piece.state = state
    } else if ('cut' in change) {
      if (change.cut !== length)
        pieces.push({ at: change.cut, text: undefined, state: 'open', write })
      length = change.cut
    } else {
      for (const letter of change.append) {
        const last = pieces.at(-1)
        if (last?.write === write && length % pageBytes !== 0) last.text += letter
        else pieces.push({ at: length, text: letter, state: 'open', write })
        length += 1
      }
    }
  }
  return pieces
}

function written(base: string, pieces: Piece[]): string {
  let content = base
  for (const { at, text } of pieces) {
    const before = content.slice(0, at).padEnd(at, '\0')
    content = text === undefined ? before : before + text + content.slice(at + text.length)
  }
  return content
}

describe('counted by hand', () => {
  it('one write of three bytes has five outcomes', () => {
    const { disk, open } = diskWith({ a: '' })
    append(open('a'), 'xyz')
    expect(outcomesOf(disk)).toEqual(['', '\0\0\0', 'x', 'xy', 'xyz'])
  })

  it('two writes of two bytes have eight, a hole among them', () => {
    const { disk, open } = diskWith({ a: '' })
    append(open('a'), 'uv')
    append(open('a'), 'xy')
    const zeros = ['\0\0', '\0\0\0\0', '\0\0xy', 'uv\0\0']
    expect(outcomesOf(disk)).toEqual(['', 'uv', 'uvx', 'uvxy', ...zeros].sort())
  })

  it('a write over two pages can lose either', () => {
    const { disk, open } = diskWith({ a: '1' }, { pageBytes: 4 })
    append(open('a'), 'uvwxy')
    const torn = ['1', '1u', '1uv', '1uvw', '1uvwx', '1uvwxy']
    expect(outcomesOf(disk)).toEqual(
      [...torn, '1\0\0\0', '1\0\0\0\0\0', '1\0\0\0xy', '1uvw\0\0'].sort(),
    )
  })

  it('a created file is there or not, and if it is, with any content', () => {
    const disk = new SimulatedDisk()
    append(disk.openFile(at('a'), 'create'), 'x')
    expect(outcomesOf(disk)).toEqual(['', '\0', 'x', undefined])
  })

  it('a file that is removed again may still turn up', () => {
    const disk = new SimulatedDisk()
    append(disk.openFile(at('a'), 'create'), 'x')
    disk.remove(at('a'))
    expect(outcomesOf(disk)).toEqual(['', '\0', 'x', undefined])
  })

  it('a synced file in an unsynced directory may be gone, but not half there', () => {
    const disk = new SimulatedDisk()
    const file = disk.openFile(at('a'), 'create')
    append(file, 'xyz')
    file.syncNow()
    expect(outcomesOf(disk)).toEqual(['xyz', undefined])
    disk.syncDir(root)
    expect(outcomesOf(disk)).toEqual(['xyz'])
  })

  it('a cut is lost or applied, also beneath a later write', () => {
    const { disk, open } = diskWith({ a: 'abcdef' })
    open('a').truncate(2)
    expect(outcomesOf(disk)).toEqual(['ab', 'abcdef'])
    append(open('a'), 'X')
    const survived = ['abX', 'ab\0', 'abXdef', 'ab\0def']
    expect(outcomesOf(disk)).toEqual(['ab', 'abcdef', ...survived].sort())
    open('a').syncNow()
    expect(outcomesOf(disk)).toEqual(['abX'])
  })

  it('two files multiply', () => {
    const { disk, open } = diskWith({ a: '', b: '' })
    append(open('a'), 'x')
    append(open('b'), 'yz')
    expect(statesOf(disk).length).toBe(3 * 4)
  })

  it('new names come and go on their own', () => {
    const disk = new SimulatedDisk()
    for (const name of ['a', 'b', 'c']) disk.openFile(at(name), 'create')
    expect(statesOf(disk).length).toBe(8)
  })

  it('a lost rename leaves the old name, and the old content at the new one', () => {
    const { disk } = diskWith({ a: 'old', tmp: 'new' })
    disk.rename(at('tmp'), at('a'))
    expect(statesOf(disk)).toEqual([{ a: 'new' }, { a: 'old', tmp: 'new' }])
    disk.syncDir(root)
    expect(statesOf(disk)).toEqual([{ a: 'new' }])
  })

  it('a rename between directories is one change, which the gaining directory syncs', () => {
    const { disk } = diskWith({ 'p/f': 'x', 'q/g': 'y' })
    disk.rename(at('p/f'), at('q/f'))
    const both = [
      { 'q/f': 'x', 'q/g': 'y' },
      { 'p/f': 'x', 'q/g': 'y' },
    ]
    expect(statesOf(disk)).toEqual(both)
    disk.syncDir(at('p'))
    expect(statesOf(disk)).toEqual(both)
    disk.syncDir(at('q'))
    expect(statesOf(disk)).toEqual(both.slice(0, 1))
  })

  it('a durable rename waits for nothing, even where its old name was never durable', () => {
    const { disk } = diskWith({ 'q/g': 'y' })
    disk.makeDir(at('p'))
    disk.syncDir(root)
    disk.openFile(at('p/f'), 'create')
    disk.rename(at('p/f'), at('q/f'))
    disk.syncDir(at('q'))
    disk.openFile(at('p/f'), 'create')
    const [now, before] = [
      { 'p/f': '', 'q/f': '', 'q/g': 'y' },
      { 'q/f': '', 'q/g': 'y' },
    ]
    expect(statesOf(disk)).toEqual([now, before])
    disk.syncDir(at('p'))
    expect(statesOf(disk)).toEqual([now])
  })

  it('a directory hides what is in it until its own name is durable', () => {
    const disk = new SimulatedDisk()
    disk.makeDir(at('p/q'))
    expect(statesOf(disk).length).toBe(3)
    disk.syncDir(at('p'))
    expect(statesOf(disk).length).toBe(2)
    disk.syncDir(root)
    expect(statesOf(disk).length).toBe(1)
  })

  it('a tree is removed in any order', () => {
    const { disk } = diskWith({ 'd/a': 'x', 'd/b': 'y' })
    disk.removeTree(at('d'))
    const states = statesOf(disk)
    // The directory with any of its files, or nothing.
    expect(states.length).toBe(4 + 1)
    expect(states).toContainEqual({ 'd/b': 'y' })
    disk.syncDir(root)
    expect(statesOf(disk)).toEqual([{}])
    expect(disk.crashStates({ limit: 1 }).coverage).toBe('all')
  })

  it('two names of one file show one content', () => {
    const { disk, open } = diskWith({ a: '' })
    append(open('a'), 'x')
    disk.link(at('a'), at('b'))
    const states = statesOf(disk)
    expect(states.length).toBe(3 * 2)
    expect(states.every(({ a, b }) => b === undefined || a === b)).toBe(true)
    const [kept] = disk.crashStates()
    append(kept!.openFile(at('a'), 'append'), 'y')
    expect(contentOf(kept!)).toEqual({ a: 'xy', b: 'xy' })
  })
})

describe('a sync', () => {
  it('promises only what was written before it started', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const { disk } = diskWith({ a: '' }, { syncGate: () => gate })
    const file = disk.openFile(at('a'), 'append')
    append(file, 'x')
    const sync = file.sync()
    append(file, 'y')
    const during = outcomesOf(disk)
    expect(during).toEqual(['', '\0', '\0\0', '\0y', 'x', 'x\0', 'xy'].sort())
    open()
    await sync
    expect(outcomesOf(disk)).toEqual(['x', 'x\0', 'xy'])
  })

  it('that started first and ends last takes nothing back', async () => {
    const gates: (() => void)[] = []
    const syncGate = () => new Promise<void>((resolve) => gates.push(resolve))
    const { disk } = diskWith({ a: '' }, { syncGate })
    const file = disk.openFile(at('a'), 'append')
    append(file, 'x')
    const first = file.sync()
    append(file, 'y')
    const second = file.sync()
    gates[1]!()
    await second
    expect(outcomesOf(disk)).toEqual(['xy'])
    append(file, 'z')
    gates[0]!()
    await first
    expect(outcomesOf(disk)).toEqual(['xy', 'xy\0', 'xyz'])
  })

  it('that failed is not mended by one that succeeds', async () => {
    const { disk, open } = diskWith({ a: 'ok ' })
    const file = open('a')
    append(file, 'x')
    disk.failNext(({ name }) => name === 'sync', { code: 'EIO' })
    await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' })
    append(file, 'y')
    await file.sync()
    expect(outcomesOf(disk)).toEqual(['ok \0y', 'ok xy'])
    file.truncate(3)
    file.syncNow()
    append(file, 'z')
    file.syncNow()
    expect(outcomesOf(disk)).toEqual(['ok z'])
    expect(disk.crashStates({ limit: 1 }).coverage).toBe('all')
  })

  it('that completes after another one failed is not believed', async () => {
    const { disk, open } = diskWith({ a: '' })
    const file = open('a')
    append(file, 'x')
    const sync = file.sync()
    disk.failNext(({ name }) => name === 'syncNow', { code: 'EIO' })
    expect(() => file.syncNow()).toThrow('EIO')
    await sync
    expect(outcomesOf(disk)).toEqual(['', '\0', 'x'])
  })

  it('lets others run before it completes', async () => {
    const { open } = diskWith({ a: '' })
    const order: string[] = []
    const sync = open('a')
      .sync()
      .then(() => order.push('synced'))
    await Promise.resolve().then(() => order.push('other'))
    await sync
    expect(order).toEqual(['other', 'synced'])
  })
})

describe('too many states', () => {
  // The outcomes of each file: lost, kept, zero, and the tears.
  const [aCount, bCount] = [3 + 39, 3 + 3]
  const [aKept, bKept] = [`A${'x'.repeat(40)}`, `B${'x'.repeat(4)}`]

  function wideDisk(): SimulatedDisk {
    const { disk, open } = diskWith({ a: 'A', b: 'B' })
    append(open('a'), 'x'.repeat(40))
    append(open('b'), 'x'.repeat(4))
    return disk
  }

  const keysOf = (disk: SimulatedDisk, options: { limit?: number; seed?: number }) =>
    [...disk.crashStates(options)].map((state) => JSON.stringify(contentOf(state)))

  it('are sampled, the same for a seed and different for another', () => {
    const disk = wideDisk()
    for (const limit of [20, 150]) {
      const first = keysOf(disk, { limit, seed: 7 })
      expect(first.length).toBe(limit)
      expect(new Set(first).size).toBe(limit)
      expect(keysOf(disk.clone(), { limit, seed: 7 })).toEqual(first)
      expect(keysOf(disk, { limit, seed: 8 })).not.toEqual(first)
    }
  })

  it('say how far the limit reached', () => {
    const disk = wideDisk()
    const [allCount, eachCount] = [aCount * bCount, 2 * (aCount + bCount)]
    expect(keysOf(disk, { limit: allCount }).length).toBe(allCount)
    expect(disk.crashStates({ limit: allCount }).coverage).toBe('all')
    expect(disk.crashStates({ limit: allCount - 1 }).coverage).toBe('each')
    expect(disk.crashStates({ limit: eachCount }).coverage).toBe('each')
    expect(disk.crashStates({ limit: eachCount - 1 }).coverage).toBe('sample')
  })

  it('still show every outcome of each file, with the other kept and with it lost', () => {
    const disk = wideDisk()
    const all = [...disk.crashStates({ limit: aCount * bCount })].map(contentOf)
    const wanted = all.filter(({ a, b }) => {
      return ['A', aKept].includes(a!) || ['B', bKept].includes(b!)
    })
    expect(wanted.length).toBe(2 * (aCount + bCount) - 4)
    const some = [...disk.crashStates({ limit: 2 * (aCount + bCount) })].map(contentOf)
    expect(some).toEqual(expect.arrayContaining(wanted))
    expect(all).toEqual(expect.arrayContaining(some))
  })

  it('hold the extremes, even within the smallest of limits', () => {
    const states = [...wideDisk().crashStates({ limit: 2 })].map(contentOf)
    expect(states).toEqual([
      { a: aKept, b: bKept },
      { a: 'A', b: 'B' },
    ])
  })

  it('end in time where hundreds of writes and names are open', () => {
    const disk = new SimulatedDisk()
    for (let index = 0; index < 100; index++) {
      const file = disk.openFile(at(`f${index}`), 'create')
      for (let write = 0; write < 100; write++) append(file, 'xy')
    }
    const states = disk.crashStates({ limit: 100 })
    expect([...states].length).toBe(100)
    expect(states.coverage).toBe('sample')
    expect(states.visited).toBe(100)
  })
})

describe('a clone', () => {
  it('and its original go their own ways', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 15 }),
        fc.array(fc.tuple(fc.boolean(), step), { maxLength: 20 }),
        (before, after) => {
          const [disk, model] = [new SimulatedDisk(), new PlainModel()]
          for (const each of before) take(disk, model, each)
          const copy = disk.clone()
          const copyModel = structuredClone({ now: model.now, durable: model.durable })
          const plain = Object.assign(new PlainModel(), copyModel)
          for (const [isCopy, each] of after) {
            if (isCopy) take(copy, plain, each)
            else take(disk, model, each)
          }
          for (const [one, its] of [[disk, model] as const, [copy, plain] as const]) {
            const states = [...one.crashStates({ limit: 30 })].map(contentOf)
            expect(states[0]).toEqual(its.seen())
            expect(states).toContainEqual(its.synced())
          }
        },
      ),
      {
        numRuns,
        examples: [
          [
            [['a', 'a', 'append', 'x']],
            [
              [true, ['a', 'a', 'append', 'y']],
              [false, ['a', 'a', 'append', 'z']],
            ],
          ],
        ],
      },
    )
  })

  it('has the same crash states', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const disk = new SimulatedDisk()
        const model = new PlainModel()
        for (const each of steps) take(disk, model, each)
        const options = { limit: 60, seed: 3 }
        expect([...disk.clone().crashStates(options)].map(contentOf)).toEqual(
          [...disk.crashStates(options)].map(contentOf),
        )
      }),
      { numRuns },
    )
  })
})

describe('a fault', () => {
  it.each(['ENOSPC', 'EIO', 'EMFILE', 'EROFS', 'EACCES'])(
    'throws %s as Node would, once',
    (code) => {
      const { disk } = diskWith({ a: 'x' })
      disk.failNext(({ name, path }) => name === 'openFile' && path === at('a'), { code })
      expect(disk.faultsLeft).toBe(1)
      const open = () => disk.openFile(at('a'), 'append')
      expect(open).toThrow(
        expect.objectContaining({ code, path: at('a'), errno: expect.any(Number) }),
      )
      expect(disk.faultsLeft).toBe(0)
      append(open(), 'y')
      expect(contentOf(disk)).toEqual({ a: 'xy' })
    },
  )

  it('changes nothing', () => {
    const { disk, open } = diskWith({ a: 'x' })
    const file = open('a')
    disk.failNext(({ name }) => name === 'append', { code: 'ENOSPC' })
    disk.failNext(({ name }) => name === 'rename', { code: 'EIO' })
    expect(() => append(file, 'y')).toThrow(/^ENOSPC: no space left on device, append '/)
    expect(() => disk.rename(at('a'), at('b'))).toThrow(/^EIO: .* rename '.*a' -> '.*b'$/)
    expect(statesOf(disk)).toEqual([{ a: 'x' }])
  })

  it('makes a write short', () => {
    const { disk, open } = diskWith({ a: '' })
    const file = open('a')
    disk.shortWriteNext(({ path }) => path === at('a'), 2)
    expect(file.append(Buffer.from('xyz'))).toBe(2)
    expect(file.append(Buffer.from('z'))).toBe(1)
    expect(contentOf(disk)).toEqual({ a: 'xyz' })
  })

  it('of a full disk: a short write first, then ENOSPC, until there is room again', () => {
    const { disk, open } = diskWith({ a: 'abc', b: 'de' }, { capacityBytes: 10 })
    const file = open('a')
    expect(file.append(Buffer.alloc(8))).toBe(5)
    expect(() => file.append(Buffer.alloc(1))).toThrow(expect.objectContaining({ code: 'ENOSPC' }))
    expect(file.append(Buffer.alloc(0))).toBe(0)
    disk.remove(at('b'))
    expect(file.append(Buffer.alloc(8))).toBe(2)
    disk.capacityBytes = 11
    expect(file.append(Buffer.alloc(8))).toBe(1)
    expect(disk.sizeOf(at('a'))).toBe(11)
  })
})

describe('the hook', () => {
  it('sees each call twice, with counts, and which may change what survives', async () => {
    const { disk } = diskWith({ a: '' })
    const seen: string[] = []
    disk.onOperation = ({ phase, name, bytes, changes }: DiskOperationEvent) => {
      seen.push(`${phase} ${name} ${bytes ?? ''}${changes ? '!' : ''}`)
    }
    const file = disk.openFile(at('a'), 'append')
    disk.shortWriteNext(() => true, 1)
    file.append(Buffer.from('xyz'))
    await file.sync()
    file.close()
    disk.failNext(() => true, { code: 'EIO' })
    expect(() => disk.remove(at('a'))).toThrow()
    expect(seen).toEqual([
      'before openFile ',
      'after openFile ',
      'before append 3!',
      'after append 1!',
      'before sync !',
      'after sync !',
      'before close ',
      'after close ',
      'before remove !',
    ])
  })

  /** Put `new` in place of `a`; `isCareful` does it right. */
  function replace(disk: SimulatedDisk, isCareful: boolean): void {
    const file = disk.openFile(at('tmp'), 'create')
    append(file, 'new')
    if (isCareful) file.syncNow()
    file.close()
    disk.rename(at('tmp'), at('a'))
    disk.syncDir(root)
  }

  it.each([
    [true, ['new', 'old']],
    [false, ['', '\0\0\0', 'n', 'ne', 'new', 'old']],
  ])(
    'shows what power loss does to a replaced file at every call (synced: %s)',
    (isCareful, found) => {
      const { disk } = diskWith({ a: 'old' })
      const contents = new Set<string | undefined>()
      disk.onOperation = ({ phase, changes }) => {
        if (phase === 'after' && changes) for (const { a } of statesOf(disk)) contents.add(a)
      }
      replace(disk, isCareful)
      expect([...contents].sort()).toEqual(found)
    },
  )
})

describe('tampering', () => {
  it('flips a bit, replaces bytes, cuts; durably', () => {
    const { disk, open } = diskWith({ a: 'abcdef', b: 'abc' })
    append(open('a'), 'gh')
    disk.flipBit(at('a'), 8 + 5)
    expect(statesOf(disk)).toEqual([{ a: 'aBcdefgh', b: 'abc' }])
    disk.overwrite(at('a'), 2, Buffer.from('XY'))
    disk.cut(at('a'), 5)
    expect(statesOf(disk)).toEqual([{ a: 'aBXYe', b: 'abc' }])
  })

  it('leaves clones alone, and refuses what lies outside the file', () => {
    const { disk } = diskWith({ a: 'abc' })
    const copy = disk.clone()
    disk.flipBit(at('a'), 0)
    expect(contentOf(copy)).toEqual({ a: 'abc' })
    expect(() => disk.flipBit(at('a'), 24)).toThrow('INVARIANT')
    expect(() => disk.overwrite(at('a'), 2, Buffer.from('XY'))).toThrow('INVARIANT')
    expect(() => disk.cut(at('a'), 4)).toThrow('INVARIANT')
    expect(() => disk.cut(at('none'), 0)).toThrow('ENOENT')
  })
})
