import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDir } from '../store/temporary.js'
import { daglog, json, say, workplace } from './command.js'

describe('the store', () => {
  it('is the one of --store, else of DAGLOG_DIR, else the nearest upward', async () => {
    const cwd = temporaryDir()
    const deep = join(cwd, 'a/b')
    mkdirSync(deep, { recursive: true })
    expect((await daglog(['init'], { cwd })).err).toBe(`the store is at ${join(cwd, '.daglog')}\n`)
    // One upward is taken, not made anew.
    const near = await say(['init', 'near'], { cwd: deep })
    expect(existsSync(join(deep, '.daglog'))).toBe(false)
    const env = { DAGLOG_DIR: join(cwd, 'named') }
    const named = await say(['init', 'named'], { cwd: deep, env })
    const given = await say(['init', 'given', '--store', '../given'], { cwd: deep, env })
    const listed = async (args: string[], where: object): Promise<unknown> =>
      (await json(['runs', ...args], where)).doc
    expect(await listed([], { cwd: deep })).toMatchObject({ runs: [{ run: near }] })
    expect(await listed([], { cwd: deep, env })).toMatchObject({ runs: [{ run: named }] })
    expect(await listed(['--store', 'a/given'], { cwd, env })).toMatchObject({
      runs: [{ run: given }],
    })
    expect(await say(['--store', 'a/given', 'runs'], { cwd })).toContain(given)
  })

  it('is still listed, shown and verified where one of its runs cannot be read', async () => {
    const { cwd, dir } = await workplace((store) => store.createRun({ id: 'good' }))
    mkdirSync(join(dir, 'runs/bad'))
    writeFileSync(join(dir, 'runs/bad/log.000000.jsonl'), 'no log at all\n')
    expect(await say(['runs'], { cwd })).toContain('good')
    expect(await say(['show', 'good'], { cwd })).toContain('run/start')
    const { code, out } = await daglog(['verify'], { cwd })
    expect(code).not.toBe(0)
    expect(out).toMatch(/^ok {2}good/m)
  })
})

describe('a reference to a run', () => {
  it('may be the beginning of its id, with or without the date, or count from the last', async () => {
    let time = Date.UTC(2026, 7, 26)
    const { cwd } = await workplace(async (store) => {
      Object.assign(store.context, { now: () => (time += 1000) })
      for (const id of ['2026-08-26-score-3f2a', '2026-08-26-scale-77ab', 'odd:5@7'])
        await (await store.createRun({ id })).append('note', { id })
    })
    const shown = async (reference: string): Promise<unknown> =>
      (await json(['show', reference], { cwd })).doc
    expect(await shown('score')).toMatchObject({ run: '2026-08-26-score-3f2a' })
    expect(await shown('2026-08-26-sca')).toMatchObject({ run: '2026-08-26-scale-77ab' })
    expect(await shown('@last')).toMatchObject({ run: 'odd:5@7' })
    expect(await shown('@last~2@0')).toMatchObject({ run: '2026-08-26-score-3f2a', at: 0 })
    // An id may look like a place in a run.
    expect(await shown('odd:5@7')).not.toHaveProperty('at')
    expect(await shown('odd:5@7@1')).toMatchObject({ run: 'odd:5@7', at: 1 })
    expect(await say(['cat', 'odd:5@7:1:/id'], { cwd })).toBe('odd:5@7')
    const { code, doc } = await json(['show', '2026'], { cwd })
    expect(code).toBe(2)
    expect(doc).toMatchObject({ error: { code: 'RUN_AMBIGUOUS' } })
  })
})
