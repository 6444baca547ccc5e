/**
 * Cassettes of vcrpy as runs; and public ones, whose sessions are then read.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HttpExchange } from '../../src/core/http-events.js'
import { type HarImported, importHar } from '../../src/http/har-import.js'
import { toldInteraction } from '../../src/http/vcr-told.js'
import { memory, openStore, type RunView, usage } from '../../src/index.js'

const FIXTURES = join(import.meta.dirname, '../../../shared/fixtures/vcr')

async function imported(
  text: string | Buffer,
): Promise<{ told: HarImported; view: RunView; exchanges: HttpExchange[] }> {
  const store = await openStore(memory())
  const source = { path: '/tmp/x.yaml', bytes: Buffer.from(text) }
  const told = await importHar(store, source, { program: 'test', format: 'vcr' })
  const view = await store.inspectRun(told.run)
  const exchanges: HttpExchange[] = []
  for await (const { data } of view.events({ types: ['http/exchange'] })) exchanges.push(data)
  return { told, view, exchanges }
}

const packed = gzipSync('{"said":1}').toString('base64')
const CASSETTE = `interactions:
- request:
    body: '{"a": 1}'
    headers:
      Accept: [a, b]
      authorization: [Bearer some-token-of-mine]
    method: post
    uri: https://x.test/v1/x?b=1
  response:
    body:
      string: !!binary |
        ${packed}
    headers:
      Content-Encoding: [gzip]
    status: {code: 200, message: OK}
- request: {body: null, headers: {}, method: GET, uri: https://x.test/none}
  response:
    body: {string: ''}
    headers: {}
    status: {code: 204, message: No Content}
- request: {body: null, headers: {}, method: GET, uri: /relative}
  response: {body: {string: ''}, headers: {}, status: {code: 200, message: OK}}
version: 1
`

describe('a cassette of vcrpy', () => {
  it('becomes a run: bodies as on the wire, secrets scrubbed, the rest named', async () => {
    const { told, exchanges } = await imported(CASSETTE)
    expect(told).toMatchObject({
      ...{ format: 'vcr', entries: 3, exchanges: 2, lost: [] },
      refused: [{ entry: 2, reason: 'has no absolute URL' }],
    })
    expect(told.neverHeld[0]).toContain('when anything happened')
    const [first, second] = exchanges
    expect(first?.request).toMatchObject({ method: 'POST', url: 'https://x.test/v1/x?b=1' })
    expect(first?.request.headers.slice(0, 2)).toEqual([
      ['Accept', 'a'],
      ['Accept', 'b'],
    ])
    expect(JSON.stringify(first?.request.headers)).not.toContain('some-token')
    expect(Buffer.from(first?.response?.body ?? []).toString('base64')).toBe(packed)
    expect(first?.response?.form).toBe('wire')
    expect(second?.response).toMatchObject({ status: 204, statusText: 'No Content' })
  })

  it('is refused with words where it is none', async () => {
    for (const text of ['interactions: [', 'a: 1', '- x', ''])
      await expect(imported(text)).rejects.toMatchObject({ code: 'HAR_INVALID' })
    // A few lines that would stand for billions of values.
    const lines = [...'bcdefghij'].map((name, at) => {
      const before = `*${'abcdefghij'[at]}`
      return `${name}: &${name} [${Array(9).fill(before).join(', ')}]`
    })
    const bomb = ['a: &a [x]', ...lines, 'interactions: []'].join('\n')
    await expect(imported(bomb)).rejects.toMatchObject({ code: 'HAR_INVALID' })
  })

  it('never throws, whatever an interaction holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        toldInteraction(a)
        toldInteraction({ request: a, response: b })
        const request = { method: 'GET', uri: 'https://x.test', headers: a, body: b }
        toldInteraction({ request, response: { status: { code: 200 }, headers: b, body: a } })
      }),
    )
  })
})

const fixtures = existsSync(FIXTURES) ? readdirSync(FIXTURES) : []
if (fixtures.length === 0) console.warn(`skipped: there are no cassettes in ${FIXTURES}`)

describe.skipIf(fixtures.length === 0)('public cassettes', () => {
  it.each(fixtures)('%s is read as a session with tokens', async (name) => {
    const { told, view, exchanges } = await imported(readFileSync(join(FIXTURES, name)))
    expect([name, told.refused]).toEqual([name, []])
    expect(exchanges.length).toBe(told.entries)
    const { calls } = await view.project(usage)
    // One of them breaks off with an error before it says what it took.
    expect(calls.length).toBe(told.exchanges - (name.includes('failed') ? 1 : 0))
    expect(calls.every((call) => (call.usage.inputTokens ?? 0) > 0)).toBe(true)
    const types = new Set<string>()
    for await (const { type, line } of view.session()) if (line !== undefined) types.add(type)
    expect([...types]).toEqual(expect.arrayContaining(['user/message', 'assistant/message']))
  })
})
