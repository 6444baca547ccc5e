/**
 * One of the processes of the sidecar's bench, said by its first argument: the origin, our sidecar with a store in a
 * directory, or mockttp. Tells its parent where it listens.
 */
import { createServer } from 'node:http'
import { Agent, createServer as createSecureServer, request as secureRequest } from 'node:https'
import { pipeline } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { CertificateAuthority } from '../dist/http/proxy/certificate-authority.js'
import { openRecorder } from '../dist/http/recorder.js'
import { openStore } from '../dist/index.js'
import { RelayDoor, Sidecar, Sightings, Upstream } from '../dist/proxy.js'

const [part, ...args] = process.argv.slice(2)
const ANSWER = Buffer.alloc(2000, 'a')

const PARTS = { origin, sidecar, bare, mockttp }
process.send?.(await PARTS[part](...args))

async function origin() {
  const answer = (req, res) => {
    req.resume()
    req.on('end', () => {
      if (req.url === '/events') {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write('data: 1\n\n')
        setImmediate(() => res.end('data: 2\n\n'))
        return
      }
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length })
      res.end(ANSWER)
    })
  }
  const authority = await CertificateAuthority.create()
  const secure = createSecureServer(authority.identityOf('127.0.0.1'), answer)
  return { port: await listening(secure), ca: authority.cert }
}

async function sidecar(dir, target, ca) {
  const run = await (await openStore(dir)).run('bench')
  const sightings = new Sightings()
  const upstream = new Upstream({ trusted: [ca] })
  const door = new RelayDoor(upstream, await openRecorder(run), sightings)
  const sidecar = await Sidecar.start({ onError: (error) => console.error(error) })
  const admitted = sidecar.admit({ door, sightings, upstream })
  return {
    port: sidecar.port,
    ca: sidecar.certificate,
    proxy: admitted.proxyUrl,
    base: admitted.baseUrl(target),
  }
}

/** The least that a proxy on this runtime does: it pipes, and looks at nothing. */
async function bare(target, ca) {
  const { hostname, port } = new URL(target)
  const agent = new Agent({ keepAlive: true, ca })
  const fail = (error) => {
    if (error) console.error(error)
  }
  const server = createServer((req, res) => {
    const { method, url: path, headers } = req
    const asked = secureRequest({ hostname, port, agent, method, path, headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers)
      pipeline(answer, res, fail)
    })
    pipeline(req, asked, fail)
  })
  return { base: `http://127.0.0.1:${await listening(server)}` }
}

/** It passes requests on and is told of each body, which it holds in memory. */
async function mockttp(loader) {
  const { load } = await import(pathToFileURL(loader).href)
  const { generateCACertificate, getLocal } = await load('mockttp')
  const https = await generateCACertificate()
  const server = getLocal({ https })
  await server.forAnyRequest().thenPassThrough({ ignoreHostHttpsErrors: true })
  await server.on('request', () => {})
  await server.on('response', () => {})
  await server.start()
  return { port: server.port, ca: https.cert, proxy: `http://127.0.0.1:${server.port}` }
}

function listening(server) {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address().port))
  })
}
