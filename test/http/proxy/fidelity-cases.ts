/**
 * Answers of an origin, as the bytes that it sends: each kind of content-encoding, framing, status
 * and break, and what once went wrong elsewhere.
 */
import zlib from 'node:zlib'
import type { Script } from './origin.js'

export interface FidelityCase extends Script {
  readonly name: string
  readonly method?: string
}

const text = `${JSON.stringify({ text: 'größer als ein Häppchen 🐟', list: Array.from({ length: 300 }, (_, n) => n) })}\n`
const raw = Buffer.from(text)
const ENCODINGS: readonly (readonly [name: string, body: Buffer])[] = [
  ['identity', raw],
  ['gzip', zlib.gzipSync(raw)],
  ['br', zlib.brotliCompressSync(raw)],
  ['deflate', zlib.deflateSync(raw)],
  ['gzip, br', zlib.brotliCompressSync(zlib.gzipSync(raw))],
  // Says gzip and is not: it passes as it is.
  ['gzip-broken', Buffer.from('this is not gzip, whatever the header says')],
]
const FRAMINGS = ['length', 'chunked', 'close'] as const
const STATUSES = [
  [200, 'OK'],
  [201, 'Created'],
  [299, 'Whatever we like'],
  [400, 'Bad Request'],
  [404, ''],
  [429, 'Too Many Requests'],
  [500, 'Internal Server Error'],
  [529, 'Site is overloaded'],
] as const

function pieces(bytes: Uint8Array, size: number): Buffer[] {
  const found: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size)
    found.push(Buffer.from(bytes.subarray(at, at + size)))
  return found
}

function chunkOf(bytes: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ])
}

type Framing = (typeof FRAMINGS)[number]

interface Draft {
  readonly status?: string
  readonly headers?: readonly string[]
  readonly framing?: Framing
  readonly body?: Uint8Array
  /** Bytes of the body in each piece. */
  readonly size?: number
  readonly broken?: boolean
}

function script({ status = '200 OK', headers = [], framing = 'length', ...draft }: Draft): Script {
  const { body = raw, size = 333, broken = false } = draft
  const framed = {
    length: [`Content-Length: ${body.length}`],
    chunked: ['Transfer-Encoding: chunked'],
    close: ['Connection: close'],
  }[framing]
  const head = [`HTTP/1.1 ${status}`, ...headers, ...framed, '', ''].join('\r\n')
  const parts = pieces(body, size).map((part) => (framing === 'chunked' ? chunkOf(part) : part))
  const kept = broken ? parts.slice(0, Math.ceil(parts.length / 2)) : parts
  const last = framing === 'chunked' && !broken ? ['0\r\n\r\n'] : []
  const after = broken ? 'reset' : framing === 'close' ? 'close' : 'keep'
  return { pieces: [head, ...kept, ...last], after }
}

const encoded = ENCODINGS.flatMap(([name, body]) =>
  FRAMINGS.flatMap((framing): FidelityCase[] => {
    const coding = name === 'identity' ? [] : [`Content-Encoding: ${name.replace('-broken', '')}`]
    const headers = ['Content-Type: application/json', ...coding]
    const whole = { name: `${name}, ${framing}`, ...script({ headers, framing, body }) }
    // Where only the close says that the body is over, a cut is an end.
    if (framing === 'close') return [whole]
    const broken = script({ headers, framing, body, size: 20, broken: true })
    return [whole, { name: `${name}, ${framing}, cut in the middle`, ...broken }]
  }),
)

const answered = STATUSES.flatMap(([code, phrase]) =>
  (['length', 'chunked'] as const).map((framing): FidelityCase => {
    const status = `${code} ${phrase}`
    return {
      name: `status ${code}, ${framing}`,
      ...script({ status, framing, body: raw.subarray(0, 90) }),
    }
  }),
)

const SSE = Buffer.from('event: ping\ndata: {"a":"ä"}\n\ndata: [DONE]\n\n')

const special: readonly FidelityCase[] = [
  { name: 'status 204', pieces: ['HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n'] },
  { name: 'status 304', pieces: ['HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'] },
  { name: 'an empty body', ...script({ body: Buffer.alloc(0) }) },
  { name: 'an empty body in chunks', ...script({ body: Buffer.alloc(0), framing: 'chunked' }) },
  {
    name: 'HEAD, which has a length and no body',
    method: 'HEAD',
    pieces: ['HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n'],
  },
  {
    name: 'cookies twice, names in any case, in their order',
    ...script({ headers: ['Set-Cookie: a=1', 'x-OdD: 1', 'SET-COOKIE: b=2', 'X-Odd: 2'] }),
  },
  { name: 'header values that are not ASCII', ...script({ headers: ['X-Name: Gr\u00f6\u00dfe'] }) },
  { name: '64 KB of headers', ...script({ headers: [`X-Big: ${'b'.repeat(64 * 1024)}`] }) },
  {
    name: 'events cut inside a character',
    ...script({
      framing: 'chunked',
      headers: ['Content-Type: text/event-stream'],
      body: SSE,
      size: 1,
    }),
  },
  {
    name: 'every byte there is',
    ...script({ body: Uint8Array.from({ length: 256 }, (_, n) => n) }),
  },
  {
    name: 'trailers',
    pieces: [
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n',
      chunkOf(raw),
      '0\r\nX-Sum: 1\r\nX-sum: 2\r\n\r\n',
    ],
  },
  {
    name: 'early hints',
    pieces: ['HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n', ...script({}).pieces],
  },
  { name: 'a connection that closes without an answer', pieces: [], after: 'reset' },
  {
    name: 'an answer that breaks off in its head',
    pieces: ['HTTP/1.1 200 OK\r\nX-A'],
    after: 'reset',
  },
  { name: 'an answer that is no HTTP', pieces: ['SSH-2.0-OpenSSH_9.6\r\n'], after: 'reset' },
  {
    name: 'a body that ends before a byte of it',
    pieces: ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'],
    after: 'reset',
  },
  {
    name: 'a megabyte',
    ...script({ body: Buffer.alloc(1024 * 1024, 'daglog'), framing: 'chunked', size: 50_000 }),
  },
]

export const FIDELITY_CASES: readonly FidelityCase[] = [...encoded, ...answered, ...special]
