/**
 * The recorder where writing fails, where a process dies, and where a rule changes.
 */
import { describe, expect, it } from 'vitest'
import type { Backend } from '../../src/backend/backend.js'
import { openRecorder, withReplay } from '../../src/http.js'
import { DaglogError, memory, openStore } from '../../src/index.js'

/** A backend in memory whose logs can be full. */
function fillable(): { backend: Backend; full: { now: boolean } } {
  const inner = memory()
  const full = { now: false }
  const backend = new Proxy(inner, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown
      if (typeof member !== 'function') return member
      if (name !== 'openWriter') return member.bind(target)
      return async (...asked: Parameters<Backend['openWriter']>) => {
        const writer = await target.openWriter(...asked)
        return new Proxy(writer, {
          get(own, key) {
            const part = Reflect.get(own, key) as unknown
            if (typeof part !== 'function') return part
            if (key !== 'commit') return part.bind(own)
            return async (...bytes: Parameters<typeof writer.commit>) => {
              if (full.now) throw new DaglogError('WRITE_FAILED', 'no space left; try: make room')
              return own.commit(...bytes)
            }
          },
        })
      }
    },
  })
  return { backend, full }
}

const answering = (): Promise<Response> => Promise.resolve(new Response('an answer'))

describe('a disk that is full', () => {
  it('stops no call where the recorder fails open, and the gap is told once there is room', async () => {
    const { backend, full } = fillable()
    const notices: string[] = []
    const store = await openStore(backend, { onNotice: ({ message }) => notices.push(message) })
    const run = await store.run('r')
    const recording = withReplay(answering, { into: run })
    const ask = async (): Promise<string> => (await recording('http://h/')).text()
    expect(await ask()).toBe('an answer')
    full.now = true
    expect(await ask()).toBe('an answer')
    expect(await ask()).toBe('an answer')
    full.now = false
    expect(await ask()).toBe('an answer')
    await recording.close()
    await run.close()
    const types: string[] = []
    const gaps: unknown[] = []
    for await (const { type, data } of (await store.inspectRun('r')).events()) {
      types.push(type)
      if (type === 'http/gap') gaps.push(data)
    }
    expect(types.filter((type) => type === 'http/exchange').length).toBe(2)
    expect(gaps).toMatchObject([{ count: 2, from: 2, to: 3 }])
    expect(notices.some((text) => text.includes('could not be written'))).toBe(true)
    await store.close()
  })

  it('fails the call where the recorder fails closed', async () => {
    const { backend, full } = fillable()
    const store = await openStore(backend, { onNotice: () => {} })
    const run = await store.run('r')
    const recording = withReplay(answering, { into: run, fail: 'closed' })
    expect(await (await recording('http://h/')).text()).toBe('an answer')
    full.now = true
    await expect(recording('http://h/')).rejects.toThrow('WRITE_FAILED')
    full.now = false
    await store.close().catch(() => {})
  })
})

describe('a recorder', () => {
  it('leaves a request that never ended visible, and its ordinal taken', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const recorder = await openRecorder(run)
    const head = { method: 'GET', url: 'http://h/?key=secretsecretsecret1', headers: [] }
    await recorder.start(head, 'wire')
    // As after a crash: nobody ends it.
    await run.append('note', 'later')
    const starts: unknown[] = []
    for await (const { data } of run.events({ types: ['http/start'] })) starts.push(data)
    expect(starts).toMatchObject([{ ordinal: 1, method: 'GET' }])
    expect(JSON.stringify(starts)).not.toContain('secretsecret')
    const other = await (await openRecorder(run)).start(head, 'wire')
    expect(other.ordinal).toBe(2)
    await other.end('client-abort')
  })

  it('is replayed by the rules of the replay, whatever it recorded by (row 22)', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const rule = { name: 'date', version: 1, regex: /\d{4}-\d\d-\d\d/g }
    const post = (date: string): RequestInit => ({ method: 'POST', body: `on ${date}` })
    await (await withReplay(answering, { into: run })('http://h/', post('2026-01-01'))).text()
    const replaying = withReplay(answering, { from: run, normalisers: [rule] })
    expect((await replaying('http://h/', post('2026-02-02'))).status).toBe(200)
    const exact = withReplay(answering, { from: run })
    expect((await exact('http://h/', post('2026-02-02'))).status).toBe(404)
    const into = await store.run('ruled')
    const ruled = withReplay(answering, { into, normalisers: [rule] })
    await (await ruled('http://h/', post('2026-03-03'))).text()
    const exchange = await into.last('http/exchange')
    expect(exchange?.data.rules).toEqual([{ name: 'date', version: 1, changed: true }])
    for (const bad of [
      [rule, rule],
      [{ ...rule, regex: /x/ }],
      [{ name: 'p', version: 1, pointer: 'x' }],
    ]) {
      await expect(openRecorder(into, { normalisers: bad })).rejects.toThrow('USAGE')
    }
  })

  it('answers the same with its cache and without', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const recording = withReplay(answering, { into: run })
    for (let n = 0; n < 70; n += 1) await (await recording(`http://h/${n}`)).text()
    await run.close()
    for (let round = 0; round < 2; round += 1) {
      const replaying = withReplay(answering, { from: await store.inspectRun('r') })
      for (const n of [0, 35, 69]) {
        expect(await (await replaying(`http://h/${n}`)).text()).toBe('an answer')
      }
      expect((await replaying('http://h/70')).status).toBe(404)
    }
    await store.close()
  })
})
