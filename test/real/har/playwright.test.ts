/**
 * A HAR of ours in the hands of Playwright: a real browser answered from it, with no server
 * anywhere.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { harPieces } from '../../../src/http/har-export.js'
import { memory, openStore } from '../../../src/index.js'
import { exchangeData, type MadeUp } from '../../http/exchanges.js'
import { temporaryDir } from '../../store/temporary.js'
import { realPackages } from '../real-packages.js'
import { chromium } from './chromium.js'

const real = await realPackages('har')
const executablePath = chromium()
const skip = real.skip !== undefined || executablePath === undefined

const ORIGIN = 'https://app.daglog.test'
const GIF = Buffer.from('R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')
const STREAM = 'event: delta\ndata: {"text":"h\u00e9"}\n\ndata: [DONE]\n\n'
const html = [['content-type', 'text/html; charset=utf-8']] as const
const packed = (coding: string) =>
  [['content-type', 'application/json'] as const, ['content-encoding', coding] as const] as const

const EXCHANGES: readonly MadeUp[] = [
  {
    method: 'GET',
    url: `${ORIGIN}/`,
    asked: '',
    said: '<title>from the HAR</title>',
    saidWith: html,
  },
  { url: `${ORIGIN}/chat`, asked: '{"n":1}', said: '{"answer":1}' },
  {
    url: `${ORIGIN}/chat`,
    asked: '{"n":2}',
    said: gzipSync('{"answer":2}'),
    saidWith: packed('gzip'),
  },
  {
    ...{
      url: `${ORIGIN}/chat`,
      asked: '{"n":3}',
      status: 429,
      said: brotliCompressSync('{"wait":1}'),
    },
    saidWith: packed('br'),
  },
  {
    ...{ url: `${ORIGIN}/stream`, asked: '{}', said: STREAM },
    ...{ saidWith: [['content-type', 'text/event-stream']] },
  },
  {
    ...{ method: 'GET', url: `${ORIGIN}/dot.gif`, asked: '', said: GIF },
    ...{ saidWith: [['content-type', 'image/gif']] },
  },
  { url: `${ORIGIN}/upload`, asked: Uint8Array.from([0, 255, 128, 7]), said: 'took it' },
  {
    method: 'GET',
    url: `${ORIGIN}/old`,
    asked: '',
    status: 302,
    said: '',
    saidWith: [['location', '/']],
  },
  { method: 'GET', url: `${ORIGIN}/nothing`, asked: '', status: 204, said: '', saidWith: [] },
]

async function harFile(): Promise<string> {
  const store = await openStore(memory())
  const run = await store.createRun({ id: 'r' })
  for (const [at, made] of EXCHANGES.entries())
    await run.append('http/exchange', exchangeData({ ...made, ordinal: at + 1 }))
  const pieces: Uint8Array[] = []
  const onLeftOut = (what: string): void => expect.fail(what)
  for await (const piece of harPieces(await store.inspectRun('r'), { program: 'test', onLeftOut }))
    pieces.push(piece)
  const path = join(temporaryDir(), 'run.har')
  writeFileSync(path, Buffer.concat(pieces))
  return path
}

describe.skipIf(skip)('routeFromHAR of Playwright', () => {
  it('answers a page from an exported run: text, packed, streams, binary, redirects, errors', async () => {
    const { chromium: browserType } = await real.load('playwright-core')
    const browser = await browserType.launch({ executablePath, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage()
      await page.routeFromHAR(await harFile(), { notFound: 'abort' })
      await page.goto(`${ORIGIN}/`)
      expect(await page.title()).toBe('from the HAR')
      const ask = (path: string, method: string, body?: readonly number[]) =>
        page.evaluate(
          async ([path, method, body]: [string, string, number[] | undefined]) => {
            const sent = body === undefined ? {} : { body: Uint8Array.from(body) }
            const headers = { 'content-type': 'application/json' }
            const answer = await fetch(path, { method, headers, ...sent })
            const bytes = [...new Uint8Array(await answer.arrayBuffer())]
            return { status: answer.status, bytes, url: answer.url }
          },
          [path, method, body] as const,
        )
      const text = (body: string | Uint8Array) => [...Buffer.from(body)]
      const expected = [
        ['/chat', 'POST', text('{"n":1}'), 200, text('{"answer":1}')],
        ['/chat', 'POST', text('{"n":2}'), 200, text('{"answer":2}')],
        ['/chat', 'POST', text('{"n":3}'), 429, text('{"wait":1}')],
        ['/stream', 'POST', text('{}'), 200, text(STREAM)],
        ['/dot.gif', 'GET', undefined, 200, [...GIF]],
        ['/upload', 'POST', [0, 255, 128, 7], 200, text('took it')],
        ['/old', 'GET', undefined, 200, text('<title>from the HAR</title>')],
        ['/nothing', 'GET', undefined, 204, []],
      ] as const
      for (const [path, method, body, status, bytes] of expected)
        expect([path, await ask(path, method, body)]).toMatchObject([path, { status, bytes }])
      // Another body is another request, and there is no network behind.
      await expect(ask('/chat', 'POST', text('{"n":9}'))).rejects.toThrow(/Failed to fetch/)
      await page.goto(`${ORIGIN}/old`)
      expect(page.url()).toBe(`${ORIGIN}/`)
    } finally {
      await browser.close()
    }
  })
})
