/**
 * What a fresh process waits for: the last turn of a very long run, and the list of very many runs.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openStore } from '../dist/index.js'
import { snapshotKey } from '../dist/store/run-view.js'
import { median, p99 } from './rounds.mjs'
import { layRun, writeRun } from './sample.mjs'
import { scratchBytesFree, withScratch } from './scratch.mjs'

const GIB = 1024 ** 3
const RUN_BYTES = 2 * GIB
const RUN_BYTES_QUICK = GIB / 16
/** Below this much free space the long run is made shorter. */
const FREE_BYTES_MIN = 6 * GIB
const RUNS = 10_000
const RUNS_QUICK = 1000
const IMPORTED = 100_000
const IMPORTED_QUICK = 10_000
/** An importer notes what it appends a folder at a time. */
const NOTED_AT_ONCE = 500
/** How much of a log a writer may add after its last snapshot of a very long one. */
const KILLED_SHARE = 1 / 32
const TOOK_MS_MAX = 1000
const RSS_BYTES_MAX = 200e6
const PROBES = 7
const PROBE = fileURLToPath(new URL('cold-probe.mjs', import.meta.url))
const PARAGRAPH =
  'The fetched page says, among many other things, that the harbour froze over in March. '

/** @param {{quick: boolean, tell: (line: string) => void}} options */
export function cold(options) {
  return withScratch(async (dir) => [
    ...(await longRun(join(dir, 'long'), options)),
    ...(await manyRuns(join(dir, 'many'), options)),
    ...(await importedRuns(join(dir, 'imported'), options)),
  ])
}

async function longRun(root, { quick, tell }) {
  const free = scratchBytesFree()
  let bytesMin = quick ? RUN_BYTES_QUICK : RUN_BYTES
  if (free < FREE_BYTES_MIN && bytesMin > free / 3) {
    bytesMin = Math.floor(free / 3)
    tell(`only ${size(free)} are free: the long run is made ${size(bytesMin)} long`)
  }
  const store = await openStore(root)
  let earlier
  const { bytes, seq } = await layRun(store, 'long', (log, fold, index) => {
    for (let turn = 1; log.bytes < bytesMin; turn += 1) {
      addTurn(log, fold, turn)
      if (earlier === undefined && log.bytes > bytesMin * (1 - KILLED_SHARE))
        earlier = { seq: log.seq - 1, hash: log.hash, place: log.place, state: index.toJSON() }
    }
  })
  const what = `the last turn of ${size(bytes)}, ${seq + 1} events`
  const bars = { medianMax: TOOK_MS_MAX, rssMax: RSS_BYTES_MAX }
  const rows = [row(what, PROBES, ['turn', root, 'long'], bars)]
  await store.context.snapshots.write(snapshotKey('long'), earlier, earlier.state)
  rows.push(row('the same, its writer killed', PROBES, ['turn', root, 'long'], bars))
  rmSync(join(root, 'cache'), { recursive: true })
  rows.push(row('the same, the cache deleted', quick ? PROBES : 1, ['turn', root, 'long'], {}))
  await store.close()
  rmSync(root, { recursive: true })
  return rows
}

/** A turn of a coding agent: two model calls, one tool. About 16 KB in nine events. */
function addTurn(log, fold, turn) {
  const id = `n${turn}`
  const call = `call-${turn}`
  const add = (type, data) => fold(log.add(type, data))
  add('turn/start', { turn })
  add('user/message', { content: `Question ${turn}. ${PARAGRAPH.repeat(20)}` })
  add('assistant/message', {
    content: [{ type: 'tool_use', id: call, name: 'fetch', input: { page: turn } }],
    usage: { inputTokens: 4000, outputTokens: 100 },
  })
  add('tool/call', { id: call, name: 'fetch', arguments: { page: turn } })
  add('step/start', { id, key: log.hash, name: 'fetch', input: { page: turn } })
  add('step/end', { id, status: 'ok', output: PARAGRAPH.repeat(45) })
  add('tool/result', { id: call, content: PARAGRAPH.repeat(45) })
  add('assistant/message', {
    content: PARAGRAPH.repeat(40),
    usage: { inputTokens: 5000, outputTokens: 900 },
  })
  add('turn/end', { turn, reason: 'completed' })
}

async function manyRuns(root, { quick }) {
  const count = quick ? RUNS_QUICK : RUNS
  const store = await openStore(root)
  const facts = []
  for (let number = 0; number < count; number += 1) {
    const id = `2026-08-26-score-${number.toString(16).padStart(4, '0')}`
    const { head } = await writeRun(store, id, (log, fold) => {
      fold(log.add('run/meta', { name: 'score' }))
      fold(log.add('note', { text: PARAGRAPH }))
      fold(log.add('run/end', { status: 'ok' }))
    })
    facts.push({ type: 'run/head', data: head.data })
  }
  await store.context.heads.note(facts)
  await store.close()
  const bars = { medianMax: TOOK_MS_MAX, rssMax: RSS_BYTES_MAX }
  const rows = [row(`the list of ${count} runs`, PROBES, ['runs', root], bars)]
  mkdirSync(join(root, 'cache'), { recursive: true })
  rmSync(join(root, 'cache'), { recursive: true })
  rows.push(row('the same, the cache deleted', PROBES, ['runs', root], bars))
  return rows
}

/** Runs as an importer leaves them, with totals of their own. */
async function importedRuns(root, { quick }) {
  const count = quick ? IMPORTED_QUICK : IMPORTED
  const store = await openStore(root)
  let facts = []
  for (let number = 0; number < count; number += 1) {
    const session = `0199a3c2-77d1-7c40-9f4e-${number.toString(16).padStart(12, '0')}`
    const { head } = await writeRun(store, `codex-${session}`, (log, fold) => {
      fold(log.add('run/meta', { name: 'imported' }))
      fold(log.add('note', { text: PARAGRAPH }))
    })
    const bytes = 40_000 + number
    const imported = {
      format: 'codex',
      session,
      size: bytes,
      mtime: 1_780_000_000_000 + number * 1000,
      bytes,
      reader: { name: 'codex', version: 3 },
    }
    const totals = { turns: number % 40, tokensIn: number * 7, tokensOut: number * 3 }
    const started = imported.mtime - 60_000
    const summary = { ...head.data.summary, ...totals, started, updated: imported.mtime, imported }
    facts.push({ type: 'run/head', data: { ...head.data, summary } })
    if (facts.length === NOTED_AT_ONCE || number === count - 1) {
      await store.context.heads.note(facts)
      facts = []
    }
  }
  await store.close()
  const bars = { medianMax: TOOK_MS_MAX }
  const rows = [row(`the list of ${count} imported runs`, PROBES, ['runs', root], bars)]
  rmSync(join(root, 'cache'), { recursive: true })
  rows.push(row('the same, the cache deleted', PROBES, ['runs', root], {}))
  return rows
}

/** Each probe is a process of its own: nothing is warm but the page cache of the system. */
function row(what, probes, args, bars) {
  const answers = Array.from({ length: probes }, () =>
    JSON.parse(execFileSync(process.execPath, [PROBE, ...args], { encoding: 'utf8' })),
  )
  const times = answers.map(({ tookMs }) => tookMs)
  const rssBytes = Math.max(...answers.map((answer) => answer.rssBytes))
  const { lists, stats, opens, bytesRead } = answers[0]
  return {
    what,
    median: median(times),
    unit: 'ms',
    p99: { value: p99(times), unit: 'ms' },
    rssBytes,
    disk: { lists, stats, opens, bytesRead },
    bars,
  }
}

/** @param {number} bytes */
function size(bytes) {
  return bytes < GIB ? `${Math.round(bytes / 1024 ** 2)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`
}
