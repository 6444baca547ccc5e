/** A disk that is full soon. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryDir } from '../store/temporary.js'

/** A file system of its own, `bytes` long; undefined where we may not mount. */
export function smallDisk(bytes: number): string | undefined {
  const dir = join(temporaryDir(), 'disk')
  mkdirSync(dir)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir])
  if (mounted.status !== 0) return undefined
  onTestFinished(() => {
    execFileSync('umount', [dir])
  })
  return dir
}
