import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Disk, DiskFile } from '../../src/backend/disk.js'
import { directory } from '../../src/backend/fs.js'
import { nodeDisk } from '../../src/backend/node-disk.js'
import { encodeData } from '../../src/core/body.js'
import { openStore, type Run, type RunEvent, type Store } from '../../src/index.js'
import type { BundleSource } from '../../src/store/bundle-import.js'
import { ednEvents } from '../../src/store/edn.js'
import { jsonlEvents, lineOf } from '../../src/store/jsonl.js'
import { shapeOf } from '../../src/store/log-shape.js'
import { redacted } from '../core/frames.js'
import { flipBit, logPath, tamper, temporaryStore } from './temporary.js'

const long = process.env.DAGLOG_LONG !== undefined

/** Lay what there is of a run's log to rest, adding nothing. */
async function layToRest(store: Store, id: string): Promise<void> {
  const writer = await store.context.backend.openWriter({ run: id }, { program: 'test' })
  const { spans } = await shapeOf((await store.inspectRun(id)).log)
  const span = spans.find(({ segment }) => segment === writer.segment)
  if (span?.prev !== undefined) await writer.rest({ seq: span.firstSeq, prev: span.prev })
  await writer.release()
}

function logFiles(dir: string, id: string): string[] {
  return readdirSync(join(dir, 'runs', id))
    .filter((name) => name.startsWith('log.'))
    .sort()
}

function coldPath(dir: string, id: string): string {
  return logPath(dir, id).replace(/jsonl$/, 'z')
}

/** Turns, steps, large values and states. */
async function work(run: Run, turns: number): Promise<void> {
  const first = ((await run.last('turn/start'))?.data.turn ?? 0) + 1
  for (let turn = first; turn < first + turns; turn += 1) {
    await run.append('turn/start', { turn })
    await run.append('user/message', { content: `question ${turn} `.repeat(20) })
    await run.step('fetch', { url: `https://example.com/${turn}` }, async () =>
      `<p>${turn}</p>`.repeat(turn % 3 === 0 ? 2000 : 20),
    )
    await run.setState<Record<string, unknown>>((draft) => {
      draft[`turn-${turn}`] = 'what was learned '.repeat(turn % 4)
    })
    await run.append('turn/end', { turn, reason: 'completed' })
  }
}

async function listOf<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}

/** Everything that a store can be asked of a run, as plain data. */
async function answers(dir: string, id: string, other: string): Promise<Record<string, unknown>> {
  const { store, notices } = await temporaryStore(dir)
  const view = await store.inspectRun(id)
  const head = await view.headAt(4)
  const states = await Promise.all(
    [5, 17, 40].map(async (seq) => (await view.stateAt(seq))?.toJSON()),
  )
  const bundle = Buffer.concat(await listOf(await store.exportBundle(id)))
  const found = {
    verify: (await store.verify([id])).runs,
    events: (await listOf(view.events())).map(lineOf),
    some: (await listOf(view.events({ from: 11, to: 19, refs: true }))).map(lineOf),
    steps: (await listOf(view.events({ types: ['step/end'] }))).map(lineOf),
    last: await view.last('step/end'),
    head: await view.head(),
    at: [head, await view.headAt(23), await view.headAt(10_000)],
    identity: await view.identity(),
    states,
    summary: await view.summary(),
    open: await view.open(),
    jsonl: await listOf(jsonlEvents(view)),
    edn: await listOf(ednEvents(view)),
    bundle: bundle.toString('latin1'),
    diff: await store.diff(id, other),
    notices,
  }
  await store.close()
  return found
}

function sourceOf(bytes: Buffer): BundleSource {
  const read = async (from: number, length: number): Promise<Buffer> =>
    bytes.subarray(from, from + length)
  return { name: 'bundle', bytes: bytes.length, read }
}

describe('a log at rest', () => {
  it('answers whatever it is asked as it did before, and goes on the same', async () => {
    const { store, dir } = await temporaryStore()
    const [run, other] = [await store.run('r'), await store.run('other')]
    await work(run, 12)
    await work(other, 9)
    await store.close()
    const before = await answers(dir, 'r', 'other')
    const text = readFileSync(logPath(dir, 'r'))

    const resting = (await temporaryStore(dir)).store
    await layToRest(resting, 'r')
    expect(logFiles(dir, 'r')).toEqual([`log.000000.${text.length}.jsonl`, 'log.000000.z'])
    expect(readFileSync(coldPath(dir, 'r')).length).toBeLessThan(text.length / 3)
    expect(await answers(dir, 'r', 'other')).toEqual(before)

    // Writing goes on behind it, and that is laid to rest in its turn.
    const again = await resting.openRun('r')
    expect(again.state.toJSON()).toEqual(await lastState(dir, 'r'))
    await work(again, 3)
    await again.close()
    const grown = await answers(dir, 'r', 'other')
    expect((grown.events as string[]).slice(0, (before.events as string[]).length)).toEqual(
      before.events,
    )
    await layToRest(resting, 'r')
    expect(logFiles(dir, 'r').filter((name) => name.endsWith('.z')).length).toBe(2)
    expect(await answers(dir, 'r', 'other')).toEqual(grown)
    await resting.close()
  })

  it('is what an ended run of some length gets, and is verified by those who know only the page', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await work(run, 60)
    await run.end()
    const short = await store.run('short')
    await short.append('note', 1)
    await short.end()
    await store.close()
    expect(logFiles(dir, 'r')).toEqual([expect.stringMatching(/\.jsonl$/), 'log.000000.z'])
    expect(logFiles(dir, 'short')).toEqual(['log.000000.jsonl'])
    const { store: other } = await temporaryStore(dir)
    expect((await other.verify('r')).runs[0]).toMatchObject({ ok: true, level: 'head-log' })
    const script = join(import.meta.dirname, '../../docs/verify.py')
    const python = spawnSync('python3', [script, dir], { encoding: 'utf8' })
    // 5: this Python has no brotli, so objects are not checked.
    if (python.error === undefined) expect([0, 5], python.stderr).toContain(python.status)
  })

  it('begins forks, is taken over, and travels in a bundle', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await work(run, 8)
    await run.close()
    await layToRest(store, 'r')
    const fork = await store.fork('r', { at: 20, id: 'f', close: true })
    expect(fork.state.hash()).toBe((await (await store.inspectRun('r')).stateAt(20))?.hash())
    await fork.close()

    // A writer that is not gone: the next one has a segment of its own, and lays that to rest.
    const old = await store.openRun('r')
    await old.append('note', 'by the old one')
    const taker = (await temporaryStore(dir)).store
    const taken = await taker.openRun('r', { force: true })
    await work(taken, 2)
    await expect(old.append('note', 'too late')).rejects.toMatchObject({ code: 'WRITER_FENCED' })
    await taken.close()
    await layToRest(taker, 'r')
    expect(logFiles(dir, 'r').filter((name) => /^log\.000001/.test(name)).length).toBe(2)
    const before = await answers(dir, 'r', 'f')
    expect((before.verify as { ok: boolean }[])[0]?.ok).toBe(true)

    const bundle = Buffer.from(before.bundle as string, 'latin1')
    const there = await temporaryStore()
    await there.store.importBundle(sourceOf(bundle))
    await layToRest(there.store, 'r')
    const view = await there.store.inspectRun('r')
    expect((await listOf(view.events())).map(lineOf)).toEqual(before.events)
    expect((await there.store.verify('r')).ok).toBe(true)
  })

  it('keeps what a redacted frame committed to', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    const { seq } = await run.append('note', { secret: 'to be redacted' })
    const data = { seq, reason: 'it was secret', actor: 'test' }
    await run.appendEncoded([{ type: 'redaction', data: encodeData(data) }])
    await run.close()
    tamper(logPath(dir, 'r'), (bytes) => {
      const lines = bytes.toString('latin1').split(/(?<=\n)/)
      lines[seq] = redacted(Buffer.from(lines[seq] as string, 'latin1')).toString('latin1')
      return Buffer.from(lines.join(''), 'latin1')
    })
    const before = readFileSync(logPath(dir, 'r'))
    await layToRest(store, 'r')
    expect((await store.verify('r')).runs[0]).toMatchObject({ ok: true, redacted: [seq] })
    const bytes = await store.context.backend.read({ run: 'r' }, 0, 0, before.length)
    expect(bytes.equals(before)).toBe(true)
  })

  it('T25: is read only at its end by those who ask for its end', async () => {
    const { store, dir } = await temporaryStore(undefined, { durability: 'os' })
    const run = await store.run('r')
    const noise = (i: number): string =>
      Array.from({ length: 60 }, (_, j) => ((i * 7919 + j * 104_729) % 1e6).toString(36)).join('')
    for (let i = 0; i < 8000; i += 1) await run.append('note', noise(i))
    await run.end()
    await store.close()
    const stored = readFileSync(coldPath(dir, 'r')).length
    expect(stored).toBeGreaterThan(1_000_000)

    const counted = countingDisk()
    const fresh = await openStore(directory(dir, { disk: counted.disk }))
    const view = await fresh.inspectRun('r')
    expect((await view.summary()).events).toBe(8002)
    expect((await view.last('note'))?.data).toBe(noise(7999))
    expect((await view.head())?.seq).toBe(8001)
    expect(counted.cold.bytes).toBeLessThan(stored / 4)
    counted.cold.bytes = 0
    const again = await fresh.openRun('r')
    await again.append('note', 'goes on')
    await again.close()
    expect(counted.cold.bytes).toBeLessThan(stored / 4)
  })
})

async function lastState(dir: string, id: string): Promise<unknown> {
  const { store } = await temporaryStore(dir)
  return (await (await store.inspectRun(id)).stateAt())?.toJSON()
}

/** The real disk, and how many bytes of files at rest were read. */
function countingDisk(): { disk: Disk; cold: { bytes: number } } {
  const disk = nodeDisk()
  const cold = { bytes: 0 }
  const openFile = (path: string, mode: 'read' | 'append' | 'create'): DiskFile => {
    const file = disk.openFile(path, mode)
    if (!path.endsWith('.z')) return file
    const read = file.read.bind(file)
    file.read = (into, atByte) => {
      const count = read(into, atByte)
      cold.bytes += count
      return count
    }
    return file
  }
  return { disk: Object.assign(Object.create(disk), { openFile }), cold }
}

describe('damage in a log at rest', () => {
  /** Some events at rest, some behind them. */
  async function rested(): Promise<{
    dir: string
    file: Buffer
    events: RunEvent[]
    tail: number
  }> {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    for (const text of ['one', 'two', 'three']) await run.append('note', { text })
    await run.close()
    await layToRest(store, 'r')
    const again = await store.openRun('r')
    const { seq } = await again.append('note', { text: 'behind' })
    await again.append('note', { text: 'last' })
    await again.close()
    const events = await listOf((await store.inspectRun('r')).events())
    await store.close()
    return { dir, file: readFileSync(coldPath(dir, 'r')), events, tail: seq }
  }

  /** What is read is what was written, or told to be missing; what lies behind is all there. */
  async function expectNothingWrong(
    { dir, events, tail }: Awaited<ReturnType<typeof rested>>,
    what: string,
  ): Promise<void> {
    const { store } = await temporaryStore(dir)
    const report = (await store.verify('r')).runs[0]
    expect([what, report?.ok]).toEqual([what, false])
    const found = await listOf((await store.inspectRun('r')).events())
    const seen = new Set<number>()
    for (const event of found) {
      if (event.hash === '') continue
      seen.add(event.seq)
      expect([what, event]).toEqual([what, events[event.seq]])
    }
    for (let seq = tail; seq < events.length; seq += 1)
      expect([what, seq, seen.has(seq)]).toEqual([what, seq, true])
    const isWhole = seen.size === events.length
    expect([what, isWhole || found.some(({ hash }) => hash === '')]).toEqual([what, true])
    await store.close()
  }

  it('is noticed, whichever bit it is, and what lies around it can be read', async () => {
    const log = await rested()
    const path = coldPath(log.dir, 'r')
    for (let bit = 0; bit < log.file.length * 8; bit += long ? 1 : 13) {
      writeFileSync(path, flipBit(log.file, bit))
      await expectNothingWrong(log, `bit ${bit}`)
    }
  })

  it('is noticed wherever the file is cut, and where it is gone', async () => {
    const log = await rested()
    const path = coldPath(log.dir, 'r')
    for (let bytes = 0; bytes < log.file.length; bytes += long ? 1 : 9) {
      writeFileSync(path, log.file.subarray(0, bytes))
      await expectNothingWrong(log, `${bytes} bytes`)
    }
    rmSync(path)
    await expectNothingWrong(log, 'no file')
  })

  it('is no reason to cut: the run is not written to, and its bytes stay', async () => {
    const log = await rested()
    const path = coldPath(log.dir, 'r')
    writeFileSync(path, flipBit(log.file, log.file.length * 4))
    // With a snapshot only what is behind it is looked at.
    rmSync(join(log.dir, 'cache'), { recursive: true })
    const { store } = await temporaryStore(log.dir)
    await expect(store.openRun('r')).rejects.toMatchObject({ code: 'CHAIN_BROKEN' })
    expect(readFileSync(path).equals(flipBit(log.file, log.file.length * 4))).toBe(true)
    const saved = await store.salvage('r')
    expect(saved.gaps).toBe(1)
  })
})
