/**
 * The official SDKs, unchanged, recorded against a server of this machine; then the server is
 * stopped, and the same program runs again: same values, no socket.
 */
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withReplay } from '../../../src/http.js'
import { memory, openStore, type Store } from '../../../src/index.js'
import { realPackages } from '../real-packages.js'
import { type ModelStub, openModelStub } from './model-stub.js'

const real = await realPackages('traffic')

// biome-ignore lint/suspicious/noExplicitAny: the SDKs have no types here.
type Any = any

let store: Store
let url = ''
let stub: ModelStub

beforeAll(async () => {
  stub = await openModelStub()
  url = stub.url
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
    await stub.stop()
    const before = stub.asked.length
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
    expect(stub.asked.length).toBe(before)
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
