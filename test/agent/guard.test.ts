import childProcess, { spawn } from 'node:child_process'
import dgram from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Attempt } from '../../src/agent/attempt.js'
import { guarded, unguarded } from '../../src/agent/guard.js'
import { DaglogError, memory, openStore } from '../../src/index.js'
import { WAYS, type World, world } from './guarded-world.js'

let server: World
beforeAll(async () => {
  server = await world()
})
afterAll(() => server.close())

/** Everything that the guard may touch, as it is. */
function members(): unknown[] {
  const places: object[] = [
    http.Agent.prototype,
    net.Socket.prototype,
    dns,
    dns.promises,
    dns.Resolver.prototype,
    dns.promises.Resolver.prototype,
    dgram.Socket.prototype,
    childProcess,
    childProcess.ChildProcess.prototype,
  ]
  const ours = ['fetch', ...['1', '2'].map((at) => Symbol.for(`undici.globalDispatcher.${at}`))]
  return [
    ...ours.map((name) => Object.getOwnPropertyDescriptor(globalThis, name)),
    ...places.map((place) => Object.entries(Object.getOwnPropertyDescriptors(place))),
  ]
}

async function watched<R>(work: () => Promise<R>): Promise<{ value: R; attempts: Attempt[] }> {
  const attempts: Attempt[] = []
  const value = await guarded({ onAttempt: (attempt) => attempts.push(attempt) }, work)
  return { value, attempts }
}

describe('inside a replay', () => {
  it.each(Object.entries(WAYS))('%s gets nowhere, and says so', async (_, way) => {
    const before = server.count()
    const { value, attempts } = await watched(() => way(server.port))
    expect(value).toBeInstanceOf(DaglogError)
    expect(value).toMatchObject({ code: 'REPLAY_BLOCKED' })
    expect(attempts.length).toBeGreaterThan(0)
    for (const attempt of attempts) expect(attempt.refused).toBe(true)
    // A path or a query may hold a secret.
    expect(JSON.stringify([value, (value as Error).message, attempts])).not.toContain('secret')
    expect(server.count()).toBe(before)
  })

  it('any mix of ways, side by side and nested, reaches nobody, while others go on', async () => {
    const ways = fc.constantFrom(...Object.keys(WAYS))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ way: ways, nested: fc.boolean(), free: fc.boolean() }), {
          minLength: 1,
          maxLength: 6,
        }),
        async (list) => {
          const before = members()
          const results = await Promise.all(
            list.map(async ({ way, nested, free }) => {
              const go = (): Promise<unknown> => (WAYS[way] as (typeof WAYS)[string])(server.port)
              if (free) return { free, error: await go() }
              const { value } = await watched(nested ? async () => (await watched(go)).value : go)
              return { free, error: value }
            }),
          )
          for (const { free, error } of results)
            expect((error as { code?: unknown } | undefined)?.code === 'REPLAY_BLOCKED').toBe(!free)
          expect(members()).toEqual(before)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('no connection that was there before is used', async () => {
    const agent = new http.Agent({ keepAlive: true })
    const ask = (): Promise<unknown> =>
      new Promise((resolve) => {
        const request = http.get({ port: server.port, host: '127.0.0.1', agent }, (response) =>
          response.resume().on('end', () => setImmediate(resolve, request.reusedSocket)),
        )
        request.on('error', resolve)
      })
    expect(await ask()).toBe(false)
    expect(await ask()).toBe(true)
    expect((await watched(ask)).value).toMatchObject({ code: 'REPLAY_BLOCKED' })
    // It is still there, unharmed, for those outside.
    expect(await ask()).toBe(true)
    agent.destroy()
  })

  it('nothing is written to a socket that was open before', async () => {
    const socket = net.connect(server.port, '127.0.0.1')
    await once(socket, 'connect')
    const { attempts } = await watched(async () => {
      expect(() => socket.write('GET /')).toThrow(
        expect.objectContaining({ code: 'REPLAY_BLOCKED' }),
      )
      expect(() => socket.end('GET /')).toThrow(expect.objectContaining({ code: 'REPLAY_BLOCKED' }))
    })
    expect(attempts).toEqual([
      { api: 'socket', target: `127.0.0.1:${server.port}`, refused: true },
      { api: 'socket', target: `127.0.0.1:${server.port}`, refused: true },
    ])
    expect(socket.bytesWritten).toBe(0)
    socket.end('GET / HTTP/1.0\r\n\r\n')
    expect(String(await once(socket, 'data'))).toContain('fine')
  })

  it('the step whose body it was in is named', async () => {
    const store = await openStore(memory())
    const run = await store.createRun()
    const { attempts } = await watched(() =>
      run.step('outer', {}, (step) =>
        step.step('look up', {}, () => fetch('https://example.com/').catch(() => undefined)),
      ),
    )
    expect(attempts).toEqual([
      {
        api: 'fetch',
        target: 'https://example.com',
        refused: true,
        step: { id: 'n2', name: 'look up' },
      },
    ])
    await store.close()
  })

  it('child processes and threads are told, and go on', async () => {
    const { attempts } = await watched(async () => {
      const child = spawn(process.execPath, ['--version', 'a secret'], { stdio: 'ignore' })
      await once(child, 'close')
      childProcess.execSync('true a secret')
      childProcess.execFileSync('true', ['a secret'])
      const worker = new Worker('0', { eval: true })
      await once(worker, 'exit')
    })
    expect(attempts.map(({ api, target, refused }) => [api, target, refused])).toEqual([
      ['child_process', process.execPath, false],
      ['child_process', 'true', false],
      ['child_process', 'true', false],
      ['worker_threads', 'a thread', false],
    ])
  })

  it('what is said to be outside may', async () => {
    const { value, attempts } = await watched(() =>
      unguarded(async () => (await fetch(`http://127.0.0.1:${server.port}/`)).text()),
    )
    expect([value, attempts]).toEqual(['fine', []])
  })

  it('standard output stays, and an address needs no name server', async () => {
    const lookup = promisify(dns.lookup)
    const { value, attempts } = await watched(async () => {
      process.stdout.write('')
      return promisify(dns.lookup)('127.0.0.1')
    })
    expect(value).toEqual(await lookup('127.0.0.1'))
    expect(attempts).toEqual([])
  })

  it('a replay inside a replay tells both, and the inner one ends nothing for the outer', async () => {
    const { value, attempts } = await watched(async () => {
      const inner = await watched(() => fetch('http://127.0.0.1:1/').catch((error) => error.code))
      const after = await fetch('http://127.0.0.1:1/').catch((error) => error.code)
      return [inner.attempts.length, after]
    })
    expect([value, attempts.length]).toEqual([[1, 'REPLAY_BLOCKED'], 2])
  })
})

describe('after a replay', () => {
  it('everything is as it was, also where the work threw', async () => {
    const before = members()
    await expect(watched(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(members()).toEqual(before)
  })

  it('what somebody else has put there meanwhile stays, and works', async () => {
    const before = globalThis.fetch
    await watched(async () => {
      const guardedFetch = globalThis.fetch
      globalThis.fetch = (...args) => guardedFetch(...args)
    })
    expect(globalThis.fetch).not.toBe(before)
    expect(await (await fetch(`http://127.0.0.1:${server.port}/`)).text()).toBe('fine')
    globalThis.fetch = before
  })
})
