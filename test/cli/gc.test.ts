/**
 * `daglog gc` and `daglog du`, as processes.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { daglog, json, say, workplace } from './command.js'

const page = (name: string): string => `${name} line\n`.repeat(3000)

/** Two runs that share a page, each with one of its own. */
async function twoRuns(): Promise<{ cwd: string; dir: string }> {
  return workplace(async (store) => {
    for (const id of ['one', 'two']) {
      const run = await store.run(id)
      await run.append('note', { text: page('shared') })
      await run.append('note', { text: page(id) })
      await run.end()
    }
  })
}

describe('daglog du', () => {
  it('shows what runs hold, share and take', async () => {
    const { cwd } = await twoRuns()
    const { code, doc } = await json(['du'], { cwd })
    expect(code).toBe(0)
    const size = page('one').length
    expect(doc).toMatchObject({
      schema: 'daglog.du/1',
      ok: true,
      runs: [
        { run: 'one', unique: size, shared: page('shared').length },
        { run: 'two', unique: size, shared: page('shared').length },
      ],
      totals: { open: 0 },
    })
    const text = await say(['du'], { cwd })
    expect(text).toMatch(/^run +log +on disk +values +only its own +shared +unsealed$/m)
    expect(text).toMatch(/^on disk +[\d.]+ kB \(packs [\d.]+ k?B, unsealed 0 B, logs [\d.]+ kB\)$/m)
  })

  it('says of a run that cannot be read why, and exits with 5', async () => {
    const { cwd, dir } = await twoRuns()
    const log = join(dir, 'runs', 'one', 'log.000000.jsonl')
    const bytes = readFileSync(log)
    bytes[300] = (bytes[300] as number) ^ 1
    writeFileSync(log, bytes)
    const { code, err, out } = await daglog(['du'], { cwd })
    expect(code).toBe(5)
    expect(err).toMatch(/^one is not counted whole: CHAIN_BROKEN/m)
    expect(out).toMatch(/^two /m)
  })
})

describe('daglog gc', () => {
  it('drops what a deleted run leaves behind, and says how much', async () => {
    const { cwd, dir } = await twoRuns()
    await say(['rm', 'two', '--yes'], { cwd })
    const packs = (): string[] => readdirSync(join(dir, 'packs')).sort()
    const before = packs()
    const dry = await json(['gc', '--dry-run'], { cwd })
    expect(dry).toMatchObject({ code: 0, doc: { dryRun: true, runs: 1, freedBytes: 0 } })
    expect(Number(dry.doc.dead)).toBeGreaterThan(0)
    expect(packs()).toEqual(before)
    const text = await say(['gc'], { cwd })
    expect(text).toMatch(/^1 run needs \d+ objects$/m)
    expect(text).toMatch(/^\d+ objects? in packs, [\d.]+ kB, needed by none$/m)
    expect(text).toMatch(/freed on the disk$/m)
    expect(packs()).not.toEqual(before)
    expect((await daglog(['verify'], { cwd })).code).toBe(0)
    expect((await json(['gc'], { cwd })).doc).toMatchObject({ dead: 0, freedBytes: 0 })
  })

  it('is refused while another process writes, and names the run', async () => {
    const { cwd, dir } = await twoRuns()
    const store = await openStore(dir)
    const run = await store.openRun('two')
    const { code, err } = await daglog(['gc'], { cwd })
    expect(code).toBe(7)
    expect(err).toMatch(/^STORE_LOCKED: run two is open in pid \d+/)
    await run.close()
    await store.close()
    expect((await daglog(['gc'], { cwd })).code).toBe(0)
  })

  it('drops nothing where a run is damaged, or gone without a word, and says what to do', async () => {
    const { cwd, dir } = await twoRuns()
    const { rm } = await import('node:fs/promises')
    await rm(join(dir, 'runs', 'two'), { recursive: true })
    const gone = await daglog(['gc'], { cwd })
    expect(gone.code).toBe(3)
    expect(gone.err).toMatch(/try: .*daglog rm two --yes/)
    await say(['rm', 'two', '--yes'], { cwd })
    expect((await daglog(['gc'], { cwd })).code).toBe(0)
  })
})
