/**
 * What a shell waits for: the command line's start, against that of Node itself.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, p99, ratio, takeTurns } from './rounds.mjs'
import { withScratch } from './scratch.mjs'

const RATIO_MAX = 1.6
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

/** @param {{quick: boolean, tell: (line: string) => void}} options */
export function startup({ quick, tell }) {
  if (!existsSync(MAIN)) {
    tell('dist/cli/main.js is not there: startup is left out')
    return []
  }
  return withScratch(async (dir) => {
    const env = { ...process.env, DAGLOG_DIR: join(dir, 'store') }
    const took = (args) => () => {
      const began = performance.now()
      execFileSync(process.execPath, args, { cwd: dir, env, stdio: 'ignore' })
      return performance.now() - began
    }
    const run = execFileSync(process.execPath, [MAIN, 'init', 'score'], {
      env,
      encoding: 'utf8',
    }).trim()
    const page = join(dir, 'page.json')
    writeFileSync(page, '{"page":17}')
    const times = await takeTurns(quick ? 9 : 31, {
      version: took([MAIN, '--version']),
      step: took([MAIN, 'step', run, 'fetch', '--in', page, '--out', page]),
      node: took(['-e', '0']),
    })
    const row = (what, ours, bars) => ({
      what,
      median: median(ours),
      unit: 'ms',
      p99: { value: p99(ours), unit: 'ms' },
      limit: { what: 'node -e 0', median: median(times.node), ratio: ratio(ours, times.node) },
      bars,
    })
    return [
      row('daglog --version', times.version, { ratioMax: RATIO_MAX }),
      row('daglog step, durable', times.step, {}),
    ]
  })
}
