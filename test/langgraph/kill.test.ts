/**
 * Graphs of the real LangGraph in processes that are killed with SIGKILL at random moments, again
 * and again on the same threads: whatever was acknowledged is there, and they go on from it.
 * DAGLOG_LONG=1 makes it 200 rounds.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { linesUntilKilled } from '../crash/killed-child.js'
import { temporaryDir } from '../store/temporary.js'
import { bundleOf } from './bundle.js'
import { configOf, listed, real, type Saver, saverOver, type Tuple } from './savers.js'

/** Three graphs run in each, so a hundred are killed. */
const ROUNDS = process.env.DAGLOG_LONG ? 200 : 34
const THREADS = ['a', 'b', 'c']

type Line =
  | { readonly kind: 'put'; readonly thread: string; readonly step: number; readonly id: string }
  | { readonly kind: 'writes'; readonly thread: string; readonly task: string; readonly id: string }

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** Let the child begin, and kill it so many ms after it said what `after` looks for. */
async function killed(child: Child, life: { lifeMs: number; after: RegExp }): Promise<Line[]> {
  const lines = linesUntilKilled(child, life)
  child.stdin.write('go\n')
  return (await lines).flatMap(lineOf)
}

function lineOf(text: string): Line[] {
  const [kind, thread = '', word = '', id = ''] = text.split(' ')
  if (kind === 'put') return [{ kind, thread, step: Number(word), id }]
  return kind === 'writes' ? [{ kind, thread, task: word, id }] : []
}

/** A state is as its graph would have made it by then. */
function checkState({ checkpoint }: Tuple): number {
  const {
    step = 0,
    messages = [],
    blob,
  } = checkpoint.channel_values as {
    step?: number
    messages?: { id: string }[]
    blob?: { step: number }
  }
  expect(messages.map(({ id }) => id)).toEqual(
    Array.from({ length: step }, (_, i) => `ai-${i + 1}`),
  )
  expect(blob?.step ?? 0).toBe(step)
  return step
}

/** The last of what was acknowledged for each thread is there, and the head is no older. */
async function checkTips(saver: Saver, lines: readonly Line[]): Promise<void> {
  for (const thread of THREADS) {
    const put = lines.findLast((line) => line.kind === 'put' && line.thread === thread)
    if (put?.kind !== 'put') continue
    const tuple = await saver.getTuple(configOf(thread, put.id))
    expect(tuple, `checkpoint ${put.id} of ${thread} was acknowledged`).toBeDefined()
    expect(checkState(tuple!)).toBe(put.step)
    const tip = await saver.getTuple(configOf(thread))
    expect(checkState(tip!)).toBeGreaterThanOrEqual(put.step)
  }
}

/** All that was ever acknowledged is listed. */
async function checkAll(saver: Saver, lines: readonly Line[]): Promise<void> {
  for (const thread of THREADS) {
    const tuples = await listed(saver, configOf(thread))
    const byId = new Map(tuples.map((tuple) => [tuple.checkpoint.id, tuple]))
    for (const line of lines) {
      if (line.thread !== thread) continue
      const tuple = byId.get(line.id)
      if (line.kind === 'put') expect(tuple?.checkpoint.channel_values.step ?? 0).toBe(line.step)
      // Its checkpoint may have been lost with the process: nobody was told that it was there.
      else if (tuple !== undefined) {
        expect(tuple.pendingWrites.some(([task]) => task === line.task)).toBe(true)
      }
    }
  }
}

describe.skipIf(real.skip !== undefined)('graphs killed with SIGKILL', () => {
  it(`lose nothing that was acknowledged, and go on: ${ROUNDS} times ${THREADS.length}`, async () => {
    const seed = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000)
    console.log(`seed ${seed} (set DAGLOG_SEED to repeat)`)
    const work = temporaryDir()
    const dir = join(work, 'store')
    const bundle = await bundleOf('killed-graph.mjs', work)
    const spawned = (): Child =>
      spawn(process.execPath, [bundle, dir, ...THREADS], { stdio: ['pipe', 'pipe', 'pipe'] })
    const lines: Line[] = []
    let next = spawned()
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const child = next
        // The next one imports its packages meanwhile.
        next = spawned()
        const lifeMs = ((seed * (round + 1) * 7919) % 1000) / 5
        // Every fourth may die while it still opens; the rest have acknowledged something.
        const after = round % 4 === 3 ? /^open$/m : /^put/m
        const told = await killed(child, { lifeMs, after })
        lines.push(...told)
        const store = await openStore(dir, { onNotice: () => {} })
        const saver = await saverOver(store)
        await checkTips(saver, told)
        if (round % 10 === 9) {
          const { ok, runs } = await store.verify()
          expect([ok, runs.filter((run) => !run.ok)], `seed ${seed} round ${round}`).toEqual([
            true,
            [],
          ])
        }
        await saver.close()
        await store.close()
      }
    } finally {
      next.kill('SIGKILL')
    }
    const store = await openStore(dir, { onNotice: () => {} })
    const saver = await saverOver(store)
    await checkAll(saver, lines)
    expect((await store.verify()).ok).toBe(true)
    const puts = lines.filter(({ kind }) => kind === 'put').length
    expect(puts).toBeGreaterThan(ROUNDS)
    console.log(
      `${ROUNDS} kills, ${puts} checkpoints and ${lines.length - puts} writes acknowledged`,
    )
    await saver.close()
    await store.close()
  }, 1_200_000)
})
