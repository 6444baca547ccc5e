/**
 * The golden stores, read by daglog and by a verifier that shares no code with it: both must say
 * what is written beside each store. Stores are copied first, since reading leaves caches behind.
 */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { directory } from '../../src/backend/fs.js'
import { nameOfRunId } from '../../src/backend/run-path.js'
import * as limits from '../../src/core/limits.js'
import { openStore } from '../../src/open.js'
import type { Store } from '../../src/store/store.js'
import { flipAnyBit, flipByte } from './tamper.js'
import { type Report, startVerifier } from './verifier.js'
import type { ExpectedRun } from './workshop.js'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const VERIFIER = join(HERE, '../../docs/verify.py')

interface Expected {
  readonly about: string
  readonly opens: 'writable' | 'read-only' | 'FORMAT_TOO_NEW'
  readonly exit: number
  readonly storeLog: { readonly ok: boolean; readonly incomplete: number }
  readonly runs: readonly ExpectedRun[]
}

const goldens = readdirSync(HERE, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name.startsWith('v1-'))
  .map(({ name }) => {
    const expected = JSON.parse(readFileSync(join(HERE, name, 'expected.json'), 'utf8'))
    return { name, expected: expected as Expected }
  })

/** The run of v1-tiny. */
const tinyRun = goldens.find(({ name }) => name === 'v1-tiny')!.expected.runs[0] as ExpectedRun
const tinyHead = `${tinyRun.head?.seq}:${tinyRun.head?.hash}`

const python = spawnSync('python3', ['--version']).status === 0
if (!python) console.log('docs/verify.py is not tested: there is no python3 here')

const scratch = mkdtempSync(join(tmpdir(), 'golden-test-'))
afterAll(() => rmSync(scratch, { recursive: true }))

let copies = 0

/** A copy of a golden store, to be opened and written to. */
function copyOf(name: string): string {
  copies += 1
  const dir = join(scratch, `${copies}-${name}`)
  cpSync(join(HERE, name), dir, { recursive: true })
  return dir
}

async function withStore<R>(dir: string, use: (store: Store) => Promise<R>): Promise<R> {
  const store = await openStore(dir, { create: false, onNotice: () => {} })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

type Verdict = Omit<Expected, 'about' | 'opens'>

/** What `expected.json` holds, of a report. */
function verdictOf({ storeLog, runs }: Report): Verdict {
  const ok = storeLog.ok && runs.every((run) => run.ok)
  const complete = [storeLog, ...runs].every(({ incomplete }) => incomplete.length === 0)
  return {
    exit: ok ? (complete ? 0 : 5) : 3,
    storeLog: { ok: storeLog.ok, incomplete: storeLog.incomplete.length },
    runs: runs.map((run) => ({
      run: run.run,
      ok: run.ok,
      level: run.level,
      events: run.events,
      objects: run.objects,
      head: run.head ?? null,
      coveredSeq: run.coveredSeq,
      problems: run.problems.map(({ kind, seq }) => [kind, seq] as const),
      incomplete: run.incomplete.length,
      redacted: run.redacted,
      stray: run.stray.map(({ segment, offset, bytes }) => [segment, offset, bytes] as const),
    })),
  }
}

function expectedVerdict({ exit, storeLog, runs }: Expected): Verdict {
  return { exit, storeLog, runs }
}

function audit(dir: string) {
  return withStore(dir, (store) => store.verify())
}

/** `docs/verify.py` on a store; without brotli, whether this machine has it or not. */
function runVerifier(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const none = join(scratch, 'no-brotli')
  mkdirSync(none, { recursive: true })
  writeFileSync(join(none, 'brotli.py'), 'raise ImportError()\n')
  const env = { ...process.env, PYTHONPATH: none }
  return spawnSync('python3', [VERIFIER, ...args], { encoding: 'utf8', env })
}

function filesOf(dir: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) files.set(relative(dir, path), readFileSync(path, 'base64'))
  }
  return files
}

describe('a golden store', () => {
  const verifier = python ? startVerifier(VERIFIER) : undefined
  afterAll(() => verifier?.close())

  for (const { name, expected } of goldens) {
    const tooNew = expected.opens === 'FORMAT_TOO_NEW'
    if (tooNew) {
      it(`${name} is refused with words by both`, async () => {
        const refused = audit(copyOf(name))
        await expect(refused).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW', kind: 'upgrade' })
        if (verifier !== undefined)
          expect(await verifier.audit(join(HERE, name))).toHaveProperty('refused')
      })
      continue
    }

    it(`${name} has the verdict written beside it`, async () => {
      expect(verdictOf(await audit(copyOf(name)))).toEqual(expectedVerdict(expected))
    })

    it.runIf(python)(`${name} has the same verdict from docs/verify.py`, async () => {
      const report = (await verifier?.audit(join(HERE, name))) as Report
      expect(verdictOf(report)).toEqual(expectedVerdict(expected))
    })

    it(`${name} is read, whole where nothing is wrong`, async () => {
      await withStore(copyOf(name), async (store) => {
        for (const { run, ok, events } of expected.runs.filter((run) => run.events > 0)) {
          const view = await store.inspectRun(run)
          let count = 0
          for await (const event of view.events({ refs: !ok })) {
            if (event.type !== 'log/gap') count += 1
          }
          expect([run, count]).toEqual([run, ok ? events : expect.any(Number)])
          expect([run, count > 0]).toEqual([run, true])
          if (ok) expect([run, (await view.summary()).events]).toEqual([run, events])
        }
      })
    })
  }

  it('stays as it is when it is audited and read', async () => {
    for (const name of ['v1-good', 'v1-torn', 'v1-taken-over', 'v1-missing-object']) {
      const dir = copyOf(name)
      const before = filesOf(dir)
      await withStore(dir, async (store) => {
        await store.verify()
        for (const { id } of await store.runs()) await (await store.inspectRun(id)).summary()
      })
      rmSync(join(dir, 'cache'), { recursive: true, force: true })
      expect(filesOf(dir)).toEqual(before)
    }
  })

  it('of an older release is written on', async () => {
    const dir = copyOf('v1-good')
    for (const made of ['locks', 'tmp', 'cache']) mkdirSync(join(dir, made), { recursive: true })
    await writeOn(dir)
    expect(await audit(dir)).toMatchObject({ ok: true, complete: true })
  })

  // Not yet: git and some backups keep no empty directories.
  it('is written on where its empty directories are gone', () => writeOn(copyOf('v1-good')))

  it('with a later write version refuses to be written', async () => {
    await withStore(copyOf('v1-newer-write'), async (store) => {
      expect(store.readOnly).toContain('newer daglog')
      await expect(store.openRun('later')).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW' })
    })
  })
})

async function writeOn(dir: string): Promise<void> {
  await withStore(dir, async (store) => {
    const run = await store.openRun('open')
    await run.append('note', { text: 'by a later release '.repeat(300) })
    await run.end()
  })
}

describe('what v1-good holds', () => {
  it('comes back exactly', async () => {
    await withStore(copyOf('v1-good'), async (store) => {
      const view = await store.inspectRun('agent')
      const notes: unknown[] = []
      for await (const { data } of view.events({ types: ['note', 'cart/add'] })) notes.push(data)
      expect(notes[0]).toEqual({
        nothing: undefined,
        numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1e21],
        big: 2n ** 64n,
        dates: [new Date(1_790_000_000_000), new Date(Number.NaN)],
        bytes: new Uint8Array([0, 127, 128, 255]),
        lone: '\ud83d',
        'a/b~c': JSON.parse('{"__proto__":{"polluted":true}}'),
      })
      expect(notes[1]).toMatchObject({
        text: 'text 世界 '.repeat(400),
        json: { deep: ['json 世界 '.repeat(400), { when: new Date(0) }] },
        bytes: new Uint8Array(5000).fill(7),
      })
      expect(notes[2]).toEqual(Array.from({ length: 1200 }, (_, n) => n))
      expect(notes.slice(3)).toEqual(['first of three', null, { sku: '4711' }])
    })
  })
})

describe.runIf(python)('docs/verify.py', () => {
  it('reaches the level anchored with a head that was kept elsewhere, and denies another', () => {
    const store = join(HERE, 'v1-tiny')
    const right = runVerifier(store, '--run', 'tiny', '--head', tinyHead)
    expect([right.status, right.stdout.includes('anchored')]).toEqual([0, true])
    const wrong = runVerifier(store, '--run', 'tiny', '--head', `2:${tinyRun.head?.hash}`)
    expect([wrong.status, wrong.stdout.includes('damaged')]).toEqual([3, true])
  })

  it('says in a line for each run what is wrong and where', () => {
    const { stdout } = runVerifier(join(HERE, 'v1-flipped'), '--run', 'body')
    expect(stdout.split('\n')[1]).toMatch(
      /^damaged {2}body {2}none {2}3 events {2}head 3:.*seq 2 .*byte \d+/,
    )
  })

  it('says that objects are not checked where Python has no brotli, and exits 5', async () => {
    const dir = join(scratch, 'brotli')
    const store = await openStore(directory(dir))
    const run = await store.run('packed')
    await run.append('note', { text: 'a page '.repeat(2000) })
    await run.end()
    await store.close()
    const { status, stdout } = runVerifier(dir)
    expect([status, stdout.includes('objects not checked')]).toEqual([5, true])
  })

  it('has wrong usage and missing stores end in words, not in a traceback', () => {
    expect(runVerifier(join(HERE, 'v1-tiny'), '--head', 'x').status).toBe(2)
    expect(runVerifier(join(HERE, 'v1-tiny'), '--run', 'nobody')).toMatchObject({ status: 1 })
    const missing = runVerifier(join(scratch, 'nowhere'))
    expect([missing.status, missing.stderr.includes('Traceback')]).toEqual([1, false])
  })

  it('agrees with daglog on any store with one flipped bit', async () => {
    const count = process.env.DAGLOG_LONG === undefined ? 60 : 5000
    const verifier = startVerifier(VERIFIER)
    try {
      for (let round = 0; round < count; round += 1) {
        const name = FLIPPED_STORES[round % FLIPPED_STORES.length] as string
        const dir = copyOf(name)
        const where = flipAnyBit(dir, round)
        const [left, right] = [await audit(dir), (await verifier.audit(dir)) as Report]
        expect({ round, name, where, ...findingOf(left) }).toEqual({
          round,
          name,
          where,
          ...findingOf(right),
        })
        rmSync(dir, { recursive: true })
      }
    } finally {
      verifier.close()
    }
  })
})

describe('docs/format.md', () => {
  const text = readFileSync(join(HERE, '../../docs/format.md'), 'utf8')
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, kind, body]) => ({
    kind,
    body,
  }))
  const tiny = (file: string): string => readFileSync(join(HERE, 'v1-tiny', file), 'utf8')

  it('shows the bytes of v1-tiny as they are', () => {
    const shown = blocks.map(({ body }) => body)
    expect(shown).toContain(tiny('runs/tiny/log.000000.jsonl'))
    expect(shown).toContain(tiny('store.000000.jsonl'))
    expect(text).toContain(`\`${tinyHead}\``)
  })

  it.runIf(python)('ends with a program that finds the head of v1-tiny and any flipped bit', () => {
    const program = blocks.find(({ kind }) => kind === 'python')?.body as string
    const run = (path: string): { status: number | null; stdout: string } =>
      spawnSync('python3', ['-c', program, path], { encoding: 'utf8' })
    const log = join(HERE, 'v1-tiny/runs/tiny/log.000000.jsonl')
    expect(run(log).stdout).toBe(`${tinyHead}\n`)
    const copy = join(scratch, 'flipped.jsonl')
    for (const at of [30, 200, 330, 450, 600, -1]) {
      writeFileSync(copy, readFileSync(log))
      flipByte(copy, at)
      expect([at, run(copy).status]).not.toEqual([at, 0])
    }
  })

  it.skipIf(process.platform === 'win32')(
    'shows how a shell computes the identity of v1-tiny',
    () => {
      const script = blocks.find(({ kind }) => kind === 'sh')?.body as string
      const { stdout, status } = spawnSync('sh', ['-c', script], {
        encoding: 'utf8',
        cwd: join(HERE, 'v1-tiny'),
      })
      if (status === 0) expect(script).toContain(`# ${stdout.slice(0, 64)}`)
      else console.log('the shell example is not tested: there is no sha256sum here')
    },
  )

  it('names every limit with its value', () => {
    for (const [name, value] of Object.entries(limits))
      expect(text).toContain(`| \`${name}\` | ${value.toLocaleString('en-US')} |`)
  })

  it('names no limit that is not there', () => {
    const named = [...text.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name as string)
    expect(named.filter((name) => !(name in limits))).toEqual([])
  })

  it('has the sections that the code points to', () => {
    const anchors = new Set(
      [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) => slugOf(title as string)),
    )
    for (const [, id] of text.matchAll(/<a id="([a-z-]+)">/g)) anchors.add(id as string)
    const pointed = filesIn(join(HERE, '../../src')).flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/format\.md#([a-z0-9-]+)/g)].map(([, id]) => id),
    )
    const inside = [...text.matchAll(/\]\(#([a-z0-9-]+)\)/g)].map(([, id]) => id)
    expect([...pointed, ...inside].filter((id) => !anchors.has(id as string))).toEqual([])
    expect(pointed.length).toBeGreaterThan(20)
  })

  it('spells run ids as the code does', () => {
    const section = text.slice(text.indexOf('### Run ids'), text.indexOf('### store.json'))
    const examples = [...section.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|$/gm)]
    expect(examples.length).toBeGreaterThan(4)
    for (const [, id, name] of examples) expect(nameOfRunId(id as string)).toBe(name)
  })
})

/** The anchor that GitHub makes of a heading. */
function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Stores on which both agree as they are. */
const FLIPPED_STORES = [
  'v1-state',
  'v1-torn',
  'v1-recovered',
  'v1-flipped-open',
  'v1-redacted',
  'v1-cold',
]

/** A report in few words: which runs are whole, and of the others the first thing that is wrong. */
function findingOf(report: Report): { readonly exit: number; readonly runs: readonly string[] } {
  return {
    exit: verdictOf(report).exit,
    runs: report.runs.map(({ run, ok, events, problems: [first] }) =>
      ok ? `${run} ok ${events}` : `${run} ${first?.kind} ${first?.seq}`,
    ),
  }
}
