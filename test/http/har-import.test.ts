/**
 * HAR files as runs: what daglog wrote comes back as it was, what others wrote is scrubbed, keyed,
 * and replays; what a HAR cannot carry is told.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HttpExchange } from '../../src/core/http-events.js'
import { HAR_FILE_BYTES_MAX } from '../../src/core/limits.js'
import { harPieces } from '../../src/http/har-export.js'
import { importHar } from '../../src/http/har-import.js'
import { openReplayer } from '../../src/http.js'
import { memory, openStore, type Store } from '../../src/index.js'
import { anyExchange, exchangeData } from './exchanges.js'

const KEY = `sk-ant-${'a1B2'.repeat(8)}`

function harOf(entries: readonly unknown[]): Buffer {
  const creator = { name: 'WebInspector', version: '537.36' }
  return Buffer.from(JSON.stringify({ log: { version: '1.2', creator, pages: [], entries } }))
}

function entry(change: object = {}, answer: object = {}): Record<string, unknown> {
  const headers = [{ name: 'Content-Type', value: 'application/json' }]
  return {
    startedDateTime: '2026-11-30T12:00:00.000Z',
    ...{ time: 30, timings: { receive: 10 }, cache: {} },
    request: {
      ...{ method: 'POST', url: 'https://api.example.com/v1/x', httpVersion: 'h2', headers },
      ...{ postData: { mimeType: 'application/json', text: '{"a":1}' }, ...change },
    },
    response: {
      ...{ status: 200, statusText: '', httpVersion: 'h2', headers },
      ...{ content: { size: 9, mimeType: 'application/json', text: '{"said":1' }, ...answer },
    },
  }
}

const options = { program: 'test' }
const file = (bytes: Buffer) => ({ path: '/tmp/some.har', bytes })

async function exchangesOf(store: Store, run: string): Promise<HttpExchange[]> {
  const found: HttpExchange[] = []
  const view = await store.inspectRun(run)
  for await (const { data } of view.events({ types: ['http/exchange'] })) found.push(data)
  return found
}

async function exported(store: Store, run: string): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  const onLeftOut = (what: string): void => expect.fail(what)
  for await (const piece of harPieces(await store.inspectRun(run), { program: 'test', onLeftOut }))
    pieces.push(piece)
  return Buffer.concat(pieces)
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

describe('an export that is imported', () => {
  it('is the same exchanges, whatever they hold, and exports the same file', () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyExchange, { maxLength: 5 }), async (made) => {
        const store = await openStore(memory())
        const run = await store.createRun({ id: 'r' })
        // What a recorder wrote holds no cookie that is not scrubbed.
        const list = made.map((one, at) => ({ ...withoutCookies(one), ordinal: at + 1 }))
        for (const exchange of list) await run.append('http/exchange', exchange)
        const bytes = await exported(store, 'r')
        const { run: id, ...told } = await importHar(store, file(bytes), options)
        expect(told).toMatchObject({ exchanges: made.length, refused: [], lost: [], neverHeld: [] })
        expect(plain(await exchangesOf(store, id))).toEqual(plain(list))
        const again = (await exported(store, id)).toString()
        expect(again.replace(`run ${id}`, 'run r')).toBe(bytes.toString())
        await store.close()
      }),
      { numRuns: 40 },
    ))

  it('is scrubbed where somebody put a secret into it since', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    await run.append('http/exchange', exchangeData({ said: KEY }))
    const { run: id } = await importHar(store, file(await exported(store, 'r')), options)
    const [exchange] = await exchangesOf(store, id)
    expect(Buffer.from(exchange?.response?.body ?? []).toString()).toMatch(/^daglog-scrubbed-/)
    expect(exchange?.scrubbed).toHaveLength(1)
  })
})

function withoutCookies(exchange: HttpExchange): HttpExchange {
  const kept = <M extends { readonly headers: HttpExchange['request']['headers'] }>(
    message: M,
  ): M => ({
    ...message,
    headers: message.headers.filter(([name]) => !/^(?:set-)?cookie$/i.test(name)),
  })
  const { request, response } = exchange
  const { trailers: _, ...answer } = response ?? {}
  return {
    ...exchange,
    request: kept(request),
    ...(response && { response: kept(answer as typeof response) }),
  }
}

describe('a HAR of a browser', () => {
  it('becomes a run that replays, and says what it cannot carry', async () => {
    const store = await openStore(memory())
    const chrome = { ...entry(), _initiator: { type: 'script' }, _priority: 'High' }
    const bytes = harOf([chrome, entry({ url: 'data:,x' }), { ...entry(), _priority: 'Low' }])
    const told = await importHar(store, file(bytes), options)
    expect(told).toMatchObject({
      ...{ run: expect.stringMatching(/^2026-11-30-har-[0-9a-f]{8}$/), outcome: 'new' },
      ...{ creator: 'WebInspector 537.36', entries: 3, exchanges: 2 },
      refused: [{ entry: 1, reason: 'is no call over HTTP, but over data' }],
      lost: [
        { what: 'what _initiator says', count: 1 },
        { what: 'what _priority says', count: 2 },
      ],
    })
    expect(told.neverHeld.length).toBeGreaterThan(0)
    const view = await store.inspectRun(told.run)
    expect((await view.last('http/import'))?.data).toMatchObject({ path: '/tmp/some.har' })
    const replayer = await openReplayer(view)
    const request = {
      ...{ method: 'POST', url: 'https://api.example.com/v1/x', form: 'decoded' as const },
      headers: [['content-type', 'application/json']] as const,
      body: Buffer.from('{ "a": 1 }'),
    }
    for (const expected of ['answer', 'answer', 'miss'])
      expect((await replayer.answer(request)).kind).toBe(expected)
    const [first] = await exchangesOf(store, told.run)
    expect(first?.timing).toEqual({
      started: Date.UTC(2026, 10, 30, 12),
      headUs: 20_000,
      endUs: 30_000,
    })
  })

  it('is the same run when it is imported again, and another where it is another file', async () => {
    const store = await openStore(memory())
    const one = await importHar(store, file(harOf([entry()])), options)
    const again = await importHar(store, file(harOf([entry()])), options)
    expect(again).toEqual({ ...one, outcome: 'same' })
    const other = await importHar(store, file(harOf([entry(), entry()])), options)
    expect(other.run).not.toBe(one.run)
    const taken = importHar(store, file(harOf([])), { ...options, id: one.run })
    await expect(taken).rejects.toMatchObject({ code: 'RUN_EXISTS' })
  })

  it('16. vcr#704: lets no secret in', async () => {
    const backend = memory()
    const store = await openStore(backend)
    const headers = [
      { name: 'Authorization', value: `Bearer ${KEY}` },
      { name: 'Cookie', value: 'sid=very-secret-session-value' },
    ]
    const bytes = harOf([entry({ headers }, { content: { text: `{"echo":"${KEY}"}` } })])
    const { run } = await importHar(store, file(bytes), options)
    const text = JSON.stringify(plain(await exchangesOf(store, run)))
    expect(text).not.toContain(KEY)
    expect(text).not.toContain(Buffer.from(KEY).toString('hex'))
    expect(text).not.toContain('very-secret-session-value')
    const [exchange] = await exchangesOf(store, run)
    expect(exchange?.scrubbed.length).toBeGreaterThanOrEqual(3)
  })

  it('is refused with words where it is none, and nothing of it is repeated', async () => {
    const store = await openStore(memory())
    for (const text of ['', 'no json', `{"log":{"entries":7}}`, '[]', 'null', `{"key":"${KEY}"`]) {
      const refused = await importHar(store, file(Buffer.from(text)), options).catch((e) => e)
      expect(refused).toMatchObject({ code: 'HAR_INVALID' })
      expect(String(refused)).not.toContain(KEY.slice(8))
    }
    const huge = { length: HAR_FILE_BYTES_MAX + 1 } as unknown as Buffer
    await expect(importHar(store, file(huge), options)).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
    })
    expect(await store.runs()).toEqual([])
    const marked = Buffer.concat([Buffer.from('\uFEFF'), harOf([entry()])])
    expect((await importHar(store, file(marked), options)).exchanges).toBe(1)
  })
})
