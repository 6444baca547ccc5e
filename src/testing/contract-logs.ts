/**
 * What a backend must hold of logs, whoever writes to them.
 */
import { strict as assert } from 'node:assert'
import type { LogName } from '../backend/backend.js'
import { encodeFrame } from '../core/frame.js'
import { GENESIS } from '../core/hash.js'
import {
  type ContractOptions,
  commit,
  contentOf,
  contractTests,
  PROGRAM,
  withRun,
} from './contract-case.js'

const R: LogName = { run: 'r' }

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
}

/** The ends of logs: what is cut, kept as evidence, laid to rest. */
export function endsContract(options: ContractOptions): void {
  const test = contractTests(options)

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
