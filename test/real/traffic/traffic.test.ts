/**
 * The official SDKs, unchanged, recorded against a server of this machine; then the server is
 * stopped, and the same program runs again: same values, no socket.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withReplay } from '../../../src/http.js'
import { memory, openStore, type Store } from '../../../src/index.js'
import { realPackages } from '../real-packages.js'

const real = await realPackages('traffic')

// biome-ignore lint/suspicious/noExplicitAny: the SDKs have no types here.
type Any = any

let store: Store
let url = ''
let asked: string[] = []
let stop: () => Promise<void>

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

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
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

beforeAll(async () => {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  stop = () =>
    new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  store = await openStore(memory())
})

afterAll(() => store.close())

async function openai(packageName: string, fetch: Any): Promise<unknown[]> {
  const { default: OpenAI, toFile } = await real.load(packageName)
  const client = new OpenAI({ apiKey: 'sk-none', baseURL: `${url}/v1`, fetch })
  const messages = [{ role: 'user', content: 'hi' }]
  const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
  const found: unknown[] = []
  const plain = { model: 'm', messages }
  found.push(await client.chat.completions.create(plain))
  found.push(
    await client.chat.completions.create(plain, {
      headers: { 'x-case': `${packageName} limited` },
    }),
  )
  found.push(await client.chat.completions.create({ ...plain, tools }))
  for await (const chunk of await client.chat.completions.create({ ...plain, stream: true }))
    found.push(chunk)
  const file = await toFile(Buffer.from('some\r\nbytes'), 'a.txt')
  found.push((await client.files.create({ file, purpose: 'user_data' })).id)
  return found
}

async function anthropic(fetch: Any): Promise<unknown[]> {
  const { default: Anthropic } = await real.load('@anthropic-ai/sdk')
  const client = new Anthropic({ apiKey: 'sk-ant-none', baseURL: url, fetch })
  const asking = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  const found: unknown[] = []
  found.push(await client.messages.create(asking, { headers: { 'x-case': 'limited' } }))
  const stream = client.messages.stream(asking)
  for await (const event of stream) found.push(structuredClone(event))
  found.push(await stream.finalMessage())
  return found
}

/** It takes no fetch, and calls the global one. */
async function genai(fetch: Any): Promise<unknown[]> {
  const { GoogleGenAI } = await real.load('@google/genai')
  const own = globalThis.fetch
  globalThis.fetch = fetch
  try {
    const client = new GoogleGenAI({ apiKey: 'AIza-none', httpOptions: { baseUrl: url } })
    const asking = { model: 'g', contents: 'hi' }
    const found: unknown[] = [(await client.models.generateContent(asking)).text]
    for await (const chunk of await client.models.generateContentStream(asking))
      found.push(chunk.text)
    return found
  } finally {
    globalThis.fetch = own
  }
}

const AGENTS: Readonly<Record<string, (fetch: Any) => Promise<unknown[]>>> = {
  'openai 6.49': (fetch) => openai('openai', fetch),
  'openai 7.59': (fetch) => openai('openai-7', fetch),
  '@anthropic-ai/sdk': anthropic,
  '@google/genai': genai,
}

describe.skipIf(real.skip !== undefined)('an SDK', () => {
  const recorded = new Map<string, unknown[]>()

  it('is recorded: streams, tool calls, a 429 that is tried again, an upload', async () => {
    for (const [name, agent] of Object.entries(AGENTS)) {
      const run = await store.run(name)
      const found = await agent(withReplay(fetch, { into: run }))
      expect(found.length).toBeGreaterThan(2)
      recorded.set(name, JSON.parse(JSON.stringify(found)) as unknown[])
    }
  }, 60_000)

  it('gets the same again once the server is gone, and no socket is opened (row 6)', async () => {
    await stop()
    asked = []
    const { connect } = net.Socket.prototype
    net.Socket.prototype.connect = () => {
      throw new Error('a socket was opened')
    }
    try {
      for (const [name, agent] of Object.entries(AGENTS)) {
        const replaying = withReplay(fetch, { from: await store.inspectRun(name) })
        expect([name, JSON.parse(JSON.stringify(await agent(replaying)))]).toEqual([
          name,
          recorded.get(name),
        ])
        expect([name, await replaying.report()]).toMatchObject([name, { ok: true, unused: [] }])
      }
    } finally {
      net.Socket.prototype.connect = connect
    }
    expect(asked).toEqual([])
  }, 60_000)

  it('is told of a miss once, and does not try again (row 35)', async () => {
    const { default: OpenAI } = await real.load('openai')
    const replaying = withReplay(fetch, { from: await store.inspectRun('openai 6.49') })
    const client = new OpenAI({ apiKey: 'sk-none', baseURL: `${url}/v1`, fetch: replaying })
    const asking = { model: 'm', messages: [{ role: 'user', content: 'other' }] }
    await expect(client.chat.completions.create(asking)).rejects.toThrow('/messages/0/content')
    expect((await replaying.report())?.misses.length).toBe(1)
  })
})
