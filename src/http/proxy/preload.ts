/**
 * Loaded by Node before a child's own code (`NODE_OPTIONS=--import`): makes `fetch`, `http` and
 * `https` connect through the sidecar, whichever agent they are given. It runs in others' programs,
 * so it imports nothing but Node, prints nothing, and leaves alone what it does not know.
 */
import http, { type Agent } from 'node:http'
import https from 'node:https'
import net, { type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'

interface Proxy {
  readonly host: string
  readonly port: number
  readonly authorization: string
}

/** What agents and undici give to those who connect for them. */
interface Place {
  readonly host?: string
  readonly hostname?: string
  readonly port?: number | string
  readonly protocol?: string
  readonly servername?: string
  readonly socketPath?: string
  readonly path?: string
}

type Done = (error: Error | null, socket?: Duplex) => void

/**
 * Through the sidecar to a host. The answer to CONNECT is short, and nothing follows it unasked.
 */
function tunnel(proxy: Proxy, host: string, port: number, done: Done): void {
  const socket = net.connect({ host: proxy.host, port: proxy.port, noDelay: true })
  let head = ''
  const fail = (error: Error): void => done(error)
  const read = (): void => {
    const bytes = socket.read() as Buffer | null
    if (bytes === null) return
    head += bytes.toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    socket.off('readable', read).off('error', fail).off('close', gone)
    const rest = Buffer.from(head.slice(end + 4), 'latin1')
    if (rest.length > 0) socket.unshift(rest)
    if (/^HTTP\/1\.[01] 200/.test(head)) done(null, socket)
    else {
      socket.destroy()
      done(new Error(`daglog: the sidecar refused a connection to ${host}:${port}`))
    }
  }
  const gone = (): void =>
    done(new Error(`daglog: the sidecar is gone; ${host}:${port} is out of reach`))
  socket.on('readable', read).on('error', fail).on('close', gone)
  const name = net.isIPv6(host) ? `[${host}]` : host
  const target = `${name}:${port}`
  socket.write(
    `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: ${proxy.authorization}\r\n\r\n`,
  )
}

function proxyIn(value: string | undefined): Proxy | undefined {
  if (value === undefined || !URL.canParse(value)) return undefined
  const { hostname, port, username, password } = new URL(value)
  const credentials = Buffer.from(`${username}:${password}`).toString('base64')
  return { host: hostname, port: Number(port), authorization: `Basic ${credentials}` }
}

/** True where a connection is none of ours: a Unix socket, or the sidecar itself. */
function isOther(proxy: Proxy, { host, port, socketPath }: Place): boolean {
  return socketPath != null || (host === proxy.host && Number(port) === proxy.port)
}

/** Agents of every kind end in these two methods, but for those that connect all by themselves. */
function patchAgents(proxy: Proxy): void {
  type Create = (this: Agent, options: Place, done: Done) => Duplex | undefined
  const plain = http.Agent.prototype as unknown as { createConnection: Create }
  const secure = https.Agent.prototype as unknown as { createConnection: Create }
  const createPlain = plain.createConnection
  const createSecure = secure.createConnection
  plain.createConnection = function (options, done) {
    const { host = 'localhost', port = 80 } = options
    if (typeof done !== 'function' || isOther(proxy, options))
      return createPlain.call(this, options, done)
    tunnel(proxy, host, Number(port), done)
    return undefined
  }
  secure.createConnection = function (options, done) {
    const { host = 'localhost', port = 443 } = options
    if (typeof done !== 'function' || isOther(proxy, options))
      return createSecure.call(this, options, done)
    tunnel(proxy, host, Number(port), (error, socket) => {
      if (socket === undefined) done(error)
      else done(null, createSecure.call(this, { ...options, socket } as Place, done))
    })
    return undefined
  }
}

type Connect = (options: Place, done: Done) => void
type Dispatcher = new (options: { connect: Connect }) => object

/** `fetch` takes its connections from this; Node fills it when undici is first used. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1')

/** Give `fetch` a dispatcher of its own kind that connects as we say. */
function patchFetch(proxy: Proxy): void {
  // Reading it loads undici.
  void globalThis.Headers
  const place = globalThis as unknown as Record<symbol, object | undefined>
  const AgentOfFetch = place[DISPATCHER]?.constructor as Dispatcher | undefined
  if (AgentOfFetch === undefined) return
  const dispatcher = new AgentOfFetch({
    connect: (options, done) => connectFetch(proxy, options, done),
  })
  Object.defineProperty(globalThis, DISPATCHER, {
    value: dispatcher,
    writable: true,
    enumerable: false,
    configurable: false,
  })
}

function connectFetch(proxy: Proxy, options: Place, done: Done): void {
  const { hostname = '', protocol, servername } = options
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'https:'
  const port = Number(options.port) || (secure ? 443 : 80)
  if (!secure && host === proxy.host && port === proxy.port) {
    const socket: Socket = net.connect({ host, port, noDelay: true })
    socket.once('connect', () => done(null, socket)).once('error', done)
    return
  }
  tunnel(proxy, host, port, (error, socket) => {
    if (socket === undefined || !secure) {
      done(error, socket)
      return
    }
    const name = servername ?? (net.isIP(host) === 0 ? host : '')
    const encrypted = tls.connect({ socket, host, servername: name, ALPNProtocols: ['http/1.1'] })
    encrypted.once('secureConnect', () => done(null, encrypted)).once('error', done)
  })
}

const proxy = proxyIn(process.env.DAGLOG_PROXY)
if (proxy !== undefined) {
  patchAgents(proxy)
  patchFetch(proxy)
}
