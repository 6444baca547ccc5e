/**
 * What is inside a CONNECT: the sidecar answers for the host, listens to the first byte, and serves
 * TLS with a certificate of its own, plain HTTP as it is, or passes on what is neither. Knows
 * connections; what is asked over them is handed on.
 */
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { PROXY_HEAD_BYTES_MAX } from '../../core/limits.js'
import type { CertificateAuthority } from './certificate-authority.js'
import type { Sightings, Unseen } from './sightings.js'
import type { Target } from './target.js'

/** What listens to requests: as an `http.Server` gives them. */
export interface Listener {
  request(req: http.IncomingMessage, res: http.ServerResponse, target: Target): void
  expects(req: http.IncomingMessage, res: http.ServerResponse, target: Target): void
  upgrade(req: http.IncomingMessage, socket: Socket, target: Target): void
}

const TLS_HANDSHAKE = 0x16
/**
 * Requests begin with a method, in upper case; HTTP/2 begins with `PRI *`, which is told apart
 * later.
 */
const METHOD_START = /^[A-Z]/
/**
 * Some protocols let the server speak first: after so long a silence, in ms, a client's is taken
 * for one.
 */
const SILENCE_MS = 2000
/** Servers, one for each host and port, that are kept at hand. */
const SERVERS_MAX = 1000

export const SERVER_OPTIONS: http.ServerOptions = {
  maxHeaderSize: PROXY_HEAD_BYTES_MAX,
  // A model may think for an hour, and a client may keep a connection for a day.
  keepAliveTimeout: 0,
  requestTimeout: 0,
  headersTimeout: 0,
  connectionsCheckingInterval: 60_000,
  noDelay: true,
  // The host is a proxy's to check only where it stands for one.
  requireHostHeader: false,
}

/** The first byte of a connection, or undefined where the client is silent or gone. */
export type FirstByte = number | undefined

/** Wait for the first byte without taking it. */
export function firstByte(socket: Socket): Promise<FirstByte> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(undefined), SILENCE_MS)
    const done = (byte: FirstByte): void => {
      clearTimeout(timer)
      socket.off('readable', look)
      socket.off('close', gone)
      resolve(byte)
    }
    const gone = (): void => done(undefined)
    const look = (): void => {
      const bytes = socket.read() as Buffer | null
      if (bytes === null) return
      socket.unshift(bytes)
      done(bytes[0])
    }
    socket.on('readable', look)
    socket.on('close', gone)
  })
}

export function isTls(byte: number): boolean {
  return byte === TLS_HANDSHAKE
}

export function isRequest(byte: number): boolean {
  return METHOD_START.test(String.fromCharCode(byte))
}

/** Servers that stand for hosts, for one session. */
export class Intercept {
  private readonly secure = new Map<string, https.Server>()
  private readonly plain = new Map<string, http.Server>()
  /** Begun, and neither failed nor closed: each comes to one of these ends. */
  private handshakes = 0
  private whenClosed: (() => void) | undefined

  constructor(
    private readonly authority: CertificateAuthority,
    private readonly sightings: Sightings,
    private readonly listener: (name: string | undefined) => Listener,
  ) {}

  /** Once the last handshake has failed or its connection is closed. */
  closed(): Promise<void> {
    return new Promise((resolve) => {
      this.whenClosed = resolve
      this.tell()
    })
  }

  private tell(): void {
    if (this.handshakes === 0) this.whenClosed?.()
  }

  /** Serve a connection as the target would; `client` is its name in the session. */
  serve(socket: Socket, target: Target, client: string | undefined, byte: number): void {
    const scheme = isTls(byte) ? 'https' : 'http'
    const meant: Target = { ...target, scheme }
    const key = `${client ?? ''} ${meant.host} ${meant.port}`
    const servers: Map<string, http.Server> = scheme === 'https' ? this.secure : this.plain
    let server = servers.get(key)
    if (server === undefined) {
      server = scheme === 'https' ? this.secureServer(meant) : http.createServer(SERVER_OPTIONS)
      listen(server, meant, this.listener(client), this.sightings)
      if (servers.size >= SERVERS_MAX) servers.delete(servers.keys().next().value as string)
      servers.set(key, server)
    }
    if (scheme === 'https') this.handshakes += 1
    server.emit('connection', socket)
  }

  private secureServer(target: Target): https.Server {
    const server = https.createServer({
      ...SERVER_OPTIONS,
      ...this.authority.identityOf(target.host),
      // What is recorded is HTTP/1.1; a client that can speak nothing else than HTTP/2 is told so,
      // and reported.
      ALPNProtocols: ['http/1.1'],
    })
    const where = `${target.host}:${target.port}`
    const over = (): void => {
      this.handshakes -= 1
      this.tell()
    }
    server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
      this.sightings.unseen(whyOf(error.code), where, error.code)
      over()
    })
    // A client may look at the certificate last, and go without a word of why.
    const used = new WeakSet<object>()
    const use = ({ socket }: http.IncomingMessage): void => {
      used.add(socket)
    }
    for (const event of ['request', 'checkContinue', 'upgrade', 'connect']) server.on(event, use)
    server.on('secureConnection', (socket) => {
      socket.once('close', () => {
        if (!used.has(socket)) this.sightings.unseen('tls-refused', where)
        over()
      })
    })
    return server
  }
}

function whyOf(code: string | undefined): Unseen {
  return code === 'ERR_SSL_NO_APPLICATION_PROTOCOL' ? 'http2-only' : 'tls-refused'
}

function listen(
  server: http.Server,
  target: Target,
  listener: Listener,
  sightings: Sightings,
): void {
  server.on('request', (req, res) => listener.request(req, res, target))
  server.on('checkContinue', (req, res) => listener.expects(req, res, target))
  server.on('upgrade', (req, socket) => listener.upgrade(req, socket as Socket, target))
  server.on('connect', (_req, socket) => socket.destroy())
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A failed handshake comes by here as well, and a client that simply went.
    if (isUnreadable(error)) {
      sightings.unseen('no-request', `${target.host}:${target.port}`, error.code)
      refuseUnreadable(error, socket as Socket)
    } else socket.destroy()
  })
}

/** The parser's own codes. */
export function isUnreadable({ code }: NodeJS.ErrnoException): boolean {
  return code?.startsWith('HPE_') === true
}

/** Say what Node's own server would say to bytes that are no request, and close. */
export function refuseUnreadable({ code }: NodeJS.ErrnoException, socket: Socket): void {
  const status =
    code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  if (socket.writable) socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
  socket.destroySoon()
}
