/**
 * A disk in memory that can lose power, fill up and fail, for tests of code that must survive it.
 * Knows calls, paths and errors; what a power loss leaves is for `crash-states.ts`.
 */
import { isAbsolute, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Disk, DiskFile } from '../backend/disk.js'
import { assert } from '../core/errors.js'
import { CrashStates } from './crash-states.js'
import {
  DiskCalls,
  type DiskOperation,
  type DiskOperationEvent,
  type DiskOperationTest,
  systemError,
} from './disk-operation.js'
import { SimulatedFile } from './simulated-file.js'
import { type Medium, SimulatedHandle } from './simulated-handle.js'
import { SimulatedDirectory, type SimulatedNode, SimulatedTree } from './simulated-tree.js'

const PAGE_BYTES_DEFAULT = 4096

export interface SimulatedDiskOptions {
  /** Room for the content of files, in bytes; endless by default. */
  readonly capacityBytes?: number
  /**
   * Unsynced writes reach the medium in pieces that end at multiples of this; 4,096 by default.
   * A small one puts holes inside small records, and makes many more states.
   */
  readonly pageBytes?: number
  /** Awaited between start and completion of each `sync`; by default a turn of the event loop. */
  readonly syncGate?: (path: string) => Promise<unknown>
}

/**
 * The model:
 * - A sync makes durable what was written to its file before it started. After a failed sync those
 *   bytes are never durable, whatever later syncs say: the kernel takes them for written.
 * - A name (of a file or directory created, linked, renamed or removed) is durable once its own
 *   directory is synced. A rename is one change, durable once the directory that gains the name is.
 * - Anything else survives a power loss or not, each write and each name on its own.
 *
 * There are no symlinks, and no mode bits.
 */
export class SimulatedDisk implements Disk {
  /** May be raised or lowered at any time. */
  capacityBytes: number
  readonly #pageBytes: number
  readonly #calls = new DiskCalls()
  readonly #medium: Medium
  #tree = new SimulatedTree()

  constructor(options: SimulatedDiskOptions = {}) {
    this.capacityBytes = options.capacityBytes ?? Number.POSITIVE_INFINITY
    this.#pageBytes = options.pageBytes ?? PAGE_BYTES_DEFAULT
    assert(Number.isSafeInteger(this.#pageBytes) && this.#pageBytes > 0, 'a page has some bytes')
    this.#medium = {
      calls: this.#calls,
      syncGate: options.syncGate ?? (() => setImmediate()),
      freeBytes: () => this.#freeBytes(),
    }
  }

  /**
   * The disks that might be found if power were lost now, each once. Each is fresh and holds
   * durably what survived; the first has lost nothing. Later changes to this disk do not matter.
   * Of each file with unsynced changes: every prefix that ends with a write, or at any byte of the
   * last; every subset of the writes, a missing one zero where the length says that it was there.
   * Of each unsynced name: old or new.
   * @param options - `limit`: most disks, 1,000 by default; of the result, `coverage` says how far
   *   that reaches and `visited` how many there were. `seed`: of the sample, if they are too many.
   */
  crashStates(options: { limit?: number; seed?: number } = {}): CrashStates<SimulatedDisk> {
    const make = (root: SimulatedDirectory) => this.#withTree(new SimulatedTree(root))
    return new CrashStates(this.#tree.clone(), make, { ...options, pageBytes: this.#pageBytes })
  }

  /** An independent copy, durable or not as here. Open files, faults, hook and gate stay behind. */
  clone(): SimulatedDisk {
    return this.#withTree(this.#tree.clone())
  }

  /** The content of every file by its path: a copy, for messages and comparisons. */
  dump(): Map<string, Buffer> {
    const contents = new Map<string, Buffer>()
    const visit = (directory: SimulatedDirectory, prefix: string): void => {
      for (const [name, node] of directory.entries) {
        if (node instanceof SimulatedFile) contents.set(prefix + name, Buffer.from(node.bytes))
        else visit(node, prefix + name + sep)
      }
    }
    // On Windows the drive is the first name.
    visit(this.#tree.root, sep === '/' ? sep : '')
    return contents
  }

  /** Called before and after each call; it may clone the disk or take its crash states. */
  set onOperation(hook: ((operation: DiskOperationEvent) => void) | undefined) {
    this.#calls.hook = hook
  }

  get onOperation(): ((operation: DiskOperationEvent) => void) | undefined {
    return this.#calls.hook
  }

  /** Make the next call that passes `test` throw; a `sync` starts, and rejects in the end. */
  failNext(test: DiskOperationTest, error: { readonly code: string }): void {
    this.#calls.addFault(test, { code: error.code })
  }

  /** Make the next append that passes `test` write no more than `keptBytes`. */
  shortWriteNext(test: DiskOperationTest, keptBytes: number): void {
    this.#calls.addFault((operation) => operation.name === 'append' && test(operation), {
      keptBytes,
    })
  }

  /** Faults that have not struck. A test that ends with some has tested less than it says. */
  get faultsLeft(): number {
    return this.#calls.faultsLeft
  }

  /** Flip a bit of a file, counted from the lowest of its first byte. The result is durable. */
  flipBit(path: string, bit: number): void {
    this.#tamper(path, (content) => {
      const byte = content[bit >> 3]
      assert(byte !== undefined, `bit ${bit} lies inside ${path}`)
      content[bit >> 3] = byte ^ (1 << (bit & 7))
      return content
    })
  }

  /** Replace bytes inside a file. The result is durable. */
  overwrite(path: string, atByte: number, bytes: Uint8Array): void {
    this.#tamper(path, (content) => {
      assert(atByte + bytes.length <= content.length, `the bytes to replace lie inside ${path}`)
      content.set(bytes, atByte)
      return content
    })
  }

  /** Cut a file to its first `bytes` bytes. The result is durable. */
  cut(path: string, bytes: number): void {
    this.#tamper(path, (content) => {
      assert(bytes <= content.length, `byte ${bytes} lies inside ${path}`)
      return content.subarray(0, bytes)
    })
  }

  openFile(path: string, mode: 'read' | 'append' | 'create'): DiskFile {
    const operation = { name: 'openFile', path, mode } as const
    return this.#calls.run(operation, () => {
      if (mode === 'create') {
        const { directory, name, node } = this.#entryAt(operation)
        if (node !== undefined) throw systemError('EEXIST', operation)
        this.#tree.set(directory, name, new SimulatedFile())
      }
      const file = this.#fileAt(operation)
      return new SimulatedHandle(this.#medium, { file, path, isWritable: mode !== 'read' })
    })
  }

  exists(path: string): boolean {
    const operation = { name: 'exists', path } as const
    return this.#calls.run(operation, () => typeof this.#lookUp(path) === 'object')
  }

  sizeOf(path: string): number | undefined {
    const operation = { name: 'sizeOf', path } as const
    return this.#calls.run(operation, () => {
      const node = this.#lookUp(path)
      return node instanceof SimulatedFile ? node.bytes.length : undefined
    })
  }

  list(dir: string): string[] {
    const operation = { name: 'list', path: dir } as const
    return this.#calls.run(operation, () => {
      const node = this.#nodeAt(operation)
      if (node instanceof SimulatedFile) throw systemError('ENOTDIR', operation)
      return node === undefined ? [] : [...node.entries.keys()]
    })
  }

  makeDir(dir: string): void {
    const operation = { name: 'makeDir', path: dir } as const
    this.#calls.run(operation, () => {
      const names = namesOf(dir)
      let directory = this.#tree.root
      for (const [depth, name] of names.entries()) {
        const node = directory.entries.get(name) ?? new SimulatedDirectory()
        if (node instanceof SimulatedFile) {
          throw systemError(depth === names.length - 1 ? 'EEXIST' : 'ENOTDIR', operation)
        }
        if (!directory.entries.has(name)) this.#tree.set(directory, name, node)
        directory = node
      }
    })
  }

  link(from: string, to: string): void {
    const operation = { name: 'link', path: from, to } as const
    this.#calls.run(operation, () => {
      const source = this.#nodeAt(operation)
      if (source === undefined) throw systemError('ENOENT', operation)
      const { directory, name, node } = this.#entryAt(operation, to)
      if (node !== undefined) throw systemError('EEXIST', operation)
      if (source instanceof SimulatedDirectory) throw systemError('EPERM', operation)
      this.#tree.set(directory, name, source)
    })
  }

  rename(from: string, to: string): void {
    const operation = { name: 'rename', path: from, to } as const
    this.#calls.run(operation, () => {
      const source = this.#entryAt(operation)
      const target = this.#entryAt(operation, to)
      if (source.node === undefined) throw systemError('ENOENT', operation)
      // Two names of one file stay two names; POSIX wants it so.
      if (source.node === target.node) return
      const isInto = namesOf(from).every((name, depth) => namesOf(to)[depth] === name)
      if (isInto) throw systemError('EINVAL', operation)
      if (target.node !== undefined) {
        const isDirectory = source.node instanceof SimulatedDirectory
        if (target.node instanceof SimulatedFile) {
          if (isDirectory) throw systemError('ENOTDIR', operation)
        } else {
          if (!isDirectory) throw systemError('EISDIR', operation)
          if (target.node.entries.size > 0) throw systemError('ENOTEMPTY', operation)
        }
      }
      this.#tree.rename(source, target)
    })
  }

  remove(path: string): void {
    const operation = { name: 'remove', path } as const
    this.#calls.run(operation, () => {
      const node = this.#nodeAt(operation)
      if (node === undefined) return
      if (node instanceof SimulatedDirectory) throw systemError('EISDIR', operation)
      const { directory, name } = this.#entryAt(operation)
      this.#tree.set(directory, name, undefined)
    })
  }

  removeTree(dir: string): void {
    const operation = { name: 'removeTree', path: dir } as const
    this.#calls.run(operation, () => {
      const node = this.#nodeAt(operation)
      if (node === undefined) return
      const { directory, name } = this.#entryAt(operation)
      this.#empty(node)
      this.#tree.set(directory, name, undefined)
    })
  }

  syncDir(dir: string): void {
    const operation = { name: 'syncDir', path: dir } as const
    this.#calls.run(operation, () => {
      const node = this.#nodeAt(operation)
      if (node === undefined) throw systemError('ENOENT', operation)
      if (node instanceof SimulatedDirectory) this.#tree.sync(node)
    })
  }

  /** One removal per name, deepest first, so that any of them may be lost. */
  #empty(node: SimulatedNode): void {
    if (node instanceof SimulatedFile) return
    for (const [name, child] of [...node.entries]) {
      this.#empty(child)
      this.#tree.set(node, name, undefined)
    }
  }

  #tamper(path: string, edit: (content: Uint8Array) => Uint8Array): void {
    const file = this.#fileAt({ name: 'openFile', path })
    file.replace(edit(file.bytes.slice()))
  }

  #freeBytes(): number {
    if (this.capacityBytes === Number.POSITIVE_INFINITY) return this.capacityBytes
    let usedBytes = 0
    const nodes = new Set<SimulatedNode>([this.#tree.root])
    for (const node of nodes) {
      if (node instanceof SimulatedFile) usedBytes += node.bytes.length
      else for (const child of node.entries.values()) nodes.add(child)
    }
    return Math.max(0, this.capacityBytes - usedBytes)
  }

  #withTree(tree: SimulatedTree): SimulatedDisk {
    const disk = new SimulatedDisk({
      capacityBytes: this.capacityBytes,
      pageBytes: this.#pageBytes,
    })
    disk.#tree = tree
    return disk
  }

  #fileAt(operation: DiskOperation): SimulatedFile {
    const node = this.#nodeAt(operation)
    if (node === undefined) throw systemError('ENOENT', operation)
    if (node instanceof SimulatedDirectory) throw systemError('EISDIR', operation)
    return node
  }

  /** The place that a path names, whether or not anything is there; its parent must be. */
  #entryAt(
    operation: DiskOperation,
    path: string = operation.path,
  ): { directory: SimulatedDirectory; name: string; node: SimulatedNode | undefined } {
    const names = namesOf(path)
    const name = names.pop()
    assert(name !== undefined, 'the root of a disk is not created, moved or removed')
    const directory = this.#walk(names)
    if (directory === undefined) throw systemError('ENOENT', operation)
    if (directory === 'below a file' || directory instanceof SimulatedFile) {
      throw systemError('ENOTDIR', operation)
    }
    return { directory, name, node: directory.entries.get(name) }
  }

  #nodeAt(operation: DiskOperation): SimulatedNode | undefined {
    const node = this.#lookUp(operation.path)
    if (node === 'below a file') throw systemError('ENOTDIR', operation)
    return node
  }

  #lookUp(path: string): SimulatedNode | 'below a file' | undefined {
    return this.#walk(namesOf(path))
  }

  #walk(names: readonly string[]): SimulatedNode | 'below a file' | undefined {
    let node: SimulatedNode | undefined = this.#tree.root
    for (const name of names) {
      if (node === undefined) return undefined
      if (node instanceof SimulatedFile) return 'below a file'
      node = node.entries.get(name)
    }
    return node
  }
}

function namesOf(path: string): string[] {
  assert(isAbsolute(path), `the path ${path} is absolute`)
  const names = path.split(sep).filter((name) => name !== '')
  assert(!names.includes('..') && !names.includes('.'), `the path ${path} is normal`)
  return names
}
