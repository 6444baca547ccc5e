/**
 * The disk of this machine, through node:fs.
 * Knows flags, modes and platforms; not what is stored.
 */
import fs from 'node:fs'
import { promisify } from 'node:util'
import { systemCode } from '../core/errors.js'
import type { Disk, DiskFile } from './disk.js'

const FILE_MODE = 0o600
const DIR_MODE = 0o700

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = fs.constants
// Undefined on Windows, whatever the types say.
const O_NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0

const OPEN_FLAGS = {
  read: O_RDONLY,
  append: O_APPEND | O_RDWR | O_NOFOLLOW,
  create: O_APPEND | O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
} as const

const fdatasync = promisify(fs.fdatasync)

/**
 * The real file system. Every error is passed on as Node throws it, `EINTR` and `EAGAIN` too: a
 * silent repetition would hide how much was written. Writing through a symlink is refused (`ELOOP`)
 * where the platform can tell.
 */
export function nodeDisk(): Disk {
  return {
    openFile: (path, mode) => new NodeFile(path, fs.openSync(path, OPEN_FLAGS[mode], FILE_MODE)),
    exists: (path) => statOf(path) !== undefined,
    sizeOf(path) {
      const stat = statOf(path)
      return stat?.isFile() ? stat.size : undefined
    },
    list: (dir) => unlessMissing(() => fs.readdirSync(dir)) ?? [],
    makeDir(dir) {
      fs.mkdirSync(dir, { recursive: true, mode: DIR_MODE })
    },
    link: (from, to) => fs.linkSync(from, to),
    rename: (from, to) => fs.renameSync(from, to),
    remove: (path) => unlessMissing(() => fs.unlinkSync(path)),
    removeTree: (dir) => fs.rmSync(dir, { recursive: true, force: true }),
    syncDir,
  }
}

class NodeFile implements DiskFile {
  readonly #path: string
  readonly #fd: number
  #closed = false
  #syncs = 0

  constructor(path: string, fd: number) {
    this.#path = path
    this.#fd = fd
  }

  append(bytes: Uint8Array): number {
    return fs.writeSync(this.#openFd(), bytes, 0, bytes.byteLength, null)
  }

  read(into: Uint8Array, atByte: number): number {
    return fs.readSync(this.#openFd(), into, 0, into.byteLength, atByte)
  }

  size(): number {
    return fs.fstatSync(this.#openFd()).size
  }

  truncate(bytes: number): void {
    fs.ftruncateSync(this.#openFd(), bytes)
  }

  async sync(): Promise<void> {
    const fd = this.#openFd()
    this.#syncs += 1
    try {
      await fdatasync(fd)
    } finally {
      this.#syncs -= 1
      if (this.#closed && this.#syncs === 0) fs.closeSync(fd)
    }
  }

  syncNow(): void {
    fs.fdatasyncSync(this.#openFd())
  }

  /**
   * A second call does nothing. The descriptor lives on until no sync uses it: its number may be
   * handed out again at once, and a late sync would then vouch for bytes of another file.
   */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#syncs === 0) fs.closeSync(this.#fd)
  }

  #openFd(): number {
    if (!this.#closed) return this.#fd
    throw Object.assign(new Error(`EBADF: file is closed, '${this.#path}'`), { code: 'EBADF' })
  }
}

function syncDir(dir: string): void {
  // Windows refuses to flush a directory (EPERM); its file systems log such changes themselves.
  if (process.platform === 'win32') return
  const fd = fs.openSync(dir, O_RDONLY)
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Not `existsSync`, which calls a path missing when it may not look. */
function statOf(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    // Nothing lies below a file. Node answers this by version and platform; we answer it once.
    if (systemCode(error) === 'ENOTDIR') return undefined
    throw error
  }
}

function unlessMissing<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}
