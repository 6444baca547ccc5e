import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Disk, DiskFile } from '../../src/backend/disk.js'
import { nodeDisk } from '../../src/backend/node-disk.js'
import { systemCode } from '../../src/core/errors.js'
import { SimulatedDisk } from '../../src/testing/simulated-disk.js'

const tempDir = fs.mkdtempSync(path.join(os.tmpdir(), 'daglog-disk-'))
const isWindows = process.platform === 'win32'
let tempCount = 0

afterAll(() => fs.rmSync(tempDir, { recursive: true, force: true }))

interface Fixture {
  disk: Disk
  /** An empty directory on it. */
  dir: string
}

function freshNode(): Fixture {
  const dir = path.join(tempDir, String(tempCount++))
  fs.mkdirSync(dir)
  return { disk: nodeDisk(), dir }
}

function freshSimulated(): Fixture {
  const disk = new SimulatedDisk()
  const dir = path.resolve('/disk')
  disk.makeDir(dir)
  return { disk, dir }
}

/** The code that `act` throws with, or undefined. */
function codeOf(act: () => unknown): string | undefined {
  try {
    act()
  } catch (error) {
    return systemCode(error) ?? String(error)
  }
  return undefined
}

function contentOf(file: DiskFile): string {
  const into = Buffer.alloc(file.size())
  expect(file.read(into, 0)).toBe(into.length)
  return into.toString()
}

function create({ disk, dir }: Fixture, name: string, content: string): string {
  const file = disk.openFile(path.join(dir, name), 'create')
  expect(file.append(Buffer.from(content))).toBe(content.length)
  file.close()
  return path.join(dir, name)
}

function readAt(disk: Disk, at: string): string {
  const file = disk.openFile(at, 'read')
  try {
    return contentOf(file)
  } finally {
    file.close()
  }
}

describe.each([
  ['node', freshNode],
  ['simulated', freshSimulated],
] as const)('a %s disk', (_, fresh) => {
  it('creates a file once', () => {
    const { disk, dir } = fresh()
    const at = create({ disk, dir }, 'a', 'first')
    expect(codeOf(() => disk.openFile(at, 'create'))).toBe('EEXIST')
    expect(codeOf(() => disk.openFile(dir, 'create'))).toBe('EEXIST')
    expect(readAt(disk, at)).toBe('first')
  })

  it('appends at the end, whoever wrote last', () => {
    const { disk, dir } = fresh()
    const at = create({ disk, dir }, 'a', 'one ')
    const first = disk.openFile(at, 'append')
    const second = disk.openFile(at, 'append')
    expect(first.append(Buffer.from('two '))).toBe(4)
    expect(second.append(Buffer.from('three '))).toBe(6)
    expect(first.append(Buffer.alloc(0))).toBe(0)
    expect(first.append(Buffer.from('four'))).toBe(4)
    expect(contentOf(second)).toBe('one two three four')
    first.truncate(8)
    expect(second.append(Buffer.from('5'))).toBe(1)
    expect(contentOf(first)).toBe('one two 5')
    first.close()
    second.close()
  })

  it('reads short at the end, and nothing past it', () => {
    const { disk, dir } = fresh()
    const file = disk.openFile(create({ disk, dir }, 'a', 'abcdef'), 'read')
    const into = Buffer.alloc(4, '.')
    expect(file.read(into, 1)).toBe(4)
    expect(into.toString()).toBe('bcde')
    expect(file.read(into, 4)).toBe(2)
    expect(into.toString()).toBe('efde')
    expect(file.read(into, 6)).toBe(0)
    expect(file.read(into, 100)).toBe(0)
    file.close()
  })

  it('fills with zeros where truncate makes a file longer', () => {
    const { disk, dir } = fresh()
    const file = disk.openFile(create({ disk, dir }, 'a', 'abc'), 'append')
    file.truncate(1)
    file.truncate(3)
    expect(contentOf(file)).toBe('a\0\0')
    file.close()
  })

  it('refuses to write through a file opened for reading', () => {
    const { disk, dir } = fresh()
    const file = disk.openFile(create({ disk, dir }, 'a', 'abc'), 'read')
    expect(codeOf(() => file.append(Buffer.from('x')))).toBe('EBADF')
    expect(codeOf(() => file.truncate(1))).toBe(isWindows ? 'EPERM' : 'EINVAL')
    expect(contentOf(file)).toBe('abc')
    file.close()
  })

  it('refuses every call on a closed file, except to close it again', async () => {
    const { disk, dir } = fresh()
    const file = disk.openFile(create({ disk, dir }, 'a', 'abc'), 'append')
    file.close()
    file.close()
    expect(codeOf(() => file.append(Buffer.from('x')))).toBe('EBADF')
    expect(codeOf(() => file.read(Buffer.alloc(1), 0))).toBe('EBADF')
    expect(codeOf(() => file.size())).toBe('EBADF')
    expect(codeOf(() => file.truncate(0))).toBe('EBADF')
    expect(codeOf(() => file.syncNow())).toBe('EBADF')
    await expect(file.sync()).rejects.toMatchObject({ code: 'EBADF' })
  })

  it('syncs files and directories', async () => {
    const { disk, dir } = fresh()
    const file = disk.openFile(path.join(dir, 'a'), 'create')
    file.append(Buffer.from('abc'))
    const syncs = [file.sync(), file.sync()]
    expect(file.append(Buffer.from('def'))).toBe(3)
    await Promise.all(syncs)
    file.syncNow()
    disk.syncDir(dir)
    expect(contentOf(file)).toBe('abcdef')
    file.close()
  })

  it('completes a sync of a file that is closed meanwhile', async () => {
    const { disk, dir } = fresh()
    const file = disk.openFile(path.join(dir, 'a'), 'create')
    file.append(Buffer.from('abc'))
    const syncs = [file.sync(), file.sync()]
    file.close()
    const others = [create({ disk, dir }, 'b', 'b'), create({ disk, dir }, 'c', 'c')]
    await Promise.all(syncs)
    expect(others.map((at) => readAt(disk, at))).toEqual(['b', 'c'])
  })

  it('links a file to a second name, never to one that is taken', () => {
    const { disk, dir } = fresh()
    const a = create({ disk, dir }, 'a', 'abc')
    const b = path.join(dir, 'b')
    disk.link(a, b)
    expect(codeOf(() => disk.link(a, b))).toBe('EEXIST')
    expect(codeOf(() => disk.link(path.join(dir, 'none'), path.join(dir, 'c')))).toBe('ENOENT')
    const file = disk.openFile(b, 'append')
    file.append(Buffer.from('d'))
    file.close()
    disk.remove(b)
    expect(readAt(disk, a)).toBe('abcd')
    expect(disk.exists(b)).toBe(false)
  })

  it('renames over what is there, while open files stay what they were', () => {
    const { disk, dir } = fresh()
    const a = create({ disk, dir }, 'a', 'new')
    const b = create({ disk, dir }, 'b', 'old')
    const file = disk.openFile(b, 'read')
    disk.rename(a, b)
    expect(disk.list(dir)).toEqual(['b'])
    expect(readAt(disk, b)).toBe('new')
    expect(contentOf(file)).toBe('old')
    file.close()
    expect(codeOf(() => disk.rename(a, b))).toBe('ENOENT')
  })

  it('lists names and tells lengths; of what is not there it says so', () => {
    const { disk, dir } = fresh()
    create({ disk, dir }, 'a', 'abc')
    disk.makeDir(path.join(dir, 'd', 'e'))
    disk.makeDir(path.join(dir, 'd'))
    expect(disk.list(dir).sort()).toEqual(['a', 'd'])
    expect(disk.list(path.join(dir, 'none'))).toEqual([])
    expect(disk.sizeOf(path.join(dir, 'a'))).toBe(3)
    expect(disk.sizeOf(path.join(dir, 'd'))).toBe(undefined)
    expect(disk.sizeOf(path.join(dir, 'none', 'none'))).toBe(undefined)
    expect(disk.sizeOf(path.join(dir, 'a', 'none'))).toBe(undefined)
    expect(disk.exists(path.join(dir, 'd', 'e'))).toBe(true)
    expect(disk.exists(path.join(dir, 'a', 'none'))).toBe(false)
  })

  it('says ENOENT where a file must be and is not', () => {
    const { disk, dir } = fresh()
    const none = path.join(dir, 'none')
    expect(codeOf(() => disk.openFile(none, 'read'))).toBe('ENOENT')
    expect(codeOf(() => disk.openFile(none, 'append'))).toBe('ENOENT')
    expect(codeOf(() => disk.openFile(path.join(none, 'a'), 'create'))).toBe('ENOENT')
    if (!isWindows) expect(codeOf(() => disk.syncDir(none))).toBe('ENOENT')
    expect(disk.exists(none)).toBe(false)
  })

  it('removes a file or a tree, missing or not', () => {
    const { disk, dir } = fresh()
    const deep = path.join(dir, 'd', 'e')
    disk.makeDir(deep)
    create({ disk, dir: deep }, 'a', 'abc')
    create({ disk, dir }, 'b', 'abc')
    disk.removeTree(path.join(dir, 'd'))
    disk.removeTree(path.join(dir, 'd'))
    disk.remove(path.join(dir, 'b'))
    disk.remove(path.join(dir, 'b'))
    expect(disk.list(dir)).toEqual([])
  })
})

// Which errors such calls give is Linux's choice.
describe.skipIf(process.platform !== 'linux')('the two disks', () => {
  // Some paths are at times a file, at times a directory; that is where the errors are.
  const names = ['a', 'b', 'c', 'a/x', 'b/x', 'a/x/y']
  const name = fc.constantFrom(...names)
  // A file over its own parent: Linux says ENOTEMPTY, others EISDIR.
  const pair = fc.tuple(name, name).filter(([from, to]) => !from.startsWith(`${to}/`))
  const mode = fc.constantFrom('read', 'append', 'create')
  const call = fc.oneof(
    fc.record({ call: fc.constant('open'), name, mode, text: fc.string({ maxLength: 9 }) }),
    fc.record({ call: fc.constant('cut'), name, bytes: fc.nat(12) }),
    fc.record({ call: fc.constantFrom('makeDir', 'list', 'sizeOf', 'exists', 'remove'), name }),
    fc
      .tuple(fc.constantFrom('link', 'rename'), pair)
      .map(([call, [from, to]]) => ({ call, name: from, to })),
    fc.record({ call: fc.constant('removeTree'), name: fc.constantFrom('a', 'b', 'c') }),
  )
  type Call = {
    call: string
    name: string
    to?: string
    mode?: 'read' | 'append' | 'create'
    text?: string
    bytes?: number
  }

  function answer({ disk, dir }: Fixture, { call, name, to, mode, text, bytes }: Call): unknown {
    const at = path.join(dir, name)
    switch (call) {
      case 'open':
      case 'cut': {
        const file = disk.openFile(at, mode ?? 'append')
        try {
          if (text !== undefined && mode !== 'read') file.append(Buffer.from(text))
          if (bytes !== undefined) file.truncate(bytes)
          return contentOf(file)
        } finally {
          file.close()
        }
      }
      case 'list':
        return disk.list(at).sort()
      case 'sizeOf':
      case 'exists':
        return disk[call](at)
      case 'makeDir':
      case 'remove':
      case 'removeTree':
        return disk[call](at)
      default:
        return disk[call as 'link' | 'rename'](at, path.join(dir, to!))
    }
  }

  function outcome(fixture: Fixture, call: Call): unknown {
    try {
      return { answer: answer(fixture, call) }
    } catch (error) {
      return { code: systemCode(error) ?? error }
    }
  }

  function treeOf({ disk, dir }: Fixture, name = '.'): unknown {
    const at = path.join(dir, name)
    if (disk.sizeOf(at) !== undefined) return readAt(disk, at)
    const names = disk.list(at).sort()
    return Object.fromEntries(names.map((child) => [child, treeOf({ disk, dir: at }, child)]))
  }

  it('answer alike, whatever they are asked in whatever order', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 5, maxLength: 40 }), (calls) => {
        const [real, simulated] = [freshNode(), freshSimulated()]
        for (const each of calls) {
          expect(outcome(simulated, each), JSON.stringify(each)).toEqual(outcome(real, each))
        }
        expect(treeOf(simulated)).toEqual(treeOf(real))
      }),
      { numRuns: process.env.DAGLOG_LONG ? 10_000 : 400 },
    )
  })
})

describe.skipIf(isWindows)('a node disk', () => {
  it('lets nobody else read what it makes', () => {
    const { disk, dir } = freshNode()
    disk.makeDir(path.join(dir, 'd', 'e'))
    const at = create({ disk, dir }, 'a', 'abc')
    expect(fs.statSync(at).mode & 0o777).toBe(0o600)
    expect(fs.statSync(path.join(dir, 'd')).mode & 0o777).toBe(0o700)
    expect(fs.statSync(path.join(dir, 'd', 'e')).mode & 0o777).toBe(0o700)
  })

  it('does not write through a symlink, nor create over one', () => {
    const { disk, dir } = freshNode()
    const target = create({ disk, dir }, 'a', 'abc')
    const link = path.join(dir, 'link')
    const dangling = path.join(dir, 'dangling')
    fs.symlinkSync(target, link)
    fs.symlinkSync(path.join(dir, 'none'), dangling)
    expect(codeOf(() => disk.openFile(link, 'append'))).toBe('ELOOP')
    expect(codeOf(() => disk.openFile(link, 'create'))).toBe('EEXIST')
    expect(codeOf(() => disk.openFile(dangling, 'append'))).toBe('ELOOP')
    expect(codeOf(() => disk.openFile(dangling, 'create'))).toBe('EEXIST')
    expect(readAt(disk, link)).toBe('abc')
    expect(disk.list(dir)).not.toContain('none')
  })

  it('removes a symlink, and not what it points to', () => {
    const { disk, dir } = freshNode()
    const target = create({ disk, dir }, 'a', 'abc')
    const inside = path.join(dir, 'd')
    disk.makeDir(inside)
    fs.symlinkSync(target, path.join(inside, 'link'))
    fs.symlinkSync(dir, path.join(inside, 'up'))
    disk.removeTree(inside)
    expect(disk.list(dir)).toEqual(['a'])
  })

  it.skipIf(!fs.existsSync('/dev/full'))('passes ENOSPC on', () => {
    const file = nodeDisk().openFile('/dev/full', 'append')
    expect(codeOf(() => file.append(Buffer.from('abc')))).toBe('ENOSPC')
    file.close()
  })

  it.skipIf(!fs.existsSync('/proc/self/fd'))(
    'gives a descriptor back once no sync uses it',
    async () => {
      const { disk, dir } = freshNode()
      const at = path.join(dir, 'a')
      const file = disk.openFile(at, 'create')
      const syncs = [file.sync(), file.sync()]
      file.close()
      expect(descriptorsOf(at)).toBe(1)
      await Promise.all(syncs)
      expect(descriptorsOf(at)).toBe(0)
    },
  )
})

/** How many descriptors of this process are open on a file. */
function descriptorsOf(at: string): number {
  const isOn = (fd: string) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`) === fs.realpathSync(at)
    } catch {
      return false // Closed since it was listed: not ours.
    }
  }
  return fs.readdirSync('/proc/self/fd').filter(isOn).length
}
