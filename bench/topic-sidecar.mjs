/**
 * What the sidecar costs: calls a second at 16 connections through TLS interception, against mockttp; by a base URL,
 * against going straight to the origin; and the time that it adds to the first event of a stream. The origin
 * speaks TLS, as all providers do; each call is recorded into a store on the disk, which mockttp does not do.
 */
import { fork } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { install } from '../test/real/install.mjs'
import { median, takeTurns } from './rounds.mjs'
import { withScratch } from './scratch.mjs'

const CONNECTIONS = 16
const BODY = Buffer.alloc(8000, 'b')
const ROUNDS = 7

/** @param {{quick: boolean, tell: (line: string) => void}} options */
export function sidecar({ quick, tell }) {
  return withScratch(async (dir) => {
    const parts = []
    const part = async (...args) => {
      const child = fork(fileURLToPath(new URL('./sidecar-part.mjs', import.meta.url)), args)
      parts.push(child)
      return new Promise((resolve, reject) => {
        child.once('message', resolve)
        child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)))
      })
    }
    try {
      const origin = await part('origin')
      const target = `https://127.0.0.1:${origin.port}`
      const ours = await part('sidecar', join(dir, 'store'), target, origin.ca)
      const bare = await part('bare', target, origin.ca)
      const peer = await peerPart(part, tell)
      return await measured({ origin, target, ours, bare, peer, calls: quick ? 500 : 2000 })
    } finally {
      for (const child of parts) child.kill()
    }
  })
}

async function peerPart(part, tell) {
  const dir = fileURLToPath(new URL('./mockttp', import.meta.url))
  const { loader, skip } = await install('mockttp', { dir })
  if (loader === undefined) tell(`no mockttp to compare with: ${skip}`)
  return loader === undefined ? undefined : part('mockttp', loader)
}

async function measured({ origin, target, ours, bare, peer, calls }) {
  const straight = new https.Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca: origin.ca })
  const plain = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const through = (proxy) => tunnelAgent(proxy, `127.0.0.1:${origin.port}`)
  const ourTunnel = through(ours)
  const sides = {
    direct: () => rate(calls, { url: `${target}/x`, agent: straight }),
    bare: () => rate(calls, { url: `${bare.base}/x`, agent: plain }),
    reverse: () => rate(calls, { url: `${ours.base}/x`, agent: plain }),
    ours: () => rate(calls, { url: `${target}/x`, agent: ourTunnel }),
  }
  if (peer !== undefined) {
    const peerTunnel = through(peer)
    sides.peer = () => rate(calls, { url: `${target}/x`, agent: peerTunnel })
  }
  const rates = await takeTurns(ROUNDS, sides)
  const firsts = await takeTurns(ROUNDS, {
    direct: () => firstEvent({ url: `${target}/events`, agent: straight }),
    tunnel: () => firstEvent({ url: `${target}/events`, agent: ourTunnel }),
    reverse: () => firstEvent({ url: `${ours.base}/events`, agent: plain }),
  })
  const at = (times) => median(times)
  const rows = []
  const tlsRow = { what: 'TLS through CONNECT, recorded', median: at(rates.ours), unit: 'calls/s' }
  if (rates.peer === undefined) rows.push(tlsRow)
  else {
    const other = at(rates.peer)
    const limit = { what: 'mockttp 4', median: other, ratio: tlsRow.median / other }
    rows.push({ ...tlsRow, limit, bars: { ratioMin: 1.2 } })
  }
  const direct = at(rates.direct)
  const reverse = at(rates.reverse)
  const limit = { what: 'straight to the origin', median: direct, ratio: reverse / direct }
  rows.push({
    what: 'by a base URL, recorded',
    median: reverse,
    unit: 'calls/s',
    limit,
    bars: { ratioMin: 0.5 },
  })
  const least = at(rates.bare)
  rows.push({
    what: 'the same through a bare proxy that pipes and records nothing',
    median: least,
    unit: 'calls/s',
    limit: { what: 'straight to the origin', median: direct, ratio: least / direct },
  })
  const added = (times) => at(times) - at(firsts.direct)
  rows.push({
    what: 'added to the first event: TLS',
    median: added(firsts.tunnel),
    unit: 'ms',
    bars: { medianMax: 5 },
  })
  rows.push({
    what: 'added to the first event: base URL',
    median: added(firsts.reverse),
    unit: 'ms',
    bars: { medianMax: 5 },
  })
  for (const agent of [straight, plain, ourTunnel]) agent.destroy()
  return rows
}

/** Calls a second, all connections busy. */
async function rate(calls, asked) {
  let left = calls
  const begun = performance.now()
  const worker = async () => {
    while (left > 0) {
      left -= 1
      await call(asked, () => {})
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  return (calls / (performance.now() - begun)) * 1000
}

const EVENTS = 50

/** Median time to the first byte of a body, in ms, one call after the other. */
async function firstEvent(asked) {
  const times = []
  for (let number = 0; number < EVENTS; number += 1) {
    const begun = performance.now()
    let first
    await call(asked, () => {
      first ??= performance.now() - begun
    })
    times.push(first)
  }
  return median(times)
}

function call({ url, agent }, onData) {
  const client = url.startsWith('https:') ? https : http
  const headers = { 'content-type': 'application/json', 'content-length': BODY.length }
  return new Promise((resolve, reject) => {
    const request = client.request(url, { method: 'POST', agent, headers }, (res) => {
      if (res.statusCode !== 200) reject(new Error(`status ${res.statusCode}`))
      res.on('data', onData).on('end', resolve).on('error', reject)
    })
    request.on('error', reject)
    request.end(BODY)
  })
}

/** Kept TLS connections to one host through a proxy. */
function tunnelAgent({ proxy, ca }, host) {
  const agent = new https.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const { hostname, port, username, password } = new URL(proxy)
  const credentials = Buffer.from(`${username}:${password}`).toString('base64')
  agent.createConnection = (_options, done) => {
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
    socket.write(`CONNECT ${host} HTTP/1.1\r\nProxy-Authorization: Basic ${credentials}\r\n\r\n`)
    socket.once('readable', () => {
      socket.read()
      // mockttp names addresses as if they were hosts; what is measured is not whom we believe.
      done(null, tls.connect({ socket, ca, rejectUnauthorized: false }))
    })
  }
  return agent
}
