/**
 * A server that counts who comes, and every way that Node itself offers to get there.
 */
import dgram from 'node:dgram'
import dns, { lookup as lookupByName } from 'node:dns'
import { lookup as promisedByName } from 'node:dns/promises'
import http, { get as getByName } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'

/** Gives the error that it failed with, or undefined where it came through. */
export type Way = (port: number) => Promise<unknown>

function emitted(begin: () => NodeJS.EventEmitter, ...done: string[]): Promise<unknown> {
  return new Promise((resolve) => {
    const emitter = begin()
    emitter.on('error', resolve)
    for (const name of done) emitter.on(name, () => resolve(undefined))
  })
}

async function failure(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error
  }
}

const keptAlive = new http.Agent({ keepAlive: true })

export const WAYS: Readonly<Record<string, Way>> = {
  fetch: (port) => failure(() => fetch(`http://127.0.0.1:${port}/secret?key=1`)),
  'fetch of a Request': (port) =>
    failure(() => fetch(new Request(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' }))),
  'http.get': (port) => emitted(() => http.get({ port, host: '127.0.0.1' }), 'response'),
  'http.get by name': (port) =>
    emitted(() => getByName(`http://127.0.0.1:${port}/secret`), 'response'),
  'http.get, connection kept alive': (port) =>
    emitted(
      () =>
        http.get({ port, host: '127.0.0.1', agent: keptAlive }, (response) => response.resume()),
      'close',
    ),
  'http.get without an agent': (port) =>
    emitted(
      () =>
        http.get({ port, createConnection: () => net.connect(port, '127.0.0.1'), agent: false }),
      'response',
    ),
  'https.get': (port) => emitted(() => https.get({ port, host: '127.0.0.1' }), 'response', 'close'),
  'http2.connect': (port) => emitted(() => http2.connect(`http://127.0.0.1:${port}`), 'close'),
  'net.connect': (port) => emitted(() => net.connect(port, '127.0.0.1'), 'connect'),
  'net.connect to a name': (port) => emitted(() => net.connect(port, 'localhost'), 'connect'),
  'a socket of its own': (port) => emitted(() => new net.Socket().connect({ port }), 'connect'),
  'tls.connect': (port) => emitted(() => tls.connect({ port, host: '127.0.0.1' }), 'close'),
  'dns.lookup': () =>
    new Promise((resolve) => dns.lookup('localhost', (error) => resolve(error ?? undefined))),
  'dns.lookup by name': () =>
    new Promise((resolve) => lookupByName('localhost', (error) => resolve(error ?? undefined))),
  'dns.promises.lookup': () => failure(() => dns.promises.lookup('localhost')),
  'dns/promises by name': () => failure(() => promisedByName('localhost')),
  dgram: (port) =>
    new Promise((resolve) => {
      const socket = dgram.createSocket('udp4')
      socket.send('x', port, '127.0.0.1', (error) => {
        socket.close()
        resolve(error ?? undefined)
      })
    }),
}

export interface World {
  readonly port: number
  /** Connections and datagrams so far. */
  count(): number
  close(): Promise<void>
}

/** It answers HTTP, closes what it does not understand, and takes datagrams on the same port. */
export async function world(): Promise<World> {
  let count = 0
  const open = new Set<net.Socket>()
  const server = http.createServer((_, response) => response.end('fine'))
  server.on('connection', (socket) => {
    count += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
  })
  server.on('clientError', (_, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const datagrams = dgram.createSocket('udp4').on('message', () => {
    count += 1
  })
  await new Promise<void>((resolve) => datagrams.bind(port, '127.0.0.1', resolve))
  return {
    port,
    count: () => count,
    close: async () => {
      datagrams.close()
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
