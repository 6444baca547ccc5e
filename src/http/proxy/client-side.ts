/**
 * What a sidecar does to the client's side of an exchange: head, trailers, end, and the cut that
 * makes a broken answer look broken.
 */
import type { ServerResponse } from 'node:http'
import type { HeaderList } from '../exchange.js'
import { endToEnd, flatOf, valuesOf } from './header-list.js'

export interface AnswerHead {
  readonly status: number
  readonly statusText?: string
  readonly headers: HeaderList
}

/** Set the head as it is. It leaves with the first bytes, or when nothing follows at once. */
export function writeHead(res: ServerResponse, { status, statusText, headers }: AnswerHead): void {
  // What the origin did not say, we do not say either.
  res.sendDate = false
  res.strictContentLength = false
  const sent = flatOf(announced(res, endToEnd(headers)))
  if (statusText === undefined) res.writeHead(status, sent)
  else res.writeHead(status, statusText, sent)
  // In one packet with a body that is there already; alone before one that takes its time.
  setImmediate(() => {
    if (!res.writableEnded && !res.destroyed) res.flushHeaders()
  })
}

/** A `Trailer` may only stand where the body is chunked, which it is where no length is given. */
function announced(res: ServerResponse, headers: HeaderList): HeaderList {
  const chunked = res.req.httpVersion === '1.1' && valuesOf(headers, 'content-length').length === 0
  return chunked ? headers : headers.filter(([name]) => name.toLowerCase() !== 'trailer')
}

/** End the answer as it was announced. Resolves once it is out, or the client is gone. */
export function finish(res: ServerResponse, trailers: HeaderList = []): Promise<void> {
  if (trailers.length > 0)
    res.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]))
  return new Promise((resolve) => {
    if (res.destroyed) resolve()
    res.on('close', resolve)
    res.end(resolve)
  })
}

/**
 * Close the connection behind what was written, so that the client sees that the rest is missing.
 */
export function cut(res: ServerResponse): void {
  const { socket } = res
  // The head may still be waiting for bytes to go with.
  if (res.headersSent && !res.writableEnded) res.flushHeaders()
  if (socket === null) res.destroy()
  else socket.destroySoon()
}

/**
 * An interim answer, as it is. Does nothing where another answer of this connection is still on its
 * way.
 */
export function writeInterim(
  res: ServerResponse,
  { status, statusText, headers }: AnswerHead,
): void {
  if (res.socket === null || res.headersSent || res.req.httpVersion !== '1.1') return
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  res.socket.write(`HTTP/1.1 ${status} ${statusText ?? ''}\r\n${lines}\r\n`, 'latin1')
}

/** An answer of the sidecar's own, never of an origin. */
export function answerPlainly(res: ServerResponse, status: number, text: string): void {
  if (res.headersSent || res.destroyed) return
  const body = `daglog: ${text}\n`
  // A client that would try again would hear the same.
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-should-retry': 'false' }
  res.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  res.end(body)
}
