/**
 * Searching what runs hold: text that is there once, the same text in many runs, small events, a pattern.
 * The limit is `Buffer.indexOf` over the same bytes in memory; the peer is `grep -F` over them in a file.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../dist/index.js'
import { Search } from '../dist/store/search.js'
import { withScratch } from './scratch.mjs'

const LINES_BYTES = 64 * 1024 * 1024
const PIECE_BYTES = 2 * 1024 * 1024
const RUNS = 10
const MB = 1e6
const TEXT = 'a needle that is nowhere else'

/** @param {{quick: boolean}} options */
export function search({ quick }) {
  return withScratch(async (dir) => {
    const bytes = quick ? LINES_BYTES / 8 : LINES_BYTES
    const text = transcript(bytes)
    const store = await openStore(join(dir, 'store'))
    const views = []
    for (let number = 0; number < RUNS; number += 1) {
      const run = await store.run(`run-${number}`)
      await run.append('import/source', { format: 'lines', session: `${number}` })
      for (let at = 0; at < text.length; at += PIECE_BYTES)
        await run.append('import/lines', { from: at, bytes: text.subarray(at, at + PIECE_BYTES) })
      await run.close()
      views.push(await store.inspectRun(run.id))
    }
    const small = await store.run('small')
    const notes = quick ? 5000 : 40_000
    for (let at = 0; at < notes; at += 1000) await appendEach(small, 1000)
    await small.close()
    const smallView = await store.inspectRun('small')
    const smallBytes = notes * NOTE.length

    const limit = rate(text.length, await timed(async () => text.indexOf(TEXT)))
    const file = join(dir, 'lines.jsonl')
    writeFileSync(file, text)
    const grep = rate(text.length, await timed(async () => spawnSync('grep', ['-cF', TEXT, file])))
    const one = (options, view) => timed(() => drain(new Search(options).run(view)))
    // Once before: blocks are decoded then, as far as they fit.
    await one({ text: TEXT }, views[0])
    const once = await one({ text: TEXT }, views[0])
    const many = await timed(async () => {
      const searching = new Search({ text: TEXT })
      for (const view of views) await drain(searching.run(view))
    })
    const pattern = await one({ text: 'a needle that is (?:now|any)here', regex: true }, views[0])
    const events = await one({ text: TEXT }, smallView)
    const first = await firstHit(views)
    await store.close()
    const against = { what: 'indexOf in memory', median: limit, ratio: 0 }
    const row = (what, median, bars) => ({
      what,
      median,
      unit: 'MB/s',
      limit: { ...against, ratio: median / limit },
      bars,
    })
    return [
      row(`${Math.round(text.length / MB)} MB of transcript`, rate(text.length, once), {
        medianMin: 200,
      }),
      row(`the same in ${RUNS} runs, as they hold it`, rate(text.length * RUNS, many), {
        medianMin: 200,
      }),
      row('a pattern', rate(text.length, pattern), { medianMin: 100 }),
      row(`${notes} small events`, rate(smallBytes, events), {}),
      { what: 'grep -F on the file', median: grep, unit: 'MB/s' },
      { what: 'until the first hit', median: first, unit: 'ms', bars: { medianMax: 1000 } },
    ]
  })
}

const NOTE = JSON.stringify({ text: 'a small event that says something, '.repeat(12) })

async function appendEach(run, count) {
  const data = JSON.parse(NOTE)
  await Promise.all(Array.from({ length: count }, () => run.append('note', data)))
}

/** Lines like those of a transcript: records of a few KB, words drawn with a seed. */
function transcript(bytes) {
  let seed = 42
  const random = (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed % below
  }
  const words = Array.from({ length: 4000 }, (_, at) => `w${(at * 2654435761) % 1e7}`)
  const lines = []
  for (let length = 0; length < bytes; ) {
    const said = Array.from({ length: 100 + random(300) }, () => words[random(words.length)])
    const line = `${JSON.stringify({ type: 'message', n: lines.length, said: said.join(' ') })}\n`
    lines.push(line)
    length += line.length
  }
  const text = Buffer.from(lines.join(''))
  return text
}

async function firstHit(views) {
  return timed(async () => {
    for (const view of views) for await (const _ of new Search({ text: '"n":12' }).run(view)) return
  })
}

async function drain(hits) {
  let count = 0
  for await (const _ of hits) count += 1
  return count
}

async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function rate(bytes, ms) {
  return bytes / MB / (ms / 1000)
}
