/**
 * The side of a sidecar that faces the world: connections to the real origins, kept alive, over
 * which a request goes out with exactly the headers it came with. In a replay there is none of
 * these.
 */
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import { PROXY_HEAD_BYTES_MAX } from '../../core/limits.js'
import type { HeaderList } from '../exchange.js'
import { flatOf } from './header-list.js'
import type { Aim, Target } from './target.js'

/**
 * A kept connection is let go of after this long, in ms: most servers wait for five seconds, and a
 * request that crosses a close is a request that fails.
 */
const IDLE_MS = 4000

export interface UpstreamOptions {
  /** Certificates to trust, PEM; Node's own unless told. */
  readonly trusted?: readonly string[]
}

export class Upstream {
  private readonly plain: http.Agent
  private readonly secure: https.Agent

  constructor({ trusted }: UpstreamOptions = {}) {
    const options = { keepAlive: true, timeout: IDLE_MS, scheduling: 'lifo' as const }
    this.plain = new http.Agent(options)
    // One context for all: as a list of certificates it would be read again for each connection.
    const secureContext =
      trusted === undefined ? {} : { secureContext: tls.createSecureContext({ ca: [...trusted] }) }
    this.secure = new https.Agent({ ...options, ...secureContext })
  }

  /** Begin a request; its headers are on their way, its body is to be written. */
  request(method: string, { target, path }: Aim, headers: HeaderList): http.ClientRequest {
    const { scheme, host, port } = target
    const options = {
      method,
      path,
      host,
      port,
      headers: flatOf(headers),
      maxHeaderSize: PROXY_HEAD_BYTES_MAX,
      setDefaultHeaders: false,
    }
    if (scheme === 'http') return http.request({ ...options, agent: this.plain })
    // An address has no server name.
    const servername = net.isIP(host) === 0 ? host : ''
    return https.request({ ...options, agent: this.secure, servername })
  }

  /** A connection without any meaning to us, for what is tunnelled. */
  tunnel({ host, port }: Target): net.Socket {
    return net.connect({ host, port, noDelay: true })
  }

  /** Idle connections are closed, busy ones cut. */
  close(): void {
    this.plain.destroy()
    this.secure.destroy()
  }
}
