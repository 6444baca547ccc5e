/**
 * The bench: what daglog costs, held against the physical limit in the same run.
 * Usage: node bench/main.mjs [TOPIC...] [--quick] [--json]
 * Each topic runs in a process of its own. One calm table, or with --json one line a topic.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { machine } from './machine.mjs'
import { scratchIsMemory } from './scratch.mjs'
import { isWithin, table } from './table.mjs'

/** @type {Record<string, () => Promise<(options: {quick: boolean, tell: (line: string) => void}) => unknown>>} */
const TOPICS = {
  durable: async () => (await import('./topic-durable.mjs')).durable,
  concurrent: async () => (await import('./topic-concurrent.mjs')).concurrent,
  runs64: async () => (await import('./topic-runs64.mjs')).runs64,
  verify: async () => (await import('./topic-verify.mjs')).verify,
  frame: async () => (await import('./topic-frame.mjs')).frame,
  cold: async () => (await import('./topic-cold.mjs')).cold,
  state: async () => (await import('./topic-state.mjs')).state,
  growing: async () => (await import('./topic-growing.mjs')).growing,
  pages: async () => (await import('./topic-pages.mjs')).pages,
  fold: async () => (await import('./topic-fold.mjs')).fold,
  search: async () => (await import('./topic-search.mjs')).search,
  import: async () => (await import('./topic-import.mjs')).imports,
  sidecar: async () => (await import('./topic-sidecar.mjs')).sidecar,
  again: async () => (await import('./topic-again.mjs')).again,
  startup: async () => (await import('./topic-startup.mjs')).startup,
}

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    /** How a child is told to run its one topic. */
    child: { type: 'boolean', default: false },
  },
})
const tell = (line) => console.error(line)
const unknown = positionals.filter((name) => !Object.hasOwn(TOPICS, name))
if (unknown.length > 0) {
  tell(`no topic ${unknown.join(', ')}; there are: ${Object.keys(TOPICS).join(' ')}`)
  process.exit(2)
}
if (flags.child) {
  const topic = await TOPICS[positionals[0]]()
  process.stdout.write(JSON.stringify(await topic({ quick: flags.quick, tell })))
} else {
  process.exitCode = await runAll(positionals.length === 0 ? Object.keys(TOPICS) : positionals)
}

async function runAll(names) {
  const about = { ...machine(), quick: flags.quick }
  if (scratchIsMemory())
    tell(
      'the scratch directory is in memory: syncs cost nothing there; try: DAGLOG_BENCH_DIR on a disk',
    )
  const found = []
  for (const name of names) {
    const rows = await runChild(name)
    if (rows === undefined) return 1
    const line = { schema: 'daglog.bench/1', topic: name, ok: rows.every(isWithin), ...about, rows }
    if (flags.json) console.log(JSON.stringify(line))
    found.push({ name, rows })
  }
  if (!flags.json) console.log(table(about, found))
  return 0
}

/** The rows of one topic, measured in a process of its own; undefined where it failed. */
function runChild(name) {
  const args = [
    fileURLToPath(import.meta.url),
    name,
    '--child',
    ...(flags.quick ? ['--quick'] : []),
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const parts = []
  child.stdout.on('data', (part) => parts.push(part))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      if (code === 0) return resolve(JSON.parse(Buffer.concat(parts).toString()))
      tell(`topic ${name} failed`)
      resolve(undefined)
    })
  })
}
