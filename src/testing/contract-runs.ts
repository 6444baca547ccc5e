/**
 * What a backend must hold of stores, runs and their names.
 */
import { strict as assert } from 'node:assert'
import { RUN_ID_BYTES_MAX } from '../core/limits.js'
import {
  blob,
  type ContractOptions,
  commit,
  contentOf,
  contractTests,
  PROGRAM,
  rejects,
} from './contract-case.js'

/** Ids that are hard on file systems, URLs and SQL alike. */
const ODD_IDS: readonly string[] = [
  '2026-08-26-score-3f2a',
  '../x',
  '..',
  '.',
  'a/b',
  'a-b',
  'a\\b',
  'a',
  'A',
  'a.',
  'a ',
  ' a',
  'con',
  'NUL.txt',
  'store',
  '~store',
  'a\0b',
  "a'; drop table runs; --",
  '%2e%2e',
  'a%b_c',
  'é',
  'e\u0301',
  '😀',
  '-rf',
  'x'.repeat(RUN_ID_BYTES_MAX),
  `${'x'.repeat(RUN_ID_BYTES_MAX - 1)}y`,
]

const BAD_IDS: readonly string[] = ['', 'x'.repeat(10_240), '\ud800']

export function manifestContract(options: ContractOptions): void {
  const test = contractTests(options)

  options.it('has no manifest before it is created, and only the first one after', async () => {
    const { backend, close } = await options.open()
    try {
      assert.equal(await backend.readManifest(), undefined)
      const drafts = ['first', 'second', 'third'].map((text) => Buffer.from(text))
      const created = await Promise.all(drafts.map((bytes) => backend.createManifest(bytes)))
      assert.equal(created.filter(Boolean).length, 1)
      const winner = String(drafts[created.indexOf(true)])
      assert.equal(String(await backend.readManifest()), winner)
      assert.equal(await backend.createManifest(Buffer.from('late')), false)
      assert.equal(String(await backend.readManifest()), winner)
    } finally {
      await backend.close()
      await close?.()
    }
  })

  test('is the same store to another process', async ({ backend, other }) => {
    if (other === undefined) return
    assert.equal(String(await other.readManifest()), String(await backend.readManifest()))
    assert.equal(await other.createManifest(Buffer.from('other')), false)
  })

  test('says in words where it is', async ({ backend }) => {
    assert.ok(backend.place.length > 0)
  })

  test('closes twice without a word', async ({ backend }) => {
    await backend.createRun('r')
    await backend.close()
    await backend.close()
  })
}

export function runsContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('has no runs at first, and the log of the store', async ({ backend }) => {
    assert.deepEqual(await backend.listRuns(), [])
    assert.deepEqual(await backend.segments('store'), [{ number: 0, bytes: 0, durable: 0 }])
    assert.equal(await backend.hasRun('r'), false)
    assert.deepEqual(await backend.segments({ run: 'r' }), [])
  })

  test('creates a run once', async ({ backend, other }) => {
    const all = [backend, backend, other ?? backend]
    const created = await Promise.all(all.map((each) => each.createRun('r')))
    assert.equal(created.filter(Boolean).length, 1)
    for (const each of all) {
      assert.equal(await each.hasRun('r'), true)
      assert.deepEqual(await each.segments({ run: 'r' }), [{ number: 0, bytes: 0, durable: 0 }])
      assert.equal((await each.listRuns()).length, 1)
    }
  })

  test('keeps runs apart, whatever their ids', async ({ backend, other }) => {
    for (const id of ODD_IDS) assert.equal(await backend.createRun(id), true, `creates ${id}`)
    for (const id of ODD_IDS) {
      const writer = await backend.openWriter({ run: id }, PROGRAM)
      await commit(writer, Buffer.from(id).toString('hex'))
      await writer.release()
    }
    for (const id of ODD_IDS) {
      const content = await contentOf(other ?? backend, { run: id })
      assert.deepEqual(content, [Buffer.from(id).toString('hex')])
      assert.equal(await backend.createRun(id), false)
    }
  })

  test('lists each run with its id, or at least with a place that finds it', async ({
    backend,
  }) => {
    for (const id of ODD_IDS) await backend.createRun(id)
    const listed = await backend.listRuns()
    assert.equal(listed.length, ODD_IDS.length)
    const unnamed = new Set(ODD_IDS)
    for (const { id } of listed) if (id !== undefined) assert.ok(unnamed.delete(id), `lists ${id}`)
    for (const id of unnamed) assert.ok(id.length > 100, `lists ${id} by its id`)
    for (const { id, place } of listed) {
      const run = id ?? place
      assert.equal(await backend.hasRun(run), true, `finds ${run}`)
      assert.deepEqual(await backend.segments({ run }), [{ number: 0, bytes: 0, durable: 0 }])
      await (await backend.openWriter({ run }, PROGRAM)).release()
    }
  })

  test('refuses ids that no store takes, with words', async ({ backend }) => {
    for (const id of BAD_IDS) {
      await rejects(backend.createRun(id), 'RUN_ID_INVALID')
      await rejects(backend.hasRun(id), 'RUN_ID_INVALID')
    }
    assert.deepEqual(await backend.listRuns(), [])
  })
}

export function removalContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('erases a run, and nothing of another', async ({ backend, other }) => {
    for (const id of ['a', 'a.b', 'a-b']) {
      await backend.createRun(id)
      const writer = await backend.openWriter({ run: id }, PROGRAM)
      await commit(writer, id)
      await backend.putObjects(id, [blob(`own ${id}`)], { direct: false })
      await writer.release()
    }
    await backend.removeRun('a')
    for (const each of [backend, other ?? backend]) {
      assert.equal(await each.hasRun('a'), false)
      assert.deepEqual(await each.segments({ run: 'a' }), [])
      assert.deepEqual((await each.listRuns()).map(({ id }) => id).sort(), ['a-b', 'a.b'])
      assert.deepEqual(await contentOf(each, { run: 'a.b' }), ['a.b'])
      const kept = await each.getObject(blob('own a-b').hash, 'a-b')
      assert.equal(String(kept), 'own a-b')
      if (backend.can.seals) {
        assert.equal(await each.hasObject(blob('own a').hash, 'a'), false)
      }
    }
  })

  test('makes a new, empty run where one was erased; erasing none is fine', async ({ backend }) => {
    await backend.removeRun('r')
    await backend.createRun('r')
    const writer = await backend.openWriter({ run: 'r' }, PROGRAM)
    await commit(writer, 'old')
    await writer.release()
    await backend.removeRun('r')
    await backend.removeRun('r')
    assert.equal(await backend.createRun('r'), true)
    assert.deepEqual(await contentOf(backend, { run: 'r' }), [''])
    const next = await backend.openWriter({ run: 'r' }, PROGRAM)
    assert.equal(next.opened, 'clean')
    await commit(next, 'new')
    assert.deepEqual(await contentOf(backend, { run: 'r' }), ['new'])
    await next.release()
  })
}
