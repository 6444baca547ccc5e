/** A server of this machine that answers as the providers do: streams, tool calls, a 429, an upload. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: what the SDKs send has no types here.
type Any = any

export interface ModelStub {
  readonly url: string
  /** Paths that were asked for, each with its `x-case`. */
  readonly asked: string[]
  stop(): Promise<void>
}

export async function openModelStub(): Promise<ModelStub> {
  const asked: string[] = []
  const server = createServer((request, response) => void answer(asked, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }

function sse(response: ServerResponse, events: readonly Any[], named: boolean): void {
  response.setHeader('content-type', 'text/event-stream')
  const text = events.map((event) => {
    const data = `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`
    return named ? `event: ${event.type}\n${data}` : data
  })
  // In pieces that end anywhere, inside characters too.
  const bytes = Buffer.from(text.join(''))
  for (let at = 0; at < bytes.length; at += 17) response.write(bytes.subarray(at, at + 17))
  response.end()
}

function openaiChat(body: Any, response: ServerResponse): void {
  const base = { id: 'c', created: 1, model: 'm' }
  if (body.stream === true) {
    const chunk = (delta: Any, reason: string | null = null): Any => ({
      ...base,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason }],
    })
    sse(
      response,
      [chunk({ role: 'assistant', content: 'grü' }), chunk({ content: 'ße 🐟' }, 'stop'), '[DONE]'],
      false,
    )
    return
  }
  const message =
    body.tools === undefined
      ? { role: 'assistant', content: 'hello' }
      : { role: 'assistant', content: null, tool_calls: [call] }
  json(response, {
    ...base,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  })
}

function anthropicMessages(body: Any, response: ServerResponse): void {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  if (body.stream !== true) {
    json(response, { ...message, content: [{ type: 'text', text: 'hello' }] })
    return
  }
  sse(
    response,
    [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'grüße 🐟' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
    true,
  )
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

async function answer(
  asked: string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const bytes = Buffer.concat(parts)
  const path = (request.url ?? '').split('?')[0] as string
  const kind = `${path} ${String(request.headers['x-case'] ?? '')}`
  const again = asked.includes(kind)
  asked.push(kind)
  if (path.endsWith('/files')) {
    json(response, {
      id: 'file-1',
      object: 'file',
      bytes: bytes.length,
      created_at: 1,
      filename: 'a.txt',
      purpose: 'user_data',
      status: 'processed',
    })
    return
  }
  if (kind.endsWith('limited') && !again) {
    response.setHeader('retry-after-ms', '1')
    json(response, { error: { message: 'slow down', type: 'rate_limit' } }, 429)
    return
  }
  const body = JSON.parse(bytes.toString())
  if (path.endsWith('/chat/completions')) openaiChat(body, response)
  else if (path.endsWith('/messages')) anthropicMessages(body, response)
  else {
    const reply = {
      candidates: [
        { content: { role: 'model', parts: [{ text: 'grüße 🐟' }] }, finishReason: 'STOP' },
      ],
    }
    if (path.includes('stream')) sse(response, [reply, reply], false)
    else json(response, reply)
  }
}
