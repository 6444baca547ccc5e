import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  linesOf,
  SESSION,
  text,
  toolUse,
  unique,
  user,
} from '../fold/readers/claude-lines.js'
import { temporaryDir } from '../store/temporary.js'
import { finished, MAIN, start } from './command.js'

function run(cwd: string, ...args: string[]) {
  return finished(start(args, { cwd }))
}

const talk = (words: string) => [
  user(words),
  assistant(unique('m'), [text(`about ${words}`)], {}, { stop_reason: 'end_turn' }),
]

function home(sessions: number, lines: number): string {
  const dir = temporaryDir()
  const project = join(dir, 'home/projects/-p')
  mkdirSync(project, { recursive: true })
  for (let at = 0; at < sessions; at += 1) {
    const name = `${String(at).padStart(8, '0')}${SESSION.slice(8)}`
    const records = Array.from({ length: lines }, (_, line) => talk(`${at} ${line}`)).flat()
    writeFileSync(join(project, `${name}.jsonl`), linesOf(records))
  }
  return dir
}

describe('daglog import', () => {
  it('takes in a folder, says what it did, and gives each file back', async () => {
    const dir = home(3, 2)
    const first = await run(dir, 'import', 'home')
    expect(first.code).toBe(0)
    expect(first.out.split('\n').filter(Boolean)).toHaveLength(3)
    expect(first.out).toContain('2026-02-03-claude-00000000  new  4 lines  2 turns  0 tokens  0 0')
    expect(first.err).toContain('3 sessions: 3 new, 0 grown, 0 rewritten, 0 as before')
    const path = join(dir, `home/projects/-p/00000001${SESSION.slice(8)}.jsonl`)
    const back = await run(dir, 'export', '2026-02-03-claude-00000001', '--format', 'raw')
    expect(back.bytes.equals(readFileSync(path))).toBe(true)
    appendFileSync(path, linesOf(talk('more')))
    const again = JSON.parse((await run(dir, 'import', 'home', '--json')).out)
    expect(again).toMatchObject({ schema: 'daglog.import/1', ok: true, leftOut: [] })
    const outcomes = again.runs.map(({ outcome }: { outcome: string }) => outcome)
    expect(outcomes.sort()).toEqual(['grown', 'same', 'same'])
    expect((await run(dir, 'verify')).code).toBe(0)
  })

  it('shows what is derived of an imported run, by SEQ.LINE, with the totals of the transcript', async () => {
    const dir = home(1, 1)
    await run(dir, 'import', 'home')
    const { out } = await run(dir, 'show', '@last')
    expect(out).toMatch(/^name {4}0 0$/m)
    expect(out).toMatch(/totals .* 1 turn /)
    expect(out).toMatch(/2\.0 .* turn\/start {7}turn 1/)
    expect(out).toMatch(/2\.1 .* assistant\/message/)
    const list = await run(dir, 'runs')
    expect(list.out).toMatch(/imported +4 +1 +0 .* 0 0$/m)
  })

  it('exits with 5 where something was left out, and names it', async () => {
    const dir = home(1, 1)
    writeFileSync(join(dir, 'empty.jsonl'), '')
    const { code, err } = await run(dir, 'import', 'home', 'empty.jsonl')
    expect(code).toBe(5)
    expect(err).toContain(`left out: ${join(dir, 'empty.jsonl')} is empty`)
  })

  it('of what is not there, or holds nothing, says so', async () => {
    const dir = temporaryDir()
    expect((await run(dir, 'import', 'nowhere')).code).toBe(2)
    mkdirSync(join(dir, 'nothing'))
    const { code, err } = await run(dir, 'import', 'nothing')
    expect(code).toBe(2)
    expect(err).toContain('no transcript was found')
  })

  it('a raw export of a run that was recorded is refused with words', async () => {
    const dir = temporaryDir()
    await run(dir, 'init', 'live')
    const { code, err } = await run(dir, 'export', '@last', '--format', 'raw')
    expect(code).toBe(2)
    expect(err).toContain('was not imported')
  })

  it('killed at any moment leaves whole runs only, and goes on when it is started again', async () => {
    const dir = home(300, 4)
    for (const afterMs of [150, 250, 350, 450]) {
      const child = start(['import', 'home'], { cwd: dir })
      setTimeout(() => child.kill('SIGKILL'), afterMs)
      await finished(child)
      if (!existsSync(join(dir, '.daglog/store.json'))) continue
      const { out, code } = await run(dir, 'verify', '--json')
      expect(code, out).toBe(0)
    }
    const last = await run(dir, 'import', 'home')
    expect(last.code).toBe(0)
    const { runs } = JSON.parse((await run(dir, 'runs', '--json')).out)
    expect(runs).toHaveLength(300)
    expect(new Set(runs.map(({ turns }: { turns: number }) => turns))).toEqual(new Set([4]))
    expect(existsSync(MAIN)).toBe(true)
  })
})

describe('daglog doctor PATH', () => {
  it('says what is wrong and what an import would save, and makes no store', async () => {
    const dir = home(1, 3)
    const path = join(dir, 'home/projects/-p/x.jsonl')
    const secret = `ghp_${'a1B2'.repeat(9)}`
    const records = linesOf([user(secret), assistant('m', [toolUse('never-answered')])])
    writeFileSync(path, Buffer.concat([records, Buffer.from('{"torn":"')]))
    const { code, out } = await run(dir, 'doctor', 'home')
    expect(code).toBe(5)
    expect(out).toContain(
      `  torn            line 3, bytes ${records.length} to ${records.length + 9}`,
    )
    expect(out).toContain('orphan-call     line 2')
    expect(out).toMatch(/secret {10}line 1, byte \d+: GitHub token/)
    expect(out).not.toContain(secret.slice(4))
    expect(out).toMatch(/in a store {6}\d/)
    expect(existsSync(join(dir, '.daglog'))).toBe(false)
    const json = JSON.parse((await run(dir, 'doctor', 'home', '--json')).out)
    expect(json).toMatchObject({ schema: 'daglog.doctor-transcripts/1', ok: false })
  })
})
