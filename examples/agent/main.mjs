/**
 * The agent beside its model, both here: asked, killed in the middle, and started again.
 * node examples/agent/main.mjs (after a build); leaves nothing behind.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openStore } from 'daglog'
import { startModel } from './model-stub.mjs'

const home = mkdtempSync(join(tmpdir(), 'daglog-agent-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
const place = join(home, 'store')

let child
const model = await startModel({
  // The second request is the last thing that this process hears of the first agent.
  onRequest: (_, count) => {
    if (count === 2) child.kill('SIGKILL')
  },
})

function start() {
  const script = fileURLToPath(new URL('agent.mjs', import.meta.url))
  child = spawn(process.execPath, [script, place, 'trip', model.baseURL], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve) => {
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (piece) => {
      said += piece
    })
    child.on('close', (_, signal) => resolve(signal ?? said.trim()))
  })
}

console.log(`the agent: ${await start()}`)
console.log(`again:     ${await start()}`)
await model.close()

const store = await openStore(place)
const run = await store.inspectRun('trip')
for await (const { seq, type, data } of run.events({ from: 1 })) {
  const what = data.name ?? data.reason ?? data.closedBy ?? data.status ?? ''
  if (!type.startsWith('step/'))
    console.log(`${String(seq).padStart(4)}  ${type.padEnd(18)} ${what}`)
}
await store.close()
