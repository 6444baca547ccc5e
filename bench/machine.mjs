/**
 * Where and of what a measurement was taken; without it a number means nothing.
 */
import { execFileSync } from 'node:child_process'
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

export function machine() {
  const cores = cpus()
  return {
    machine: {
      cpu: cores[0]?.model.trim() ?? 'unknown',
      cores: cores.length,
      memoryBytes: totalmem(),
      system: `${platform()} ${release()} ${arch()}`,
      /** Runnable processes per core when the bench began; above 1 the figures are a busy machine's. */
      load: Number(((loadavg()[0] ?? 0) / cores.length).toFixed(2)),
    },
    node: process.version,
    commit: commit(),
  }
}

function commit() {
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  try {
    const args = ['describe', '--always', '--dirty']
    return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return 'unknown' // A copy without its history.
  }
}
