/**
 * One measurement in a process of its own: `child.mjs write|read|raw KIND SCENARIO PLACE [quick]`. Prints a line of
 * JSON.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { median } from '../rounds.mjs'
import { bytesAt, SAVERS } from './savers.mjs'
import { configOf, graphOf, newsOf, runThread, SCENARIOS } from './scenarios.mjs'

const [, , verb, kind, name, place, mode] = process.argv
const scenario = SCENARIOS[name](mode === 'quick')
const READS = 9
/** What takes longer than this is read three times. */
const READS_MS_MAX = 1500
const READS_MIN = 3

const rssBytes = () => process.resourceUsage().maxRSS * 1024

async function timed(work) {
  const began = performance.now()
  const value = await work()
  return { ms: performance.now() - began, value }
}

async function medianOf(count, work) {
  const found = []
  const began = performance.now()
  for (let i = 0; i < count; i += 1) {
    if (i >= READS_MIN && performance.now() - began > READS_MS_MAX) break
    found.push((await timed(() => work(i))).ms)
  }
  return median(found)
}

/** Keep how long each call of a method took. */
function watch(saver, method) {
  const took = []
  const call = saver[method].bind(saver)
  saver[method] = async (...given) => {
    const { ms, value } = await timed(() => call(...given))
    took.push(ms)
    return value
  }
  return took
}

async function write() {
  const { saver, close } = await SAVERS[kind].open(place)
  const puts = watch(saver, 'put')
  const writes = watch(saver, 'putWrites')
  const graph = graphOf(scenario, { saver, delta: SAVERS[kind].delta })
  const { ms: runMs } = await timed(async () => {
    for (let n = 0; n < scenario.threads; n += 1) await runThread(graph, scenario, n)
  })
  const written = { puts: puts.length, putMs: median(puts), putWritesMs: median(writes), runMs }
  const openBytes = await bytesAt(place, saver)
  const writeRss = rssBytes()
  const isServer = saver.pool !== undefined
  await close()
  return {
    ...written,
    openBytes,
    closedBytes: isServer ? openBytes : await bytesAt(place),
    writeRss,
  }
}

async function read() {
  const { saver, close } = await SAVERS[kind].open(place)
  const { delta } = SAVERS[kind]
  const graph = graphOf(scenario, { saver, delta })
  const config = configOf(0)
  // A DeltaChannel's state is not in its tuple.
  const stateAt = (at) => (delta ? graph.getState(at) : saver.getTuple(at))
  const { ms: firstMs, value } = await timed(() => stateAt(config))
  const { messages } = delta ? value.values : value.checkpoint.channel_values
  if (messages.length !== scenario.steps + 1) throw new Error(`${messages.length} messages`)
  const resumeMs = await medianOf(READS, () => stateAt(config))
  const oneStateRss = rssBytes()
  let tuples = 0
  const { ms: listMs } = await timed(async () => {
    for await (const tuple of saver.list(config)) if (tuple.metadata !== undefined) tuples += 1
  })
  const ids = []
  const { ms: historyMs } = await timed(async () => {
    for await (const { config: at } of graph.getStateHistory(config)) ids.push(at)
  })
  const historyRss = rssBytes()
  const stepMs = await medianOf(READS, (i) => stateAt(ids[Math.floor((ids.length * i) / READS)]))
  await close()
  return {
    firstMs,
    resumeMs,
    listMs,
    tuples,
    historyMs,
    steps: ids.length,
    stepMs,
    oneStateRss,
    historyRss,
  }
}

/**
 * The limit: what is new appended and synced, a record a step, large texts once in a file by their hash. Read as a
 * fold over it.
 */
function raw() {
  const objects = join(place, 'objects')
  mkdirSync(objects)
  const took = []
  for (let n = 0; n < scenario.threads; n += 1) {
    const log = openSync(join(place, `${n}.jsonl`), 'a')
    for (const one of newsOf(scenario)) {
      const began = performance.now()
      const kept = { ...one, content: keptApart(objects, one.content) }
      writeSync(log, `${JSON.stringify(kept)}\n`)
      fdatasyncSync(log)
      took.push(performance.now() - began)
    }
    closeSync(log)
  }
  return { puts: took.length, putMs: median(took), writeRss: rssBytes() }
}

const APART_BYTES_MIN = 64 * 1024

function keptApart(objects, content) {
  if (content.length < APART_BYTES_MIN) return content
  const bytes = Buffer.from(content)
  const path = join(objects, createHash('sha256').update(bytes).digest('hex'))
  if (!existsSync(path)) {
    const file = openSync(`${path}.new`, 'w')
    writeSync(file, bytes)
    fdatasyncSync(file)
    closeSync(file)
    renameSync(`${path}.new`, path)
    const directory = openSync(objects, 'r')
    fsyncSync(directory)
    closeSync(directory)
  }
  return { path }
}

async function readRaw() {
  const fold = (count) => {
    const lines = readFileSync(join(place, '0.jsonl'), 'utf8').split('\n').slice(0, count)
    return lines.flatMap((line) => {
      if (line === '') return []
      const one = JSON.parse(line)
      const { path } = one.content
      return path === undefined ? one : { ...one, content: readFileSync(path, 'utf8') }
    })
  }
  const { ms: firstMs, value } = await timed(() => fold(Number.POSITIVE_INFINITY))
  const resumeMs = await medianOf(READS, () => fold(Number.POSITIVE_INFINITY))
  const stepMs = await medianOf(READS, (i) =>
    fold(Math.floor((value.length * (READS - i)) / READS)),
  )
  return { firstMs, resumeMs, stepMs, closedBytes: await bytesAt(place) }
}

const VERBS = { write, read, raw, readRaw }
process.stdout.write(`${JSON.stringify(await VERBS[verb]())}\n`)
