import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, turns } from '../../src/index.js'
import { temporaryDir } from '../store/temporary.js'
import { daglog } from './command.js'

interface Finding {
  readonly state: string
  readonly about: string
  readonly what: string
}

async function findings(cwd: string): Promise<{ code: number; of(about: string): string[] }> {
  const { code, out } = await daglog(['doctor', '--json'], { cwd })
  const all = (JSON.parse(out) as { findings: Finding[] }).findings
  const of = (about: string): string[] =>
    all.filter((one) => one.about === about).map(({ state, what }) => `${state}: ${what}`)
  return { code: Number(code), of }
}

const ask = (...ids: string[]) => ({
  content: ids.map((id) => ({ type: 'tool_use' as const, id, name: 'x', input: {} })),
})

describe('doctor', () => {
  it('T14: counts tool calls without a result, and results without a call', async () => {
    const cwd = temporaryDir()
    const store = await openStore(join(cwd, '.daglog'))
    const run = await store.run('r')
    await run.append('turn/start', { turn: 1 })
    await run.append('assistant/message', ask('a', 'b'))
    await run.append('tool/result', { id: 'b', content: 'done' })
    await run.append('tool/result', { id: 'c', content: 'who asked' })
    await run.append('turn/end', { turn: 1, reason: 'completed' })
    await store.close()
    const { code, of } = await findings(cwd)
    expect(of('run r')).toEqual([
      'note: 1 tool call without a result (seq 2); `messages --provider` pairs them',
      'note: 1 tool result without a call (seq 4); `messages --provider` pairs them',
    ])
    expect(code).toBe(0)
  })

  it('tells an open turn of a writer at work from one that was left', async () => {
    const cwd = temporaryDir()
    const store = await openStore(join(cwd, '.daglog'))
    const run = await store.run('r')
    await run.append('turn/start', { turn: 3 })
    const busy = await findings(cwd)
    expect(busy.of('run r')).toContain('note: at work: turn 3')
    expect(busy.code).toBe(0)
    await store.close()
    const left = await findings(cwd)
    expect(left.of('run r')).toEqual(['incomplete: left open: turn 3'])
    expect(left.code).toBe(5)
  })

  it('names snapshots that do not fit their log', async () => {
    const cwd = temporaryDir()
    const dir = join(cwd, '.daglog')
    const store = await openStore(dir)
    const run = await store.run('r')
    await run.append('turn/start', { turn: 1 })
    await run.project(turns)
    await run.append('turn/end', { turn: 1, reason: 'completed' })
    await store.close()
    expect((await findings(cwd)).of('run r')).toEqual([])
    const files = readdirSync(join(dir, 'cache'), { recursive: true, withFileTypes: true })
    for (const file of files) {
      if (file.isFile()) writeFileSync(join(file.parentPath, file.name), 'nonsense')
    }
    const { code, of } = await findings(cwd)
    expect(of('run r')).toEqual([
      expect.stringMatching(
        /^note: \d+ of \d+ snapshots? cannot be used \(index(, turns)?\); they are made anew$/,
      ),
    ])
    expect(code).toBe(0)
  })

  it('says how much of the values were there already', async () => {
    const cwd = temporaryDir()
    const store = await openStore(join(cwd, '.daglog'))
    const page = 'p'.repeat(100_000)
    for (const id of ['r', 's']) {
      const run = await store.run(id)
      await run.append('note', { page })
      await run.append('note', { page })
    }
    await store.close()
    expect((await findings(cwd)).of('repeats')).toEqual([
      expect.stringMatching(
        /^note: .* of .* of values \(75 %\) were there already, and are stored once$/,
      ),
    ])
  })
})
