import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messages, openStore } from '../../src/index.js'
import {
  assistant,
  linesOf,
  result,
  SESSION,
  text,
  toolUse,
  unique,
  user,
} from '../fold/readers/claude-lines.js'
import { temporaryDir, temporaryStore } from '../store/temporary.js'
import { importAll, raw, typesOf } from './importing.js'

function write(path: string, bytes: Uint8Array | string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, bytes)
  return path
}

let clock = 1_700_000_000

/** Writes in a test follow each other within a tick of the file system's clock. */
function touch(path: string): void {
  clock += 10
  utimesSync(path, clock, clock)
}

const talk = (words: string) => [
  user(words),
  assistant(unique('m'), [text(`about ${words}`)], {}, { stop_reason: 'end_turn' }),
]

const own = (name = SESSION) => join(temporaryDir(), 'projects/-home-dev', `${name}.jsonl`)

describe('importing a file', () => {
  it('keeps it byte for byte, says where it came from, and never looks like a recording', async () => {
    const { store } = await temporaryStore()
    const path = write(own(), linesOf(talk('one')))
    const { files, leftOut } = await importAll(store, path)
    expect(leftOut).toEqual([])
    expect(files).toMatchObject([
      {
        run: '2026-02-03-claude-11111111',
        outcome: 'new',
        source: path,
        format: 'claude-code',
        session: SESSION,
      },
    ])
    const view = await store.inspectRun('claude-11111111')
    expect(await typesOf(view)).toEqual([
      'run/start',
      'import/source',
      'import/lines',
      'import/end',
    ])
    expect((await view.last('import/source'))?.data).toMatchObject({
      format: 'claude-code',
      session: SESSION,
      path,
      reader: { key: 'claude-code' },
      daglog: 'test',
    })
    expect((await raw(view)).equals(readFileSync(path))).toBe(true)
    expect((await view.project(messages)).map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect((await store.runs())[0]).toMatchObject({
      name: 'one',
      turns: 1,
      started: Date.UTC(2026, 1, 3, 4, 5, 6),
      imported: { format: 'claude-code', session: SESSION },
    })
    expect((await store.verify()).ok).toBe(true)
  })

  it('gives any bytes back: whatever they are, and wherever pieces end', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    let made = 0
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(
        ...['\r\n', '\n', '\0\0\0\0', '\ufeff', '{', '{"a":"', '\n{\n "a": 1\n}\n'].map((s) =>
          Buffer.from(s),
        ),
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        made += 1
        const bytes = Buffer.concat([linesOf([user('hi', { sessionId: `s${made}` })]), ...pieces])
        const path = write(join(dir, `f${made}.jsonl`), bytes)
        const [file] = (await importAll(store, path)).files
        expect((await raw(await store.inspectRun(file?.run as string))).equals(bytes)).toBe(true)
      }),
      { numRuns: 40 },
    )
    expect((await store.verify()).ok).toBe(true)
  })

  it('of many pieces comes back whole, and its records are all read', async () => {
    const { store } = await temporaryStore()
    const records = Array.from({ length: 700 }, (_, at) => [
      assistant(unique('m'), [toolUse(`t${at}`)]),
      result(`t${at}`, `${at} ${'lorem ipsum '.repeat(800)}`),
    ]).flat()
    const path = write(own(), linesOf([user('go'), ...records]))
    const [file] = (await importAll(store, path)).files
    const view = await store.inspectRun(file?.run as string)
    expect((await typesOf(view)).filter((type) => type === 'import/lines').length).toBeGreaterThan(
      2,
    )
    expect((await raw(view)).equals(readFileSync(path))).toBe(true)
    expect(await view.project(messages)).toHaveLength(1401)
    expect(file?.totals).toMatchObject({ calls: 700, messages: 1401 })
  })

  it('with a line that is longer than any piece keeps it whole', async () => {
    const { store } = await temporaryStore()
    const long = user('x'.repeat(5_000_000))
    const path = write(own(), linesOf([...talk('one'), long, ...talk('two')]))
    const [file] = (await importAll(store, path)).files
    const view = await store.inspectRun(file?.run as string)
    expect((await raw(view)).equals(readFileSync(path))).toBe(true)
    expect(await view.project(messages)).toHaveLength(5)
  })

  it('of no known form is taken when it is named, and passed over in a folder', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    const path = write(join(dir, 'odd.jsonl'), '{"silly":1}\n')
    expect((await importAll(store, dir)).passedOver).toEqual([path])
    const { files } = await importAll(store, path)
    expect(files).toMatchObject([{ format: 'lines', outcome: 'new' }])
  })
})

describe('importing again', () => {
  it('does nothing where nothing is new, and opens no run for that', async () => {
    const { store } = await temporaryStore()
    const path = write(own(), linesOf(talk('one')))
    await importAll(store, path)
    const before = await (await store.inspectRun('@last')).head()
    expect((await importAll(store, path)).files).toMatchObject([{ outcome: 'same', bytes: 0 }])
    expect(await (await store.inspectRun('@last')).head()).toEqual(before)
  })

  it('takes only the news of a file that grew', async () => {
    const { store } = await temporaryStore()
    const path = write(own(), linesOf(talk('one')))
    const [first] = (await importAll(store, path)).files
    const news = linesOf(talk('two'))
    appendFileSync(path, news)
    touch(path)
    const [second] = (await importAll(store, path)).files
    expect(second).toMatchObject({
      run: first?.run,
      outcome: 'grown',
      bytes: news.length,
      lines: 2,
    })
    const view = await store.inspectRun(first?.run as string)
    expect((await raw(view)).equals(readFileSync(path))).toBe(true)
    expect(await view.project(messages)).toHaveLength(4)
    expect((await store.runs())[0]).toMatchObject({ turns: 2 })
  })

  it('T1, T2: states a torn last line anew once it is whole, and counts it once', async () => {
    const whole = linesOf([...talk('one'), ...talk('two')])
    for (const cut of [2, 30, 200]) {
      const { store } = await temporaryStore()
      const path = write(own(), whole.subarray(0, whole.length - cut))
      const [first] = (await importAll(store, path)).files
      expect(first?.totals?.faults).toBe(1)
      writeFileSync(path, whole)
      touch(path)
      const [second] = (await importAll(store, path)).files
      expect(second).toMatchObject({ run: first?.run, outcome: 'grown', lines: 0 })
      const view = await store.inspectRun(first?.run as string)
      expect((await raw(view)).equals(whole)).toBe(true)
      expect(await view.project(messages)).toHaveLength(4)
      expect((await store.verify()).ok).toBe(true)
    }
  })

  it('a last line without an end that is whole is not read twice', async () => {
    const { store } = await temporaryStore()
    const lines = linesOf(talk('one'))
    const path = write(own(), lines.subarray(0, lines.length - 1))
    const [first] = (await importAll(store, path)).files
    writeFileSync(path, Buffer.concat([lines, linesOf(talk('two'))]))
    touch(path)
    expect((await importAll(store, path)).files).toMatchObject([{ outcome: 'grown' }])
    const view = await store.inspectRun(first?.run as string)
    expect(await view.project(messages)).toHaveLength(4)
    expect((await raw(view)).equals(readFileSync(path))).toBe(true)
  })

  it('goes on, wherever between imports the file was cut, as if it had been taken at once', async () => {
    const whole = linesOf([...talk('one'), ...talk('two'), ...talk('three')])
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 200, max: whole.length }), { maxLength: 4 }),
        async (cuts) => {
          const { store } = await temporaryStore()
          const path = own()
          for (const cut of [...cuts.sort((a, b) => a - b), whole.length]) {
            write(path, whole.subarray(0, cut))
            touch(path)
            await importAll(store, path)
          }
          const runs = await store.runs()
          expect(runs).toHaveLength(1)
          const view = await store.inspectRun('@last')
          expect((await raw(view)).equals(whole)).toBe(true)
          expect((await view.project(messages)).length).toBe(6)
          await store.close()
        },
      ),
      { numRuns: 15 },
    )
  })

  it('T19: a file that was rewritten becomes a new run, linked to the old, which keeps its bytes', async () => {
    const { store } = await temporaryStore()
    const before = linesOf([...talk('one'), ...talk('two')])
    const path = write(own(), before)
    const [first] = (await importAll(store, path)).files
    const after = linesOf([...talk('ONE'), ...talk('two'), ...talk('three')])
    writeFileSync(path, after)
    touch(path)
    const [second] = (await importAll(store, path)).files
    expect(second).toMatchObject({ outcome: 'rewritten', run: `${first?.run}.2` })
    expect((await raw(await store.inspectRun(first?.run as string))).equals(before)).toBe(true)
    expect((await raw(await store.inspectRun(second?.run as string))).equals(after)).toBe(true)
    const [listed] = (await store.runs()).filter(({ id }) => id === second?.run)
    const identity = await (await store.inspectRun(first?.run as string)).identity()
    expect(listed?.parent).toMatchObject({ kind: 'import', run: identity })
    // The newest version goes on.
    appendFileSync(path, linesOf(talk('four')))
    touch(path)
    expect((await importAll(store, path)).files).toMatchObject([
      { outcome: 'grown', run: second?.run },
    ])
    expect((await store.verify()).ok).toBe(true)
  })

  it('T18, T19: so does one that shrank', async () => {
    const { store } = await temporaryStore()
    const path = write(own(), linesOf([...talk('one'), ...talk('two')]))
    await importAll(store, path)
    truncateSync(path, linesOf(talk('one')).length)
    touch(path)
    expect((await importAll(store, path)).files).toMatchObject([{ outcome: 'rewritten' }])
    expect(await store.runs()).toHaveLength(2)
  })

  it('an import that was killed before it was noted is found again', async () => {
    const { store, dir } = await temporaryStore()
    const path = write(own(), linesOf(talk('one')))
    await importAll(store, path)
    await store.close()
    // As if the store's log had never heard of the run.
    writeFileSync(join(dir, 'store.000000.jsonl'), '')
    const again = await openStore(dir)
    const { files } = await importAll(again, path)
    expect(files).toMatchObject([{ run: '2026-02-03-claude-11111111', outcome: 'same' }])
    expect(await again.runs()).toHaveLength(1)
    await again.close()
  })
})

describe('a folder', () => {
  it('T45, T46: makes sub-agents children of their session, whatever file comes first', async () => {
    const { store } = await temporaryStore()
    const dir = join(temporaryDir(), 'projects/-home-dev')
    write(join(dir, `${SESSION}.jsonl`), linesOf(talk('one')))
    const agent = { isSidechain: true, agentId: 'abc' }
    write(join(dir, SESSION, 'subagents/agent-abc.jsonl'), linesOf([user('do', agent)]))
    write(join(dir, SESSION, 'subagents/agent-abc.meta.json'), '{"agentType":"Explore"}')
    write(join(dir, SESSION, 'tool-results/one.txt'), 'a long result')
    await importAll(store, dir)
    const runs = await store.runs()
    const parent = runs.find(({ id }) => id === '2026-02-03-claude-11111111')
    const child = runs.find(({ id }) => id === '2026-02-03-claude-11111111-agent-abc')
    expect(runs).toHaveLength(2)
    const view = await store.inspectRun(parent?.id as string)
    expect(child?.parent).toMatchObject({ kind: 'child', run: await view.identity() })
    const files: string[] = []
    for (const run of [view, await store.inspectRun(child?.id as string)])
      for await (const { data } of run.events({ types: ['import/file'] }))
        files.push(Buffer.from(data.bytes).toString())
    expect(files).toEqual(['a long result', '{"agentType":"Explore"}'])
    expect((await store.verify()).ok).toBe(true)
  })

  it('sidechains inside a file become children too, and grow with it', async () => {
    const { store } = await temporaryStore()
    const side = { isSidechain: true }
    const root = user('sub task', side)
    const path = write(own(), linesOf([...talk('one'), root]))
    await importAll(store, path)
    const reply = assistant('ms', [text('did it')], { ...side, parentUuid: root.uuid })
    appendFileSync(path, linesOf([reply, ...talk('two')]))
    touch(path)
    await importAll(store, path)
    const runs = await store.runs()
    expect(runs.map(({ parent }) => parent?.kind).sort()).toEqual(['child', undefined])
    const child = runs.find(({ parent }) => parent !== undefined)
    const view = await store.inspectRun(child?.id as string)
    expect((await view.project(messages)).map(({ content }) => content)).toEqual([
      'sub task',
      [text('did it')],
    ])
    const main = await store.inspectRun('2026-02-03-claude-11111111')
    expect(await main.project(messages)).toHaveLength(4)
    expect((await raw(main)).equals(readFileSync(path))).toBe(true)
  })

  it('T5: one that cannot be read hides no other, and links that lead in circles are walked once', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    write(join(dir, 'a/one.jsonl'), linesOf([user('hi', { sessionId: 'one' })]))
    write(join(dir, 'b/two.jsonl'), linesOf([user('hi', { sessionId: 'two' })]))
    symlinkSync('..', join(dir, 'a/up'))
    symlinkSync(join(dir, 'b/two.jsonl'), join(dir, 'a/same.jsonl'))
    symlinkSync('nowhere', join(dir, 'a/dangling.jsonl'))
    const report = await importAll(store, dir)
    expect(report.files.map(({ session }) => session).sort()).toEqual(['one', 'two'])
    expect(report.leftOut).toEqual([
      { path: join(dir, 'a/dangling.jsonl'), reason: 'cannot be read (ENOENT)' },
    ])
  })

  it.skipIf(process.getuid?.() === 0)('an unreadable folder is left out, and said', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    write(join(dir, 'a/one.jsonl'), linesOf(talk('one')))
    mkdirSync(join(dir, 'closed'))
    chmodSync(join(dir, 'closed'), 0)
    const { files, leftOut } = await importAll(store, dir)
    expect(files).toHaveLength(1)
    expect(leftOut).toMatchObject([{ path: join(dir, 'closed') }])
  })

  it('with two files of one session takes the longer as news, whatever comes first', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    const [one, two] = [linesOf(talk('one')), linesOf(talk('two'))]
    write(join(dir, 'a', `${SESSION}.jsonl`), Buffer.concat([one, two]))
    write(join(dir, 'b', `${SESSION}.jsonl`), one)
    write(join(dir, 'c', `${SESSION}.jsonl`), Buffer.concat([one, two, linesOf(talk('three'))]))
    const { files } = await importAll(store, dir)
    expect(files.map(({ outcome }) => outcome)).toEqual(['new', 'older', 'grown'])
    expect(await store.runs()).toHaveLength(1)
  })

  it('T21, T41: the same history in another file takes next to no room', async () => {
    const { store } = await temporaryStore()
    const path = own()
    const records = Array.from({ length: 200 }, (_, at) =>
      result(`t${at}`, `${at} ${unique('w').repeat(300)}`),
    )
    write(path, linesOf(records))
    await importAll(store, path)
    const packed = () => store.context.backend.objectBytes(undefined)
    const before = await packed()
    const fork = linesOf([user('fork', { sessionId: 'other' }), ...records])
    await importAll(store, write(join(dirname(path), 'other.jsonl'), fork))
    expect(fork.length).toBeGreaterThan(400_000)
    expect((await packed()) - before).toBeLessThan(fork.length / 100)
  })
})
