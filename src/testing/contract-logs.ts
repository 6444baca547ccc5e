/**
 * What a backend must hold of logs and of who may write to them.
 */
import { strict as assert } from 'node:assert'
import type { Backend, LogName } from '../backend/backend.js'
import { DaglogError } from '../core/errors.js'
import { encodeFrame } from '../core/frame.js'
import { GENESIS } from '../core/hash.js'
import {
  type ContractOptions,
  commit,
  contentOf,
  contractTests,
  PROGRAM,
  rejects,
} from './contract-case.js'

const R: LogName = { run: 'r' }
const FORCED = { ...PROGRAM, force: true }

/** Everyone who sees the store, with the run `r` in it. */
async function withRun(subject: { backend: Backend; other: Backend | undefined }): Promise<{
  backend: Backend
  other: Backend
}> {
  await subject.backend.createRun('r')
  return { backend: subject.backend, other: subject.other ?? subject.backend }
}

export function logsContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('gives back what was committed, in order, to every reader', async (subject) => {
    const { backend, other } = await withRun(subject)
    for (const log of [R, 'store'] as const) {
      const writer = await backend.openWriter(log, PROGRAM)
      assert.deepEqual([writer.segment, writer.opened], [0, 'clean'])
      await commit(writer, 'one ')
      await commit(writer, 'two ', false)
      await commit(writer, 'three')
      assert.deepEqual(await contentOf(other, log), ['one two three'])
      await writer.release()
      assert.deepEqual(await contentOf(backend, log), ['one two three'])
    }
  })

  test('reads any part of a segment, and less only at its end', async (subject) => {
    const { backend, other } = await withRun(subject)
    const bytes = Buffer.alloc(3 * 1024 * 1024, 'abcdefg')
    const writer = await backend.openWriter(R, PROGRAM)
    await writer.commit(bytes, { sync: true })
    const parts: [from: number, length: number][] = [
      [0, 10],
      [5, 1],
      [bytes.length - 3, 100],
      [bytes.length, 1],
      [bytes.length + 1000, 10],
      [7, 0],
      [1_000_000, 1_500_000],
    ]
    for (const [from, length] of parts) {
      const part = await other.read(R, 0, from, length)
      assert.ok(part.equals(bytes.subarray(from, from + length)), `${length} bytes from ${from}`)
    }
    await writer.release()
  })

  test('keeps bytes of any value, and a copy of them', async (subject) => {
    const { backend } = await withRun(subject)
    const given = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    const kept = Buffer.from(given)
    const writer = await backend.openWriter(R, PROGRAM)
    await writer.commit(given, { sync: true })
    given.fill(0)
    const read = await backend.read(R, 0, 0, 256)
    assert.ok(read.equals(kept))
    read.fill(0)
    assert.ok((await backend.read(R, 0, 0, 256)).equals(kept))
    await writer.release()
  })

  test('cuts a segment back, and goes on there', async (subject) => {
    const { backend, other } = await withRun(subject)
    const writer = await backend.openWriter(R, PROGRAM)
    await commit(writer, 'good torn')
    await writer.cut(4)
    assert.deepEqual(await contentOf(other, R), ['good'])
    await commit(writer, '!')
    await writer.cut(5)
    await writer.release()
    assert.deepEqual(await contentOf(other, R), ['good!'])
    const next = await other.openWriter(R, PROGRAM)
    await next.cut(0)
    assert.deepEqual(await contentOf(backend, R), [''])
    await next.release()
  })

  test('takes evidence of any bytes, also twice under one name', async (subject) => {
    const { backend } = await withRun(subject)
    for (const log of [R, 'store'] as const) {
      await backend.keepTorn(log, '0.5', Buffer.of(0, 255))
      await backend.keepTorn(log, '0.5', Buffer.of(0, 255))
      await backend.keepTorn(log, '0.5', Buffer.of(1))
      await backend.keepTorn(log, '0.6', Buffer.alloc(0))
    }
    assert.deepEqual(await contentOf(backend, R), [''])
  })

  test('gives the same bytes when they are laid to rest, and goes on behind them', async (subject) => {
    const { backend, other } = await withRun(subject)
    const first = encodeFrame(GENESIS, head(0), '{"salt":"x"}')
    const start = { seq: 0, prev: GENESIS }
    const texts = [`${first.text}no frame\n`, 'more\n']
    for (const [round, text] of texts.entries()) {
      const writer = await backend.openWriter(R, PROGRAM)
      assert.deepEqual([writer.segment, writer.opened], [0, 'clean'])
      assert.equal(writer.textBytes, (await other.segments(R))[0]?.bytes ?? 0)
      await commit(writer, text)
      await writer.rest(start)
      await writer.release()
      assert.deepEqual(await contentOf(other, R), [texts.slice(0, round + 1).join('')])
      if (!backend.can.tears) return // Nothing is gained by rest in memory or rows; bytes stay as they are.
      const before = await backend.openWriter(R, PROGRAM)
      assert.equal(before.textBytes, 0)
      await before.release()
      break
    }
    const writer = await other.openWriter(R, PROGRAM)
    await commit(writer, 'more\n')
    assert.deepEqual(await contentOf(backend, R), [texts.join('')])
    const at = first.text.length - 3
    assert.equal(String(await backend.read(R, 0, at, 20)), texts.join('').slice(at, at + 20))
    await writer.release()
  })
}

function head(seq: number): Parameters<typeof encodeFrame>[1] {
  return { seq, time: 1_790_000_000_000, type: 'note', lag: 0, left: 0, extra: '' }
}

export function writersContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('lets many write in turn, in one segment', async (subject) => {
    const { backend, other } = await withRun(subject)
    for (const [at, each] of [backend, other, backend, other].entries()) {
      const writer = await each.openWriter(R, PROGRAM)
      assert.deepEqual([writer.segment, writer.opened], [0, 'clean'])
      await commit(writer, String(at))
      await writer.release()
    }
    assert.deepEqual(await contentOf(other, R), ['0123'])
  })

  test('is locked while somebody writes, and says who', async (subject) => {
    const { backend, other } = await withRun(subject)
    for (const log of [R, 'store'] as const) {
      const code = log === 'store' ? 'STORE_LOCKED' : 'RUN_LOCKED'
      assert.equal(await other.holder(log), undefined)
      const writer = await backend.openWriter(log, { program: 'the holder' })
      for (const each of [backend, other]) {
        const { data } = await rejects(each.openWriter(log, PROGRAM), code)
        assert.deepEqual([data.pid, data.program], [process.pid, 'the holder'])
        const holder = await each.holder(log)
        assert.equal(holder?.program, 'the holder')
        assert.equal(holder?.alive, true)
      }
      await writer.release()
      assert.equal(await other.holder(log), undefined)
      const next = await other.openWriter(log, PROGRAM)
      assert.equal(next.opened, 'clean')
      await next.release()
    }
  })

  test('locks one log and no other', async (subject) => {
    const { backend, other } = await withRun(subject)
    await backend.createRun('r2')
    const writers = []
    for (const log of [R, { run: 'r2' }, 'store'] as const)
      writers.push(await (writers.length % 2 === 0 ? backend : other).openWriter(log, PROGRAM))
    for (const writer of writers) await commit(writer, 'x')
    for (const writer of writers) await writer.release()
  })

  test('lets exactly one of many in', async (subject) => {
    const { backend, other } = await withRun(subject)
    const tries = [backend, other, backend, other].map((each) => each.openWriter(R, PROGRAM))
    const results = await Promise.allSettled(tries)
    const opened = results.filter(({ status }) => status === 'fulfilled')
    assert.equal(opened.length, 1)
  })

  test('is taken over by force in a new segment; the writer before is fenced', async (subject) => {
    const { backend, other } = await withRun(subject)
    const old = await backend.openWriter(R, PROGRAM)
    await commit(old, 'kept')
    const writer = await other.openWriter(R, FORCED)
    assert.equal(writer.opened, 'taken')
    assert.ok(writer.segment > old.segment)
    const counted = await other.segments(R)
    assert.deepEqual(
      counted.map(({ bytes }) => bytes),
      [4, 0],
    )
    await rejects(commit(old, 'late'), 'WRITER_FENCED')
    await rejects(commit(old, 'later'), 'WRITER_FENCED')
    await rejects(commit(old, 'unsynced', false), 'WRITER_FENCED')
    await commit(writer, 'next')
    await old.release()
    await commit(writer, '!')
    await rejects(backend.openWriter(R, PROGRAM), 'RUN_LOCKED')
    const [before, after] = await contentOf(backend, R)
    assert.ok(before?.startsWith('kept'))
    assert.equal(after, 'next!')
    await writer.release()
    const next = await backend.openWriter(R, PROGRAM)
    assert.deepEqual([next.segment, next.opened], [writer.segment, 'clean'])
    await next.release()
  })

  test('is taken over again and again, and only the last one writes', async (subject) => {
    const { backend, other } = await withRun(subject)
    const writers = [await backend.openWriter(R, FORCED)]
    assert.equal(writers[0]?.opened, 'clean', 'force changes nothing where nobody holds the log')
    for (let round = 0; round < 4; round += 1)
      writers.push(await (round % 2 === 0 ? other : backend).openWriter(R, FORCED))
    const last = writers.pop()
    for (const writer of writers) await rejects(commit(writer, 'late'), 'WRITER_FENCED')
    await commit(last as (typeof writers)[0], 'last')
    for (const writer of writers) await writer.release()
    await commit(last as (typeof writers)[0], '!')
    assert.equal((await contentOf(other, R)).at(-1), 'last!')
    await last?.release()
  })

  test('takes nothing from a writer that let go', async (subject) => {
    const { backend } = await withRun(subject)
    const writer = await backend.openWriter(R, PROGRAM)
    await writer.release()
    await writer.release()
    await assert.rejects(commit(writer, 'late'), DaglogError)
    const next = await backend.openWriter(R, PROGRAM)
    await assert.rejects(commit(writer, 'later'), DaglogError)
    await writer.release()
    await commit(next, 'next')
    assert.deepEqual(await contentOf(backend, R), ['next'])
    await next.release()
  })
}
