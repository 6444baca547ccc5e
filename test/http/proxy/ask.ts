/**
 * A client that tells all it saw of an answer, by each of the ways to a sidecar, or straight to the
 * origin.
 */
import http, { type IncomingMessage } from 'node:http'
import net from 'node:net'
import tls from 'node:tls'
import { endToEnd, flatOf, pairsOf } from '../../../src/http/proxy/header-list.js'
import type { Admitted } from '../../../src/http/proxy/sidecar.js'

export type Way = 'direct' | 'reverse' | 'connect' | 'absolute'

export interface Seen {
  readonly status: number
  readonly statusText: string
  /** End to end, in order. */
  readonly headers: string[]
  readonly trailers: string[]
  readonly interim: number[]
  readonly body: string
  readonly complete: boolean
}

export interface Asking {
  readonly way: Way
  readonly admitted?: Admitted
  /** PEM, of whoever is to be trusted. */
  readonly ca: string
  readonly method?: string
  readonly headers?: readonly string[]
  readonly body?: Uint8Array
  /** Name of the client, for its own place in sequences. */
  readonly client?: string
}

/** Ask for a URL of an origin. What breaks before a head is status 0. */
export async function ask(url: string, asking: Asking): Promise<Seen> {
  const { way, admitted, ca } = asking
  const { protocol, hostname, port, host } = new URL(url)
  const path = url.slice(url.indexOf(host) + host.length)
  const proxy = new URL(admitted?.proxyUrl ?? 'http://none:0')
  const name = asking.client ?? proxy.username
  const credentials = Buffer.from(`${name}:${proxy.password}`).toString('base64')
  const secured = (socket: net.Socket): net.Socket =>
    protocol === 'https:' ? tls.connect({ socket, ca, servername: '', host: hostname }) : socket
  if (way === 'direct') {
    const socket = net.connect({ host: hostname, port: Number(port) })
    return exchange(secured(socket), { path, host, asking })
  }
  const socket = net.connect({ host: proxy.hostname, port: Number(proxy.port) })
  if (way === 'reverse') {
    const base = new URL((admitted as Admitted).baseUrl(`${protocol}//${host}`))
    return exchange(socket, { path: `${base.pathname}${path}`, host: base.host, asking })
  }
  const extra = ['Proxy-Authorization', `Basic ${credentials}`]
  if (way === 'absolute') return exchange(socket, { path: url, host, asking, extra })
  await connected(socket, host, extra)
  return exchange(secured(socket), { path, host, asking })
}

async function connected(socket: net.Socket, host: string, [name, value]: string[]): Promise<void> {
  socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${name}: ${value}\r\n\r\n`)
  const head = await new Promise<string>((resolve) => {
    socket.once('readable', () => resolve(String(socket.read())))
  })
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head)
}

interface Request {
  readonly path: string
  readonly host: string
  readonly asking: Asking
  readonly extra?: readonly string[]
}

async function exchange(
  socket: net.Socket,
  { path, host, asking, extra = [] }: Request,
): Promise<Seen> {
  const { method = 'GET', headers = [], body } = asking
  const length = body === undefined ? [] : ['Content-Length', String(body.length)]
  const interim: number[] = []
  const request = http.request({
    method,
    path,
    headers: ['Host', host, ...headers, ...length, ...extra],
    createConnection: () => socket,
    maxHeaderSize: 1024 * 1024,
  })
  request.on('information', ({ statusCode }) => interim.push(statusCode))
  const answer = new Promise<IncomingMessage | undefined>((resolve) => {
    request.on('response', resolve).on('error', () => resolve(undefined))
  })
  request.end(body)
  const response = await answer
  try {
    return { ...(await seenOf(response)), interim }
  } finally {
    socket.destroy()
  }
}

async function seenOf(response: IncomingMessage | undefined): Promise<Omit<Seen, 'interim'>> {
  const nothing = {
    status: 0,
    statusText: '',
    headers: [],
    trailers: [],
    body: '',
    complete: false,
  }
  if (response === undefined) return nothing
  const chunks: Buffer[] = []
  response.on('data', (bytes: Buffer) => chunks.push(bytes)).on('error', () => {})
  await new Promise((resolve) => response.on('close', resolve))
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    headers: flatOf(endToEnd(pairsOf(response.rawHeaders))),
    trailers: response.rawTrailers,
    body: Buffer.concat(chunks).toString('base64'),
    complete: response.complete,
  }
}
