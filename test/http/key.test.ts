/**
 * The key of a request: each field of it counts, and nothing else does.
 */

import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HeaderList } from '../../src/http/exchange.js'
import { canonicalText, jsonOf } from '../../src/http/json-canonical.js'
import type { Normaliser } from '../../src/http/normalise.js'
import { requestIdentity } from '../../src/http.js'

interface Asked {
  readonly method?: string
  readonly url?: string
  readonly headers?: HeaderList
  readonly body?: string | Uint8Array
  readonly form?: 'wire' | 'decoded'
}

const JSON_HEADER: HeaderList = [['content-type', 'application/json']]

function keyOf(asked: Asked, normalisers: readonly Normaliser[] = []): string {
  return identityOf(asked, normalisers).key
}

function identityOf(asked: Asked, normalisers: readonly Normaliser[] = []) {
  const { method = 'POST', url = 'https://api.example.com/v1/x?b=1&a=2', form = 'decoded' } = asked
  const { headers = JSON_HEADER, body = '{"model":"m","n":1}' } = asked
  return requestIdentity({ method, url, headers, body: Buffer.from(body), form }, normalisers)
}

const multipart = (boundary: string, parts: readonly string[]): Asked => ({
  headers: [['content-type', `multipart/form-data; boundary=${boundary}`]],
  body: `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`,
})
const part = (name: string, text: string, more = ''): string =>
  `Content-Disposition: form-data; name="${name}"${more}\r\n\r\n${text}`

describe('a key', () => {
  it('is another one for each field that is changed (rows 31, 45)', () => {
    const asked: Record<string, Asked> = {
      plain: {},
      method: { method: 'PUT' },
      scheme: { url: 'http://api.example.com/v1/x?b=1&a=2' },
      'host (row 45)': { url: 'https://api.example.org/v1/x?b=1&a=2' },
      port: { url: 'https://api.example.com:8443/v1/x?b=1&a=2' },
      path: { url: 'https://api.example.com/v1/y?b=1&a=2' },
      'path case': { url: 'https://api.example.com/V1/x?b=1&a=2' },
      'query value': { url: 'https://api.example.com/v1/x?b=1&a=3' },
      'query name': { url: 'https://api.example.com/v1/x?b=1&c=2' },
      'query more': { url: 'https://api.example.com/v1/x?b=1&a=2&a=2' },
      'query none': { url: 'https://api.example.com/v1/x' },
      accept: { headers: [...JSON_HEADER, ['Accept', 'text/event-stream']] },
      'accept other': { headers: [...JSON_HEADER, ['Accept', 'application/json']] },
      'anthropic-version': { headers: [...JSON_HEADER, ['anthropic-version', '2023-06-01']] },
      'anthropic-beta': { headers: [...JSON_HEADER, ['anthropic-beta', 'x']] },
      'openai-beta': { headers: [...JSON_HEADER, ['OpenAI-Beta', 'x']] },
      range: { headers: [...JSON_HEADER, ['range', 'bytes=0-1']] },
      'body value': { body: '{"model":"m","n":2}' },
      'body seed': { body: '{"model":"m","n":1,"seed":7}' },
      'body null': { body: '{"model":"m","n":1,"seed":null}' },
      'body text': { body: '{"model":"m","n":"1"}' },
      'body none': { body: '' },
      'body list': { body: '[{"model":"m","n":1}]' },
      'body raw': { headers: [['content-type', 'text/plain']] },
      multipart: multipart('x', [part('a', '1'), part('b', '2')]),
      'multipart value': multipart('x', [part('a', '1'), part('b', '3')]),
      'multipart name': multipart('x', [part('a', '1'), part('c', '2')]),
      'multipart file': multipart('x', [part('a', '1'), part('b', '2', '; filename="f"')]),
      'multipart order': multipart('x', [part('b', '2'), part('a', '1')]),
      form: { headers: [['content-type', 'application/x-www-form-urlencoded']], body: 'a=1&b=2' },
      'form value': {
        headers: [['content-type', 'application/x-www-form-urlencoded']],
        body: 'a=1&b=3',
      },
    }
    const keys = Object.entries(asked).map(([name, one]) => [keyOf(one), name] as const)
    const seen = new Map<string, string>()
    for (const [key, name] of keys) {
      expect([name, seen.get(key)]).toEqual([name, undefined])
      seen.set(key, name)
    }
  })

  it('is the same however the same is said', () => {
    const same: Asked[] = [
      { method: 'post' },
      { url: 'https://API.example.com:443/v1/x?b=1&a=2' },
      { url: 'https://api.example.com/v1/%78?a=2&b=1' },
      { headers: [['Content-Type', 'application/json; charset=utf-8']] },
      { headers: [...JSON_HEADER, ['user-agent', 'x'], ['X-Stainless-Retry-Count', '1']] },
      { headers: [...JSON_HEADER, ['Accept', '*/*']] },
      { headers: [...JSON_HEADER, ['authorization', 'Bearer x'], ['traceparent', '00-1']] },
      { body: '{ "n": 1.0, "model": "\\u006d" }' },
      {
        headers: [...JSON_HEADER, ['content-encoding', 'gzip']],
        body: gzipSync('{"model":"m","n":1}'),
        form: 'wire',
      },
    ]
    for (const asked of same) expect([asked, keyOf(asked)]).toEqual([asked, keyOf({})])
  })

  it('of a multipart body does not know its boundary (row 11)', () => {
    const parts = [
      part('purpose', 'user_data'),
      part('file', 'a\r\n--y\r\nb', '; filename="n.txt"'),
      part('e', ''),
    ]
    expect(keyOf(multipart('openai-0.123', parts))).toBe(keyOf(multipart('openai-0.987', parts)))
    expect(identityOf(multipart('q', parts)).body.kind).toBe('multipart')
  })

  it('goes by the raw bytes where canonical JSON would change them', () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":9007199254740993}',
      '{"a":0.1000000000000000055511151231257827}',
      '{"a":-0}',
      '{"a":"\\ud800"}',
      '{"a":1e400}',
      '{"a":',
    ]) {
      expect([text, identityOf({ body: text }).body.kind]).toEqual([text, 'raw'])
    }
    expect(identityOf({ body: Buffer.from('{"a":"\xff"}', 'latin1') }).body.kind).toBe('raw')
    expect(identityOf({ body: '{"a":1e2,"b":0.10,"c":123456789012345680000}' }).body.kind).toBe(
      'json',
    )
  })

  it('of any JSON value is that of its canonical text, whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value)
        const json = jsonOf(Buffer.from(text))
        if (json === undefined) return // -0 and lone surrogates: told apart above.
        expect(json.value).toEqual(JSON.parse(text))
        const shuffled = JSON.stringify(json.value, (_, inner) =>
          inner !== null && typeof inner === 'object' && !Array.isArray(inner)
            ? Object.fromEntries(Object.entries(inner).reverse())
            : inner,
        )
        const again = jsonOf(Buffer.from(shuffled))
        expect(canonicalText(again?.value)).toBe(canonicalText(json.value))
      }),
    )
  })

  it('is exact: a date in a prompt counts (row 32), unless a named rule says otherwise (row 27)', () => {
    const asked = (date: string): Asked => ({
      body: `{"messages":[{"content":"today is ${date}"}]}`,
    })
    expect(keyOf(asked('2026-01-01'))).not.toBe(keyOf(asked('2026-01-02')))
    const byRegex: Normaliser = { name: 'date', version: 1, regex: /\d{4}-\d\d-\d\d/g }
    const byPointer: Normaliser = { name: 'content', version: 1, pointer: '/messages/*/content' }
    for (const rule of [byRegex, byPointer]) {
      const [a, b] = [
        identityOf(asked('2026-01-01'), [rule]),
        identityOf(asked('2026-01-02'), [rule]),
      ]
      expect(a.key).toBe(b.key)
      expect(a.changed).toEqual([rule.name])
    }
    expect(identityOf({}, [byRegex]).changed).toEqual([])
    const header: Normaliser = { name: 'accept', version: 1, header: 'Accept' }
    const accepting: Asked = { headers: [...JSON_HEADER, ['accept', 'x/y']] }
    expect(keyOf(accepting, [header])).toBe(keyOf({}, [header]))
  })

  it('knows no signature and no date of one; ids in a document go by a named rule (row 43)', () => {
    const signed = (n: number): Asked => ({
      headers: [
        ...JSON_HEADER,
        ['x-amz-date', `2026010${n}T000000Z`],
        ['x-amz-security-token', `token${n}`],
        ['authorization', `AWS4-HMAC-SHA256 Credential=AKIA/2026010${n}, Signature=abc${n}`],
      ],
    })
    expect(keyOf(signed(1))).toBe(keyOf(signed(2)))
    const asked = (id: string): Asked => ({ body: `{"documents":[{"id":"${id}","text":"t"}]}` })
    const ids: Normaliser = { name: 'ids', version: 1, pointer: '/documents/*/id' }
    expect(keyOf(asked('a'))).not.toBe(keyOf(asked('b')))
    expect(keyOf(asked('a'), [ids])).toBe(keyOf(asked('b'), [ids]))
  })

  it('keeps fields apart that joined would be one', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (a, b, c) => {
        const url = (pairs: [string, string][]): string =>
          `https://h/p?${new URLSearchParams(pairs)}`
        const one = keyOf({
          url: url([
            ['a', a + b],
            ['b', c],
          ]),
        })
        const other = keyOf({
          url: url([
            ['a', a],
            ['b', b + c],
          ]),
        })
        expect(one === other).toBe(b === '')
      }),
    )
  })
})
