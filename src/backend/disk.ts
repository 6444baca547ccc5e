/**
 * The few file system calls that daglog makes, as an interface, so that a test can put a disk that
 * loses power beneath the real code.
 * Knows calls only: no names, no formats.
 */

/** An open file. Writes only ever append; nothing in daglog overwrites bytes in place. */
export interface DiskFile {
  /** Append; returns the count written, which may be short (a full disk does that), or throws. */
  append(bytes: Uint8Array): number
  /** Read at an offset; returns the count read, 0 at the end. */
  read(into: Uint8Array, atByte: number): number
  /** Length now, in bytes. */
  size(): number
  truncate(bytes: number): void
  /**
   * fdatasync off the main thread: the file's bytes and length survive power loss once it resolves.
   */
  sync(): Promise<void>
  /** The same, blocking. */
  syncNow(): void
  close(): void
}

/** Errors are Node's (`code`: `ENOENT`, `EEXIST`, `ENOSPC`, ...). Paths are absolute. */
export interface Disk {
  /**
   * `read`: must exist. `append`: must exist, opened for append and read. `create`: must not exist
   * (`EEXIST`), mode 0600, opened for append and read.
   */
  openFile(path: string, mode: 'read' | 'append' | 'create'): DiskFile
  exists(path: string): boolean
  /** Length of a file in bytes, or undefined where there is none. */
  sizeOf(path: string): number | undefined
  /** Names in a directory, unsorted; empty where there is none. */
  list(dir: string): string[]
  /** Makes a directory and its parents, mode 0700. Existing ones are fine. */
  makeDir(dir: string): void
  /** Hard link; `EEXIST` when `to` is there. The way to create a whole file atomically. */
  link(from: string, to: string): void
  /** Atomic; replaces `to`. */
  rename(from: string, to: string): void
  /** Missing is fine. */
  remove(path: string): void
  removeTree(dir: string): void
  /** Makes creations, renames and removals in `dir` survive power loss. */
  syncDir(dir: string): void
}
