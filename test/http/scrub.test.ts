/**
 * Secrets: replaced before a byte of them is anywhere, however a stream is cut.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { passingFingerprint } from '../../src/http/fingerprint.js'
import { ExchangeScrub } from '../../src/http/scrub.js'
import { SecretPattern } from '../../src/http/scrub-pattern.js'
import { withReplay } from '../../src/http.js'
import { openStore } from '../../src/index.js'

const dirs: string[] = []
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
})

/** Letters that stand nowhere else, in a form that depends on where they stand. */
const word = (kind: string, length = 32): string =>
  `zQ7${kind}`.padEnd(length, 'Xk9mWq3ZrT5vB8nLcY2dF6hJ4gS1pK0o').slice(0, length)

const IN_REQUEST_HEADERS: Readonly<Record<string, string>> = {
  authorization: `Bearer ${word('bearer')}`,
  'x-api-key': word('xapi'),
  'api-key': word('azure'),
  'X-Goog-Api-Key': word('goog'),
  cookie: `theme=${word('cookie1')}; sid=${word('cookie2')}`,
  'Proxy-Authorization': `Basic ${word('basic')}`,
  'x-amz-security-token': word('amz'),
  'openai-organization': word('org'),
}
const IN_QUERY: Readonly<Record<string, string>> = {
  key: word('qkey'),
  access_token: word('qtoken'),
  'X-Amz-Signature': word('qsig'),
}
const IN_REQUEST_JSON = {
  client_secret: word('client'),
  nested: { refresh_token: word('refresh'), text: `{"password":"${word('inner')}"}` },
  prompt: `use sk-ant-${word('anthropic', 40)} and ghp_${word('github', 36)}`,
  pem: `-----BEGIN RSA PRIVATE KEY-----\n${word('pem')}\n-----END RSA PRIVATE KEY-----`,
}
const IN_RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  'Set-Cookie': `session=${word('setcookie')}; HttpOnly; Path=/`,
  location: `https://h.example/cb?code=${word('code')}&state=1`,
  'OpenAI-Organization': word('resporg'),
}
const IN_RESPONSE_JSON = {
  access_token: word('oauth'),
  id_token: `eyJ${word('jwt1')}.eyJ${word('jwt2')}.${word('jwt3')}`,
  aws: { SecretAccessKey: word('awssecret'), id: 'AKIAZQ7AWSKEYXK9MWQ3' },
  url: `https://b.example/o?X-Amz-Signature=${word('presigned')}&x=1`,
  echo: `Incorrect API key provided: ${word('xapi')}`,
}
const FORM = `grant_type=x&client_secret=${word('form')}&refresh_token=${word('formrefresh')}`
const MULTIPART = `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${word('part')}\r\n--b--\r\n`

/** Every planted word begins so; AWS ids and PEM do as well. */
const PLANTED = /zQ7|ZQ7AWSKEY/

/** All text and all bytes of a value. */
function textIn(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value).flat().map(textIn).join(' ')
}

describe('a store', () => {
  it('has not one byte of any planted secret in any file (rows 15, 16, 17, 18)', async () => {
    const server = createServer((request, response) => {
      request.resume()
      request.on('end', () => {
        for (const [name, value] of Object.entries(IN_RESPONSE_HEADERS)) {
          response.setHeader(name, value)
        }
        const json = JSON.stringify(IN_RESPONSE_JSON)
        if (request.url?.includes('gzip') === true) {
          response.setHeader('content-encoding', 'gzip')
          response.end(gzipSync(json))
          return
        }
        response.setHeader('content-type', 'text/event-stream')
        // Cut wherever it may be, secrets too.
        const bytes = Buffer.from(`data: ${json}\n\n`)
        let at = 0
        const next = (): void => {
          if (at >= bytes.length) return void response.end()
          response.write(bytes.subarray(at, at + 7))
          at += 7
          setImmediate(next)
        }
        next()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const dir = mkdtempSync(join(tmpdir(), 'daglog-scrub-'))
    dirs.push(dir)
    const store = await openStore(join(dir, 's'))
    const run = await store.run('r')
    const recording = withReplay(fetch, { into: run, secrets: [word('told')] })
    const headers = { ...IN_REQUEST_HEADERS, 'content-type': 'application/json' }
    const query = new URLSearchParams(IN_QUERY)
    const bodies: RequestInit[] = [
      { body: JSON.stringify({ ...IN_REQUEST_JSON, told: `it is ${word('told')}.` }), headers },
      { body: FORM, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      { body: MULTIPART, headers: { 'content-type': 'multipart/form-data; boundary=b' } },
      { body: 'x'.repeat(3_000_000) + JSON.stringify(IN_REQUEST_JSON), headers },
    ]
    for (const path of ['/sse', '/gzip']) {
      for (const init of bodies) {
        const response = await recording(`${origin}${path}?${query}`, { ...init, method: 'POST' })
        expect(await response.text()).toContain(word('oauth'))
      }
    }
    server.closeAllConnections()
    server.close()
    // The network gone, what fails is kept too.
    await expect(recording(`${origin}/gone?${query}`, { headers })).rejects.toThrow('fetch failed')
    const replaying = withReplay(fetch, {
      from: run,
      into: await store.run('again'),
      unknown: 'miss',
    })
    await (
      await replaying(`${origin}/sse?${query}`, {
        method: 'POST',
        headers,
        body: '{"password":"zQ7missed"}',
      })
    ).text()
    const seen: string[] = []
    const look = (where: string, text: string): void => {
      const found = PLANTED.exec(text)
      if (found !== null) seen.push(`${where}: ${text.slice(found.index - 60, found.index + 20)}`)
    }
    // What lies packed in files is read here: all values of all events.
    for (const id of ['r', 'again']) {
      for await (const event of (await store.inspectRun(id)).events()) {
        look(`${id} ${event.seq}`, textIn(event.data))
      }
    }
    await store.close()
    for (const file of readdirSync(dir, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue
      const path = join(file.parentPath, file.name)
      look(file.name, readFileSync(path).toString('latin1'))
    }
    expect(seen).toEqual([])
  }, 60_000)

  it('tells another account from the same one, and replays for either', async () => {
    const server = createServer((_, response) => response.end('ok'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const dir = mkdtempSync(join(tmpdir(), 'daglog-scrub-'))
    dirs.push(dir)
    const store = await openStore(join(dir, 's'))
    const run = await store.run('r')
    const recording = withReplay(fetch, { into: run })
    const as = (key: string): RequestInit => ({ headers: { 'x-api-key': key } })
    for (const key of [word('one'), word('one'), word('two')]) {
      await (await recording(`${url}?key=${key}`, as(key))).text()
    }
    const said: string[] = []
    const keys = new Set<string>()
    for await (const { data } of run.events({ types: ['http/exchange'] })) {
      const { headers } = data.request
      said.push(headers.find(([name]) => name === 'x-api-key')?.[1] ?? '')
      keys.add(data.key)
    }
    expect(said[0]).toBe(said[1])
    expect(said[0]).not.toBe(said[2])
    expect(keys.size).toBe(1)
    server.closeAllConnections()
    server.close()
    const replaying = withReplay(fetch, { from: run })
    expect(await (await replaying(`${url}?key=none`, as('none'))).text()).toBe('ok')
    await store.close()
  })
})

describe('scrubbing a stream', () => {
  const secret = word('stream', 40)
  const texts = [
    `data: {"access_token":"${secret}"}\n\n`,
    `x`.repeat(70_000),
    `Bearer ${secret}, `,
    'plain words and { "n": 1 } \u00e9',
  ]

  function scrubbed(bytes: Buffer, cuts: readonly number[]): { out: Buffer; pieces: number[] } {
    const out: Buffer[] = []
    const pieces: number[] = []
    const scrub = new ExchangeScrub({ fingerprint })
    const stream = scrub.stream('text/plain', 'response', {
      bytes: (piece) => out.push(piece),
      piece: (size) => pieces.push(size),
    })
    let at = 0
    for (const cut of [...cuts, bytes.length]) {
      stream.push(bytes.subarray(at, cut))
      at = cut
    }
    stream.end()
    return { out: Buffer.concat(out), pieces }
  }
  const fingerprint = passingFingerprint()

  it('gives the same bytes however it is cut, and a piece for each that came', () => {
    const order = fc.array(fc.constantFrom(...texts), { maxLength: 6 })
    fc.assert(
      fc.property(
        order,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }),
        (parts, at) => {
          const bytes = Buffer.from(parts.join(''))
          const cuts = at.map((one) => Math.floor(one * bytes.length)).sort((a, b) => a - b)
          const whole = scrubbed(bytes, [])
          const cut = scrubbed(bytes, cuts)
          expect(cut.out.equals(whole.out)).toBe(true)
          expect(cut.out.includes(secret)).toBe(false)
          expect(cut.pieces.length).toBe(cuts.length + 1)
          expect(cut.pieces.reduce((sum, one) => sum + one, 0)).toBe(cut.out.length)
        },
      ),
    )
  })

  it('finds in a long text, which is asked for hints first, what it finds in a short one', () => {
    const pieces = ['https', '://', 'user', ':', 'pa55word', '@', 'h/', '?', '&', 'password', '=']
    const more = ['api_key', 'API-Key', '"', ' ', '\n', '$', 'a', 'x-', secret.slice(0, 24), '\\"']
    const parts = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 10 })
    fc.assert(
      fc.property(parts, fc.constantFrom([], [secret]), (some, known) => {
        const short = some.join('')
        const found = (text: string) => {
          const { rule, start, from } = SecretPattern.of(known).search(text, false).next(0) ?? {}
          return { rule, start, from }
        }
        expect(found(`${short}${'\n'.repeat(300)}`)).toEqual(found(short))
      }),
      { numRuns: 2000 },
    )
  })

  it('leaves bytes alone that hold no secret', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        expect(scrubbed(Buffer.from(bytes), []).out.equals(Buffer.from(bytes))).toBe(true)
      }),
    )
  })
})
