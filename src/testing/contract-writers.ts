/**
 * What a backend must hold of who may write to a log.
 */
import { strict as assert } from 'node:assert'
import type { LogName } from '../backend/backend.js'
import { DaglogError } from '../core/errors.js'
import {
  type ContractOptions,
  commit,
  contentOf,
  contractTests,
  PROGRAM,
  rejects,
  withRun,
} from './contract-case.js'

const R: LogName = { run: 'r' }
const FORCED = { ...PROGRAM, force: true }

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
}

/** Writers that are taken over from, or let go. */
export function fencingContract(options: ContractOptions): void {
  const test = contractTests(options)

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
