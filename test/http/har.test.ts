import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { harEntry } from '../../src/http/har-entry.js'
import { eventSourceMessages, eventStreamOf } from '../../src/http/har-event-source.js'
import { exchangeOfHar } from '../../src/http/har-exchange.js'
import type { ToldExchange } from '../../src/http/har-foreign.js'
import { anyExchange, exchangeData, STARTED } from './exchanges.js'

/** Through a file, as another program would read and write it. */
function filed(value: unknown): Record<string, never> {
  return JSON.parse(JSON.stringify(value))
}

/** Byte arrays of any class as one. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

describe('an exchange through HAR', () => {
  it('is the same exchange again, byte for byte', () => {
    fc.assert(
      fc.property(anyExchange, (exchange) => {
        const reading = exchangeOfHar(filed(harEntry(exchange)))
        expect(plain(reading)).toEqual(plain({ ours: exchange }))
      }),
    )
  })

  it('is what the entry says once anything of it was edited, and says so', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a file has no types.
    const edits: ((entry: any) => void)[] = [
      (entry) => (entry.response.content.text = '{"said":3}'),
      (entry) => (entry.request.url += '&edited'),
      (entry) => (entry._daglog.exchange.chunks = 'AAAA'),
      (entry) => (entry._daglog.version = 99),
    ]
    for (const edit of edits) {
      const entry = filed(harEntry(exchangeData()))
      edit(entry)
      const reading = exchangeOfHar(entry)
      expect(reading).toMatchObject({ end: 'complete' })
      expect(JSON.stringify(reading)).toContain('the entry was changed since')
    }
  })

  it('has members of HAR 1.2 and no other but those that begin with an underscore', () => {
    fc.assert(
      fc.property(anyExchange, (exchange) => {
        const entry = harEntry(exchange)
        const own = (value: object) => Object.keys(value).filter((key) => !key.startsWith('_'))
        expect(own(entry)).toEqual([
          'startedDateTime',
          'time',
          'request',
          'response',
          'cache',
          'timings',
        ])
        for (const message of [entry.request, entry.response]) {
          expect(Array.isArray(message.headers) && Array.isArray(message.cookies)).toBe(true)
          expect(typeof message.httpVersion).toBe('string')
        }
        expect(typeof entry.response.statusText).toBe('string')
        expect(typeof entry.response.content.mimeType).toBe('string')
        expect(new Date(entry.startedDateTime).getTime()).toBe(STARTED)
      }),
    )
  })
})

describe('a HAR entry', () => {
  it('20. pollyjs#346: holds binary as base64 and packed text as text, and gives both back', () => {
    const gif = Uint8Array.from([0x47, 0x49, 0x46, 0x38, 0xff, 0x00, 0xfe])
    const image = harEntry(exchangeData({ said: gif, saidWith: [['content-type', 'image/gif']] }))
    expect(image.response.content).toMatchObject({ encoding: 'base64', size: 7 })
    expect(Buffer.from(image.response.content.text, 'base64').equals(gif)).toBe(true)
    const packed = gzipSync('{"a":"text"}')
    const saidWith = [['content-encoding', 'gzip']] as const
    const entry = harEntry(exchangeData({ said: packed, saidWith }))
    expect(entry.response.content).toMatchObject({ text: '{"a":"text"}', size: 12 })
    expect(entry.response.bodySize).toBe(packed.length)
    expect(entry.response.content.encoding).toBeUndefined()
  })

  it('tells an event stream in its text and as messages with the times of their pieces', () => {
    const said = ': hi\n\nevent: ping\nid: 7\ndata: {"a":1}\n\ndata: b\ndata: c\n\n'
    const first = said.indexOf('data: b')
    const entry = harEntry(
      exchangeData({
        said,
        saidWith: [['Content-Type', 'text/event-stream; charset=utf-8']],
        pieces: [
          [first + 3, 1_000],
          [said.length - first - 3, 4_000],
        ],
      }),
    )
    expect(entry.response.content.text).toBe(said)
    expect(entry._eventSourceMessages).toEqual([
      { time: (STARTED + 21) / 1000, eventName: 'ping', eventId: '7', data: '{"a":1}' },
      { time: (STARTED + 25) / 1000, eventName: 'message', eventId: '7', data: 'b\nc' },
    ])
  })

  it('names what went wrong where no whole answer came', () => {
    const { response, ...rest } = exchangeData({ end: 'timeout' })
    const entry = harEntry({ ...rest, chunks: new Uint8Array() })
    expect(entry.response).toMatchObject({ status: 0, _error: 'timeout', bodySize: -1 })
    expect(response?.status).toBe(200)
  })

  it('lists cookies beside the headers', () => {
    const entry = harEntry(
      exchangeData({
        askedWith: [['Cookie', 'a=1; b=x=y']],
        saidWith: [
          ['Set-Cookie', 'sid=z; Path=/; HttpOnly; Secure; Expires=Thu, 01 Jan 2026 00:00:00 GMT'],
        ],
      }),
    )
    expect(entry.request.cookies).toEqual([
      { name: 'a', value: '1' },
      { name: 'b', value: 'x=y' },
    ])
    expect(entry.response.cookies).toEqual([
      {
        ...{ name: 'sid', value: 'z', path: '/', httpOnly: true, secure: true },
        expires: '2026-01-01T00:00:00.000Z',
      },
    ])
  })
})

const request = {
  ...{ method: 'GET', url: 'https://x.test/a', httpVersion: 'h2' },
  ...{
    headers: [
      { name: ':path', value: '/a' },
      { name: 'accept', value: '*/*' },
    ],
  },
}
const response = {
  ...{ status: 200, statusText: '', httpVersion: 'h2', headers: [] },
  ...{ content: { size: 5, mimeType: 'text/plain', text: 'hello' } },
}

describe('an entry of another program', () => {
  it('is taken for what it says, and what is not taken over is named', () => {
    const chrome = {
      ...{ startedDateTime: '2026-11-30T12:00:00.000Z', time: 30, timings: { receive: 10 } },
      ...{ request, response, cache: {}, pageref: 'page_1', _initiator: { type: 'script' } },
      ...{ _priority: 'High', serverIPAddress: '' },
    }
    expect(plain(exchangeOfHar(chrome))).toEqual({
      request: {
        ...{ method: 'GET', url: 'https://x.test/a', httpVersion: 'h2' },
        ...{ headers: [['accept', '*/*']], body: 'bytes ' },
      },
      response: { status: 200, httpVersion: 'h2', headers: [], body: 'bytes 68656c6c6f' },
      end: 'complete',
      ...{ started: STARTED, totalMs: 30, headMs: 20 },
      lost: ['what pageref says', 'what _initiator says', 'what _priority says'],
    })
  })

  it('is refused rather than answer with what no server sent', () => {
    const refused = (entry: unknown) => (exchangeOfHar(entry) as { refused?: string }).refused
    const with_ = (change: object, content?: object) => ({
      request: { ...request, ...change },
      response: content === undefined ? response : { ...response, content },
    })
    expect(refused(with_({}, { size: 9, mimeType: 'x' }))).toContain(
      'body of its response, 9 bytes',
    )
    expect(refused(with_({}, { size: 9, _file: 'a.bin' }))).toContain('another file')
    expect(refused(with_({}, { size: 9, text: 'x', encoding: 'rot13' }))).toContain('encoding')
    expect(refused(with_({ url: 'data:text/plain,x' }))).toContain('over data')
    expect(refused(with_({ url: '/relative' }))).toContain('no absolute URL')
    expect(refused(with_({ bodySize: 3 }))).toContain('body of its request, 3 bytes')
    const fields = { mimeType: 'multipart/form-data', params: [{ name: 'a', value: '1' }] }
    expect(refused(with_({ postData: fields }))).toContain('only as fields')
    expect(refused({ ...with_({}), _webSocketMessages: [{}] })).toContain('WebSocket')
    for (const bad of [null, 7, [], {}, { request: {}, response: {} }, with_({ method: 5 })])
      expect(refused(bad)).toEqual(expect.any(String))
  })

  it('never throws, whatever it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (a, b, c) => {
        exchangeOfHar(a)
        exchangeOfHar({ request: a, response: b, _daglog: c })
        exchangeOfHar({ request: { ...request, postData: a, headers: b }, response })
        exchangeOfHar({ request, response: { ...response, content: a }, _eventSourceMessages: [b] })
      }),
    )
  })

  it('gives an event stream from its messages where Chrome left out the text', () => {
    const messages = [
      { time: 1, eventName: 'message', eventId: '', data: 'a\nb' },
      { time: 2, eventName: 'ping', eventId: '3', data: '{}' },
    ]
    const reading = exchangeOfHar({
      request,
      response: { ...response, content: { size: 0, mimeType: 'text/event-stream' } },
      _eventSourceMessages: messages,
    })
    const { response: answer, lost } = reading as ToldExchange
    const body = answer?.body as Uint8Array
    expect(Buffer.from(body).toString()).toBe(
      'data: a\ndata: b\n\nevent: ping\nid: 3\ndata: {}\n\n',
    )
    expect(lost).toContain('the exact bytes of an event stream: put together from its messages')
    const again = eventSourceMessages([{ bytes: body, at: 0 }])
    expect(again.map(({ eventName, data }) => [eventName, data])).toEqual(
      messages.map(({ eventName, data }) => [eventName, data]),
    )
    expect(eventStreamOf([{ data: 'x', eventName: 'a\nb' }])).toBeUndefined()
  })

  it('tells a form by its fields only where that gives its bytes', () => {
    const postData = {
      mimeType: 'application/x-www-form-urlencoded',
      params: [{ name: 'a b', value: '&' }],
    }
    const reading = exchangeOfHar({ request: { ...request, postData }, response })
    expect(Buffer.from((reading as ToldExchange).request.body).toString()).toBe('a+b=%26')
  })
})
