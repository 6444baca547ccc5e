/**
 * An origin that answers with bytes as given, HTTP or not, in the pieces they are given in; over
 * TCP or TLS, on 127.0.0.1. It counts the connections that are made to it.
 */
import net, { type AddressInfo, type Socket } from 'node:net'
import tls from 'node:tls'
import { CertificateAuthority } from '../../../src/http/proxy/certificate-authority.js'

/** What to send for a request, one write each; then the end: kept open, closed, or broken off. */
export interface Script {
  readonly pieces: readonly (string | Uint8Array)[]
  readonly after?: 'keep' | 'close' | 'reset'
}

export interface Origin {
  readonly http: string
  readonly https: string
  /** What a client has to trust, PEM. */
  readonly certificate: string
  readonly connections: number
  /** Heads of the requests that came, as they came. */
  readonly heads: readonly string[]
  close(): Promise<void>
}

/** `answer` is asked once a request's head is there; bodies are let go by. */
export async function openOrigin(answer: (path: string) => Script): Promise<Origin> {
  const authority = await CertificateAuthority.create()
  const sockets = new Set<Socket>()
  const heads: string[] = []
  let connections = 0
  const serve = (socket: Socket): void => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    let seen = ''
    let bodyLeft = 0
    socket.on('data', async (bytes: Buffer) => {
      seen += bytes.toString('latin1')
      for (;;) {
        const skipped = Math.min(bodyLeft, seen.length)
        seen = seen.slice(skipped)
        bodyLeft -= skipped
        const end = seen.indexOf('\r\n\r\n')
        if (bodyLeft > 0 || end < 0) return
        const head = seen.slice(0, end)
        seen = seen.slice(end + 4)
        heads.push(head)
        bodyLeft = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
        await send(socket, answer(head.split(' ')[1] ?? ''))
      }
    })
  }
  const plain = net.createServer(serve)
  const secure = tls.createServer(authority.identityOf('127.0.0.1'), serve)
  const [httpPort, httpsPort] = await Promise.all([listening(plain), listening(secure)])
  return {
    http: `http://127.0.0.1:${httpPort}`,
    https: `https://127.0.0.1:${httpsPort}`,
    certificate: authority.cert,
    get connections() {
      return connections
    },
    heads,
    close: async () => {
      const closed = [plain, secure].map(
        (server) => new Promise((resolve) => server.close(resolve)),
      )
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

function listening(server: net.Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

async function send(socket: Socket, { pieces, after = 'keep' }: Script): Promise<void> {
  socket.setNoDelay(true)
  for (const piece of pieces) {
    await new Promise<void>((resolve) => {
      socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, () =>
        resolve(),
      )
    })
    // Each piece gets a chance to be seen by itself.
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (after === 'close') socket.end()
  if (after === 'reset') socket.destroySoon()
}
