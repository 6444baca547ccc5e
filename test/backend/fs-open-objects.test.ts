import { describe, expect, it } from 'vitest'
import type { Backend } from '../../src/backend/backend.js'
import { directory } from '../../src/backend/fs.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { DaglogError } from '../../src/core/errors.js'
import { sha256 } from '../../src/core/hash.js'
import type { StoredObject } from '../../src/core/object.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { type FakeProcess, FakeProcesses } from './fake-processes.js'
import { fileText, freshSimulated, writeFile } from './stores.js'

const OPTIONS = { program: 'test' }
const OPEN = { direct: false }
const PATH = new FsLayout('/store').openObjects('r')
const isObjects = ({ path }: { path: string }): boolean => path === PATH

function blob(text: string): StoredObject {
  const bytes = Buffer.from(text)
  return { hash: sha256(bytes), kind: 'blob', bytes }
}

function storeOn(disk: SimulatedDisk, table: FakeProcess): Backend {
  return directory('/store', { disk, processes: table, codec: 'stored' })
}

/** A store whose run `r` this process writes. */
async function written(): Promise<{ disk: SimulatedDisk; backend: Backend; world: FakeProcesses }> {
  const { disk } = freshSimulated({ pageBytes: 16 })
  const world = new FakeProcesses()
  const backend = storeOn(disk, world.start())
  await backend.openWriter({ run: 'r' }, OPTIONS)
  return { disk, backend, world }
}

async function has(backend: Backend, object: StoredObject): Promise<boolean> {
  const bytes = await backend.getObject(object.hash, 'r')
  return bytes !== undefined && object.bytes.every((byte, at) => bytes[at] === byte)
}

describe('open objects', () => {
  it('survive power loss once they were put, whenever the power goes', async () => {
    const { disk, backend } = await written()
    const kept: StoredObject[] = []
    const moments: { disk: SimulatedDisk; kept: StoredObject[] }[] = []
    disk.onOperation = ({ phase, changes }) => {
      if (phase === 'after' && changes) moments.push({ disk: disk.clone(), kept: [...kept] })
    }
    for (const text of ['one', 'two', 'three']) {
      await backend.putObjects('r', [blob(text), blob(`${text} too`)], OPEN)
      kept.push(blob(text), blob(`${text} too`))
    }
    await backend.sealObjects('r')
    moments.push({ disk: disk.clone(), kept })
    disk.onOperation = undefined
    for (const moment of moments) {
      for (const state of moment.disk.crashStates({ limit: 40 })) {
        const after = storeOn(state, new FakeProcesses().start({ boot: 'boot-2' }))
        for (const object of moment.kept) expect(await has(after, object)).toBe(true)
        await after.openWriter({ run: 'r' }, OPTIONS)
        await after.putObjects('r', [blob('next')], OPEN)
        for (const object of [...moment.kept, blob('next')])
          expect(await has(after, object)).toBe(true)
      }
    }
  })

  it('that a crash tore are cut with evidence before the next is put', async () => {
    const { disk, backend, world } = await written()
    await backend.putObjects('r', [blob('whole')], OPEN)
    const file = disk.openFile(PATH, 'append')
    file.append(Buffer.from('half a record'))
    file.close()
    const next = storeOn(disk, world.start())
    await next.openWriter({ run: 'r' }, { ...OPTIONS, force: true })
    await next.putObjects('r', [blob('next')], OPEN)
    expect(await has(next, blob('whole'))).toBe(true)
    expect(await has(next, blob('next'))).toBe(true)
    const evidence = [...disk.dump()].filter(([path]) => path.includes('/torn/'))
    expect(evidence.map(([, bytes]) => String(bytes))).toEqual(['half a record'])
  })

  it('are put whole though the disk takes them in pieces', async () => {
    const { disk, backend } = await written()
    disk.shortWriteNext(isObjects, 5)
    disk.shortWriteNext(isObjects, 50)
    await backend.putObjects('r', [blob('one'), blob('two')], OPEN)
    expect(disk.faultsLeft).toBe(0)
    expect(await has(backend, blob('two'))).toBe(true)
  })

  it('are not there, nor part of them, when the disk was full; nothing more is put until it is opened anew', async () => {
    const { disk, backend } = await written()
    await backend.putObjects('r', [blob('good')], OPEN)
    const before = fileText(disk, PATH)
    disk.shortWriteNext(isObjects, 7)
    disk.failNext(({ name, path }) => name === 'append' && path === PATH, { code: 'EINTR' })
    const failure = await backend.putObjects('r', [blob('bad')], OPEN).catch((error) => error)
    expect(failure).toBeInstanceOf(DaglogError)
    expect(failure.code).toBe('WRITE_FAILED')
    disk.capacityBytes = Number.POSITIVE_INFINITY
    const again = backend.putObjects('r', [blob('more')], OPEN)
    await expect(again).rejects.toBeInstanceOf(DaglogError)
    expect(fileText(disk, PATH).startsWith(before)).toBe(true)
    expect(await has(backend, blob('bad'))).toBe(false)
    expect(await has(backend, blob('good'))).toBe(true)
  })

  it('whose sync failed are not counted on by the next writer', async () => {
    const { disk, backend, world } = await written()
    disk.failNext(({ name, path }) => name === 'sync' && path === PATH, { code: 'EIO' })
    const put = backend.putObjects('r', [blob('doubtful')], OPEN)
    await expect(put).rejects.toBeInstanceOf(DaglogError)
    const next = storeOn(disk, world.start())
    await next.openWriter({ run: 'r' }, { ...OPTIONS, force: true })
    await next.putObjects('r', [blob('doubtful'), blob('next')], OPEN)
    for (const state of disk.crashStates({ limit: 100 })) {
      const after = storeOn(state, new FakeProcesses().start({ boot: 'boot-2' }))
      expect(await has(after, blob('doubtful'))).toBe(true)
      expect(await has(after, blob('next'))).toBe(true)
    }
  })

  it('of which one is not what its name says are said to be corrupt, the others are given', async () => {
    const { disk, backend, world } = await written()
    await backend.putObjects('r', [blob('first'), blob('second')], OPEN)
    disk.flipBit(PATH, 8 * 42)
    const reader = storeOn(disk, world.start())
    await expect(reader.getObject(blob('first').hash, 'r')).resolves.toBeUndefined()
    await expect(backend.getObject(blob('first').hash, 'r')).rejects.toMatchObject({
      code: 'OBJECT_CORRUPT',
    })
    expect(await has(backend, blob('second'))).toBe(true)
  })

  it('behind one that is damaged are still found', async () => {
    const { disk, backend, world } = await written()
    await backend.putObjects('r', [blob('first'), blob('second')], OPEN)
    disk.flipBit(PATH, 8 * 42)
    const reader = storeOn(disk, world.start())
    expect(await has(reader, blob('second'))).toBe(true)
  })

  it('behind one that is damaged are never cut away: they were acknowledged', async () => {
    const { disk, backend, world } = await written()
    await backend.putObjects('r', [blob('first'), blob('second')], OPEN)
    disk.flipBit(PATH, 8 * 42)
    const before = fileText(disk, PATH).length
    const next = storeOn(disk, world.start())
    await next.openWriter({ run: 'r' }, { ...OPTIONS, force: true })
    await next.putObjects('r', [blob('third')], OPEN).catch(() => {})
    expect(fileText(disk, PATH).length).toBeGreaterThanOrEqual(before)
  })

  // A fenced writer that still puts cuts what the new writer is in the middle of writing, and seals
  // and removes the file under it. The file needs a fence of its own, as the log has: one for each
  // segment, say.
  it('of a new writer are safe from the old one', async () => {
    const { disk, backend, world } = await written()
    await backend.putObjects('r', [blob('old')], OPEN)
    const next = storeOn(disk, world.start())
    await next.openWriter({ run: 'r' }, { ...OPTIONS, force: true })
    await next.putObjects('r', [blob('new one')], OPEN)
    await backend.sealObjects('r').catch(() => {})
    await next.putObjects('r', [blob('new two')], OPEN)
    const reader = storeOn(disk, world.start())
    for (const text of ['old', 'new one', 'new two'])
      expect([text, await has(reader, blob(text))]).toEqual([text, true])
  })

  it('of a file that is none are none', async () => {
    const { disk } = freshSimulated()
    writeFile(disk, PATH, 'this is no file of objects; it has no record in it at all, in fact')
    const backend = storeOn(disk, new FakeProcesses().start())
    expect(await backend.hasObject(blob('x').hash, 'r')).toBe(false)
    await backend.openWriter({ run: 'r' }, OPTIONS)
    await backend.putObjects('r', [blob('x')], OPEN)
    expect(await has(backend, blob('x'))).toBe(true)
  })
})
