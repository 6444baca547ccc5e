/**
 * A directory on a real disk that is gone when the work is done.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TMPFS = 0x01021994

/** Where stores of the bench are made; `DAGLOG_BENCH_DIR` says another disk. */
function scratchRoot() {
  return process.env.DAGLOG_BENCH_DIR ?? tmpdir()
}

/**
 * @template R
 * @param {(dir: string) => Promise<R>} use
 */
export async function withScratch(use) {
  const dir = mkdtempSync(join(scratchRoot(), 'daglog-bench-'))
  const remove = () => rmSync(dir, { recursive: true, force: true })
  process.once('exit', remove)
  try {
    return await use(dir)
  } finally {
    remove()
    process.off('exit', remove)
  }
}

/** Bytes free where scratch directories are made. */
export function scratchBytesFree() {
  const { bavail, bsize } = statfsSync(scratchRoot())
  return bavail * bsize
}

/** A sync on a file system in memory costs nothing, and a ratio to nothing says nothing. */
export function scratchIsMemory() {
  return statfsSync(scratchRoot()).type === TMPFS
}
