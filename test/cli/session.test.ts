import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { logPath, tamper, temporaryDir } from '../store/temporary.js'
import { daglog, json, say, workplace } from './command.js'

/** Record three steps in the shell's way. */
async function score(cwd: string, price: string): Promise<string> {
  const run = await say(['init', 'score'], { cwd })
  expect(run).toMatch(/^\d{4}-\d\d-\d\d-score-[0-9a-f]{4}$/)
  writeFileSync(join(cwd, 'url'), 'https://example.com\n')
  writeFileSync(join(cwd, 'page'), '<p>a page</p>\n')
  const fetch = ['step', run, 'fetch.page', '--in', 'url', '--out', 'page']
  expect(await say(fetch, { cwd })).toBe('n1')
  const parse = ['step', run, 'parse', '--in', 'page', '--out', '-', '--dep', 'n1']
  expect(await say(parse, { cwd, input: JSON.stringify({ sku: 'x-1', price }) })).toBe('n2')
  const rate = ['step', run, 'rate', '--out', '-', '--dep', 'n1', '--dep', 'n2']
  expect(await say(rate, { cwd, input: 'good' })).toBe('n3')
  return run
}

describe('a session in the shell', () => {
  it('records steps, verifies them, and names the event and byte of an edit', async () => {
    const cwd = temporaryDir()
    await say(['init'], { cwd })
    const run = await score(cwd, '12 EUR')
    const whole = await daglog(['verify', run], { cwd })
    expect(whole).toMatchObject({ code: 0, err: '' })
    expect(whole.out).toMatch(
      /^ok {2}\S+-score-\S+ {2}8 events {2}0 objects {2}head 7:[0-9a-f]{6}… {2}matches the store's head log {2}\d+ ms\n$/,
    )

    const path = logPath(join(cwd, '.daglog'), run)
    const at = readFileSync(path).lastIndexOf('12 EUR')
    tamper(path, (log) =>
      Buffer.concat([log.subarray(0, at), Buffer.from('9'), log.subarray(at + 1)]),
    )
    const edited = await daglog(['verify', run], { cwd })
    expect(edited.code).toBe(3)
    const lineFrom = readFileSync(path).lastIndexOf('\n', at) + 1
    expect(edited.out).toContain(
      `${run}, seq 5, segment 0, byte ${lineFrom}: the body does not match`,
    )
    expect(edited.out).toMatch(/expected [0-9a-f]{64}\n\s+found {4}[0-9a-f]{64}/)
  })

  it('shows where two runs part that differ in one step', async () => {
    const cwd = temporaryDir()
    const left = await score(await initialised(cwd), '12 EUR')
    const right = await score(cwd, '14 EUR')
    const same = await daglog(['diff', left, left], { cwd })
    expect(same.code).toBe(0)
    expect(same.out).toContain('same  3 of 3 steps the same')
    const parted = await daglog(['diff', left, right], { cwd })
    expect(parted.code).toBe(1)
    expect(parted.out).toContain('they part at output of parse')
    expect(parted.out).toContain('/price  "12 EUR" -> "14 EUR"')
    const { doc } = await json(['diff', '@last~1', '@last'], { cwd })
    expect(doc).toMatchObject({
      schema: 'daglog.diff/1',
      ok: false,
      same: false,
      left,
      right,
      first: { kind: 'output', path: 'parse', changes: [{ pointer: '/price', left: '12 EUR' }] },
      steps: { left: 3, right: 3, same: 2 },
    })
  })

  it('shows the run, its steps and where it ended', async () => {
    const cwd = await initialised(temporaryDir())
    const run = await score(cwd, '12 EUR')
    await say(['step', run, 'rate', '--error', 'out of luck'], { cwd })
    await say(['append', run, 'turn/start', '--data', '{"turn":1}'], { cwd })
    const shown = await say(['show', 'score'], { cwd })
    expect(shown).toContain(`run     ${run}`)
    expect(shown).toMatch(/step\/start {7}n2 parse after n1 "<p>a page<\/p>\\n"/)
    expect(shown).toContain('open: turn 1')
    expect(shown).toContain('last error: seq 9 n4 error Error: out of luck')
    const before = await say(['show', `${run}@3`, '--limit', '2'], { cwd })
    expect(before).toContain('as of seq 3')
    expect(before).toContain('2 earlier events')
    expect(before).not.toContain('parse')
    const walk = await daglog(['replay', run], { cwd })
    expect(walk.code).toBe(0)
    expect(walk.out).toMatch(/n3 rate after n1, n2 {2}ok/)
    expect(walk.out).toContain('ok  4 steps')
  })
})

async function initialised(cwd: string): Promise<string> {
  await say(['init'], { cwd })
  return cwd
}

describe('payloads', () => {
  const cases: readonly (readonly [string, Buffer])[] = [
    ['a text with byte order mark and CRLF', Buffer.from('\ufeffone\r\ntwo\r\n')],
    ['nothing', Buffer.alloc(0)],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0, 0x1b, 0x5b, 0x80])],
    ['a text over the inline limit', Buffer.from('päge '.repeat(5000))],
    ['many bytes', Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251))],
  ]
  it.each(cases)('come back byte for byte: %s', async (_, bytes) => {
    const { cwd } = await workplace((store) => store.createRun({ id: 'r' }))
    await say(['step', 'r', 'copy', '--in', '-'], { cwd, input: bytes })
    const { code, bytes: back } = await daglog(['cat', 'r:1:/input'], { cwd })
    expect(code).toBe(0)
    expect(back.equals(bytes)).toBe(true)
  })

  it('are found by hash, also one that is kept in pieces', async () => {
    const page = 'p'.repeat(5000)
    const grown = Array.from({ length: 40_000 }, (_, at) => `line ${at}`).join('\n')
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      await run.append('note', { page, grown, deep: { list: [1, { text: 'inline' }] } })
    })
    const { doc } = await json(['events', 'r', '--refs', '--type', 'note'], { cwd })
    const [event] = doc.events as unknown as { refs: { pointer: string; sha256: string }[] }[]
    for (const { pointer, sha256 } of event?.refs ?? []) {
      const { out } = await daglog(['cat', sha256], { cwd })
      expect(out === (pointer === '/page' ? page : grown), pointer).toBe(true)
    }
    expect(event?.refs).toHaveLength(2)
    expect(await say(['cat', 'r:1:/deep/list/1/text'], { cwd })).toBe('inline')
    expect(await say(['cat', 'r:1:/deep'], { cwd })).toBe('{"list":[1,{"text":"inline"}]}')
    expect(JSON.parse(await say(['cat', 'r:1'], { cwd }))).toMatchObject({ page, grown })
  })
})

describe('runs on their way', () => {
  it('are forked, exported, imported elsewhere, verified there, and deleted', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'origin' })
      await run.append('note', { text: 'x'.repeat(6000) })
      await run.append('note', { text: 'after the fork' })
    })
    expect(await say(['fork', 'origin@1', '--id', 'branch'], { cwd })).toBe('branch')
    await say(['append', 'branch', 'note', '--data', '"own way"'], { cwd })
    expect(await say(['runs'], { cwd })).toMatch(/^origin .*\n {2}branch /m)

    await say(['export', 'branch', '--format', 'bundle', '-o', 'b.daglog'], { cwd })
    const again = await daglog(['export', 'branch', '-o', 'b.daglog'], { cwd })
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining('--force') })
    const elsewhere = temporaryDir()
    const bundle = join(cwd, 'b.daglog')
    expect(await say(['import', bundle], { cwd: elsewhere })).toBe('origin\nbranch')
    const { code, doc } = await json(['verify'], { cwd: elsewhere })
    expect(code).toBe(0)
    expect(doc).toMatchObject({
      ok: true,
      runs: [{ run: 'branch', parent: { checked: true } }, {}],
    })
    const twice = await json(['import', '-', '--id', 'branch'], {
      cwd: elsewhere,
      input: readFileSync(bundle),
    })
    expect(twice.doc).toMatchObject({ runs: [{ already: true }, { run: 'branch', already: true }] })

    const kept = await daglog(['rm', 'origin'], { cwd })
    expect(kept.code).toBe(2)
    expect(kept.err).toContain('try: daglog rm origin --yes')
    expect((await daglog(['rm', 'origin', '--yes'], { cwd })).err).toContain('RUN_HAS_FORKS')
    await say(['rm', 'branch', '--yes'], { cwd })
    await say(['rm', 'origin', '--yes'], { cwd })
    expect(await daglog(['runs'], { cwd })).toMatchObject({ code: 0, out: '' })
  })

  it('are anchored by a head that was kept elsewhere', async () => {
    const { cwd } = await workplace((store) => store.createRun({ id: 'r' }))
    const kept = await say(['append', 'r', 'note', '--data', '{"n":1}'], { cwd })
    expect(kept).toMatch(/^1:[0-9a-f]{64}$/)
    const last = await say(['end', 'r'], { cwd })
    expect(last).toMatch(/^2:[0-9a-f]{64}$/)
    const anchored = await say(['verify', 'r', '--head', kept], { cwd })
    expect(anchored).toContain('matches the head given up to seq 1, then is consistent with itself')
    const other = `1:${'0'.repeat(64)}`
    const wrong = await daglog(['verify', 'r', '--head', other], { cwd })
    expect(wrong.code).toBe(3)
    expect(wrong.out).toContain('seq 1 is not what the head given says')
  })

  it('are saved from damage, with what was lost named', async () => {
    const { cwd, dir } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      for (const text of ['one', 'two', 'three']) await run.append('note', { text })
    })
    tamper(logPath(dir, 'r'), (log) => Buffer.from(log.toString().replace('"two"', '"owt"')))
    const saved = await daglog(['salvage', 'r', '--id', 'saved'], { cwd })
    expect(saved).toMatchObject({ code: 5, out: 'saved\n' })
    expect(saved.err).toContain('1 gap named in it')
    const shown = await daglog(['events', 'r'], { cwd })
    expect(shown.code).toBe(3)
    expect(shown.out).toContain('three')
    expect(shown.err).toContain('cannot be read: seq 2')
    expect(await say(['events', 'saved', '--type', 'log/gap', '--jsonl'], { cwd })).toContain(
      'offset',
    )
  })
})
