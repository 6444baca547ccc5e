/**
 * The demo: one agent, three questions, one changed byte, one kill; and an agent whose model is switched off.
 * node examples/demo/main.mjs (after a build); leaves nothing behind.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'

const AGENT = fileURLToPath(new URL('agent.mjs', import.meta.url))
const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
/** An agent that knows nothing of daglog's recorder, with the official SDK, and the model that it asks. */
const PLANNER = fileURLToPath(new URL('../agent/agent.mjs', import.meta.url))
const MODEL = fileURLToPath(new URL('../agent/model-stub.mjs', import.meta.url))
const colour = process.stdout.isTTY && !process.env.NO_COLOR

const title = (text) => console.log(`\n${colour ? styleText(['bold', 'cyan'], text) : text}`)
const dim = (text) => (colour ? styleText('dim', text) : text)

const home = mkdtempSync(join(tmpdir(), 'daglog-demo-'))
const store = join(home, 'store')
process.on('exit', () => rmSync(home, { recursive: true, force: true }))

/** Run a daglog command as a person would, and show it with what it printed. */
function daglog(args, { dir = store, expect = 0, lines = Number.POSITIVE_INFINITY } = {}) {
  const said = args.map((arg) => (arg.includes('/') && !arg.includes('//') ? basename(arg) : arg))
  console.log(dim(`  $ daglog ${said.join(' ')}`))
  const env = { ...process.env, ...(colour ? { FORCE_COLOR: '1' } : {}) }
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, '--store', dir, ...args], {
    encoding: 'utf8',
    env,
  })
  const shown = `${stdout}${stderr}`.trimEnd().split('\n')
  for (const line of shown.slice(0, lines)) console.log(`    ${line}`)
  if (shown.length > lines) console.log(dim(`    ... ${shown.length - lines} lines more`))
  if (expect !== 0) console.log(dim(`    exit ${status}`))
  if (status !== expect)
    throw new Error(`daglog ${args[0]} exited with ${status}, expected ${expect}`)
  return stdout
}

function agent(run, ...more) {
  const { signal, status } = spawnSync(process.execPath, [AGENT, store, run, ...more], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0 && signal !== 'SIGKILL') throw new Error(`the agent exited with ${status}`)
}

console.log("An agent audits the packages in this project's lockfile. daglog records it.")
agent('audit')

title('1. What did it see?')
daglog(['events', 'audit', '--from', '0', '--to', '4'])

title('2. What did it do?')
daglog(['show', 'audit'])

title('3. Would it do it again? The recorded graph, every payload checked; no network, no token.')
daglog(['replay', 'audit'])

title('And with a model? Its calls are recorded on the wire; then the model is switched off.')
const model = spawn(process.execPath, [MODEL], { stdio: ['ignore', 'pipe', 'inherit'] })
const [listening] = await once(model.stdout.setEncoding('utf8'), 'data')
const planner = (memory) => [
  '--',
  process.execPath,
  PLANNER,
  join(home, memory),
  'trip',
  listening.trim(),
]
daglog(['record', '--name', 'trip', ...planner('live')])
model.kill()
await once(model, 'exit')
console.log('  The model is gone. The same program again, each answer byte for byte from the log:')
daglog(['replay', '@last', ...planner('again')])
daglog(['show', '@last'], { lines: 14 })

title('Is the record as it was written?')
daglog(['verify', 'audit'])
const copy = join(home, 'copy')
cpSync(store, copy, { recursive: true })
const log = join(copy, 'runs', 'audit', 'log.000000.jsonl')
const bytes = readFileSync(log)
const at = bytes.indexOf('ECONNRESET')
bytes[at] ^= 0x20
writeFileSync(log, bytes)
console.log(
  `  Somebody changes one letter in a copy ("${'ECONNRESET'}" to "${bytes.toString('latin1', at, at + 10)}"):`,
)
daglog(['verify', 'audit'], { dir: copy, expect: 3 })

title('And when it dies half-way?')
agent('killed', '--die-in', 'match')
daglog(['verify', 'killed'], { expect: 5 })
console.log('  The same program again:')
agent('killed')
daglog(['show', 'killed'])
daglog(['verify', 'killed'])
daglog(['diff', 'audit', 'killed'], { expect: 1, lines: 12 })

title('What it cost')
daglog(['runs'])
console.log('\nThe page of 2 MB was seen four times and is stored once. Yours: npx daglog --help')
