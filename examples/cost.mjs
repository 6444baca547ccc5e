/**
 * What 100 steps of an agent cost on disk and in memory, beside a checkpointer that writes the whole state
 * as JSON after each step. Prints the tables of docs/cost.md.
 *
 *     npm run build && node examples/cost.mjs [--quick] [--json]
 *
 * The data is drawn from a seed, so that it is the same each time. Sizes are exact; memory is the heap
 * after a collection, and varies by a few percent.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { openStore } from '../dist/index.js'

const quick = process.argv.includes('--quick')
const STEPS = quick ? 20 : 100
const KEYS = quick ? 2000 : 10_000
const PAGE_CHARACTERS = quick ? 200_000 : 2_000_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** Xorshift, so that every machine draws the same. */
function randomFrom(seed) {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** Words with the uneven frequencies of a language, so that they pack about as well as prose does. */
function textSource(seed) {
  const random = randomFrom(seed)
  const letters = 'etaoinshrdlucmfw'
  const word = () => Array.from({ length: 2 + random(8) }, () => letters[random(16)]).join('')
  const words = Array.from({ length: 4000 }, word)
  return (length) => {
    const parts = []
    for (let have = 0; have < length; ) {
      const next = words[random(1 + random(1 + random(words.length)))]
      parts.push(next)
      have += next.length + 1
    }
    return parts.join(' ').slice(0, length)
  }
}

/**
 * States that agents have. Each step is a change that works on a plain object and on a draft of a
 * state alike.
 */
const CASES = [
  {
    name: `a history of messages: each step adds a call and its result, 4 KB`,
    make() {
      const text = textSource(1)
      const step = (state, i) => {
        state.messages.push({ role: 'assistant', content: text(1000), call: `call-${i}` })
        state.messages.push({ role: 'tool', call: `call-${i}`, content: text(3000) })
      }
      return { first: { messages: [{ role: 'user', content: text(600) }] }, step }
    },
  },
  {
    name: `${KEYS.toLocaleString('en-US')} keys of 100 bytes: each step changes five`,
    make() {
      const text = textSource(2)
      const random = randomFrom(3)
      const facts = Object.fromEntries(
        Array.from({ length: KEYS }, (_, i) => [`fact-${i}`, text(100)]),
      )
      const step = (state) => {
        for (let n = 0; n < 5; n += 1) state.facts[`fact-${random(KEYS)}`] = text(100)
      }
      return { first: { facts }, step }
    },
  },
  {
    name: `a page of ${PAGE_CHARACTERS / 1e6} MB that stays: each step adds a note of 300 bytes`,
    make() {
      const text = textSource(4)
      const step = (state, i) => {
        state.notes.push({ step: i, text: text(300) })
      }
      return { first: { page: text(PAGE_CHARACTERS), notes: [] }, step }
    },
  },
  {
    name: 'two numbers and a word: each step changes them all',
    make() {
      const text = textSource(5)
      const step = (state, i) => {
        Object.assign(state, { step: i, spent: i * 37, doing: text(8) })
      }
      return { first: { step: 0, spent: 0, doing: 'nothing' }, step }
    },
  },
]

function bytesIn(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

function heapBytes() {
  for (let i = 0; i < 3; i += 1) collect()
  return process.memoryUsage().heapUsed
}

/** The state as JSON after each step, as it is and gzipped; and a copy of each kept in memory. */
function checkpoints({ first, step }, steps) {
  const state = structuredClone(first)
  const kept = [structuredClone(state)]
  const before = heapBytes()
  let plain = 0
  let gzipped = 0
  for (let i = 1; i <= steps; i += 1) {
    step(state, i)
    const json = JSON.stringify(state)
    plain += Buffer.byteLength(json)
    gzipped += gzipSync(json).length
    kept.push(JSON.parse(json))
  }
  return { plain, gzipped, heap: heapBytes() - before, last: JSON.stringify(kept.at(-1)) }
}

/** The same steps with the state in a run, each state kept in memory as well. */
async function recorded({ first, step }, steps) {
  const dir = mkdtempSync(join(tmpdir(), 'daglog-cost-'))
  try {
    const store = await openStore(join(dir, 'store'))
    const run = await store.run('agent')
    await run.append('state/write', { value: first })
    const kept = [run.state]
    const before = heapBytes()
    for (let i = 1; i <= steps; i += 1) {
      await run.setState((draft) => step(draft, i))
      kept.push(run.state)
    }
    const heap = heapBytes() - before
    const open = bytesIn(dir)
    await run.end()
    await store.close()
    const ended = bytesIn(dir)
    const { last, ok } = await readBack(join(dir, 'store'), kept)
    return { open, ended, heap, last, ok }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Each state is there, and is the one that was. */
async function readBack(dir, kept) {
  const store = await openStore(dir)
  const view = await store.inspectRun('agent')
  let ok = (await store.verify()).ok
  const seqs = []
  for await (const { seq } of view.events({ types: ['state/write'], refs: true })) seqs.push(seq)
  ok &&= seqs.length === kept.length
  for (const [i, seq] of seqs.entries()) ok &&= (await view.stateAt(seq)).hash() === kept[i].hash()
  const last = kept.at(-1).toJSON()
  await store.close()
  return { last, ok }
}

async function measure({ name, make }) {
  // Code and caches come first, so that they are not counted.
  await recorded(make(), 5)
  // Each draws its own, from the same seed.
  const json = checkpoints(make(), STEPS)
  const daglog = await recorded(make(), STEPS)
  const same = canonical(JSON.parse(json.last)) === canonical(daglog.last)
  return {
    name,
    json: { plain: json.plain, gzipped: json.gzipped, heap: json.heap },
    daglog: { open: daglog.open, ended: daglog.ended, heap: daglog.heap },
    same: same && daglog.ok,
  }
}

/** Key order is not part of a state. */
function canonical(value) {
  return JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

const size = (bytes) =>
  bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(1)} MB`
const times = (a, b) => `${(a / b).toFixed(a / b < 10 ? 1 : 0)}x`

function table(title, columns, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [
    line([title, ...columns]),
    line(['---', ...columns.map(() => '--:')]),
    ...rows.map(line),
  ].join('\n')
}

const rows = []
for (const one of CASES) rows.push(await measure(one))

if (process.argv.includes('--json')) console.log(JSON.stringify({ steps: STEPS, rows }))
else {
  console.log(
    table(
      `on disk, ${STEPS} steps`,
      ['JSON', 'JSON, gzipped', 'daglog, running', 'daglog, ended', 'gzipped : ended'],
      rows.map(({ name, json, daglog }) => [
        name,
        ...[json.plain, json.gzipped, daglog.open, daglog.ended].map(size),
        times(json.gzipped, daglog.ended),
      ]),
    ),
  )
  console.log(
    `\n${table(
      `in memory, ${STEPS} more states beside the first`,
      ['copies', 'daglog', 'ratio', 'daglog, a state'],
      rows.map(({ name, json, daglog }) => [
        name,
        size(json.heap),
        size(daglog.heap),
        times(json.heap, daglog.heap),
        size(daglog.heap / STEPS),
      ]),
    )}`,
  )
}
if (!rows.every(({ same }) => same)) {
  console.error('a state did not come back as it was')
  process.exitCode = 1
}
