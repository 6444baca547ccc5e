/**
 * Real processes that collect: killed with SIGKILL at a random moment, and beside one that writes.
 * Short in CI; DAGLOG_LONG=1 makes it 300 kills.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openStore, type Store } from '../../src/index.js'
import { liveIn, packedIn } from '../store/gc-world.js'

const ROUNDS = process.env.DAGLOG_LONG ? 300 : 20
const COLLECTOR = fileURLToPath(new URL('./collector.mjs', import.meta.url))

function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'daglog-gc-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

interface Collector {
  readonly child: ChildProcess
  /** Lines it has said so far. */
  readonly said: string[]
  /** Resolves once it has said so many lines. */
  saying(count: number): Promise<void>
  kill(): Promise<void>
}

function startCollector(dir: string): Collector {
  const child = spawn(process.execPath, [COLLECTOR, dir], { stdio: ['ignore', 'pipe', 'pipe'] })
  const said: string[] = []
  const waiting: { count: number; resolve: () => void; reject: (error: Error) => void }[] = []
  let text = ''
  let wrong = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    said.push(...lines)
    for (const { count, resolve } of waiting) if (said.length >= count) resolve()
  })
  child.stderr.on('data', (chunk) => {
    wrong += chunk
  })
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()))
  void closed.then(() => {
    for (const { reject } of waiting) reject(new Error(`the collector ended: ${wrong}`))
  })
  return {
    child,
    said,
    saying: (count) =>
      new Promise((resolve, reject) => {
        if (said.length >= count) resolve()
        else waiting.push({ count, resolve, reject })
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** Bytes that do not compress, the same for the same name. */
function noise(name: string, kilobytes: number): Uint8Array {
  const parts: Buffer[] = []
  for (let at = 0; at < kilobytes * 32; at += 1)
    parts.push(createHash('sha256').update(`${name} ${at}`).digest())
  return Buffer.concat(parts)
}

/** A run with values that others have too, and some of its own. */
async function writeRun(store: Store, id: string, names: readonly string[]): Promise<void> {
  const run = await store.run(id)
  for (const name of names) await run.append('note', { name, value: noise(name, 200) })
  await run.end()
}

async function checkAll(store: Store, runs: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const report = await store.verify()
  expect(report.runs.flatMap(({ problems }) => problems)).toEqual([])
  expect(report.runs.map(({ run }) => run)).toEqual([...runs.keys()].sort())
  for (const [id, names] of runs) {
    const found: string[] = []
    for await (const { data } of (await store.inspectRun(id)).events({ types: ['note'] })) {
      const { name, value } = data as { name: string; value: Uint8Array }
      expect(Buffer.from(value).equals(noise(name, 200))).toBe(true)
      found.push(name)
    }
    expect(found).toEqual(names)
  }
}

describe('a collector killed with SIGKILL', () => {
  it(`has lost nothing, ${ROUNDS} times in a row, and the next one finishes`, async () => {
    const seed = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000)
    console.log(`seed ${seed} (set DAGLOG_SEED to repeat)`)
    const dir = freshDir()
    const runs = new Map<string, readonly string[]>()
    let whole = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const store = await openStore(dir, { onNotice: () => {} })
      const names = [`all ${round % 3}`, `of ${round}`, `more of ${round}`]
      for (const id of [`keep-${round}`, `drop-${round}`]) {
        await writeRun(store, id, [...names, `only ${id}`])
        runs.set(id, [...names, `only ${id}`])
      }
      await store.deleteRun(`drop-${round}`)
      runs.delete(`drop-${round}`)
      if (round >= 3) {
        await store.deleteRun(`keep-${round - 3}`)
        runs.delete(`keep-${round - 3}`)
      }
      const collector = startCollector(dir)
      await collector.saying(1)
      await new Promise((resolve) => setTimeout(resolve, ((seed + round * 7919) % 1000) / 8))
      await collector.kill()
      whole += collector.said.filter((line) => line.startsWith('{')).length
      await checkAll(store, runs)
      await store.close()
    }
    const store = await openStore(dir, { onNotice: () => {} })
    await store.gc()
    await checkAll(store, runs)
    const live = await liveIn(store)
    for (const objects of packedIn(dir).values()) {
      const bytes = (all: typeof objects): number => all.reduce((sum, each) => sum + each.bytes, 0)
      const dead = objects.filter(({ hash }) => !live.has(hash))
      expect(bytes(dead) / bytes(objects)).toBeLessThan(0.2)
    }
    expect(readdirSync(join(dir, 'locks'))).toEqual([])
    // Drafts of locks are a few bytes, and may be somebody's who is about to use them.
    const left = readdirSync(join(dir, 'tmp')).filter((name) => !name.startsWith('lock.'))
    expect(left).toEqual([])
    console.log(`${ROUNDS} kills, ${whole} collections were whole`)
    await store.close()
  }, 600_000)
})

describe('a collector beside a process that writes', () => {
  it('takes turns with it: it drops what is dead, and the writer loses nothing', async () => {
    const dir = freshDir()
    const store = await openStore(dir, { onNotice: () => {}, lockWaitMs: 60_000 })
    const collector = startCollector(dir)
    await collector.saying(1)
    const runs = new Map<string, readonly string[]>()
    for (let round = 0; round < ROUNDS; round += 1) {
      // What was dropped a moment ago comes again.
      const names = [`value ${round % 4}`, `value ${(round + 1) % 4}`]
      await writeRun(store, `run-${round}`, names)
      runs.set(`run-${round}`, names)
      if (round % 3 === 2) await collector.saying(collector.said.length + 2)
      for (const id of [...runs.keys()].slice(0, -1)) {
        await deleted(store, id)
        runs.delete(id)
      }
    }
    await collector.kill()
    const reports = collector.said.filter((line) => line.startsWith('{'))
    const dropped = reports.reduce((sum, line) => sum + JSON.parse(line).dead, 0)
    const others = collector.said.filter((line) => !line.startsWith('{') && line !== 'open')
    expect([...new Set(others)].filter((line) => line !== 'STORE_LOCKED')).toEqual([])
    expect(dropped).toBeGreaterThan(0)
    await store.close()
    const fresh = await openStore(dir, { onNotice: () => {} })
    await checkAll(fresh, runs)
    await fresh.close()
    console.log(`${reports.length} collections between ${ROUNDS} runs, ${others.length} refused`)
  }, 600_000)
})

/** `deleteRun` does not wait for its turn. */
async function deleted(store: Store, id: string): Promise<void> {
  for (;;) {
    try {
      return await store.deleteRun(id)
    } catch (error) {
      if ((error as { code?: string }).code !== 'RUN_LOCKED') throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}
