/**
 * The journeys, through what is published: packed, installed into an empty folder, used from there.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
let home = ''

function run(command: string, args: readonly string[], cwd = home): SpawnSyncReturns<string> {
  const { DAGLOG_DIR: _, ...env } = process.env
  return spawnSync(command, args, { cwd, encoding: 'utf8', env })
}

function daglog(...args: string[]): SpawnSyncReturns<string> {
  return run('npx', ['--no-install', 'daglog', ...args])
}

/** Run a program that uses the installed package; what it prints as JSON. */
function program(source: string): unknown {
  writeFileSync(join(home, 'program.mjs'), source)
  const { status, stdout, stderr } = run(process.execPath, ['program.mjs'])
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'daglog-package-'))
  const packed = run('npm', ['pack', '--silent', '--pack-destination', home], ROOT)
  expect(packed.stderr).toBe('')
  const tarball = join(home, packed.stdout.trim())
  writeFileSync(join(home, 'package.json'), '{"name":"empty","private":true,"type":"module"}')
  const args = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball]
  const installed = run('npm', args)
  expect(installed.stderr).not.toMatch(/ERR/)
  expect(installed.status).toBe(0)
  return () => rmSync(home, { recursive: true, force: true })
}, 300_000)

describe('the installed package', () => {
  it('records, reads and verifies a run (append)', () => {
    const said = program(`
      import { openStore } from 'daglog'
      const store = await openStore('./store')
      const run = await store.createRun({ name: 'journey' })
      await run.append('note', { text: 'hello', at: new Date(0) })
      const doubled = await run.step('double', { n: 21 }, ({ id }) => ({ id, n: 42 }))
      await run.end()
      const events = []
      for await (const event of (await store.inspectRun(run.id)).events()) events.push(event.type)
      const { ok, runs } = await store.verify(run.id)
      await store.close()
      console.log(JSON.stringify({ doubled, events, ok, level: runs[0].level }))
    `)
    expect(said).toEqual({
      doubled: { id: 'n1', n: 42 },
      events: ['run/start', 'run/meta', 'note', 'step/start', 'step/end', 'run/end'],
      ok: true,
      level: 'head-log',
    })
  })

  it('goes on after a kill (resume)', () => {
    writeFileSync(
      join(home, 'victim.mjs'),
      `
      import { openStore } from 'daglog'
      const run = await (await openStore('./store')).run('victim')
      await run.append('turn/start', { turn: 1 })
      await run.step('work', {}, () => process.kill(process.pid, 'SIGKILL'))
    `,
    )
    expect(run(process.execPath, ['victim.mjs']).signal).toBe('SIGKILL')
    const said = program(`
      import { openStore } from 'daglog'
      const store = await openStore('./store')
      const run = await store.run('victim')
      const last = await run.last('turn/end')
      const { turn } = (await run.last('turn/start')).data
      await run.close()
      console.log(JSON.stringify({ reason: last.data.reason, turn, complete: (await store.verify('victim')).complete }))
      await store.close()
    `)
    expect(said).toEqual({ reason: 'interrupted', turn: 1, complete: true })
  })

  it('names the changed byte (verify)', () => {
    const log = join(home, 'store', 'runs', 'victim', 'log.000000.jsonl')
    const bytes = readFileSync(log)
    const at = bytes.indexOf('"turn":1')
    const changed = Buffer.from(bytes)
    changed[at + 7] = 0x32
    writeFileSync(log, changed)
    const audit = daglog('--store', 'store', 'verify', 'victim')
    expect(audit.status).toBe(3)
    expect(audit.stdout).toMatch(/seq 1.*byte \d+/s)
    writeFileSync(log, bytes)
    expect(daglog('--store', 'store', 'verify', 'victim').status).toBe(0)
  })

  it('carries a fork elsewhere as one file (fork, bundle)', () => {
    const said = program(`
      import { open } from 'node:fs/promises'
      import { openStore, memory } from 'daglog'
      const store = await openStore('./store')
      const fork = await store.fork('victim', { at: 1, id: 'fork', close: true })
      await fork.append('note', 'another way')
      await fork.close()
      const pieces = []
      for await (const piece of await store.exportBundle('fork')) pieces.push(piece)
      const bytes = Buffer.concat(pieces)
      const elsewhere = await openStore(memory())
      const read = async (from, length) => bytes.subarray(from, from + length)
      const imported = await elsewhere.importBundle({ name: 'fork.bundle', bytes: bytes.length, read })
      const { ok, runs } = await elsewhere.verify('fork')
      await store.close()
      console.log(JSON.stringify({ imported: imported.map(({ id }) => id), ok, parent: runs[0].parent.checked }))
    `)
    expect(said).toEqual({ imported: ['victim', 'fork'], ok: true, parent: true })
  })

  it('records from a shell, and says where two runs part (command line)', () => {
    writeFileSync(join(home, 'in.txt'), 'a task\n')
    writeFileSync(join(home, 'out.txt'), 'a plan\n')
    const ids = ['good', 'bad'].map((name) => {
      const id = daglog('init', name).stdout.trim()
      expect(id).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\d-${name}-[0-9a-f]{4}$`))
      expect(daglog('step', id, 'plan', '--in', 'in.txt', '--out', 'out.txt').stdout).toBe('n1\n')
      if (name === 'bad') writeFileSync(join(home, 'out.txt'), 'another plan\n')
      expect(daglog('step', id, 'run', '--in', 'out.txt', '--dep', 'n1').stdout).toBe('n2\n')
      expect(daglog('end', id).status).toBe(0)
      return id
    })
    expect(daglog('verify', '--all').status).toBe(0)
    const parted = daglog('diff', ...ids)
    expect(parted.status).toBe(1)
    expect(parted.stdout).toMatch(/run/)
    expect(daglog('--version').stdout.trim()).toBe(
      JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
    )
  })

  it('keeps an answer, gives it again, and carries traffic elsewhere as a HAR (exchanges)', () => {
    writeFileSync(join(home, 'answer.txt'), 'kept')
    const ask = ['--method', 'GET', '--url', 'https://api.example.com/x']
    const put = daglog('trace-put', ...ask, '--status', '200', '--response', 'answer.txt')
    expect([put.status, put.stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/)])
    expect(daglog('trace-get', ...ask).stdout).toBe('kept')
    const other = daglog('trace-get', '--method', 'GET', '--url', 'https://api.example.com/y')
    expect([other.status, other.stdout]).toEqual([6, ''])
    expect(daglog('export', 'traces', '--format', 'har', '-o', 'x.har').status).toBe(0)
    const there = ['--store', 'elsewhere']
    expect(daglog('import', 'x.har', ...there).stdout).toMatch(/-har-.* new {2}1 exchange/)
    expect(daglog('trace-get', ...ask, ...there).stdout).toBe('kept')
    expect(daglog('verify', '--all', ...there).status).toBe(0)
  })
})
