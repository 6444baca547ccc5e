/**
 * Traffic through `withReplay`: what recording adds, and how fast the log answers.
 * The limit is the same call without it, by turns.
 */
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openRecorder, openReplayer, withReplay } from '../dist/http.js'
import { openStore } from '../dist/index.js'
import { median, takeTurns } from './rounds.mjs'
import { withScratch } from './scratch.mjs'

const CALLS = 100
const CALL_MS = 1000
const MB = 1024 * 1024

/** @param {{quick: boolean}} options */
export function traffic({ quick }) {
  return withScratch(async (dir) => [
    ...(await firstEvent(dir, quick ? 20 : 100)),
    ...(await lookups(dir, quick ? 5000 : 100_000)),
    ...(await agent(dir)),
    ...largeBody(dir, quick ? 128 : 1024),
  ])
}

async function firstEvent(dir, rounds) {
  const { url, close } = await serve((response) => response.end('data: x\n\n'))
  const store = await openStore(join(dir, 'first'))
  const run = await store.run('r')
  const recording = withReplay(fetch, { into: run })
  const body = JSON.stringify({ text: 'some words. '.repeat(2000) })
  const once = async (ask) => {
    const start = performance.now()
    const reader = (await ask(url, { method: 'POST', body })).body.getReader()
    await reader.read()
    const took = performance.now() - start
    while (!(await reader.read()).done);
    return took
  }
  const sides = { bare: () => once(fetch), ours: () => once(recording) }
  const { bare, ours } = await takeTurns(rounds, sides, 5)
  await store.close()
  close()
  const added = median(ours) - median(bare)
  return [
    { what: 'added until the first event', median: added, unit: 'ms', bars: { medianMax: 5 } },
  ]
}

async function lookups(dir, count) {
  const store = await openStore(join(dir, 'many'), { durability: 'os' })
  const run = await store.run('r')
  const recorder = await openRecorder(run)
  const request = (n) => ({ method: 'POST', url: `https://h.example/v1?n=${n}`, headers: [] })
  for (let at = 0; at < count; at += 500) {
    await Promise.all(Array.from({ length: Math.min(500, count - at) }, (_, n) => one(at + n)))
  }
  async function one(n) {
    const recording = await recorder.start(request(n), 'wire')
    await recording.requestBody(Buffer.from(`{"n":${n}}`))
    recording.requestEnd()
    recording.response({ status: 200, headers: [] })
    await recording.responseBody(Buffer.from(`{"answer":${n}}`))
    await recording.end('complete')
  }
  await run.close()
  const view = await store.inspectRun('r')
  const timed = async (work) => {
    const start = performance.now()
    await work()
    return performance.now() - start
  }
  const cold = await timed(() => openReplayer(view))
  const warm = await timed(() => openReplayer(view))
  const replayer = await openReplayer(view, { policy: 'first' })
  const keys = [...replayer.byKey.keys()]
  const start = performance.now()
  for (let n = 0; n < 100_000; n += 1) replayer.next(keys[(n * 7919) % keys.length], '')
  const lookup = ((performance.now() - start) / 100_000) * 1000
  const firstBytes = async (place) => {
    const times = []
    for (let n = 0; n < 1000; n += 1) {
      const at = place(n)
      const asked = { ...request(at), form: 'wire', body: Buffer.from(`{"n":${at}}`) }
      const work = async () => {
        const answer = await replayer.answer(asked)
        if (answer.kind === 'miss') throw new Error(answer.message)
        await answer.chunks()[Symbol.asyncIterator]().next()
      }
      times.push(await timed(work))
    }
    return median(times)
  }
  // As an agent asks, and as nobody does: each at a place of its own, in a part of the log not yet read.
  const inOrder = await firstBytes((n) => n)
  const anywhere = await firstBytes((n) => (n * 7919) % count)
  await store.close()
  return [
    { what: `lookup of a key among ${count}`, median: lookup, unit: 'us', bars: { medianMax: 50 } },
    {
      what: 'from the question to the first byte, in the order recorded',
      median: inOrder,
      unit: 'ms',
      bars: { medianMax: 1 },
    },
    { what: 'the same at random places: a cold block each', median: anywhere, unit: 'ms' },
    { what: 'opening it without the cache', median: cold, unit: 'ms' },
    { what: 'opening it with the cache', median: warm, unit: 'ms' },
  ]
}

async function agent(dir) {
  const { url, close } = await serve((response) => response.end('an answer'))
  const store = await openStore(join(dir, 'agent'))
  const run = await store.run('r')
  const run100 = async (ask) => {
    for (let n = 0; n < CALLS; n += 1) {
      await (await ask(url, { method: 'POST', body: `{"n":${n}}` })).text()
    }
  }
  await run100(withReplay(fetch, { into: run }))
  close()
  const start = performance.now()
  await run100(withReplay(fetch, { from: run }))
  const took = performance.now() - start
  await store.close()
  const times = (CALLS * CALL_MS) / took
  return [
    { what: `an agent of ${CALLS} calls, replayed`, median: took, unit: 'ms' },
    { what: 'times as fast as with 1 s calls', median: times, unit: 'x', bars: { medianMin: 100 } },
  ]
}

/** In a process of its own, so that its memory is the body's. */
function largeBody(dir, megabytes) {
  const child = fileURLToPath(new URL('./traffic-child.mjs', import.meta.url))
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [child, join(dir, 'large'), String(megabytes * MB)],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(stderr)
  const { rss, seconds } = JSON.parse(stdout)
  return [
    {
      what: `a body of ${megabytes} MB, recorded`,
      median: megabytes / seconds,
      unit: 'MB/s',
      rssBytes: rss,
      bars: { rssMax: 150 * MB },
    },
  ]
}

async function serve(answer) {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => answer(response))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
