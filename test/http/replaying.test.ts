/**
 * Recording and replaying calls of any shape: sequences, misses, cuts, cancelling, bodies of every
 * kind.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { openRecorder, type WithReplayOptions, withReplay } from '../../src/http.js'
import { memory, openStore, type Run, type Store } from '../../src/index.js'

const servers: Server[] = []
const stores: Store[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
  for (const store of stores.splice(0)) await store.close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function aStore(): Promise<Store> {
  const store = await openStore(memory())
  stores.push(store)
  return store
}

const refusing = (): Promise<Response> => Promise.reject(new Error('the network was asked'))
const replayOf = (from: Run, options: WithReplayOptions = {}) =>
  withReplay(refusing, { from, ...options })

async function dataOf(run: Run, type: 'http/exchange' | 'http/start' | 'http/miss') {
  // biome-ignore lint/suspicious/noExplicitAny: each type has its own.
  const found: any[] = []
  for await (const { data } of run.events({ types: [type] })) found.push(data)
  return found
}

/** An echo of what was asked. */
const echo: RequestListener = async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const body = Buffer.concat(parts)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method: request.method, url: request.url, bytes: body.length }))
}

describe('a sequence', () => {
  async function counted(): Promise<{ url: string; run: Run }> {
    let count = 0
    const url = await serve((_, response) => {
      count += 1
      response.statusCode = count === 1 ? 429 : 200
      response.setHeader('retry-after', '0')
      response.end(`answer ${count}`)
    })
    const run = await (await aStore()).run('r')
    const recording = withReplay(fetch, { into: run })
    for (let n = 0; n < 3; n += 1) await (await recording(url)).text()
    return { url, run }
  }
  const asked = async (run: Run, url: string, options: WithReplayOptions): Promise<string[]> => {
    const replaying = replayOf(run, options)
    const found: string[] = []
    for (let n = 0; n < 5; n += 1) {
      const response = await replaying(url)
      found.push(response.headers.has('x-daglog-miss') ? 'miss' : (await response.text()).slice(-1))
    }
    return found
  }

  it('is given per key in the order in which requests began, 429 and then 200 (row 12)', async () => {
    const { url, run } = await counted()
    expect(await asked(run, url, {})).toEqual(['1', '2', '3', 'miss', 'miss'])
    expect(await asked(run, url, { policy: 'last' })).toEqual(['1', '2', '3', '3', '3'])
    expect(await asked(run, url, { policy: 'first' })).toEqual(['1', '1', '1', '1', '1'])
    expect(await asked(run, url, { policy: 'loop' })).toEqual(['1', '2', '3', '1', '2'])
    const replaying = replayOf(run)
    expect((await replaying(url)).status).toBe(429)
  })

  it('does not depend on the order across keys (row 13)', async () => {
    const url = await serve((request, response) => response.end(request.url))
    const run = await (await aStore()).run('r')
    const recording = withReplay(fetch, { into: run })
    for (const path of ['/a', '/b', '/c']) await (await recording(url + path)).text()
    const replaying = replayOf(run)
    const paths = ['/c', '/a', '/b']
    const found = await Promise.all(paths.map(async (path) => (await replaying(url + path)).text()))
    expect(found).toEqual(paths)
  })

  it('of requests that overlap is that of their beginnings', async () => {
    const waiting: (() => void)[] = []
    const url = await serve((_, response) => {
      const number = waiting.push(() => response.end(`${number}`))
      if (waiting.length === 2) for (const answer of waiting.toReversed()) answer()
    })
    const run = await (await aStore()).run('r')
    const recording = withReplay(fetch, { into: run })
    const first = recording(url)
    await expect.poll(() => waiting.length).toBe(1)
    const both = await Promise.all([first, recording(url)].map(async (one) => (await one).text()))
    expect(both).toEqual(['1', '2'])
    const replaying = replayOf(run)
    expect(await (await replaying(url)).text()).toBe('1')
    expect(await (await replaying(url)).text()).toBe('2')
  })
})

describe('a miss', () => {
  it('names its kind and where the nearest request differs, and asks nobody (rows 33, 34, 35)', async () => {
    const url = await serve(echo)
    const run = await (await aStore()).run('r')
    const body = {
      model: 'm',
      messages: [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'x' },
      ],
    }
    const post = (value: unknown, path = '/v1', headers: Record<string, string> = {}) =>
      [
        url + path,
        {
          method: 'POST',
          body: JSON.stringify(value),
          headers: { 'content-type': 'application/json', ...headers },
        },
      ] as const
    await (await withReplay(fetch, { into: run })(...post(body))).text()
    const into = await (await aStore()).run('again')
    const replaying = replayOf(run, { into, unknown: 'miss' })
    const changed = {
      ...body,
      messages: [{ role: 'system', content: 'be brief' }, body.messages[1]],
    }
    const missed = await replaying(...post(changed))
    expect(missed.status).toBe(404)
    expect(missed.headers.get('x-should-retry')).toBe('false')
    expect(((await missed.json()) as { error: { message: string } }).error.message).toContain(
      'it differs from exchange 1 at body /messages/0/content',
    )
    await replaying(...post(body, '/v1', { accept: 'text/event-stream' }))
    await replaying(...post(body, '/v2'))
    const report = await replaying.report()
    expect(report).toMatchObject({
      ok: false,
      answered: 0,
      misses: [
        {
          miss: 'body-differs',
          nearest: [
            {
              ordinal: 1,
              differences: [
                { part: 'body', at: '/messages/0/content', recorded: 'be kind', asked: 'be brief' },
              ],
            },
          ],
        },
        { miss: 'head-differs', nearest: [{ differences: [{ part: 'header', at: 'accept' }] }] },
        { miss: 'never-seen', nearest: [{ differences: [{ part: 'path' }] }] },
      ],
      unused: [{ ordinal: 1 }],
    })
    const logged = await dataOf(into, 'http/miss')
    expect(logged.map(({ kind }) => kind)).toEqual(['body-differs', 'head-differs', 'never-seen'])
  })

  it('has the form of the errors of the provider that was asked', async () => {
    const run = await (await aStore()).run('r')
    const replaying = replayOf(run)
    const ask = async (headers: Record<string, string>, path: string): Promise<unknown> =>
      (await replaying(`https://h.example${path}`, { method: 'POST', headers })).json()
    expect(await ask({ 'anthropic-version': '2023-06-01' }, '/v1/messages')).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error' },
    })
    expect(await ask({}, '/v1beta/models/g:generateContent')).toMatchObject({
      error: { code: 404, status: 'NOT_FOUND' },
    })
    expect(await ask({}, '/v1/chat/completions')).toMatchObject({
      error: { type: 'daglog_miss', code: 'never-seen' },
    })
  })
})

describe('with from and into', () => {
  it('gives what is known, asks for the rest, and the new run replays alone', async () => {
    let asked = 0
    const url = await serve((request, response) => {
      asked += 1
      response.end(`${request.url} ${asked}`)
    })
    const store = await aStore()
    const first = await store.run('first')
    await (await withReplay(fetch, { into: first })(`${url}/a`)).text()
    const head = await first.head()
    const second = await store.run('second')
    const both = withReplay(fetch, { from: first, into: second })
    expect(await (await both(`${url}/a`)).text()).toBe('/a 1')
    expect(await (await both(`${url}/b`)).text()).toBe('/b 2')
    expect(await both.report()).toMatchObject({ ok: true, answered: 1 })
    expect(await first.head()).toEqual(head)
    const alone = replayOf(second)
    expect(await (await alone(`${url}/b`)).text()).toBe('/b 2')
    expect(await (await alone(`${url}/a`)).text()).toBe('/a 1')
    const kept = await dataOf(second, 'http/exchange')
    expect(kept.map(({ replayed }) => replayed?.ordinal)).toEqual([1, undefined])
  })

  it('of a fork answers with what its parent had recorded', async () => {
    const url = await serve((request, response) => response.end(request.url))
    const store = await aStore()
    const parent = await store.run('parent')
    await (await withReplay(fetch, { into: parent })(`${url}/a`)).text()
    await parent.append('note', 'here')
    const fork = await store.fork('parent', { at: ((await parent.head()) as { seq: number }).seq })
    await (await withReplay(fetch, { into: fork })(`${url}/b`)).text()
    const replaying = replayOf(fork)
    expect(await (await replaying(`${url}/a`)).text()).toBe('/a')
    expect(await (await replaying(`${url}/b`)).text()).toBe('/b')
  })
})

describe('a stream', () => {
  /** Sends `pieces`, each once the one before was seen by the client. */
  async function streaming(pieces: readonly string[]): Promise<{ url: string; next: () => void }> {
    let next = (): void => {}
    const url = await serve((_, response) => {
      response.setHeader('content-type', 'text/event-stream')
      let at = 0
      next = () => {
        if (at < pieces.length) response.write(pieces[at++])
        else response.end()
      }
      next()
    })
    return { url, next: () => next() }
  }

  async function readAll(response: Response, each: () => void): Promise<string[]> {
    const found: string[] = []
    for await (const part of response.body as ReadableStream<Uint8Array>) {
      found.push(Buffer.from(part).toString('latin1'))
      each()
    }
    return found
  }

  it('reaches the client piece by piece, and again in the same pieces (rows 1, 2, 26, 30)', async () => {
    // The server waits for the client: whoever held a piece back would wait for ever.
    const pieces = ['data: a\n\n', 'data: \xc3', '\xa9\n\n', 'data: [DONE]\n\n']
    const { url, next } = await streaming(pieces.map((one) => one))
    const run = await (await aStore()).run('r')
    const live = await readAll(await withReplay(fetch, { into: run })(url), next)
    const again = await readAll(await replayOf(run)(url), () => {})
    expect(again).toEqual(live)
    expect(live.length).toBe(pieces.length)
  })

  it('that is cancelled settles, and is kept as cut by the client (rows 25, 39)', async () => {
    const { url } = await streaming(['data: a\n\n', 'data: b\n\n'])
    const run = await (await aStore()).run('r')
    const response = await withReplay(fetch, { into: run })(url)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await reader.cancel()
    expect(await dataOf(run, 'http/exchange')).toMatchObject([{ end: 'client-abort' }])
    const again = (await replayOf(run)(url)).body as ReadableStream<Uint8Array>
    const reading = again.getReader()
    expect(Buffer.from((await reading.read()).value as Uint8Array).toString()).toBe('data: a\n\n')
    await expect(reading.read()).rejects.toThrow('aborted')
  })

  it('that is aborted by its signal rejects as it would have', async () => {
    const { url } = await streaming(['data: a\n\n'])
    const run = await (await aStore()).run('r')
    const controller = new AbortController()
    const response = await withReplay(fetch, { into: run })(url, { signal: controller.signal })
    const reading = response.text()
    controller.abort()
    await expect(reading).rejects.toThrow('aborted')
    expect(await dataOf(run, 'http/exchange')).toMatchObject([{ end: 'client-abort' }])
  })

  it('whose client never reads it ends with the run', async () => {
    const url = await serve((_, response) => response.end('unread'))
    const store = await aStore()
    const run = await store.run('r')
    expect((await withReplay(fetch, { into: run })(url)).status).toBe(200)
    await run.close()
    expect(await dataOf(run, 'http/exchange')).toMatchObject([{ end: 'client-abort', ordinal: 1 }])
  })

  it('keeps its pace where that is asked for, and none unless (row 28)', async () => {
    const run = await (await aStore()).run('r')
    const recorder = await openRecorder(run)
    const recording = await recorder.start({ method: 'GET', url: 'http://h/', headers: [] }, 'wire')
    recording.response({ status: 200, headers: [] })
    await recording.responseBody(Buffer.from('a'))
    await recording.responseBody(Buffer.from('b'))
    await recording.end('complete')
    for (const timing of ['instant', 'recorded', { speed: 1000 }] as const) {
      expect(await (await replayOf(run, { timing })('http://h/')).text()).toBe('ab')
    }
  })
})

describe('a request', () => {
  it('of any kind of body is recorded and found again (rows 7, 24)', async () => {
    const url = await serve(echo)
    const run = await (await aStore()).run('r')
    const form = (): FormData => {
      const data = new FormData()
      data.set('purpose', 'user_data')
      data.set('file', new Blob(['some\r\nbytes']), 'a.txt')
      return data
    }
    const stream = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from('in '))
          controller.enqueue(Buffer.from('pieces'))
          controller.close()
        },
      })
    const asked: (() => [string | URL | Request, RequestInit?])[] = [
      () => [`${url}/none`],
      () => [new URL(`${url}/url`)],
      () => [`${url}/head`, { method: 'HEAD' }],
      () => [`${url}/text`, { method: 'POST', body: 'text' }],
      () => [`${url}/bytes`, { method: 'POST', body: new Uint8Array([0, 255, 128]) }],
      () => [`${url}/buffer`, { method: 'POST', body: new Uint8Array([1, 2]).buffer }],
      () => [`${url}/blob`, { method: 'POST', body: new Blob(['blob'], { type: 'x/y' }) }],
      () => [`${url}/params`, { method: 'POST', body: new URLSearchParams({ a: '1' }) }],
      () => [`${url}/form`, { method: 'POST', body: form() }],
      () => [`${url}/stream`, { method: 'PUT', body: stream(), duplex: 'half' } as RequestInit],
      () => [new Request(`${url}/request`, { method: 'POST', body: 'inside' })],
      () => [
        new Request(`${url}/over`, { method: 'POST', body: 'inside' }),
        { method: 'PATCH', body: 'other' },
      ],
    ]
    const recording = withReplay(fetch, { into: run })
    const live: string[] = []
    for (const call of asked) live.push(await (await recording(...call())).text())
    const direct: string[] = []
    for (const call of asked) direct.push(await (await fetch(...call())).text())
    const sized = (texts: string[]): string[] =>
      texts.map((text) => text.replace(/"bytes":\d{3,}/, ''))
    expect(sized(live)).toEqual(sized(direct))
    const replaying = replayOf(run)
    for (const [index, call] of asked.entries()) {
      expect(await (await replaying(...call())).text()).toBe(live[index])
    }
    expect(await replaying.report()).toMatchObject({ ok: true, answered: asked.length, unused: [] })
  })

  it('that was redirected keeps where that led', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/to') return void response.end('there')
      response.writeHead(302, { location: '/to' }).end()
    })
    const run = await (await aStore()).run('r')
    await (await withReplay(fetch, { into: run })(`${url}/from`)).text()
    const again = await replayOf(run)(`${url}/from`)
    expect([again.url, again.redirected, await again.text()]).toEqual([`${url}/to`, true, 'there'])
  })

  it('that reached nobody fails again in the same way', async () => {
    const url = await serve(echo)
    await new Promise((resolve) => servers.pop()?.close(resolve))
    const run = await (await aStore()).run('r')
    const call = withReplay(fetch, { into: run })(url)
    const live = await call.catch((error: Error) => error)
    const again = await replayOf(run)(url).catch((error: Error) => error)
    expect((again as Error).message).toBe((live as Error).message)
    expect((again as { cause: { code: string } }).cause.code).toBe(
      (live as { cause: { code: string } }).cause.code,
    )
    expect(await dataOf(run, 'http/exchange')).toMatchObject([{ end: 'unreachable' }])
  })

  it('inside a step belongs to it, and `run.fetch` is the recording one', async () => {
    const url = await serve(echo)
    const store = await aStore()
    const run = await store.run('r')
    await run.step('ask', {}, async () => (await run.fetch(url)).text())
    await (await run.fetch(url)).text()
    const kept = await dataOf(run, 'http/exchange')
    expect(kept.map(({ step }) => step)).toEqual(['n1', undefined])
    expect((await dataOf(run, 'http/start')).map(({ ordinal }) => ordinal)).toEqual([1, 2])
  })

  it('costs a long history only what is new of it (rows 20, 40)', async () => {
    const url = await serve(echo)
    const store = await aStore()
    const run = await store.run('r')
    const recording = withReplay(fetch, { into: run })
    const messages: { role: string; content: string }[] = []
    for (let n = 0; n < 40; n += 1) {
      messages.push({ role: 'user', content: `message ${n} `.repeat(200) })
      const body = JSON.stringify({ model: 'm', messages })
      await (
        await recording(url, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json' },
        })
      ).text()
    }
    const news = JSON.stringify(messages).length
    const { packs, open } = (await store.du()).totals
    expect(packs + open).toBeLessThan(3 * news)
  })
})
