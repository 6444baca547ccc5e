/**
 * A function killed with SIGKILL and resumed, again and again, in real processes: the same result,
 * and nothing that ended is run again.
 * Short in CI; DAGLOG_LONG=1 makes it more rounds.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { drawer } from './programs.js'

const AGENT = fileURLToPath(new URL('./killed-agent.mjs', import.meta.url))
const ROUNDS = process.env.DAGLOG_LONG === undefined ? 3 : 40
const FIRST = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000)

/** What it said; killed once the file of bodies has grown by `lines`, or not at all. */
function live(dir: string, verb: string, lines: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [AGENT, dir, verb], { stdio: ['ignore', 'pipe', 'pipe'] })
    const before = bodies(dir).length
    let said = ''
    let wrong = ''
    // Looked at often: which event it dies behind is a matter of luck, and every one must do.
    const looking = setInterval(() => {
      if (bodies(dir).length - before >= lines) child.kill('SIGKILL')
    }, 1)
    child.stdout.on('data', (chunk) => {
      said += chunk
    })
    child.stderr.on('data', (chunk) => {
      wrong += chunk
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearInterval(looking)
      if (signal === 'SIGKILL' || code === 0) resolve(said)
      else reject(new Error(wrong))
    })
  })
}

function bodies(dir: string): string[] {
  try {
    return readFileSync(join(dir, 'ran'), 'utf8').split('\n').slice(0, -1)
  } catch {
    return []
  }
}

async function endedKeys(dir: string): Promise<Set<string>> {
  const store = await openStore(join(dir, 'store'))
  const keys = new Map<string, string>()
  const ended = new Set<string>()
  const found = (await store.runs()).some(({ id }) => id === 'killed')
  for await (const event of found ? (await store.inspectRun('killed')).events() : []) {
    const { id = '', key = '', status } = (event.data ?? {}) as Record<string, string>
    if (event.type === 'step/start') keys.set(id, key)
    if (event.type === 'step/end' && status === 'ok') ended.add(keys.get(id) ?? '')
  }
  await store.close()
  return ended
}

it(`a function killed at random moments resumes to the same result, ${ROUNDS} times`, {
  timeout: 600_000,
}, async () => {
  console.log(`seed ${FIRST} (set DAGLOG_SEED to repeat)`)
  const whole = mkdtempSync(join(tmpdir(), 'daglog-kill-'))
  const expected = (await live(whole, 'record', Number.POSITIVE_INFINITY)).match(/result .*/)?.[0]
  expect(expected).toMatch(/^result </)
  rmSync(whole, { recursive: true })
  let kills = 0
  for (let round = 0; round < ROUNDS; round++) {
    const draw = drawer(FIRST + round)
    const dir = mkdtempSync(join(tmpdir(), 'daglog-kill-'))
    let said = await live(dir, 'record', 1 + Math.floor(draw() * 30))
    while (!said.includes('result')) {
      kills += 1
      const ended = await endedKeys(dir)
      const before = bodies(dir).length
      said = await live(dir, 'resume', 1 + Math.floor(draw() * 60))
      expect(
        bodies(dir)
          .slice(before)
          .filter((key) => ended.has(key)),
      ).toEqual([])
    }
    expect(said.match(/result .*/)?.[0]).toBe(expected)
    const store = await openStore(join(dir, 'store'))
    expect((await store.verify()).ok).toBe(true)
    await store.close()
    rmSync(dir, { recursive: true })
  }
  console.log(`${kills} kills`)
  expect(kills).toBeGreaterThan(0)
})
