/**
 * Exchanges as they lie in a log, made up for tests that need no server.
 */
import fc from 'fast-check'
import { type Hash, sha256 } from '../../src/core/hash.js'
import type { HttpExchange, HttpHeaders } from '../../src/core/http-events.js'

export interface MadeUp {
  readonly method?: string
  readonly url?: string
  readonly asked?: string | Uint8Array
  readonly askedWith?: HttpHeaders
  readonly status?: number
  readonly said?: string | Uint8Array
  readonly saidWith?: HttpHeaders
  readonly form?: 'wire' | 'decoded'
  readonly end?: HttpExchange['end']
  readonly ordinal?: number
  /** Lengths of the pieces that the answer came in, and when, in us after the one before. */
  readonly pieces?: readonly (readonly [length: number, afterUs: number])[]
}

export const STARTED = Date.UTC(2026, 10, 30, 12)

export function exchangeData(made: MadeUp = {}): HttpExchange {
  const { method = 'POST', url = 'https://api.example.com/v1/things?q=1', form = 'wire' } = made
  const [asked, said] = [bytesOf(made.asked ?? '{"ask":1}'), bytesOf(made.said ?? '{"said":2}')]
  const json = [['content-type', 'application/json']] as const
  return {
    key: sha256(Buffer.from(`${method} ${url} ${Buffer.from(asked).toString('hex')}`)) as Hash,
    recipe: 'daglog-http/1',
    ordinal: made.ordinal ?? 1,
    request: { method, url, headers: made.askedWith ?? json, body: asked, form },
    response: {
      status: made.status ?? 200,
      headers: made.saidWith ?? json,
      body: said,
      form,
    },
    chunks: chunkTable(made.pieces ?? [[said.length, 0]]),
    end: made.end ?? 'complete',
    timing: { started: STARTED, headUs: 20_000, endUs: 50_500 },
    scrubbed: [],
  }
}

export function bytesOf(what: string | Uint8Array): Uint8Array {
  return typeof what === 'string' ? new TextEncoder().encode(what) : what
}

/** Pairs of unsigned LEB128 numbers. */
export function chunkTable(pieces: readonly (readonly [number, number])[]): Uint8Array {
  const bytes: number[] = []
  for (const number of pieces.flat()) {
    let rest = number
    while (rest >= 0x80) {
      bytes.push((rest % 0x80) + 0x80)
      rest = Math.floor(rest / 0x80)
    }
    bytes.push(rest)
  }
  return Uint8Array.from(bytes)
}

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/)
const headers = fc.array(
  fc.tuple(
    fc.oneof(token, fc.constantFrom('Set-Cookie', 'content-type', 'Cookie', 'Location')),
    fc.oneof(fc.string(), fc.constantFrom('text/event-stream', 'a=1; Path=/; HttpOnly', 'gzip')),
  ),
  { maxLength: 6 },
)
const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 60 }).map(bytesOf),
  fc.json().map(bytesOf),
  fc.constantFrom('', '\uFEFFbom', 'data: 1\n\ndata: 2\r\n\r\n', 'caf\u00e9').map(bytesOf),
)

/** Any exchange that a recorder may write. */
export const anyExchange: fc.Arbitrary<HttpExchange> = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'HEAD', 'PATCH'),
    url: fc.webUrl({ withQueryParameters: true }),
    askedWith: headers,
    saidWith: headers,
    asked: body,
    said: body,
    status: fc.integer({ min: 100, max: 599 }),
    form: fc.constantFrom('wire' as const, 'decoded' as const),
    end: fc.constantFrom('complete' as const, 'client-abort' as const, 'upstream-reset' as const),
    ordinal: fc.integer({ min: 1, max: 99 }),
    answered: fc.boolean(),
    statusText: fc.option(fc.string({ maxLength: 8 }), { nil: undefined }),
    trailers: fc.option(headers, { nil: undefined }),
    httpVersion: fc.constantFrom(undefined, '1.1', 'HTTP/2', ''),
  })
  .map(({ answered, statusText, trailers, httpVersion, ...made }) => {
    const { response, ...data } = exchangeData(made)
    if (!answered) return { ...data, chunks: new Uint8Array(), end: 'unreachable' as const }
    return {
      ...data,
      request: { ...data.request, ...(httpVersion === undefined ? {} : { httpVersion }) },
      response: {
        ...(response as NonNullable<typeof response>),
        ...(statusText === undefined ? {} : { statusText }),
        ...(trailers === undefined ? {} : { trailers }),
      },
    }
  })
