/**
 * The same large page again and again: seen twice, with one line changed, in twenty runs.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../dist/index.js'
import { withScratch } from './scratch.mjs'

const PAGE_BYTES = 10 * 1024 * 1024
const LINE_BYTES_MAX = 64
const RUNS = 20

/** @param {{quick: boolean}} options */
export function pages({ quick }) {
  const bytes = quick ? PAGE_BYTES / 5 : PAGE_BYTES
  return withScratch(async (dir) => {
    const place = join(dir, 'store')
    const store = await openStore(place)
    const page = pageOf(bytes)
    const first = await store.run('first')
    await first.append('page', { page })
    const once = objectBytes(place)
    await first.append('page', { page })
    const twice = objectBytes(place)
    const at = page.indexOf('\n', bytes / 2) + 1
    await first.append('page', { page: `${page.slice(0, at)}one line is new\n${page.slice(at)}` })
    const changed = objectBytes(place)
    await first.close()
    for (let made = 0; made < RUNS; made += 1) {
      const run = await store.run(`run ${made}`)
      await run.append('page', { page })
      await run.close()
    }
    const many = objectBytes(place)
    await store.close()
    return [
      { what: `a page of ${bytes / 1024 / 1024} MB, stored`, median: once / 1024, unit: 'KB' },
      { what: 'the same page again', median: twice - once, unit: 'B', bars: { medianMax: 1 } },
      {
        what: 'with one line more',
        median: (changed - twice) / 1024,
        unit: 'KB',
        bars: { medianMax: LINE_BYTES_MAX },
      },
      {
        what: `${RUNS} more runs with the page: objects`,
        median: many - changed,
        unit: 'B',
        bars: { medianMax: 0 },
      },
    ]
  })
}

/** Text that does not compress to nothing, in lines. */
function pageOf(bytes) {
  const words = Array.from({ length: 5000 }, () => randomBytes(4).toString('base64url'))
  const pieces = []
  for (let length = 0; length < bytes; ) {
    const line = `${Array.from({ length: 8 }, () => words[Math.floor(Math.random() * words.length)]).join(' ')}\n`
    pieces.push(line)
    length += line.length
  }
  return pieces.join('').slice(0, bytes)
}

/** Bytes of all objects: packs, their indexes, and those that are open. */
function objectBytes(place) {
  const sizes = (dir, isObject) =>
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && isObject(entry.name))
      .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
  return (
    sizes(join(place, 'packs'), () => true) +
    sizes(join(place, 'runs'), (name) => name === 'objects.open')
  )
}
