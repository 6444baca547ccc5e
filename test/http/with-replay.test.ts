/**
 * `withReplay` against real servers: what was recorded comes back, byte for byte, and from nowhere else.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { withReplay } from '../../src/http.js'
import { memory, openStore } from '../../src/index.js'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const refusing = (): Promise<Response> => Promise.reject(new Error('the network was asked'))

describe('withReplay', () => {
  it('records an exchange and gives it again with the network gone', async () => {
    const url = await serve((_request, response) => {
      response.setHeader('x-answer', 'yes')
      response.end('{"hello":"world"}')
    })
    const store = await openStore(memory())
    const run = await store.run('a')
    const recording = withReplay(fetch, { into: run })
    const live = await recording(`${url}/v1/x?b=1&a=2`, { method: 'POST', body: '{"q":1}' })
    expect(await live.json()).toEqual({ hello: 'world' })
    await run.close()

    const replaying = withReplay(refusing, { from: await store.inspectRun('a') })
    const again = await replaying(`${url}/v1/x?b=1&a=2`, { method: 'POST', body: '{"q":1}' })
    expect(again.status).toBe(200)
    expect(again.url).toBe(live.url)
    expect([...again.headers]).toEqual([...live.headers])
    expect(await again.text()).toBe('{"hello":"world"}')
    expect(await replaying.report()).toMatchObject({ ok: true, answered: 1, unused: [] })

    const miss = await replaying(`${url}/v1/x?b=1&a=2`, { method: 'POST', body: '{"q":1}' })
    expect(miss.status).toBe(404)
    expect(miss.headers.get('x-should-retry')).toBe('false')
    expect(await replaying.report()).toMatchObject({
      ok: false,
      misses: [{ miss: 'exhausted', recorded: 1, asked: 2 }],
    })
  })
})
