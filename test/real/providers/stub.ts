/**
 * A model API on 127.0.0.1 that answers from a list, and keeps each exchange as a recorder would.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunEvent } from '../../../src/core/event.js'
import { exchange } from '../../fold/readers/exchange-run.js'

export interface Answer {
  readonly status?: number
  /** JSON, or the events of a stream. */
  readonly json?: unknown
  readonly events?: readonly Record<string, unknown>[]
  /** Events carry their name, and there is no `[DONE]`. */
  readonly named?: boolean
  /** There is no `[DONE]`. */
  readonly open?: boolean
}

export interface Stub {
  readonly url: string
  readonly exchanges: RunEvent[]
  readonly bodies: unknown[]
  close(): Promise<void>
}

function bodyOf({ json, events, named, open }: Answer): string {
  if (events === undefined) return JSON.stringify(json)
  const lines = events.map((event) => {
    const data = `data: ${JSON.stringify(event)}\n\n`
    return named === true ? `event: ${event.type}\n${data}` : data
  })
  return lines.join('') + (named === true || open === true ? '' : 'data: [DONE]\n\n')
}

export async function stub(answers: readonly Answer[]): Promise<Stub> {
  const exchanges: RunEvent[] = []
  const bodies: unknown[] = []
  const left = [...answers]
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = new Uint8Array(Buffer.concat(chunks))
    bodies.push(JSON.parse(Buffer.from(sent).toString('utf8')))
    const answer = left.shift() ?? { status: 500, json: { error: { message: 'no more answers' } } }
    const { status = 200, events } = answer
    const type = events === undefined ? 'application/json' : 'text/event-stream'
    const reply = new Uint8Array(Buffer.from(bodyOf(answer)))
    response.writeHead(status, { 'content-type': type })
    // In pieces that end anywhere, inside characters too.
    for (let at = 0; at < reply.length; at += 17) response.write(reply.subarray(at, at + 17))
    response.end()
    const url = `https://model.example${request.url}`
    const headers = [['content-type', type]] as const
    exchanges.push(exchange(exchanges.length, { url, request: sent, status, reply, headers }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    bodies,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
