/**
 * The guard against undici as it is installed from npm, beside the one that is part of Node.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Attempt } from '../../src/agent/attempt.js'
import { guarded } from '../../src/agent/guard.js'
import { realPackages } from '../real/real-packages.js'
import { type World, world } from './guarded-world.js'

const real = await realPackages('undici')

let server: World
beforeAll(async () => {
  server = await world()
})
afterAll(() => server.close())

async function watched<R>(work: () => Promise<R>): Promise<{ value: R; attempts: Attempt[] }> {
  const attempts: Attempt[] = []
  const value = await guarded({ onAttempt: (attempt) => attempts.push(attempt) }, work)
  return { value, attempts }
}

/** The code of the error, or of what caused it: `fetch` wraps. */
async function codeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
    return cause?.code ?? code
  }
}

describe.skipIf(real.skip !== undefined).each(['undici6', 'undici7'])('%s', (version) => {
  it('gets nowhere inside a replay: through its global dispatcher, or one of its own', async () => {
    const undici = await real.load(version)
    const url = `http://127.0.0.1:${server.port}/`
    const agent = new undici.Agent()
    const client = new undici.Client(url)
    const ways: (() => Promise<unknown>)[] = [
      () => undici.fetch(url),
      () => undici.request(url),
      () => undici.stream(url, { method: 'GET' }, () => process.stdout),
      () => undici.request(url, { dispatcher: agent }),
      () => undici.fetch(url, { dispatcher: agent }),
      () => fetch(url, { dispatcher: agent } as RequestInit),
      () => client.request({ path: '/', method: 'GET' }),
      () => new undici.Pool(url).request({ path: '/', method: 'GET' }),
    ]
    const before = server.count()
    for (const way of ways) {
      const { value, attempts } = await watched(() => codeOf(way))
      expect([way.toString(), value]).toEqual([way.toString(), 'REPLAY_BLOCKED'])
      expect(attempts[0]).toMatchObject({
        refused: true,
        target: `http://127.0.0.1:${server.port}`,
      })
    }
    expect(server.count()).toBe(before)
    // And outside as before.
    for (const way of [ways[0], ways[1], ways[3], ways[6]])
      expect(await codeOf(way!)).toBe(undefined)
    await Promise.all([agent.close(), client.close()])
  })

  it('does not use a connection that is kept alive, nor harm the request of somebody else on it', async () => {
    const undici = await real.load(version)
    const client = new undici.Client(`http://127.0.0.1:${server.port}/`)
    const ask = async (): Promise<string> =>
      (await client.request({ path: '/', method: 'GET' })).body.text()
    expect(await ask()).toBe('fine')
    const before = server.count()
    const [others, { value }] = await Promise.all([ask(), watched(() => codeOf(ask))])
    expect([others, value]).toEqual(['fine', 'REPLAY_BLOCKED'])
    expect(await ask()).toBe('fine')
    expect(server.count()).toBe(before)
    await client.close()
  })

  it('is given its global dispatcher back, and one that answers for the network may', async () => {
    const undici = await real.load(version)
    const own = undici.getGlobalDispatcher()
    await watched(async () => {
      expect(undici.getGlobalDispatcher().constructor).toBe(own.constructor)
    })
    expect(undici.getGlobalDispatcher()).toBe(own)
    const mock = new undici.MockAgent()
    mock.disableNetConnect()
    mock.get('http://a.example').intercept({ path: '/' }).reply(200, 'mocked').times(2)
    undici.setGlobalDispatcher(mock)
    try {
      const { value, attempts } = await watched(async () => {
        const { body } = await undici.request('http://a.example/')
        return [await body.text(), await (await fetch('http://a.example/')).text()]
      })
      expect([value, attempts]).toEqual([['mocked', 'mocked'], []])
    } finally {
      undici.setGlobalDispatcher(own)
      await mock.close()
    }
  })
})
