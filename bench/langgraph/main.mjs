/**
 * The bench of the LangGraph saver: what it stores, how long it takes and what it holds in memory, beside the peers'
 * savers and the physical limit, all in one run.
 * Usage: node bench/langgraph/main.mjs [SCENARIO...] [--savers NAME,...] [--quick] [--json] [--write]
 *   SCENARIO  a b c d; all unless told
 *   --write   puts the table into docs/langgraph.md
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from '../../test/real/install.mjs'
import { machine } from '../machine.mjs'
import { withScratch } from '../scratch.mjs'
import { startPostgres } from './postgres.mjs'
import { barsOf, markdown } from './report.mjs'

const TOPIC = new URL('../../test/real/langgraph/', import.meta.url)
const DOCS = fileURLToPath(new URL('../../docs/langgraph.md', import.meta.url))
const BETWEEN = /(?<=<!-- bench:langgraph -->\n)[\s\S]*?(?=<!-- \/bench:langgraph -->)/

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    savers: { type: 'string', default: 'daglog,sqlite,full,delta,postgres' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const tell = (line) => console.error(line)

process.exitCode = await main(positionals.length === 0 ? ['a', 'b', 'c', 'd'] : positionals)

async function main(scenarios) {
  const { skip } = await install('langgraph')
  if (skip !== undefined) {
    tell(skip)
    return 1
  }
  const about = machine()
  const kinds = flags.savers.split(',')
  const postgres = kinds.includes('postgres') ? await startPostgres() : { skip: 'not asked for' }
  const left = [...(await withoutWhatIsNotHere(kinds, postgres))]
  const found = []
  try {
    for (const name of scenarios) found.push(await measured(name, left, postgres))
  } finally {
    await postgres.stop?.()
  }
  if (flags.json) console.log(JSON.stringify({ schema: 'daglog.bench-langgraph/1', about, found }))
  const text = markdown(about, found, flags.quick)
  if (!flags.json) console.log(text)
  if (flags.write) intoDocs(text)
  const bars = flags.quick ? [] : barsOf(found)
  for (const { what, ok } of bars) tell(`${ok ? 'ok    ' : 'MISSED'} ${what}`)
  return 0
}

async function withoutWhatIsNotHere(kinds, postgres) {
  const here = new Set(kinds)
  if (postgres.skip !== undefined && here.delete('postgres')) tell(`skipped: ${postgres.skip}`)
  const ofSqlite = ['sqlite', 'full', 'delta'].filter((kind) => here.has(kind))
  if (ofSqlite.length > 0 && !(await hasSqlite())) {
    tell('skipped: the native part of better-sqlite3 cannot be built here')
    for (const kind of ofSqlite) here.delete(kind)
  }
  return here
}

/** Nothing of a package runs when it is installed for tests, so this is built here. */
async function hasSqlite() {
  const native = new URL('node_modules/better-sqlite3/build/Release/better_sqlite3.node', TOPIC)
  if (existsSync(native)) return true
  tell('building better-sqlite3, which takes a minute or two')
  const args = ['rebuild', 'better-sqlite3', '--prefix', fileURLToPath(TOPIC), '--loglevel=error']
  await new Promise((resolve) => spawn('npm', args, { stdio: 'inherit' }).on('close', resolve))
  return existsSync(native)
}

/** All savers on one scenario. */
function measured(name, kinds, postgres) {
  return withScratch(async (dir) => {
    const rows = []
    const limit = await inChild('raw', 'raw', name, fresh(dir, 'raw'))
    Object.assign(limit, await inChild('readRaw', 'raw', name, join(dir, 'raw')))
    rows.push({ kind: 'raw', ...limit })
    for (const kind of kinds) {
      tell(`${name}: ${kind}`)
      const isServer = kind === 'postgres'
      const base = `bench_${name}_${process.pid}`
      const place = isServer ? await postgres.place(base) : fresh(dir, kind)
      const written = await inChild('write', kind, name, place)
      rows.push({ kind, ...written, ...(await inChild('read', kind, name, place)) })
      if (!isServer) rmSync(place, { recursive: true })
    }
    return { name, rows }
  })
}

function fresh(dir, name) {
  const place = join(dir, name)
  mkdirSync(place)
  return place
}

/** A measurement in a process of its own, with one copy of LangGraph's packages. */
function inChild(verb, kind, name, place) {
  const hook = new URL('one-copy.mjs', TOPIC).href
  const program = fileURLToPath(new URL('child.mjs', import.meta.url))
  const args = ['--import', hook, program, verb, kind, name, place, flags.quick ? 'quick' : 'full']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const parts = []
  child.stdout.on('data', (part) => parts.push(part))
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(parts).toString()))
      else reject(new Error(`${verb} of ${kind} in ${name} ended with ${code}`))
    })
  })
}

function intoDocs(text) {
  const docs = readFileSync(DOCS, 'utf8')
  if (!BETWEEN.test(docs)) throw new Error(`${DOCS} has no place for the table`)
  writeFileSync(
    DOCS,
    docs.replace(BETWEEN, () => `${text}\n`),
  )
}
