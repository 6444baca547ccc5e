import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/index.js'
import { flipBit, logPath, tamper, temporaryStore } from './temporary.js'

/** A run `r` with a few events and one payload out of line. */
async function smallRun(store: Store, { close }: { close: boolean }): Promise<void> {
  const run = await store.run('r')
  await run.append('note', { text: 'one' })
  await run.step('read', { page: 'p'.repeat(5000) }, () => 'out')
  await run.append('note', { text: 'last' })
  if (close) await run.close()
}

describe('a closed run', () => {
  it('shows every flipped bit as damage, also in the last frame, and is never trimmed', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    const path = logPath(dir, 'r')
    const whole = readFileSync(path)
    for (let bit = 0; bit < whole.length * 8; bit += process.env.DAGLOG_LONG ? 1 : 17) {
      writeFileSync(path, flipBit(whole, bit))
      const [report] = (await store.verify('r')).runs
      expect(report?.ok, `bit ${bit}`).toBe(false)
      expect(report?.problems[0]?.kind, `bit ${bit}`).toMatch(/^(?:frame|identity|head)$/)
    }
    writeFileSync(path, flipBit(whole, (whole.length - 40) * 8))
    await expect(store.openRun('r')).rejects.toMatchObject({ code: 'CHAIN_BROKEN', kind: 'damage' })
    expect(readFileSync(path).length).toBe(whole.length)
    await store.close()
  })

  it('is known to be cut when its log ends before its head, at any byte', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    const path = logPath(dir, 'r')
    const whole = readFileSync(path)
    const cuts = [0, 1, whole.length - 1, whole.lastIndexOf('\n', whole.length - 2) + 1]
    for (let cut = 7; cut < whole.length; cut += 61) cuts.push(cut)
    for (const cut of cuts) {
      writeFileSync(path, whole.subarray(0, cut))
      const { ok, runs } = await store.verify('r')
      expect(ok, `cut at ${cut}`).toBe(false)
      expect(
        runs[0]?.problems.some(({ reason }) => /was cut|covers it/.test(reason)),
        `cut at ${cut}`,
      ).toBe(true)
      await expect(store.openRun('r'), `cut at ${cut}`).rejects.toMatchObject({
        code: 'CHAIN_BROKEN',
      })
      expect(readFileSync(path).length, `cut at ${cut}`).toBe(cut)
    }
    await store.close()
  })

  it('notices another run under its name', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    const other = await store.run('other')
    await other.append('note', 1)
    await other.close()
    rmSync(join(dir, 'runs', 'r'), { recursive: true })
    cpSync(join(dir, 'runs', 'other'), join(dir, 'runs', 'r'), { recursive: true })
    const [report] = (await store.verify('r')).runs
    expect(report?.problems).toMatchObject([{ kind: 'identity' }])
    await expect(store.openRun('r')).rejects.toMatchObject({ code: 'CHAIN_BROKEN' })
    await store.close()
  })

  it('is readable around a bad span, which is given as a gap', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    tamper(logPath(dir, 'r'), (bytes) => flipBit(bytes, (bytes.indexOf('"one"') + 1) * 8))
    const types: string[] = []
    for await (const event of (await store.inspectRun('r')).events())
      types.push(`${event.seq} ${event.type}`)
    expect(types).toEqual(['0 run/start', '1 log/gap', '2 step/start', '3 step/end', '4 note'])
    await store.close()
  })

  it('goes on behind a run of NUL bytes in the middle (anthropics/claude-code#49876)', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    tamper(logPath(dir, 'r'), (bytes) => {
      const at = bytes.indexOf('\n') + 1
      return Buffer.from(bytes).fill(0, at, at + 200)
    })
    const gaps: unknown[] = []
    let events = 0
    for await (const event of (await store.inspectRun('r')).events()) {
      if (event.type === 'log/gap') gaps.push(event.data)
      else events += 1
    }
    expect(gaps).toHaveLength(1)
    expect(events).toBe(4)
    expect((await store.verify('r')).ok).toBe(false)
    await store.close()
  })

  it('gives back a record that was fused to the torn one before it (anthropics/claude-code#52387)', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    tamper(logPath(dir, 'r'), (bytes) => {
      const first = bytes.indexOf('\n')
      const second = bytes.indexOf('\n', first + 1)
      return Buffer.concat([bytes.subarray(0, second - 30), bytes.subarray(second + 1)])
    })
    const seqs: number[] = []
    for await (const event of (await store.inspectRun('r')).events()) {
      if (event.type !== 'log/gap') seqs.push(event.seq)
    }
    expect(seqs).toEqual([0, 2, 3, 4])
    await store.close()
  })
})

describe('a run that was never closed', () => {
  it('is cut at a torn end with evidence, says so, and goes on', async () => {
    const { store, dir, notices } = await temporaryStore()
    await smallRun(store, { close: false })
    const path = logPath(dir, 'r')
    const whole = readFileSync(path)
    // The writer is gone without a word; its last frame never became whole.
    const { store: next } = await temporaryStore(join(dir, '..', 'copy'))
    cpSync(join(dir, 'runs'), join(dir, '..', 'copy', 'runs'), { recursive: true })
    const copy = logPath(join(dir, '..', 'copy'), 'r')
    writeFileSync(copy, whole.subarray(0, whole.length - 25))
    const before = (await next.verify('r')).runs[0]
    expect(before).toMatchObject({ ok: true, level: 'self-consistent' })
    expect(before?.incomplete.join()).toMatch(/torn bytes/)

    const run = await next.openRun('r')
    await run.append('note', 'after')
    await run.close()
    const recovered = await (await next.inspectRun('r')).last('log/recovered')
    expect(recovered?.data).toMatchObject({
      segment: 0,
      bytes: expect.any(Number),
      sha256: expect.any(String),
    })
    expect(recovered?.data.maybeAcknowledged).toBeUndefined()
    const torn = readdirSync(join(dir, '..', 'copy', 'runs', 'r', 'torn'))
    expect(torn).toEqual([`0.${recovered?.data.offset}`])
    expect((await next.verify('r')).runs[0]).toMatchObject({
      ok: true,
      incomplete: [],
      level: 'head-log',
    })
    expect(notices).toEqual([])
    await next.close()
    await store.close()
  })

  it('loses a changed last frame with evidence that it may have been acknowledged', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: false })
    const { store: next, dir: copyDir } = await temporaryStore(join(dir, '..', 'copy'))
    cpSync(join(dir, 'runs'), join(copyDir, 'runs'), { recursive: true })
    tamper(logPath(copyDir, 'r'), (bytes) => flipBit(bytes, (bytes.lastIndexOf('"last"') + 2) * 8))
    const [report] = (await next.verify('r')).runs
    expect(report?.incomplete.join()).toMatch(/may have been acknowledged/)
    const run = await next.openRun('r')
    await run.close()
    const recovered = await (await next.inspectRun('r')).last('log/recovered')
    expect(recovered?.data.maybeAcknowledged).toBe(true)
    await next.close()
    await store.close()
  })

  it('calls a changed frame before the last one damage', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: false })
    const { store: next, dir: copyDir } = await temporaryStore(join(dir, '..', 'copy'))
    cpSync(join(dir, 'runs'), join(copyDir, 'runs'), { recursive: true })
    tamper(logPath(copyDir, 'r'), (bytes) => flipBit(bytes, (bytes.indexOf('"one"') + 2) * 8))
    expect((await next.verify('r')).ok).toBe(false)
    await expect(next.openRun('r')).rejects.toMatchObject({
      code: 'CHAIN_BROKEN',
      data: { seq: 1 },
    })
    await next.close()
    await store.close()
  })
})

describe('a store', () => {
  it('lists and reads all other runs when one cannot be read', async () => {
    const { store, dir, notices } = await temporaryStore()
    for (const id of ['a', 'b', 'c']) {
      const run = await store.run(id)
      await run.append('note', id)
      await run.close()
    }
    writeFileSync(logPath(dir, 'b'), 'garbage\n'.repeat(10))
    rmSync(logPath(dir, 'c'))
    const runs = await store.runs()
    expect(runs.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c'])
    expect((await (await store.inspectRun('a')).last('note'))?.data).toBe('a')
    const report = await store.verify()
    expect(Object.fromEntries(report.runs.map(({ run, ok }) => [run, ok]))).toEqual({
      a: true,
      b: false,
      c: false,
    })
    expect(notices).toEqual([])
    await store.close()
  })

  it('goes on recording, and says so, when its own log is damaged', async () => {
    const { store, dir, notices } = await temporaryStore()
    await smallRun(store, { close: true })
    const more = await store.run('more')
    await more.close()
    await store.close()
    const path = join(dir, 'store.000000.jsonl')
    tamper(path, (bytes) => flipBit(bytes, (bytes.indexOf('\n') + 30) * 8))
    const again = await temporaryStore(dir)
    const run = await again.store.run('later')
    expect((await run.append('note', 1)).seq).toBe(1)
    await run.close()
    expect(again.notices.some(({ about }) => about === 'heads')).toBe(true)
    const report = await again.store.verify()
    expect(report.storeLog.ok).toBe(false)
    expect(report.ok).toBe(false)
    expect(report.runs.every(({ ok }) => ok)).toBe(true)
    expect(notices).toEqual([])
    await again.store.close()
  })

  it('T31, T32: gives the same answers without its cache', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    const warm = [
      await store.runs(),
      await (await store.inspectRun('r')).summary(),
      await store.verify(),
    ]
    await store.close()
    expect(existsSync(join(dir, 'cache'))).toBe(true)
    rmSync(join(dir, 'cache'), { recursive: true })
    const { store: cold } = await temporaryStore(dir)
    expect([
      await cold.runs(),
      await (await cold.inspectRun('r')).summary(),
      await cold.verify(),
    ]).toEqual(warm)
    await cold.close()
  })

  it('names the object and who refers to it when one is missing or changed', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    const path = join(dir, 'runs', 'r', 'objects.open')
    const whole = readFileSync(path)
    await store.close()
    for (const bytes of [Buffer.alloc(0), flipBit(whole, 100 * 8)]) {
      writeFileSync(path, bytes)
      const { store: next } = await temporaryStore(dir)
      const [report] = (await next.verify('r')).runs
      expect(report?.problems).toMatchObject([{ kind: 'object', seq: 2 }])
      const read = (async () => {
        for await (const event of (await next.inspectRun('r')).events()) void event
      })()
      await expect(read).rejects.toMatchObject({ kind: 'damage', data: { seq: 2, run: 'r' } })
      await next.close()
    }
  })

  it('refuses a newer read version with words, and opens a newer write version to read', async () => {
    const { store, dir } = await temporaryStore()
    await smallRun(store, { close: true })
    await store.close()
    const path = join(dir, 'store.json')
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify({ ...manifest, format: { read: 1, write: 2 } }))
    const { store: reading } = await temporaryStore(dir)
    expect((await reading.runs()).map(({ id }) => id)).toEqual(['r'])
    await expect(reading.run('r')).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW' })
    await reading.close()
    writeFileSync(path, JSON.stringify({ ...manifest, format: { read: 2, write: 2 } }))
    await expect(temporaryStore(dir)).rejects.toThrow(/FORMAT_TOO_NEW.*newer daglog/)
    writeFileSync(
      path,
      JSON.stringify({ ...manifest, features: { mustUnderstand: ['sharding'], readOk: [] } }),
    )
    await expect(temporaryStore(dir)).rejects.toThrow(/sharding/)
    writeFileSync(path, 'nonsense')
    await expect(temporaryStore(dir)).rejects.toMatchObject({ code: 'STORE_INVALID' })
  })
})
