/**
 * The physical limit of an append: bare writes and syncs of the same bytes, in two call patterns.
 */
import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'

const fdatasync = promisify(fs.fdatasync)

/**
 * `fs.writeSync`, then `fs.fdatasync` awaited: the calls that our own backend makes.
 * @param {string} path
 */
export function bareFile(path) {
  const fd = fs.openSync(path, 'a')
  return {
    /** @param {Uint8Array} bytes */
    async append(bytes) {
      fs.writeSync(fd, bytes)
      await fdatasync(fd)
    },
    close: () => fs.closeSync(fd),
  }
}

/**
 * The same through promises only: `FileHandle.write`, then `FileHandle.datasync`.
 * @param {string} path
 */
export async function barePromises(path) {
  const file = await open(path, 'a')
  return {
    /** @param {Uint8Array} bytes */
    async append(bytes) {
      await file.write(bytes)
      await file.datasync()
    },
    close: () => file.close(),
  }
}
