/**
 * The sidecar: one server on 127.0.0.1 that is a forward proxy and a set of base-URL routes at
 * once. Whoever speaks to it names a run by a token; what a run's calls become is its session's
 * business.
 */
import { randomBytes } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { DaglogError, systemCode } from '../../core/errors.js'
import { CertificateAuthority } from './certificate-authority.js'
import { answerPlainly } from './client-side.js'
import type { Door } from './door.js'
import { pairsOf, valuesOf } from './header-list.js'
import { isUnreadable, refuseUnreadable, SERVER_OPTIONS } from './intercept.js'
import { Session } from './session.js'
import { Sightings } from './sightings.js'
import { absoluteAim, authorityOf, routedAim, routeTo, type Target, targetOf } from './target.js'
import type { Upstream } from './upstream.js'

export interface SidecarOptions {
  /** The port on 127.0.0.1; any free one unless told. */
  readonly port?: number
  /** Told of what could not be done for a call: a bug, or a full disk. */
  readonly onError?: (error: unknown) => void
}

export interface Admission {
  readonly door: Door
  /** Who counts what is seen; one that the door counts with as well. */
  readonly sightings: Sightings
  /** Where tunnels go; none in a replay. */
  readonly upstream?: Upstream
  /** Hosts to intercept, `*.name` for all below one; all of them where none is named. */
  readonly hosts?: readonly string[]
}

/** A run at a sidecar. */
export interface Admitted {
  /** For `HTTPS_PROXY` and its like. */
  readonly proxyUrl: string
  /** The base URL that stands for another one. @throws USAGE where `base` is no URL */
  baseUrl(base: string): string
  readonly sightings: Sightings
  /** Once all that was begun is answered, and recorded. */
  settled(): Promise<void>
}

/** What clients give as their name where they give none of their own. */
const USER = 'daglog'
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1'])

export class Sidecar {
  private readonly sessions = new Map<string, Session>()
  private readonly sockets = new Set<Socket>()
  private readonly bridges: net.Server[] = []
  private closing: Promise<void> | undefined
  /** Counts what cannot be told to be any run's. */
  readonly strangers = new Sightings()

  private constructor(
    private readonly server: http.Server,
    private readonly authority: CertificateAuthority,
    private readonly onError: (error: unknown) => void,
  ) {
    server.on('request', (req, res) => this.request(req, res, false))
    server.on('checkContinue', (req, res) => this.request(req, res, true))
    server.on('connect', (req, socket: Socket, head) => this.connect(req, socket, head))
    server.on('upgrade', (req, socket: Socket) => this.upgrade(req, socket))
    server.on('connection', (socket) => this.keep(socket))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (isUnreadable(error)) {
        this.strangers.unseen('no-request', 'the sidecar itself', error.code)
        refuseUnreadable(error, socket as Socket)
      } else socket.destroy()
    })
  }

  /** Listen. @throws USAGE where the port is taken */
  static async start({ port = 0, onError = () => {} }: SidecarOptions = {}): Promise<Sidecar> {
    const server = http.createServer(SERVER_OPTIONS)
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(notListening(port, error)))
      server.listen({ port, host: '127.0.0.1' }, resolve)
    })
    return new Sidecar(server, await CertificateAuthority.create(), onError)
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** The certificate that clients have to trust, PEM. */
  get certificate(): string {
    return this.authority.cert
  }

  /** Let a run's calls in, under a token that nobody else knows. */
  admit({ door, sightings, upstream, hosts }: Admission): Admitted {
    const token = randomBytes(16).toString('hex')
    const session = new Session({
      token,
      door,
      sightings,
      authority: this.authority,
      ...(upstream === undefined ? {} : { upstream }),
      ...(hosts === undefined ? {} : { hosts }),
      isSelf: (target) => this.isSelf(target),
      onError: this.onError,
    })
    this.sessions.set(token, session)
    const origin = `127.0.0.1:${this.port}`
    return {
      sightings,
      // Proxies are spoken to in plain HTTP: some clients know no other.
      proxyUrl: `http://${USER}:${token}@${origin}`,
      baseUrl: (base) => {
        const path = routeTo(token, base)
        if (path !== undefined) return `http://${origin}${path}`
        throw new DaglogError(
          'USAGE',
          'a base URL is none; try: http://host/path or https://host/path',
        )
      },
      settled: () => session.settled(),
    }
  }

  /** Also take connections at a Unix socket, for clients that have no other network. */
  async bridge(path: string): Promise<void> {
    const bridge = net.createServer((socket) => this.server.emit('connection', socket))
    await new Promise<void>((resolve, reject) => {
      bridge.once('error', reject)
      bridge.listen(path, resolve)
    })
    this.bridges.push(bridge)
  }

  /** Close all connections and stop; resolves once each call that was begun has come to its end. */
  close(): Promise<void> {
    this.closing ??= this.shut()
    return this.closing
  }

  private async shut(): Promise<void> {
    const servers = [this.server, ...this.bridges]
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const socket of this.sockets) socket.destroy()
    for (const session of this.sessions.values()) await session.settled()
    await Promise.all(closed)
    for (const session of this.sessions.values()) await session.closed()
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket)
    // One that breaks is closed, and who waits for it hears of that.
    socket.on('error', () => {})
    socket.on('close', () => this.sockets.delete(socket))
  }

  private isSelf({ host, port }: Target): boolean {
    return port === this.port && LOOPBACK.has(host.toLowerCase())
  }

  private request(req: IncomingMessage, res: ServerResponse, expects: boolean): void {
    const aim = absoluteAim(req.url ?? '')
    if (aim !== undefined && !this.isSelf(aim.target)) {
      const admitted = this.admitted(req)
      if (admitted !== undefined)
        admitted.session.take(req, res, aim, { client: admitted.client, expects })
      else {
        this.strangers.unseen('not-admitted', authorityOf(aim.target))
        res.setHeader('proxy-authenticate', CHALLENGE)
        answerPlainly(res, 407, 'this proxy takes calls of its own run only')
      }
      return
    }
    const routed = routedAim(aim?.path ?? req.url ?? '/')
    const session = routed && this.sessions.get(routed.token)
    if (routed !== undefined && session !== undefined) {
      session.route(req, res, routed, { expects })
      return
    }
    this.strangers.unseen('not-admitted', 'the sidecar itself')
    answerPlainly(res, 404, 'there is no such route; they look like /TOKEN/https/host/path')
  }

  private connect(req: IncomingMessage, socket: Socket, head: Buffer): void {
    const target = targetOf('https', req.url ?? '')
    const admitted = this.admitted(req)
    if (target === undefined || admitted === undefined) {
      this.strangers.unseen('not-admitted', target ? authorityOf(target) : '(unreadable)')
      const status =
        target === undefined
          ? '400 Bad Request'
          : `407 Proxy Authentication Required\r\nProxy-Authenticate: ${CHALLENGE}`
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
      return
    }
    socket.setNoDelay(true)
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    if (head.length > 0) socket.unshift(head)
    admitted.session.connect(socket, target, admitted.client).catch(this.onError)
  }

  private upgrade(req: IncomingMessage, socket: Socket): void {
    const aim = absoluteAim(req.url ?? '')
    const routed = routedAim(aim?.path ?? req.url ?? '/')
    const session = this.admitted(req)?.session ?? this.sessions.get(routed?.token ?? '')
    const target = routed?.target ?? aim?.target
    if (session !== undefined && target !== undefined) session.refuseUpgrade(socket, target)
    else {
      this.strangers.unseen('upgrade-refused', 'the sidecar itself')
      socket.destroy()
    }
  }

  /** The session whose token a client gave, and the client's own name. */
  private admitted({ rawHeaders }: IncomingMessage): Found | undefined {
    const [value = ''] = valuesOf(pairsOf(rawHeaders), 'proxy-authorization')
    const [, encoded = ''] = /^Basic\s+([A-Za-z0-9+/=]+)\s*$/i.exec(value) ?? []
    const [user = '', token = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
    const session = this.sessions.get(token)
    return session && { session, client: user === USER ? undefined : user }
  }
}

interface Found {
  readonly session: Session
  readonly client: string | undefined
}

const CHALLENGE = 'Basic realm="daglog"'

function notListening(port: number, cause: Error): DaglogError {
  const system = systemCode(cause)
  const what =
    system === 'EADDRINUSE'
      ? `port ${port} of 127.0.0.1 is taken; try: another --port, or none for any that is free`
      : `127.0.0.1:${port} cannot be listened to (${system}); try: another --port`
  return new DaglogError('USAGE', what, { port, system }, { cause })
}
