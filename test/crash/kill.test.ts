/**
 * The blunt test: real processes, killed with SIGKILL at a random moment, again and again on one
 * run.
 * Short in CI; DAGLOG_LONG=1 makes it 500 rounds.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { linesUntilKilled } from './killed-child.js'

const ROUNDS = process.env.DAGLOG_LONG ? 500 : 25
const WRITER = fileURLToPath(new URL('./writer.mjs', import.meta.url))

interface Acknowledged {
  readonly seq: number
  readonly mark: string
}

/**
 * Run a writer for `lifeMs` after it opened, or after its first acknowledgement, then kill it; what
 * it said until then.
 */
async function writeUntilKilled(
  dir: string,
  seed: number,
  life: { lifeMs: number; after: RegExp },
): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [WRITER, dir, 'victim', String(seed)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = await linesUntilKilled(child, life)
  return lines
    .filter((line) => /^\d/.test(line))
    .map((line) => {
      const [seq, mark] = line.split(' ')
      return { seq: Number(seq), mark: mark ?? '' }
    })
}

describe('a writer killed with SIGKILL', () => {
  it(`loses nothing that it acknowledged, ${ROUNDS} times in a row on one run`, async () => {
    const seed = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000)
    console.log(`seed ${seed} (set DAGLOG_SEED to repeat)`)
    const dir = mkdtempSync(join(tmpdir(), 'daglog-kill-'))
    const acknowledged: Acknowledged[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const lifeMs = ((seed * (round + 1) * 7919) % 1000) / 8
      // Every other round may die while it still opens; the rest have acknowledged something.
      const after = round % 2 === 0 ? /^\d/m : /^open/
      acknowledged.push(...(await writeUntilKilled(dir, seed + round, { lifeMs, after })))
      const store = await openStore(dir, { onNotice: () => {} })
      const run = await store.openRun('victim')
      expect(await run.open(), `seed ${seed} round ${round}`).toEqual({
        turn: undefined,
        steps: [],
        calls: new Map(),
      })
      await run.close()
      const report = await store.verify('victim')
      expect(report.runs[0]?.problems, `seed ${seed} round ${round}`).toEqual([])
      expect(report.complete, `seed ${seed} round ${round}`).toBe(true)
      await store.close()
    }
    const store = await openStore(dir)
    const marks = new Map<number, string>()
    for await (const event of (await store.inspectRun('victim')).events()) {
      marks.set(event.seq, (event.data as { mark?: string } | undefined)?.mark ?? '')
    }
    const lost = acknowledged.filter(({ seq, mark }) => marks.get(seq) !== mark)
    expect(lost).toEqual([])
    expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS / 2)
    console.log(`${ROUNDS} kills, ${acknowledged.length} events acknowledged, ${lost.length} lost`)
    await store.close()
    rmSync(dir, { recursive: true })
    // Each opening and each verify walks all segments that the killed ones left: the long mode
    // takes a quarter of an hour.
  }, 1_800_000)
})
