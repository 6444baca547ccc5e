/** What comes to a sidecar besides requests as they should be, and what it says about that. */
import { spawnSync } from 'node:child_process'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PlaybackDoor } from '../../../src/http/proxy/playback.js'
import { RelayDoor } from '../../../src/http/proxy/relay.js'
import { type Admission, type Admitted, Sidecar } from '../../../src/http/proxy/sidecar.js'
import { Sightings } from '../../../src/http/proxy/sightings.js'
import { Upstream } from '../../../src/http/proxy/upstream.js'
import { ask, type Way } from './ask.js'
import { MemoryTraffic } from './memory-traffic.js'
import { type Origin, openOrigin, type Script } from './origin.js'

const HELLO: Script = { pieces: ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'hello'] }

let origin: Origin
let sidecar: Sidecar
let upstream: Upstream
let traffic: MemoryTraffic
let script: (path: string) => Script

beforeEach(async () => {
  script = () => HELLO
  origin = await openOrigin((path) => script(path))
  sidecar = await Sidecar.start()
  upstream = new Upstream({ trusted: [origin.certificate] })
  traffic = new MemoryTraffic()
})

afterEach(async () => {
  upstream.close()
  await sidecar.close()
  await origin.close()
})

function recording(more: Partial<Admission> = {}): Admitted {
  const sightings = new Sightings()
  return sidecar.admit({
    door: new RelayDoor(upstream, traffic, sightings),
    sightings,
    upstream,
    ...more,
  })
}

function replaying(): Admitted {
  const sightings = new Sightings()
  return sidecar.admit({ door: new PlaybackDoor({ replayer: traffic, sightings }), sightings })
}

/** Open a tunnel to a host and give what is inside. */
async function connectTo(admitted: Admitted, host: string): Promise<net.Socket> {
  const proxy = new URL(admitted.proxyUrl)
  const credentials = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64')
  const socket = net.connect({ host: '127.0.0.1', port: sidecar.port })
  socket.write(`CONNECT ${host} HTTP/1.1\r\nProxy-Authorization: Basic ${credentials}\r\n\r\n`)
  await new Promise((resolve) => socket.once('readable', resolve))
  expect(String(socket.read())).toMatch(/^HTTP\/1.1 200 /)
  return socket
}

function closed(socket: net.Socket): Promise<string> {
  let text = ''
  return new Promise((resolve) => {
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
    })
    socket.on('error', () => {}).on('close', () => resolve(text))
  })
}

const hostOf = (url: string): string => new URL(url).host
const why = (admitted: Admitted): string[] =>
  admitted.sightings.coverage().unseen.map(({ why, host }) => `${why} ${host}`)

describe('a call', () => {
  it('has one URL and one Host, whatever way it took', async () => {
    const admitted = recording()
    for (const way of ['reverse', 'connect', 'absolute'] as const)
      await ask(`${origin.http}/v1/x?b=%20&a`, { way, admitted, ca: sidecar.certificate })
    const host = hostOf(origin.http)
    expect(traffic.kept.map(({ head }) => head.url)).toEqual(
      Array(3).fill(`http://${host}/v1/x?b=%20&a`),
    )
    expect(new Set(traffic.kept.map(({ head }) => head.headers[0]?.join()))).toEqual(
      new Set([`Host,${host}`]),
    )
    expect(origin.heads.join('\n')).not.toMatch(/proxy-/i)
  })

  it('by a base URL may itself come through the proxy, as clients with both do', async () => {
    const admitted = recording()
    const base = admitted.baseUrl(`${origin.https}/v1`)
    for (const way of ['absolute', 'connect'] as const)
      await ask(`${base}/models`, { way, admitted, ca: sidecar.certificate })
    expect(traffic.kept.map(({ head }) => head.url)).toEqual(
      Array(2).fill(`${origin.https}/v1/models`),
    )
  })

  it('that a recorder in the program has recorded is passed on, and counted as that', async () => {
    const admitted = recording()
    await ask(`${origin.http}/`, {
      way: 'absolute',
      admitted,
      ca: '',
      headers: ['X-Daglog-Recorded', 'run-1'],
    })
    expect(traffic.kept).toEqual([])
    expect(admitted.sightings.coverage()).toMatchObject({ recorded: 0, ownRecorder: 1 })
    expect(origin.heads.join()).not.toMatch(/daglog/i)
  })

  it('to a host that cannot be reached breaks off, is recorded so, and is told', async () => {
    const admitted = recording()
    const gone = await openOrigin(() => HELLO)
    await gone.close()
    const seen = await ask(`${gone.http}/`, { way: 'absolute', admitted, ca: '' })
    expect(seen.status).toBe(0)
    await admitted.settled()
    expect(traffic.kept[0]).toMatchObject({ end: 'unreachable', failure: 'ECONNREFUSED' })
    expect(admitted.sightings.coverage().unreachable).toEqual([
      { host: hostOf(gone.http), code: 'ECONNREFUSED', count: 1 },
    ])
  })

  it('to a host whose certificate is not trusted breaks off; nothing is sent there', async () => {
    const admitted = recording()
    const stranger = await openOrigin(() => HELLO)
    const seen = await ask(`${stranger.https}/`, {
      way: 'connect',
      admitted,
      ca: sidecar.certificate,
    })
    await admitted.settled()
    expect(seen.status).toBe(0)
    expect(stranger.heads).toEqual([])
    expect(traffic.kept[0]).toMatchObject({ end: 'unreachable' })
    await stranger.close()
  })

  it('is answered to each client in its own order', async () => {
    const admitted = recording()
    for (let turn = 0; turn < 2; turn++)
      await ask(`${origin.http}/`, { way: 'absolute', admitted, ca: '' })
    await admitted.settled()
    const replay = replaying()
    for (const client of ['one', 'other'])
      await ask(`${origin.http}/`, { way: 'absolute', admitted: replay, ca: '', client })
    expect(traffic.asked).toEqual(['one', 'other'])
    expect(replay.sightings.coverage()).toMatchObject({ replayed: 2, missed: 0 })
  })
})

describe('a client that leaves', () => {
  it('after some events is recorded with them, as having left (httptoolkit#312, #649)', async () => {
    script = () => ({
      pieces: ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '6\r\ndata: \r\n'],
    })
    const admitted = recording()
    const base = new URL(admitted.baseUrl(origin.http))
    const request = http.get(`${base.href}/events`)
    await new Promise<void>((resolve) => {
      request.on('response', (res) => res.once('data', () => resolve())).on('error', () => {})
    })
    request.destroy()
    await admitted.settled()
    expect(traffic.kept).toMatchObject([{ end: 'client-abort' }])
    expect(Buffer.concat(traffic.kept[0]!.chunks).toString()).toBe('data: ')
    expect(admitted.sightings.coverage().unreachable).toEqual([])
  })
})

describe('an answer that comes before the request has ended', () => {
  it.each([
    ['length', HELLO],
    [
      'chunked',
      { pieces: ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'] },
    ],
  ] as const)(
    'cuts nothing off it, where the client closes after one answer: %s',
    async (_, early) => {
      script = () => early
      const admitted = recording()
      const { hostname, port, pathname } = new URL(`${admitted.baseUrl(origin.http)}/early`)
      const socket = net.connect({ host: hostname, port: Number(port) })
      const all = closed(socket)
      socket.write(
        `POST ${pathname} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc`,
      )
      await new Promise<void>((resolve) => {
        let seen = ''
        socket.on('data', (bytes) => {
          seen += bytes.toString('latin1')
          if (seen.includes('hello')) resolve()
        })
      })
      socket.write('def')
      expect(await all).toMatch(/hello/)
      await admitted.settled()
      expect(traffic.kept).toMatchObject([{ end: 'complete' }])
      expect(Buffer.concat(traffic.kept[0]!.requestBody).toString()).toBe('abcdef')
    },
  )
})

it.each(['close', 'keep-alive'])(
  'a client that goes after an early answer leaves no exchange open: Connection: %s',
  async (connection) => {
    const admitted = recording()
    const { hostname, port, pathname } = new URL(`${admitted.baseUrl(origin.http)}/early`)
    const socket = net.connect({ host: hostname, port: Number(port) })
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nContent-Length: 6\r\n\r\nabc`,
    )
    let seen = ''
    await new Promise<void>((resolve) => {
      socket.on('data', (bytes) => {
        seen += bytes.toString('latin1')
        if (seen.includes('hello')) resolve()
      })
    })
    socket.destroy()
    await admitted.settled()
    expect(traffic.kept).toHaveLength(1)
    expect(traffic.kept[0]!.end).toBeDefined()
  },
)

describe('an upgrade', () => {
  it.each(['connect', 'absolute', 'reverse'] as const)(
    'is refused at once by closing, and reported: %s (row 37)',
    async (way: Way) => {
      const admitted = recording()
      const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket']
      const seen = await ask(`${origin.http}/ws`, {
        way,
        admitted,
        ca: sidecar.certificate,
        headers,
      })
      expect(seen.status).toBe(0)
      expect(why(admitted)).toEqual([`upgrade-refused ${hostOf(origin.http)}`])
      expect(origin.connections).toBe(0)
    },
  )
})

describe('TLS', () => {
  it('that a client refuses is reported (row 36)', async () => {
    const admitted = recording()
    const host = hostOf(origin.https)
    const socket = tls.connect({ socket: await connectTo(admitted, host), host: '127.0.0.1' })
    await closed(socket)
    await sidecar.close()
    expect(why(admitted)).toEqual([`tls-refused ${host}`])
    expect(admitted.proxyUrl).toMatch(/^http:/)
  })

  it('for HTTP/2 and nothing else is refused and reported as that', async () => {
    const admitted = recording()
    const host = hostOf(origin.https)
    const socket = tls.connect({
      socket: await connectTo(admitted, host),
      ca: sidecar.certificate,
      host: '127.0.0.1',
      ALPNProtocols: ['h2'],
    })
    await closed(socket)
    await sidecar.close()
    expect(why(admitted)).toEqual([`http2-only ${host}`])
  })

  it('of a client that would also speak HTTP/2 becomes HTTP/1.1', async () => {
    const admitted = recording()
    const socket = tls.connect({
      socket: await connectTo(admitted, hostOf(origin.https)),
      ca: sidecar.certificate,
      host: '127.0.0.1',
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    expect(socket.alpnProtocol).toBe('http/1.1')
    socket.destroy()
  })
})

describe('--host', () => {
  it('lets all others through as they are, and says so', async () => {
    const admitted = recording({ hosts: ['api.example', '*.example'] })
    const tunnelled = await ask(`${origin.https}/`, {
      way: 'connect',
      admitted,
      ca: origin.certificate,
    })
    const passed = await ask(`${origin.http}/`, { way: 'absolute', admitted, ca: '' })
    expect([tunnelled.status, passed.status]).toEqual([200, 200])
    expect(traffic.kept).toEqual([])
    expect(why(admitted)).toEqual([
      `not-asked-for ${hostOf(origin.https)}`,
      `not-asked-for ${hostOf(origin.http)}`,
    ])
  })

  it('in a replay lets nobody through (undici#4663)', async () => {
    const sightings = new Sightings()
    const door = new PlaybackDoor({ replayer: traffic, sightings })
    const admitted = sidecar.admit({ door, sightings, hosts: ['api.example'] })
    const seen = await ask(`${origin.http}/`, { way: 'absolute', admitted, ca: '' })
    expect(seen.status).toBe(502)
    await closed(await connectTo(admitted, hostOf(origin.https)))
    expect(origin.connections).toBe(0)
    expect(why(admitted)).toEqual([
      `replay-refused ${hostOf(origin.http)}`,
      `replay-refused ${hostOf(origin.https)}`,
    ])
  })
})

describe('who has no token', () => {
  it('gets nowhere, by any way', async () => {
    recording()
    const stranger = { proxyUrl: `http://daglog:guess@127.0.0.1:${sidecar.port}` } as Admitted
    const seen = await ask(`${origin.http}/`, { way: 'absolute', admitted: stranger, ca: '' })
    expect(seen.status).toBe(407)
    const routed = await ask(
      `http://127.0.0.1:${sidecar.port}/guess/${origin.http.replace('://', '/')}/`,
      {
        way: 'direct',
        ca: '',
      },
    )
    expect(routed.status).toBe(404)
    const socket = net.connect({ host: '127.0.0.1', port: sidecar.port })
    socket.write(`CONNECT ${hostOf(origin.https)} HTTP/1.1\r\n\r\n`)
    expect(await closed(socket)).toMatch(/^HTTP\/1.1 407 /)
    expect(origin.connections).toBe(0)
    expect(sidecar.strangers.coverage().unseen).toHaveLength(2 + 1)
  })

  it('is another run: two runs at one sidecar do not see each other', async () => {
    const [one, other] = [recording(), recording()]
    await ask(`${origin.http}/`, { way: 'absolute', admitted: one, ca: '' })
    expect(one.sightings.recorded).toBe(1)
    expect(other.sightings.recorded).toBe(0)
  })
})

describe('garbage', () => {
  it('from a client is answered 400 and closed; the sidecar goes on', async () => {
    const socket = net.connect({ host: '127.0.0.1', port: sidecar.port })
    socket.write('\x00\x01garbage\r\n\r\n')
    expect(await closed(socket)).toMatch(/^HTTP\/1.1 400 /)
    const admitted = recording()
    expect((await ask(`${origin.http}/`, { way: 'absolute', admitted, ca: '' })).status).toBe(200)
  })

  it('inside a CONNECT is neither TLS nor HTTP: it is passed on and reported', async () => {
    const echo = net.createServer((socket) => socket.pipe(socket))
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
    const admitted = recording()
    const host = `127.0.0.1:${(echo.address() as AddressInfo).port}`
    const socket = await connectTo(admitted, host)
    const said = closed(socket)
    socket.end('\x00\x01 hello')
    expect(await said).toBe('\x00\x01 hello')
    expect(why(admitted)).toEqual([`not-http ${host}`])
    echo.close()
  })

  it('head of more than a megabyte is answered 431', async () => {
    const admitted = recording()
    const base = new URL(admitted.baseUrl(origin.http))
    const socket = net.connect({ host: '127.0.0.1', port: sidecar.port })
    socket.write(
      `GET ${base.pathname}/ HTTP/1.1\r\nHost: x\r\nX-Big: ${'b'.repeat(1_100_000)}\r\n\r\n`,
    )
    expect(await closed(socket)).toMatch(/^HTTP\/1.1 431 /)
  })
})

it('a port that is taken is told, with what to try', async () => {
  await expect(Sidecar.start({ port: sidecar.port })).rejects.toThrow(
    `USAGE: port ${sidecar.port} of 127.0.0.1 is taken; try:`,
  )
})

it('10,000 calls over 100 kept connections are each answered with their own', async () => {
  script = (path) => ({
    pieces: [`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`],
  })
  const admitted = recording()
  const agent = new http.Agent({ keepAlive: true, maxSockets: 100 })
  const base = admitted.baseUrl(`${origin.http}/n`)
  const call = (number: number): Promise<string> =>
    new Promise((resolve, reject) => {
      http
        .get(`${base}/${number}`, { agent }, (res) => {
          let text = ''
          res.setEncoding('utf8').on('data', (part) => {
            text += part
          })
          res.on('end', () => resolve(text))
        })
        .on('error', reject)
    })
  const answers = await Promise.all(Array.from({ length: 10_000 }, (_, number) => call(number)))
  expect(answers.filter((answer, number) => answer !== `/n/${number}`)).toEqual([])
  await admitted.settled()
  expect(traffic.kept.filter(({ end }) => end !== 'complete')).toEqual([])
  expect(admitted.sightings.coverage()).toMatchObject({
    recorded: 10_000,
    unreachable: [],
    unseen: [],
  })
  agent.destroy()
})

const curl = spawnSync('curl', ['--version']).status === 0
if (!curl) console.warn('skipped: there is no curl here')

it.skipIf(!curl)('curl with Expect: 100-continue is told to go ahead by the origin', async () => {
  script = () => ({ pieces: ['HTTP/1.1 100 Continue\r\n\r\n', ...HELLO.pieces] })
  const admitted = recording()
  const { spawn } = await import('node:child_process')
  const child = spawn(
    'curl',
    ['-sS', '-H', 'Expect: 100-continue', '--data-binary', 'x'.repeat(3000), `${origin.http}/`],
    { env: { PATH: process.env.PATH, http_proxy: admitted.proxyUrl } },
  )
  let text = ''
  child.stdout.on('data', (bytes) => {
    text += bytes
  })
  await new Promise((resolve) => child.on('close', resolve))
  expect(text).toBe('hello')
  expect(Buffer.concat(traffic.kept[0]!.requestBody)).toHaveLength(3000)
})
