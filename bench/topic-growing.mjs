/**
 * A hundred request bodies of one agent, 6 KB to 450 KB, in five modes: what they take on disk once the run
 * has ended, held against gzip of each body and against a git pack of all of them.
 * The generator is the one that the reference figures were made with; it lies beside the checkout.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { openStore } from '../dist/index.js'
import { withScratch } from './scratch.mjs'

const GENERATOR = new URL('../../shared/sketches/growing-requests.mjs', import.meta.url)
const TEXT = fileURLToPath(new URL('../node_modules', import.meta.url))

/** How many times smaller than gzip, by mode. */
const GZIP_MIN = { append: 25, cache: 25, time: 25, clear: 7, all: 7 }
const GIT_MAX = 1.7
const PUT_CPU_MS_MAX = 2

/** @param {{quick: boolean, tell: (line: string) => void}} options */
export async function growing({ quick, tell }) {
  let generator
  try {
    generator = await import(GENERATOR.href)
  } catch {
    tell('growing: skipped, the generator is not beside this checkout (../shared/sketches)')
    return []
  }
  const rows = []
  for (const mode of quick ? ['append', 'all'] : generator.MODES) {
    const bodies = generator.corpus(mode, TEXT)
    const gzip = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0)
    const git = withGit(tell) ? await withScratch((dir) => gitPack(dir, bodies)) : undefined
    const { stored, cpuMs, exact } = await withScratch((dir) => put(join(dir, 'store'), bodies))
    if (exact !== bodies.length) throw new Error(`${mode}: ${exact} of ${bodies.length} came back`)
    rows.push({
      what: `${mode}: packs of 100 bodies, each back byte for byte`,
      median: stored / 1024,
      unit: 'KB',
      limit: {
        what: `gzip of each (${Math.round(gzip / 1024)} KB), times smaller`,
        median: gzip,
        ratio: gzip / stored,
      },
      bars: { ratioMin: GZIP_MIN[mode] },
    })
    if (git !== undefined) {
      rows.push({
        what: `${mode}: the same`,
        median: stored / 1024,
        unit: 'KB',
        limit: {
          what: `a git pack (${Math.round(git / 1024)} KB)`,
          median: git,
          ratio: stored / git,
        },
        bars: { ratioMax: GIT_MAX },
      })
    }
    rows.push({
      what: `${mode}: CPU of a durable append, all threads, mean`,
      median: cpuMs,
      unit: 'ms',
      bars: { medianMax: PUT_CPU_MS_MAX },
    })
  }
  return rows
}

async function put(place, bodies) {
  const store = await openStore(place)
  const run = await store.run('r')
  const texts = bodies.map((body) => body.toString())
  const before = process.cpuUsage()
  for (const body of texts) await run.append('request', { body })
  const { user, system } = process.cpuUsage(before)
  await run.end()
  const packs = join(place, 'packs')
  const stored = readdirSync(packs).reduce((sum, name) => sum + statSync(join(packs, name)).size, 0)
  let exact = 0
  for await (const { data } of (await store.inspectRun('r')).events({ types: ['request'] })) {
    if (data.body === texts[exact]) exact += 1
  }
  await store.close()
  return { stored, cpuMs: (user + system) / 1000 / bodies.length, exact }
}

let gitFound
function withGit(tell) {
  if (gitFound === undefined) {
    try {
      execFileSync('git', ['--version'])
      gitFound = true
    } catch {
      gitFound = false
      tell('growing: no git here, so no git pack to compare with')
    }
  }
  return gitFound
}

/** Bytes of the pack and index that git makes of the bodies. */
function gitPack(dir, bodies) {
  const git = (...args) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=b', '-c', 'user.email=b@b', ...args])
  git('init', '-q')
  for (const [index, body] of bodies.entries()) {
    const folder = join(dir, 'bodies')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${String(index).padStart(3, '0')}.json`), body)
  }
  git('add', '.')
  git('commit', '-qm', 'bodies')
  git('repack', '-adfq', '--window=50')
  const packs = join(dir, '.git', 'objects', 'pack')
  return readdirSync(packs)
    .filter((name) => /\.(?:pack|idx)$/.test(name))
    .reduce((sum, name) => sum + statSync(join(packs, name)).size, 0)
}
