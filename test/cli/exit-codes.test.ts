import { spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/index.js'
import { logPath, tamper, temporaryDir } from '../store/temporary.js'
import {
  daglog,
  finished,
  json,
  MAIN,
  printed,
  sharedWorkplace,
  start,
  workplace,
} from './command.js'

/** Three lines: the code and what happened, the cause, what to try. */
const THREE_LINES = /^[A-Z_]+: .+\ncause: .+\ntry: .+\n$/

async function smallRun(store: Store): Promise<void> {
  const run = await store.createRun({ id: 'r' })
  await run.append('note', { text: 'hello' })
  await run.append('note', { page: 'p'.repeat(6000) })
}

async function smallStore(): ReturnType<typeof workplace> {
  return workplace(smallRun)
}

describe('exit code 2, wrong usage,', () => {
  const shared = sharedWorkplace(smallRun)
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['an unknown verb, with the nearest one', ['shwo'], 'try: daglog show'],
    [
      'an unknown option, with the nearest one',
      ['verify', '--haed', 'x'],
      'try: daglog verify --head',
    ],
    ['a missing argument', ['step', 'r'], "missing required argument 'FN'"],
    ['one argument too many', ['show', 'r', 's'], 'too many arguments'],
    ['a number that is none', ['events', 'r', '--from', 'x'], 'no whole number'],
    ['a format that is none', ['export', 'r', '--format', 'xml'], 'jsonl, edn, bundle'],
    [
      'data that is no JSON, naming the place',
      ['append', 'r', 'note', '--data', '{"a":}'],
      'character 5',
    ],
    [
      'a number that JSON would round',
      ['append', 'r', 'note', '--data', '[90071992547409931]'],
      'character 1',
    ],
    ['a type that only the store writes', ['append', 'r', 'run/end'], 'TYPE_RESERVED'],
    ['a head that is none', ['verify', 'r', '--head', '3:abc'], 'SEQ:HASH'],
    ['a head for many runs', ['verify', '--head', `3:${'a'.repeat(64)}`], 'one run'],
    ['a reference to no payload', ['cat', 'r'], 'daglog cat @last:2:/output'],
    ['a file that is not there', ['step', 'r', 'x', '--in', 'nope'], 'there is no file nope'],
    ['two readers of standard input', ['step', 'r', 'x', '--in', '-', '--out', '-'], 'cannot both'],
    ['a dep that is no step', ['step', 'r', 'x', '--dep', 'n7'], 'has no step n7'],
    ['a program that is not there', ['record', '--', 'no-such'], 'there is no such program'],
    ['the same in a replay', ['replay', 'r', '--', 'no-such'], 'there is no such program'],
  ]
  it.each(cases)('is given for %s', async (_, args, told) => {
    const { cwd } = shared
    const { code, out, err } = await daglog(args, { cwd })
    expect(err).toContain(told)
    expect(err).toMatch(THREE_LINES)
    expect([code, out]).toEqual([2, ''])
  })

  it('is given, with help, for a command line without a verb', async () => {
    const { code, out, err } = await daglog([])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain('Usage: daglog VERB')
  })
})

describe('exit code 4, not found,', () => {
  const shared = sharedWorkplace(smallRun)
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['a run', ['show', 'nope'], 'RUN_NOT_FOUND'],
    ['@last of too few runs', ['show', '@last~5'], 'RUN_NOT_FOUND'],
    ['a seq', ['cat', 'r:99'], 'SEQ_NOT_FOUND'],
    ['the place to fork at', ['fork', 'r@99'], 'SEQ_NOT_FOUND'],
    ['a pointer', ['cat', 'r:1:/nope'], 'POINTER_NOT_FOUND'],
    ['a hash', ['cat', 'f'.repeat(64)], 'POINTER_NOT_FOUND'],
  ]
  it.each(cases)('is given for %s', async (_, args, told) => {
    const { cwd } = shared
    const { code, err } = await daglog(args, { cwd })
    expect(err).toContain(told)
    expect(err).toMatch(THREE_LINES)
    expect(code).toBe(4)
  })

  it('is given where there is no store, and none is made', async () => {
    const cwd = temporaryDir()
    const { code, err } = await daglog(['runs'], { cwd })
    expect(code).toBe(4)
    expect(err).toMatch(/STORE_NOT_FOUND[\s\S]*try: daglog init/)
    expect(existsSync(join(cwd, '.daglog'))).toBe(false)
  })
})

describe('exit code 3, damage,', () => {
  it('is given by whatever meets it, while what is whole is still shown', async () => {
    const { cwd, dir } = await smallStore()
    tamper(logPath(dir, 'r'), (log) => Buffer.from(log.toString().replace('hello', 'jello')))
    rmSync(join(dir, 'cache'), { recursive: true })
    expect((await daglog(['verify'], { cwd })).code).toBe(3)
    const shown = await daglog(['show', 'r'], { cwd })
    expect(shown.code).toBe(3)
    expect(shown.out).toContain('damaged: seq 1, segment 0, byte')
    const written = await daglog(['append', 'r', 'note'], { cwd })
    expect(written.code).toBe(3)
    expect(written.err).toMatch(
      /^CHAIN_BROKEN: run r, seq 1, segment 0, byte \d+\ncause: .*\ntry: .*salvage r/,
    )
    expect((await daglog(['replay', 'r'], { cwd })).code).toBe(3)
    const doctor = await daglog(['doctor'], { cwd })
    expect([doctor.code, doctor.out]).toEqual([
      3,
      expect.stringContaining('BAD   run r  damaged at seq 1'),
    ])
  })

  it('is given for a payload that is gone, and the event is shown without it', async () => {
    const { cwd, dir } = await smallStore()
    rmSync(join(dir, 'runs/r/objects.open'))
    const { code, out, err } = await daglog(['events', 'r', '--jsonl'], { cwd })
    expect(code).toBe(3)
    expect(out.split('\n').map((line) => (line === '' ? '' : JSON.parse(line).seq))).toEqual([
      0,
      1,
      2,
      '',
    ])
    expect(err).toContain('OBJECT_MISSING')
    expect((await daglog(['cat', 'r:2:/page'], { cwd })).err).toMatch(/^OBJECT_MISSING/)
    const bundle = await daglog(['export', 'r', '--format', 'bundle', '-o', 'b'], { cwd })
    expect([bundle.code, bundle.err]).toEqual([5, expect.stringContaining('left out: object')])
  })

  it('is given for a bundle that changed on its way', async () => {
    const { cwd } = await smallStore()
    await daglog(['export', 'r', '--format', 'bundle', '-o', 'b'], { cwd })
    tamper(join(cwd, 'b'), (bytes) =>
      Buffer.from(bytes.toString('latin1').replace('hello', 'jello'), 'latin1'),
    )
    const { code, err } = await daglog(['import', 'b', '--store', 'other'], { cwd })
    expect([code, err]).toEqual([3, expect.stringContaining('BUNDLE_INVALID')])
  })
})

describe('exit code 5, incomplete,', () => {
  it('is given for what a crash left open, not for a run without an end', async () => {
    const { cwd, dir } = await smallStore()
    expect((await daglog(['verify'], { cwd })).code).toBe(0)
    await daglog(['append', 'r', 'step/start', '--data', '{"id":"n1","key":"k","name":"x"}'], {
      cwd,
    })
    const open = await daglog(['verify'], { cwd })
    expect([open.code, open.out]).toEqual([5, expect.stringContaining('step n1 open')])
    expect((await daglog(['replay', 'r'], { cwd })).code).toBe(5)
    expect((await daglog(['doctor'], { cwd })).code).toBe(5)
    tamper(logPath(dir, 'r'), (log) => Buffer.concat([log, Buffer.from('{"seq":4,"ti')]))
    const torn = await daglog(['verify'], { cwd })
    expect([torn.code, torn.out]).toEqual([5, expect.stringContaining('12 torn bytes')])
  })
})

describe('exit code 1, an error,', () => {
  it('is given where a run is there already, or has ended', async () => {
    const { cwd } = await smallStore()
    await daglog(['end', 'r', '--status', 'error'], { cwd })
    expect((await daglog(['end', 'r'], { cwd })).err).toContain('RUN_ENDED')
    const { code, err } = await daglog(['fork', 'r', '--id', 'r'], { cwd })
    expect([code, err]).toEqual([1, expect.stringContaining('RUN_EXISTS')])
  })

  it('is given where standard output cannot be written', async () => {
    const { cwd } = await smallStore()
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [MAIN, 'events', 'r'], {
      cwd,
      stdio: ['ignore', full, 'pipe'],
    })
    const { code, err } = await finished(child)
    closeSync(full)
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('standard output cannot be written (ENOSPC)'),
    ])
  })

  it('leaves no half of an exported file, and replaces one only when told', async () => {
    const { cwd } = await smallStore()
    const file = join(cwd, 'r.jsonl')
    writeFileSync(file, 'mine')
    expect((await daglog(['export', 'r', '-o', file], { cwd })).code).toBe(2)
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect((await daglog(['export', 'r', '-o', file, '--force'], { cwd })).code).toBe(0)
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(4)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await daglog(['export', 'r', '-o', 'no/where'], { cwd })).code).toBe(1)
  })
})

describe('an interrupt', () => {
  it('ends a tail with 130 after what came so far', async () => {
    const { cwd } = await smallStore()
    const child = start(['tail', 'r', '--jsonl'], { cwd })
    const done = finished(child)
    const until = printed(child)
    await until('"seq":2')
    await daglog(['append', 'r', 'note', '--data', '{"text":"late"}'], { cwd })
    await until('"seq":3')
    child.kill('SIGINT')
    const { code, out, err } = await done
    expect([code, err]).toEqual([130, ''])
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).seq),
    ).toEqual([0, 1, 2, 3])
  })

  it('is not needed where the run has ended', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      await run.append('note', { text: 'hello' })
      await run.end()
    })
    const { code, out } = await daglog(['tail', 'r', '-n', '2'], { cwd })
    expect(code).toBe(0)
    expect(out).toMatch(/^ +1 .*note.*\n +2 .*run\/end {2}ok\n$/)
  })
})

describe('an error', () => {
  it('is one JSON document with --json, and has a stack only with -v', async () => {
    const { cwd } = await smallStore()
    const { code, doc } = await json(['show', 'nope'], { cwd })
    expect(code).toBe(4)
    expect(doc).toMatchObject({
      schema: 'daglog.error/1',
      ok: false,
      error: { code: 'RUN_NOT_FOUND', kind: 'input', try: 'daglog runs' },
    })
    expect((await json(['shwo'])).doc).toMatchObject({ error: { code: 'USAGE' } })
    expect((await daglog(['show', 'nope'], { cwd })).err).not.toContain(' at ')
    expect((await daglog(['show', 'nope', '-v'], { cwd })).err).toMatch(/\n {4}at .*\.js:\d+/)
  })
})
