/**
 * Transcripts into a store: how fast, how small, in how much memory; and again, with nothing new.
 * The corpus is made up (`transcripts.mjs`); DAGLOG_BENCH_TRANSCRIPTS names a folder of real ones.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { withScratch } from './scratch.mjs'
import { writeClaudeHome, writeCodexRollout } from './transcripts.mjs'

const MB = 1e6
const RATE_MIN = 25
const RSS_MAX = 400 * MB
const ROLLOUT_SHARE_MAX = 1.05
/** Real transcripts of 710 MB are to take at most 60. */
const TIMES_SMALLER_MIN = 710 / 60

/** @param {{quick: boolean, tell: (line: string) => void}} options */
export function imports({ quick, tell }) {
  return withScratch(async (dir) => {
    const named = process.env.DAGLOG_BENCH_TRANSCRIPTS
    const home = named ?? join(dir, 'home')
    if (named === undefined) writeClaudeHome(home, { bytes: (quick ? 20 : 150) * MB })
    const { bytes } = sizes(home)
    const limit = await hashed(home)
    const zipped = quick ? undefined : await gzipped(home)
    const place = join(dir, 'store')
    const first = child(place, home)
    if (!first.ok || first.leftOut > 0)
      tell(`import: verify ${first.ok}, left out ${first.leftOut}`)
    const stored = sizes(place).bytes
    const again = child(place, home)
    const rate = bytes / MB / first.seconds
    const rows = [
      {
        what: `${first.files} sessions, ${(bytes / MB).toFixed(0)} MB, taken in`,
        median: rate,
        unit: 'MB/s',
        rssBytes: first.rssBytes,
        limit: { what: 'read + sha256 of the same files', median: limit, ratio: rate / limit },
        bars: { medianMin: RATE_MIN, rssMax: RSS_MAX },
      },
      {
        what: 'the whole store: times smaller than the files',
        median: bytes / stored,
        unit: 'times',
        ...(zipped === undefined
          ? {}
          : {
              limit: {
                what: 'gzip -6 of each file',
                median: bytes / zipped,
                ratio: zipped / stored,
              },
            }),
        // A made-up corpus has made-up repetition: the bar is for real ones.
        ...(named === undefined ? {} : { bars: { medianMin: TIMES_SMALLER_MIN } }),
      },
      { what: 'the same again: nothing is new', median: again.seconds * 1000, unit: 'ms' },
      ...(await rollout(dir, quick)),
    ]
    return rows
  })
}

/** T23: 89 images, written again at each of 588 compactions. */
async function rollout(dir, quick) {
  const folder = join(dir, 'codex')
  mkdirSync(folder)
  const path = join(folder, 'rollout-2026-02-02T02-40-00-seeded.jsonl')
  const shape = quick ? { compactions: 60, images: 20 } : { compactions: 588, images: 89 }
  const { bytes, unique } = writeCodexRollout(path, shape)
  const place = join(dir, 'codex-store')
  const { seconds, rssBytes } = child(place, folder)
  const what = `a rollout of ${(bytes / MB).toFixed(0)} MB`
  return [
    {
      what: `${what}, ${shape.compactions} compactions over ${shape.images} images, taken in`,
      median: bytes / MB / seconds,
      unit: 'MB/s',
      rssBytes,
      bars: { medianMin: RATE_MIN, rssMax: RSS_MAX },
    },
    {
      what: `${what}: the whole store against its unique bytes`,
      median: sizes(place).bytes / unique,
      unit: 'times',
      bars: { medianMax: ROLLOUT_SHARE_MAX },
    },
  ]
}

function child(place, path) {
  const script = fileURLToPath(new URL('import-child.mjs', import.meta.url))
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, place, path])
  if (status !== 0) throw new Error(`the import failed: ${stderr}`)
  return JSON.parse(stdout.toString())
}

function filesOf(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function sizes(dir) {
  const files = filesOf(dir)
  return { files: files.length, bytes: files.reduce((sum, path) => sum + statSync(path).size, 0) }
}

/** What reading and hashing alone takes, in MB/s. */
async function hashed(dir) {
  const began = performance.now()
  let bytes = 0
  for (const path of filesOf(dir)) {
    const content = readFileSync(path)
    createHash('sha256').update(content).digest()
    bytes += content.length
  }
  return bytes / MB / ((performance.now() - began) / 1000)
}

async function gzipped(dir) {
  let bytes = 0
  for (const path of filesOf(dir)) bytes += (await promisify(gzip)(readFileSync(path))).length
  return bytes
}
