/**
 * One run's admission to a sidecar: its token, the hosts it asked for, who answers it, and what was
 * seen.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HeaderList } from '../exchange.js'
import type { CertificateAuthority } from './certificate-authority.js'
import { answerPlainly, cut } from './client-side.js'
import type { Door } from './door.js'
import { endToEnd, pairsOf, withValue } from './header-list.js'
import { firstByte, Intercept, isRequest, isTls } from './intercept.js'
import type { Sightings } from './sightings.js'
import { type Aim, authorityOf, isNamed, routedAim, type Target } from './target.js'
import type { Upstream } from './upstream.js'

export interface SessionOptions {
  readonly token: string
  readonly authority: CertificateAuthority
  readonly sightings: Sightings
  readonly door: Door
  /** Where tunnels go; none in a replay. */
  readonly upstream?: Upstream
  /** Hosts to intercept; all of them where none is named. */
  readonly hosts?: readonly string[]
  /** Whether a client means the sidecar itself. */
  readonly isSelf: (target: Target) => boolean
  /** Told of what a door could not do; a bug or a full disk. */
  readonly onError: (error: unknown) => void
}

/** How a request came. */
export interface Manner {
  readonly client?: string | undefined
  readonly expects?: boolean
}

export class Session {
  readonly token: string
  readonly sightings: Sightings
  private readonly intercept: Intercept
  private readonly answering = new Set<Promise<void>>()

  constructor(private readonly options: SessionOptions) {
    this.token = options.token
    this.sightings = options.sightings
    this.intercept = new Intercept(options.authority, options.sightings, (client) => ({
      request: (req, res, target) => this.take(req, res, aimOf(req, target), { client }),
      expects: (req, res, target) =>
        this.take(req, res, aimOf(req, target), { client, expects: true }),
      upgrade: (_req, socket, target) => this.refuseUpgrade(socket, target),
    }))
  }

  /** Answer a request, in whatever form it came. */
  take(req: IncomingMessage, res: ServerResponse, aim: Aim, how: Manner = {}): void {
    // Clients with both a base URL and a proxy ask the proxy for the base URL.
    if (!this.options.isSelf(aim.target)) {
      this.answer(req, res, aim, endToEnd(pairsOf(req.rawHeaders)), how)
      return
    }
    const routed = routedAim(aim.path)
    if (routed?.token === this.token) this.route(req, res, routed, how)
    else {
      this.sightings.unseen('not-admitted', authorityOf(aim.target))
      answerPlainly(res, 404, 'there is no such route; they look like /TOKEN/https/host/path')
    }
  }

  /** Answer a request that came to a base URL: the origin is to see its own name. */
  route(req: IncomingMessage, res: ServerResponse, aim: Aim, how: Manner = {}): void {
    const headers = endToEnd(pairsOf(req.rawHeaders))
    const { target, path } = aim
    this.answer(req, res, { target, path }, withValue(headers, 'host', authorityOf(target)), how)
  }

  private answer(
    req: IncomingMessage,
    res: ServerResponse,
    aim: Aim,
    headers: HeaderList,
    { client, expects = false }: Manner,
  ): void {
    const wanted = this.isWanted(aim.target)
    const { door, onError } = this.options
    const answer = door
      .answer({ req, res, aim, headers, client, expects, wanted })
      .catch((error: unknown) => {
        onError(error)
        answerPlainly(res, 502, 'this call could not be recorded or replayed; see what daglog says')
        cut(res)
      })
    this.answering.add(answer)
    void answer.finally(() => this.answering.delete(answer))
  }

  private isWanted({ host }: Target): boolean {
    const { hosts = [] } = this.options
    return hosts.length === 0 || isNamed(host, hosts)
  }

  /** Stand for the host of a CONNECT, or let its bytes through. The client was told to go ahead. */
  async connect(socket: Socket, target: Target, client: string | undefined): Promise<void> {
    const where = `${target.host}:${target.port}`
    const { door, isSelf } = this.options
    if (!this.isWanted(target) && !isSelf(target)) return this.tunnel(socket, target)
    const byte = await firstByte(socket)
    if (socket.destroyed) return
    if (byte !== undefined && (isTls(byte) || isRequest(byte))) {
      this.intercept.serve(socket, target, client, byte)
      return
    }
    this.sightings.unseen(door.tunnels ? 'not-http' : 'replay-refused', where)
    this.join(socket, target)
  }

  /**
   * A client that is refused here falls back to plain requests; one that gets an answer may not.
   */
  refuseUpgrade(socket: Socket, target: Target): void {
    this.sightings.unseen('upgrade-refused', authorityOf(target))
    socket.destroy()
  }

  /** Once all that was begun is answered, and recorded. */
  async settled(): Promise<void> {
    while (this.answering.size > 0) await Promise.all(this.answering)
  }

  /** Once each connection that was served is over, and what it came to was counted. */
  closed(): Promise<void> {
    return this.intercept.closed()
  }

  private tunnel(socket: Socket, target: Target): void {
    const where = `${target.host}:${target.port}`
    this.sightings.unseen(this.options.door.tunnels ? 'not-asked-for' : 'replay-refused', where)
    this.join(socket, target)
  }

  private join(socket: Socket, target: Target): void {
    const { upstream, door } = this.options
    if (!door.tunnels || upstream === undefined) {
      socket.destroy()
      return
    }
    const far = upstream.tunnel(target)
    const end = (): void => {
      socket.destroySoon()
      far.destroySoon()
    }
    far.on('error', end).on('close', end)
    socket.on('error', end).on('close', end)
    socket.pipe(far).pipe(socket)
  }
}

function aimOf({ url = '/' }: IncomingMessage, target: Target): Aim {
  return { target, path: url }
}
