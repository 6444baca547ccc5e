/**
 * Where a process goes to the network, to other processes and threads, and how each place is asked
 * first.
 * Each wrapper passes on whatever is not refused, so it does no harm where somebody kept hold of
 * it.
 */
import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import dns from 'node:dns'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import type { Installed, Refuse, Tell } from './attempt.js'
import { datagramTarget, dnsTarget, hostTarget, socketTarget, urlTarget } from './guard-targets.js'
import { guardDispatchers, isMocked } from './guard-undici.js'
import { Patches } from './patches.js'

export function installGuard({
  refuse,
  tell,
}: {
  readonly refuse: Refuse
  readonly tell: Tell
}): Installed {
  const patches = new Patches()
  guardFetch(patches, refuse)
  guardHttp(patches, refuse)
  guardSockets(patches, refuse)
  guardDns(patches, refuse)
  guardDatagrams(patches, refuse)
  tellProcesses(patches, tell)
  const dispatchers = guardDispatchers(patches, refuse)
  // A class that was imported by name is out of reach, but every thread is announced here.
  const onWorker = (): void => tell('worker_threads', () => 'a thread')
  process.on('worker', onWorker)
  // Names imported from a built-in module follow what the module has only now.
  syncBuiltinESMExports()
  return {
    remove() {
      process.off('worker', onWorker)
      dispatchers.remove()
      patches.remove()
      syncBuiltinESMExports()
    },
  }
}

function guardFetch(patches: Patches, refuse: Refuse): void {
  patches.wrap(globalThis, 'fetch', (fetch) => {
    return async function guardedFetch(this: unknown, ...args: unknown[]): Promise<unknown> {
      // Who answers in the place of the network may: nothing leaves the process.
      const refused = isMocked() ? undefined : refuse('fetch', () => urlTarget(args[0]))
      if (refused !== undefined) throw refused
      return Reflect.apply(fetch, this, args)
    }
  })
}

/** A request as agents see it. */
interface AskedRequest {
  readonly protocol: string
  onSocket(socket: null, error: Error): void
}

/** Connections that are kept alive are used again without a `connect`. */
function guardHttp(patches: Patches, refuse: Refuse): void {
  patches.wrap(http.Agent.prototype, 'addRequest', (addRequest) => {
    return function guardedAddRequest(this: unknown, request: AskedRequest, ...rest): void {
      const refused = refuse('http', () => hostTarget(rest[0], request.protocol))
      if (refused === undefined) Reflect.apply(addRequest, this, [request, ...rest])
      else request.onSocket(null, refused)
    }
  })
}

function guardSockets(patches: Patches, refuse: Refuse): void {
  const { prototype } = net.Socket
  patches.wrap(prototype, 'connect', (connect) => {
    return function guardedConnect(this: net.Socket, ...args: unknown[]): net.Socket {
      const refused = refuse('net', () => socketTarget(args))
      return refused === undefined ? Reflect.apply(connect, this, args) : this.destroy(refused)
    }
  })
  const refuseOpen = (socket: net.Socket): void => {
    // Standard output may be a socket, too; it has no other end with an address.
    if (socket.remoteAddress === undefined || isAccepted(socket)) return
    const refused = refuse('socket', () => `${socket.remoteAddress}:${socket.remotePort}`)
    if (refused !== undefined) throw refused
  }
  patches.wrap(prototype, 'write', (write) => {
    return function guardedWrite(this: net.Socket, ...args: unknown[]): boolean {
      refuseOpen(this)
      return Reflect.apply(write, this, args)
    }
  })
  patches.wrap(prototype, 'end', (end) => {
    return function guardedEnd(this: net.Socket, ...args: unknown[]): net.Socket {
      if (args.length > 0 && typeof args[0] !== 'function') refuseOpen(this)
      return Reflect.apply(end, this, args)
    }
  })
}

/** A server of this process answers; nobody was asked anything. */
function isAccepted(socket: net.Socket): boolean {
  return (socket as { server?: unknown }).server != null
}

function guardDns(patches: Patches, refuse: Refuse): void {
  const refusal = (name: string, host: unknown): Error | undefined =>
    // Looking up an address asks nobody.
    name === 'lookup' && typeof host === 'string' && net.isIP(host) !== 0
      ? undefined
      : refuse('dns', () => dnsTarget(host))
  for (const [place, name] of queries(dns, dns.Resolver.prototype)) {
    patches.wrap(place, name, (query) => {
      return function guardedQuery(this: unknown, ...args: unknown[]): unknown {
        const refused = refusal(name, args[0])
        if (refused === undefined) return Reflect.apply(query, this, args)
        const callback = args.at(-1)
        if (typeof callback !== 'function') throw refused
        process.nextTick(() => callback(refused))
        return undefined
      }
    })
  }
  for (const [place, name] of queries(dns.promises, dns.promises.Resolver.prototype)) {
    patches.wrap(place, name, (query) => {
      return async function guardedQuery(this: unknown, ...args: unknown[]): Promise<unknown> {
        const refused = refusal(name, args[0])
        if (refused !== undefined) throw refused
        return Reflect.apply(query, this, args)
      }
    })
  }
}

const QUERY = /^(?:lookup|lookupService|resolve\w*|reverse)$/

/** What asks a name server, and where it stands. */
function* queries(...places: readonly object[]): Generator<readonly [object, string]> {
  for (const place of places)
    for (const name of Object.getOwnPropertyNames(place)) if (QUERY.test(name)) yield [place, name]
}

function guardDatagrams(patches: Patches, refuse: Refuse): void {
  for (const name of ['send', 'connect']) {
    patches.wrap(dgram.Socket.prototype, name, (call) => {
      return function guardedDatagram(this: dgram.Socket, ...args: unknown[]): unknown {
        const refused = refuse('dgram', () => datagramTarget(args))
        if (refused === undefined) return Reflect.apply(call, this, args)
        const callback = args.at(-1)
        if (typeof callback === 'function') process.nextTick(() => callback(refused))
        else process.nextTick(() => this.emit('error', refused))
        return undefined
      }
    })
  }
}

const AT_ONCE = ['spawnSync', 'execSync', 'execFileSync']

function tellProcesses(patches: Patches, tell: Tell): void {
  // All that does not wait for its end goes through here.
  patches.wrap(childProcess.ChildProcess.prototype, 'spawn', (spawn) => {
    return function toldSpawn(this: unknown, ...args: unknown[]): unknown {
      tell('child_process', () => String((args[0] as { file?: unknown } | undefined)?.file))
      return Reflect.apply(spawn, this, args)
    }
  })
  for (const name of AT_ONCE) {
    patches.wrap(childProcess, name, (call) => {
      return function toldCall(this: unknown, ...args: unknown[]): unknown {
        // Of a line for a shell only its first word: the rest may hold a secret.
        tell('child_process', () => String(args[0]).trim().split(/\s/, 1)[0] ?? '')
        return Reflect.apply(call, this, args)
      }
    })
  }
}
