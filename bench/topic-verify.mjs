/**
 * Verify against what it can not do without: reading the log and hashing each line's two parts.
 */
import { hash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FsLayout } from '../dist/backend/fs-layout.js'
import { READ_BYTES } from '../dist/core/limits.js'
import { openStore } from '../dist/index.js'
import { median, p99, ratio, takeTurns } from './rounds.mjs'
import { layRun, SMALL } from './sample.mjs'
import { withScratch } from './scratch.mjs'

const RATIO_MIN = 0.35
const LF = 0x0a

/** @param {{quick: boolean}} options */
export function verify({ quick }) {
  const [rounds, frames] = quick ? [7, 20_000] : [9, 200_000]
  return withScratch(async (dir) => {
    const root = join(dir, 'store')
    const store = await openStore(root)
    const { bytes, seq } = await layRun(store, 'long', (log, fold) => {
      for (let made = 2; made < frames; made += 1) fold(log.add(SMALL.type, SMALL.data))
      fold(log.add('run/end', { status: 'ok' }))
    })
    const path = new FsLayout(root).segment({ run: 'long' }, 0)
    const parts = findParts(path)
    const times = await takeTurns(rounds, {
      ours: async () => {
        const began = performance.now()
        const report = await store.verify('long')
        if (!report.ok || report.runs[0].events !== frames)
          throw new Error('the sample does not verify')
        return performance.now() - began
      },
      bare: () => {
        const began = performance.now()
        hashLines(path, parts)
        return performance.now() - began
      },
      fold: async () => {
        await rm(join(root, 'cache'), { recursive: true, force: true })
        const began = performance.now()
        const view = await (await openStore(root)).inspectRun('long')
        if ((await view.head())?.seq !== seq) throw new Error('the sample does not fold')
        return performance.now() - began
      },
    })
    await store.close()
    const perSecond = (ms) => (frames * 1000) / ms
    const megabytes = (ms) => `${Math.round(bytes / 1000 / ms)} MB/s`
    const limit = { what: 'reading and two hashes a line', median: perSecond(median(times.bare)) }
    const row = (what, ours, bars) => ({
      what: `${what}, ${megabytes(median(ours))}`,
      median: perSecond(median(ours)),
      unit: 'frames/s',
      p99: { value: p99(ours), unit: 'ms' },
      limit: { ...limit, ratio: ratio(times.bare, ours) },
      bars,
    })
    return [
      row(`verify of ${frames} frames`, times.ours, { ratioMin: RATIO_MIN }),
      row('opening to read without any snapshot', times.fold, {}),
    ]
  })
}

/** Blocks of whole lines, as `LogReader` reads them. */
function* blocksOf(path) {
  const fd = openSync(path, 'r')
  try {
    for (let at = 0; ; ) {
      const block = Buffer.allocUnsafe(READ_BYTES)
      const count = readSync(fd, block, 0, READ_BYTES, at)
      if (count === 0) return
      const whole = block.subarray(0, count).lastIndexOf(LF) + 1
      yield block.subarray(0, whole)
      at += whole
    }
  } finally {
    closeSync(fd)
  }
}

/** Where in each line the hashed head ends and the body begins, so that the bare loop need not look. */
function findParts(path) {
  const heads = []
  const bodies = []
  for (const block of blocksOf(path)) {
    for (let at = 0; at < block.length; at = block.indexOf(LF, at) + 1) {
      heads.push(block.indexOf(',"hash":"', at) - at)
      bodies.push(block.indexOf(',"body":', at) + ',"body":'.length - at)
    }
  }
  return { heads: Uint32Array.from(heads), bodies: Uint32Array.from(bodies) }
}

function hashLines(path, { heads, bodies }) {
  let line = 0
  for (const block of blocksOf(path)) {
    for (let at = 0; at < block.length; line += 1) {
      const end = block.indexOf(LF, at)
      hash('sha256', block.subarray(at, at + heads[line]), 'hex')
      hash('sha256', block.subarray(at + bodies[line], end - 1), 'hex')
      at = end + 1
    }
  }
}
