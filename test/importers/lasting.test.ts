/**
 * What an imported session must outlast: lost indexes, older versions of daglog, other spellings of
 * a path, and files that are far larger than memory.
 */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Disk } from '../../src/backend/disk.js'
import { directory } from '../../src/backend/fs.js'
import { nodeDisk } from '../../src/backend/node-disk.js'
import { messages, openStore, type RunView, type Store } from '../../src/index.js'
import { assistant, linesOf, SESSION, text, unique, user } from '../fold/readers/claude-lines.js'
import { temporaryDir, temporaryStore } from '../store/temporary.js'
import { importAll, raw } from './importing.js'

const CHILD = fileURLToPath(new URL('../../bench/import-child.mjs', import.meta.url))
const RUN = '2026-02-03-claude-11111111'

const talk = (words: string, more: object = {}) => [
  user(words, { ...more }),
  assistant(unique('m'), [text(`about ${words}`)], { ...more }, { stop_reason: 'end_turn' }),
]

function write(path: string, bytes: Uint8Array | string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, bytes)
  return path
}

/** The real disk, and which files were opened, with how much was read of all of them. */
function watchedDisk(): { disk: Disk; opened: string[]; read: { bytes: number } } {
  const disk = nodeDisk()
  const opened: string[] = []
  const read = { bytes: 0 }
  const openFile: Disk['openFile'] = (path, mode) => {
    opened.push(path)
    const file = disk.openFile(path, mode)
    const inner = file.read.bind(file)
    file.read = (into, atByte) => {
      const count = inner(into, atByte)
      read.bytes += count
      return count
    }
    return file
  }
  return { disk: Object.assign(Object.create(disk), { openFile }), opened, read }
}

async function derivedOf(view: RunView): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const { seq, line, type, data, time } of view.session())
    if (line !== undefined) found.push({ seq, line, type, data, time })
  return found
}

/** Three runs: a session, a sidechain in it, and the version before it was rewritten. */
async function rewrittenTwice(): Promise<{ store: Store; dir: string; path: string }> {
  const { store, dir } = await temporaryStore()
  const path = join(temporaryDir(), `${SESSION}.jsonl`)
  const side = user('sub task', { isSidechain: true })
  for (const words of ['one', 'another one', 'the last one'])
    await importAll(store, write(path, linesOf([...talk(words), side, ...talk(words)])))
  return { store, dir, path }
}

describe('an imported session', () => {
  it('T26: is listed without opening a file of its own, and found again so by the next import', async () => {
    const { store, dir } = await temporaryStore()
    const home = temporaryDir()
    const [first, ...more] = Array.from({ length: 40 }, (_, at) =>
      write(join(home, `s${at}.jsonl`), linesOf(talk('hi', { sessionId: `s${at}` }))),
    )
    await importAll(store, first as string, ...more)
    await store.close()
    const { disk, opened } = watchedDisk()
    const fresh = await openStore(directory(dir, { disk }))
    expect(await fresh.runs()).toHaveLength(40)
    const { files } = await importAll(fresh, home)
    expect(files.map(({ outcome }) => outcome)).toEqual(files.map(() => 'same'))
    const ofRuns = opened.filter((path) => /\/(?:runs|packs)\//.test(path))
    expect(ofRuns).toEqual([])
  })

  it('T25: that is long is gone on with from its end: its payloads stay where they are', async () => {
    const { store, dir } = await temporaryStore()
    const noise = (n: number): string =>
      Array.from({ length: 900 }, (_, j) => ((n * 7919 + j * 104_729) % 1e9).toString(36)).join(' ')
    const path = write(
      join(temporaryDir(), 'long.jsonl'),
      linesOf(Array.from({ length: 1500 }, (_, n) => user(noise(n)))),
    )
    await importAll(store, path)
    await store.close()
    const { disk, read } = watchedDisk()
    const fresh = await openStore(directory(dir, { disk }))
    const run = await fresh.openRun(RUN)
    await run.append('note', 'goes on')
    expect((await run.last('import/end'))?.data.lines).toBe(1500)
    await run.close()
    expect(read.bytes).toBeLessThan(200_000)
    expect(readFileSync(path).length).toBeGreaterThan(5_000_000)
  })

  it('T25, T26: many times larger than a piece is taken in with bounded memory', async () => {
    const path = join(temporaryDir(), `${SESSION}.jsonl`)
    const file = openSync(path, 'w')
    const turn = linesOf([...talk('x'.repeat(30_000)), ...talk('y'.repeat(30_000))])
    for (let n = 0; n < 2000; n += 1) writeSync(file, turn)
    closeSync(file)
    const made = spawnSync(process.execPath, [CHILD, join(temporaryDir(), 'store'), path])
    const { files, ok, rssBytes } = JSON.parse(made.stdout.toString())
    expect({ files, ok }).toEqual({ files: 1, ok: true })
    // 250 MB of lines: half of that, node and all, is what it takes.
    expect(rssBytes).toBeLessThan(220e6)
  }, 120_000)

  it('T29: of an older daglog, whose notes lack what today’s have, is read, listed, and gone on with', async () => {
    const { store } = await temporaryStore()
    const bytes = linesOf(talk('one'))
    const old = await store.run('2026-02-03-claude-11111111')
    const append = old.append.bind(old) as (type: string, data: unknown) => Promise<unknown>
    await append('import/source', { format: 'claude-code', session: SESSION })
    await append('import/lines', { from: 0, lines: 2, bytes })
    await append('import/end', {})
    await old.close()
    expect(await store.runs()).toMatchObject([{ id: RUN, turns: 0 }])
    const view = await store.inspectRun(RUN)
    expect(await view.project(messages)).toHaveLength(2)
    const path = write(
      join(temporaryDir(), 'a.jsonl'),
      Buffer.concat([bytes, linesOf(talk('two'))]),
    )
    expect((await importAll(store, path)).files).toMatchObject([{ run: RUN, outcome: 'grown' }])
    expect(await (await store.inspectRun(RUN)).project(messages)).toHaveLength(4)
    expect((await store.runs())[0]?.turns).toBe(2)
  })

  it('T31, T32: is found by the next import though cache and store log are garbage, or gone', async () => {
    for (const text of [undefined, 'no log']) {
      const { store, dir, path } = await rewrittenTwice()
      const before = (await store.runs()).map(({ id, turns, name }) => ({ id, turns, name }))
      expect(before).toHaveLength(4)
      await store.close()
      rmSync(join(dir, 'cache'), { recursive: true, force: true })
      for (const name of readdirSync(dir).filter((one) => one.startsWith('store.0'))) {
        renameSync(join(dir, name), join(dir, `${name}.aside`))
        if (text !== undefined) writeFileSync(join(dir, name), text)
      }
      const fresh = (await temporaryStore(dir)).store
      const runs = await fresh.runs()
      expect(runs.map(({ id, turns, name }) => ({ id, turns, name }))).toEqual(before)
      const { files } = await importAll(fresh, path)
      expect(files).toMatchObject([{ run: `${RUN}.3`, outcome: 'same' }])
      expect(await fresh.runs()).toHaveLength(4)
    }
  })

  it('T42: under another spelling of its path is the same run; each path is kept as it was', async () => {
    const { store } = await temporaryStore()
    const home = temporaryDir()
    const path = write(join(home, 'C--Users-Dev', 'session.jsonl'), linesOf(talk('one')))
    symlinkSync(join(home, 'C--Users-Dev'), join(home, 'c--users-dev'))
    await importAll(store, path)
    const moved = join(home, 'c--users-dev', 'session.jsonl')
    writeFileSync(moved, linesOf([...talk('one')]))
    const grown = Buffer.concat([
      await raw(await store.inspectRun(RUN)),
      linesOf(talk('zwei é', { cwd: 'c:\\Users\\Dev\\é' })),
    ])
    write(moved, grown)
    expect((await importAll(store, moved)).files).toMatchObject([{ run: RUN, outcome: 'grown' }])
    expect(await store.runs()).toHaveLength(1)
    const paths: string[] = []
    const view = await store.inspectRun(RUN)
    for await (const { data } of view.events({ types: ['import/source'] })) paths.push(data.path)
    expect(paths).toEqual([path, moved])
  })

  it('T49: comes out as a file that says the same when it is taken in elsewhere', async () => {
    const { store } = await temporaryStore()
    const path = write(join(temporaryDir(), 'a.jsonl'), linesOf([...talk('one'), ...talk('two')]))
    await importAll(store, path)
    const view = await store.inspectRun(RUN)
    const copy = write(join(temporaryDir(), 'b.jsonl'), await raw(view))
    const elsewhere = (await temporaryStore()).store
    await importAll(elsewhere, copy)
    const there = await elsewhere.inspectRun(RUN)
    expect(await derivedOf(there)).toEqual(await derivedOf(view))
    expect(await there.project(messages)).toEqual(await view.project(messages))
  })
})
