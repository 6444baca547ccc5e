/**
 * A model API of our own on 127.0.0.1, in plain and over TLS: chat completions with a tool, a
 * stream, a 429 before the first answer; anything else is echoed.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { CertificateAuthority } from '../../../src/http/proxy/certificate-authority.js'

export interface ModelServer {
  readonly http: string
  readonly https: string
  readonly certificate: string
  /** Requests so far. */
  readonly asked: number
  close(): Promise<void>
}

interface ChatRequest {
  readonly stream?: boolean
  readonly messages: readonly { readonly role: string }[]
}

const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'count', arguments: '{"of":"houses"}' },
}
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

export async function openModelServer(): Promise<ModelServer> {
  const authority = await CertificateAuthority.create()
  let asked = 0
  let refusals = 1
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    asked += 1
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (!req.url?.endsWith('/chat/completions')) {
      res.end(`${req.method} ${req.url} ${body.length}`)
      return
    }
    const request = JSON.parse(body.toString()) as ChatRequest
    if (refusals > 0) {
      refusals -= 1
      res.writeHead(429, { 'content-type': 'application/json', 'retry-after-ms': '1' })
      res.end('{"error":{"message":"slow down"}}')
    } else if (request.stream === true) stream(res)
    else json(res, request)
  }
  const plain = http.createServer((req, res) => void serve(req, res))
  const secure = https.createServer(
    authority.identityOf('127.0.0.1'),
    (req, res) => void serve(req, res),
  )
  const [plainPort, securePort] = await Promise.all([listening(plain), listening(secure)])
  return {
    http: `http://127.0.0.1:${plainPort}`,
    https: `https://127.0.0.1:${securePort}`,
    certificate: authority.cert,
    get asked() {
      return asked
    },
    close: async () => {
      const closed = [plain, secure].map(
        (server) => new Promise((resolve) => server.close(resolve)),
      )
      plain.closeAllConnections()
      secure.closeAllConnections()
      await Promise.all(closed)
    },
  }
}

function listening(server: http.Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

function json(res: ServerResponse, { messages }: ChatRequest): void {
  const answered = messages.some(({ role }) => role === 'tool')
  const message = answered
    ? { role: 'assistant', content: 'Drei Häuser 🏠' }
    : { role: 'assistant', content: null, tool_calls: [CALL] }
  const choice = { index: 0, message, finish_reason: answered ? 'stop' : 'tool_calls' }
  res.setHeader('content-type', 'application/json')
  res.end(
    JSON.stringify({
      id: `chat-${messages.length}`,
      object: 'chat.completion',
      created: 1,
      model: 'gpt-5',
      choices: [choice],
      usage,
    }),
  )
}

function stream(res: ServerResponse): void {
  res.setHeader('content-type', 'text/event-stream')
  const event = (delta: unknown, finish: string | null = null): Buffer =>
    Buffer.from(
      `data: ${JSON.stringify({ id: 'chat-s', object: 'chat.completion.chunk', created: 1, model: 'gpt-5', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    )
  const bytes = Buffer.concat([
    event({ role: 'assistant', content: 'Drei ' }),
    event({ content: 'Häuser' }),
    event({}, 'stop'),
    Buffer.from('data: [DONE]\n\n'),
  ])
  // In pieces that end anywhere, inside characters too.
  for (let at = 0; at < bytes.length; at += 13) res.write(bytes.subarray(at, at + 13))
  res.end()
}
