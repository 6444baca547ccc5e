/**
 * What a backend must hold of objects and of its cache.
 */
import { strict as assert } from 'node:assert'
import type { Backend } from '../backend/backend.js'
import { sha256 } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import {
  blob,
  type ContractOptions,
  type ContractSubject,
  contractTests,
  PROGRAM,
} from './contract-case.js'

const OPEN = { direct: false }
const DIRECT = { direct: true }

/** The runs `a` and `b`, and the right to put objects into both. */
async function withWriters(
  subject: ContractSubject,
  use: (backend: Backend, other: Backend) => Promise<void>,
): Promise<void> {
  const { backend } = subject
  const writers = []
  for (const run of ['a', 'b']) {
    await backend.createRun(run)
    writers.push(await backend.openWriter({ run }, PROGRAM))
  }
  await use(backend, subject.other ?? backend)
  for (const writer of writers) await writer.release()
}

async function assertHas(
  backend: Backend,
  run: string | undefined,
  object: StoredObject,
): Promise<void> {
  assert.equal(await backend.hasObject(object.hash, run), true)
  const bytes = await backend.getObject(object.hash, run)
  assert.ok(bytes !== undefined, 'an object that is there is given')
  assert.ok(Buffer.from(bytes).equals(object.bytes), 'an object is the bytes of its name')
}

async function assertHasNot(
  backend: Backend,
  run: string | undefined,
  object: StoredObject,
): Promise<void> {
  assert.equal(await backend.hasObject(object.hash, run), false)
  assert.equal(await backend.getObject(object.hash, run), undefined)
}

async function kindsOf(backend: Backend, run: string | undefined): Promise<Map<string, string>> {
  const kinds = new Map<string, string>()
  for await (const { hash, kind, bytes } of backend.listObjects(run))
    kinds.set(hash, `${kind} ${bytes}`)
  return kinds
}

/** Rounds of new objects that are sealed, while `reader` looks. */
async function putAndSeal(backend: Backend, reader: Backend): Promise<void> {
  await backend.sealObjects('a')
  const all: StoredObject[] = []
  for (let round = 0; round < 4; round += 1) {
    const objects = [blob(`${round} small`), blob(Buffer.alloc(5000 * (round + 1), `${round}`))]
    await backend.putObjects('a', [...objects, ...all], OPEN)
    all.push(...objects)
    for (const object of all) await assertHas(reader, 'a', object)
    await backend.sealObjects('a')
    for (const object of all) await assertHas(reader, round % 2 === 0 ? 'a' : 'b', object)
  }
}

export function objectsContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('has an object once it was put, whatever its bytes', (subject) =>
    withWriters(subject, async (backend, other) => {
      const objects = [
        blob(''),
        blob('text'),
        blob(Buffer.of(0, 255, 10)),
        blob(Buffer.alloc(2 * 1024 * 1024, 'large')),
        ...Array.from({ length: 300 }, (_, at) => blob(`small ${at}`)),
      ]
      for (const object of objects) await assertHasNot(backend, 'a', object)
      await backend.putObjects('a', objects, OPEN)
      for (const object of objects) await assertHas(backend, 'a', object)
      for (const object of objects.slice(0, 10)) await assertHas(other, 'a', object)
      await assertHasNot(backend, 'a', blob('another'))
    }))

  test('keeps a copy of an object and gives copies of it', (subject) =>
    withWriters(subject, async (backend) => {
      for (const how of [OPEN, DIRECT]) {
        const object = blob(`mine ${how.direct}`)
        const given = Buffer.from(object.bytes)
        await backend.putObjects('a', [{ ...object, bytes: given }], how)
        given.fill(0)
        for (let round = 0; round < 2; round += 1) {
          await assertHas(backend, 'a', object)
          const bytes = (await backend.getObject(object.hash, 'a')) as Uint8Array
          bytes.fill(0)
        }
        await assertHas(backend, 'a', object)
      }
    }))

  test('keeps an object once, however often it is put', (subject) =>
    withWriters(subject, async (backend) => {
      const object = blob(Buffer.alloc(10_000, 'once'))
      await backend.putObjects('a', [object], OPEN)
      const bytes = await backend.objectBytes('a')
      assert.ok(bytes >= 0)
      await backend.putObjects('a', [object], OPEN)
      await backend.putObjects('a', [object], DIRECT)
      assert.equal(await backend.objectBytes('a'), bytes)
      assert.equal((await kindsOf(backend, 'a')).size, 1)
    }))

  test('says of each object how large it is and how it is read', (subject) =>
    withWriters(subject, async (backend) => {
      const kinds = ['blob', 'rope', 'tree'] as const
      const objects = kinds.map((kind): StoredObject => ({ ...blob(`a ${kind}`), kind }))
      const expected = new Map(objects.map(({ hash, kind }) => [hash as string, `${kind} 6`]))
      await backend.putObjects('a', objects, OPEN)
      assert.deepEqual(await kindsOf(backend, 'a'), expected)
      await backend.sealObjects('a')
      assert.deepEqual(await kindsOf(backend, undefined), expected)
    }))
}

/** Objects on their way from one run to all. */
export function sealsContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('shows a run’s own objects to that run only, until they are sealed', (subject) =>
    withWriters(subject, async (backend, other) => {
      const object = blob('of a')
      await backend.putObjects('a', [object], OPEN)
      if (backend.can.seals) {
        for (const each of [backend, other]) {
          await assertHasNot(each, 'b', object)
          await assertHasNot(each, undefined, object)
        }
        assert.equal(await backend.objectBytes('b'), 0)
      }
      await backend.sealObjects('a')
      for (const each of [backend, other])
        for (const run of ['a', 'b', undefined]) await assertHas(each, run, object)
      assert.ok((await backend.objectBytes(undefined)) > 0)
      if (backend.can.seals) assert.equal(await backend.objectBytes('a'), 0)
    }))

  test('goes on with new objects after others were sealed', (subject) =>
    withWriters(subject, (backend) => putAndSeal(backend, backend)))

  test('shows them to another process too, whenever it looked last', (subject) =>
    withWriters(subject, putAndSeal))

  test('shares a large object with all runs at once, where it is asked to', (subject) =>
    withWriters(subject, async (backend, other) => {
      const object = blob(Buffer.alloc(1024 * 1024, 'shared'))
      await backend.putObjects('a', [object], DIRECT)
      for (const each of [backend, other])
        for (const run of ['a', 'b', undefined]) await assertHas(each, run, object)
      const bytes = await backend.objectBytes(undefined)
      await backend.putObjects('b', [object], OPEN)
      assert.equal(await backend.objectBytes(undefined), bytes)
    }))

  test('is fine with no objects at all', (subject) =>
    withWriters(subject, async (backend) => {
      await backend.putObjects('a', [], OPEN)
      await backend.putObjects('a', [], DIRECT)
      await backend.sealObjects('a')
      await backend.sealObjects('a')
      assert.equal(await backend.objectBytes('a'), 0)
      assert.equal((await kindsOf(backend, undefined)).size, 0)
      assert.equal((await kindsOf(backend, 'a')).size, 0)
    }))

  test('has each object under the name of its bytes', (subject) =>
    withWriters(subject, async (backend) => {
      const object = blob('as named')
      await backend.putObjects('a', [object], OPEN)
      await backend.sealObjects('a')
      const bytes = (await backend.getObject(object.hash, undefined)) as Uint8Array
      assert.equal(sha256(bytes), object.hash)
    }))
}

export function cacheContract(options: ContractOptions): void {
  const test = contractTests(options)

  test('gives cached bytes back by their key, the last that were written', async ({
    backend,
    other,
  }) => {
    const keys = ['run-index/r', 'run-index/R', '../x', '', 'a\0b', '😀', 'x'.repeat(5000)]
    for (const key of keys) assert.equal(await backend.readCache(key), undefined)
    for (const key of keys) await backend.writeCache(key, Buffer.from(`of ${key}`))
    for (const key of keys)
      assert.equal(String(await (other ?? backend).readCache(key)), `of ${key}`)
    await backend.writeCache('', Buffer.of(0, 255))
    assert.deepEqual([...((await backend.readCache('')) as Uint8Array)], [0, 255])
    await backend.writeCache('', Buffer.alloc(0))
    assert.equal((await backend.readCache(''))?.length, 0)
  })

  test('keeps a copy of what is cached and gives copies of it', async ({ backend }) => {
    const given = Buffer.from('kept')
    await backend.writeCache('key', given)
    given.fill(0)
    for (let round = 0; round < 2; round += 1) {
      const bytes = (await backend.readCache('key')) as Uint8Array
      assert.equal(String(Buffer.from(bytes)), 'kept')
      bytes.fill(0)
    }
  })
}
