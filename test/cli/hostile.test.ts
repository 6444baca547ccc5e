import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/index.js'
import { daglog, finished, json, MAIN, sharedWorkplace, workplace } from './command.js'

/** What a terminal would obey, or show as something else. */
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/

const HOSTILE = 'a\u001b[2J\u001b]0;owned\u0007\r\n\u009b31m\u202egpj.exe\u2066\u2028end'

async function hostileRuns(store: Store): Promise<void> {
  const run = await store.createRun({ id: `r${HOSTILE}`, name: HOSTILE })
  await run.step(HOSTILE, HOSTILE, () => ({ [HOSTILE]: HOSTILE }))
  await run.step('fail', {}, () => Promise.reject(new Error(HOSTILE))).catch(() => {})
  await run.append('note', { [HOSTILE]: HOSTILE })
  await run.append('tool/call', { id: HOSTILE, name: HOSTILE, arguments: `${HOSTILE}\n` })
  await run.append('turn/start', { turn: HOSTILE as never })
  const other = await store.createRun({ id: 'other' })
  await other.step(HOSTILE, HOSTILE, () => `${HOSTILE}\nmore`)
}

describe('recorded text', () => {
  const shared = sharedWorkplace(hostileRuns)
  const commands: readonly (readonly string[])[] = [
    ['runs'],
    ['show', '@last~1'],
    ['events', '@last~1'],
    ['events', '@last~1', '--jsonl'],
    ['replay', '@last~1'],
    ['verify'],
    ['diff', '@last~1', 'other'],
    ['tail', 'other', '--store', '.daglog', '--follow', '--json'],
    ['doctor'],
    ['show', HOSTILE],
    ['show', '@last~1', '--json'],
  ]
  it.each(commands)('drives no terminal: %s %s %s', async (...args) => {
    const { cwd } = shared
    const { out, err } = await daglog(args, { cwd })
    for (const line of `${out}${err}`.split('\n')) expect(line).not.toMatch(OBEYED)
    expect(`${out}${err}`.length).toBeGreaterThan(20)
  })

  it('has no controls in what is exported, though it may turn the direction of writing', async () => {
    const { cwd } = shared
    for (const format of ['jsonl', 'edn']) {
      const { out } = await daglog(['export', '@last~1', '--format', format], { cwd })
      expect(out.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
    }
  })

  it('is the same text in JSON, and cat gives it as it is', async () => {
    const { cwd } = shared
    const { doc } = await json(['events', '@last~1', '--type', 'note'], { cwd })
    expect(doc).toMatchObject({ events: [{ data: { [HOSTILE]: HOSTILE } }] })
    expect((await daglog(['cat', 'other:1:/input'], { cwd })).out).toBe(HOSTILE)
  })

  it('is coloured only where that was asked for', async () => {
    const { cwd } = await workplace((store) => store.createRun({ id: 'r' }))
    const run = (env: Record<string, string>, ...more: string[]): Promise<string> =>
      daglog(['verify', ...more], { cwd, env }).then(({ out }) => out)
    expect(await run({ FORCE_COLOR: '1' })).toContain('\u001b[32mok\u001b[39m')
    expect(await run({})).not.toContain('\u001b')
    expect(await run({ FORCE_COLOR: '1', NO_COLOR: '1' })).not.toContain('\u001b')
    expect(await run({ FORCE_COLOR: '1' }, '--no-color')).not.toContain('\u001b')
  })
})

describe('a reader that goes away', () => {
  it('ends the verb quietly', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      await run.appendAll(Array.from({ length: 3000 }, (_, n) => ({ type: 'note', data: { n } })))
    })
    const child = spawn(process.execPath, [MAIN, 'events', 'r', '--jsonl'], { cwd })
    child.stdout.once('data', () => child.stdout.destroy())
    const { code, err } = await finished(child)
    expect([code, err]).toEqual([141, ''])
  })
})
