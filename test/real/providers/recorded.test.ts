/**
 * The real SDKs, recorded by the real recorder, with a server on this machine: what the run then
 * tells is the history that the SDK itself held; and with the server gone the same agent gets the
 * same again.
 */
import { describe, expect, it } from 'vitest'
import { withReplay } from '../../../src/http.js'
import { memory, openStore, type Run, type RunView, type Store } from '../../../src/index.js'
import { Search } from '../../../src/store/search.js'
import { usageOfRuns } from '../../../src/store/usage-of-runs.js'
import { realPackages } from '../real-packages.js'
import * as answers from './answers.js'
import { type Answer, stub } from './stub.js'

const real = await realPackages('providers')

// biome-ignore lint/suspicious/noExplicitAny: the SDKs have no types here.
type Any = any

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** An agent, given a `fetch` and where the model is; gives back the history that it held. */
type Agent = (fetch: typeof globalThis.fetch, url: string, run?: Run) => Promise<readonly unknown[]>

const refusing: typeof fetch = () => Promise.reject(new Error('the network was asked'))

async function recorded(
  list: readonly Answer[],
  agent: Agent,
): Promise<{ held: unknown; view: RunView; store: Store; url: string }> {
  const at = await stub(list)
  const store = await openStore(memory())
  const run = await store.createRun({ id: 'r' })
  const recording = withReplay(fetch, { into: run })
  const held = plain(await agent(recording as typeof fetch, at.url, run))
  await run.close()
  await at.close()
  return { held, view: await store.inspectRun('r'), store, url: at.url }
}

/** The same agent without a network: it holds the same in the end, and every exchange was used. */
async function replays(agent: Agent, view: RunView, url: string): Promise<unknown> {
  const replaying = withReplay(refusing, { from: view })
  const held = plain(await agent(replaying as typeof fetch, url))
  expect(await replaying.report()).toMatchObject({ ok: true, misses: [], unused: [] })
  return held
}

async function hits(view: RunView, text: string): Promise<number> {
  let count = 0
  for await (const _ of new Search({ text }).run(view)) count += 1
  return count
}

async function callsOf(store: Store): Promise<number[]> {
  const { calls } = await usageOfRuns(store)
  return calls.map(({ usage }) => (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0))
}

function openaiChat(stream: boolean): Agent {
  return async (fetch, url) => {
    const { default: OpenAI } = await real.load('openai')
    const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 1, fetch })
    const messages: Any[] = [{ role: 'user', content: [{ type: 'text', text: 'go é😀' }] }]
    const request = { model: 'gpt-5', messages }
    const { parsed, ...message } = stream
      ? await client.chat.completions.stream(request).finalMessage()
      : (await client.chat.completions.create(request)).choices[0].message
    messages.push(message)
    for (const { id } of message.tool_calls)
      messages.push({ role: 'tool', tool_call_id: id, content: `result of ${id}` })
    messages.push((await client.chat.completions.create(request)).choices[0].message)
    return messages
  }
}

function anthropic(stream: boolean): Agent {
  return async (fetch, url) => {
    const { default: Anthropic } = await real.load('@anthropic-ai/sdk')
    const client = new Anthropic({ apiKey: 'none', baseURL: url, maxRetries: 0, fetch })
    const messages: Any[] = [{ role: 'user', content: 'go' }]
    const request = { model: 'claude-x-1', max_tokens: 9, messages }
    const reply = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request)
    messages.push({ role: 'assistant', content: plain(reply.content) })
    const content = ['toolu_a', 'toolu_b'].map((tool_use_id) => ({
      ...{ type: 'tool_result', tool_use_id },
      content: [{ type: 'text', text: 'ok' }],
    }))
    messages.push({ role: 'user', content: [...content, { type: 'text', text: 'and then?' }] })
    messages.push({ role: 'assistant', content: (await client.messages.create(request)).content })
    return messages
  }
}

const openaiResponses: Agent = async (fetch, url) => {
  const { default: OpenAI } = await real.load('openai')
  const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0, fetch })
  const input: Any[] = [{ role: 'user', content: 'go' }]
  const request = { model: 'gpt-5', instructions: 'be brief', store: false, input }
  input.push(...(await client.responses.create(request)).output)
  input.push({ type: 'function_call_output', call_id: 'call_a', output: 'ok' })
  input.push(...(await client.responses.create(request)).output)
  return input
}

const anthropicStream = { events: answers.anthropicEvents(), named: true }
const slow = { status: 429, json: { error: { message: 'slow' } } }

const CASES: readonly (readonly [
  name: string,
  provider: 'openai' | 'openai-responses' | 'anthropic',
  list: readonly Answer[],
  agent: Agent,
])[] = [
  [
    'openai, chat completions',
    'openai',
    [{ json: answers.chatCall }, { json: answers.chatWords }],
    openaiChat(false),
  ],
  [
    'openai, chat completions, streamed',
    'openai',
    [{ events: answers.chatCallEvents }, { json: answers.chatWords }],
    openaiChat(true),
  ],
  [
    'openai, after a 429',
    'openai',
    [slow, { json: answers.chatCall }, { json: answers.chatWords }],
    openaiChat(false),
  ],
  [
    'openai, responses',
    'openai-responses',
    [{ json: answers.responsesCall }, { json: answers.responsesWords }],
    openaiResponses,
  ],
  [
    '@anthropic-ai/sdk',
    'anthropic',
    [{ json: answers.anthropicCall }, { json: answers.anthropicWords }],
    anthropic(false),
  ],
  [
    '@anthropic-ai/sdk, streamed',
    'anthropic',
    [anthropicStream, { json: answers.anthropicWords }],
    anthropic(true),
  ],
]

describe.skipIf(real.skip !== undefined)('a run that the recorder wrote', () => {
  it.each(CASES)(
    'tells the history that %s held, and replays it',
    async (_, provider, list, agent) => {
      const { held, view, store, url } = await recorded(list, agent)
      const model = provider === 'anthropic' ? 'claude-x-1' : 'gpt-5'
      expect(await view.messages({ provider, model })).toEqual({ messages: held, lint: [] })
      const tokens = await callsOf(store)
      expect(tokens.length).toBe(2)
      expect(tokens.every((count) => count > 0)).toBe(true)
      expect(await hits(view, 'Done')).toBeGreaterThan(0)
      expect(await replays(agent, view, url)).toEqual(held)
    },
  )

  it('counts no token for what a replay was given', async () => {
    const [, , list, agent] = CASES[1] as (typeof CASES)[number]
    const { view, store, url, held } = await recorded(list, agent)
    const again = await store.createRun({ id: 'again' })
    const replaying = withReplay(refusing, { from: view, into: again })
    expect(plain(await agent(replaying as typeof fetch, url))).toEqual(held)
    await again.close()
    const played = await store.inspectRun('again')
    const options = { provider: 'openai', model: 'gpt-5' } as const
    expect(await played.messages(options)).toEqual({ messages: held, lint: [] })
    expect(await callsOf(store)).toHaveLength(2)
  })

  it('counts nothing twice where the agent logged its own session events', async () => {
    const request = { model: 'gpt-5', messages: [{ role: 'user', content: 'go' }] }
    const agent: Agent = async (fetch, url, run) => {
      const { default: OpenAI } = await real.load('openai')
      const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0, fetch })
      const reply = await (run as Run).turn(async (turn) => {
        await turn.user('go')
        const next = await (run as Run).request({ provider: 'openai', model: 'gpt-5' })
        return turn.model(next, () => client.chat.completions.create(request) as Any)
      })
      return [reply]
    }
    const { view, store } = await recorded([{ json: answers.chatWords }], agent)
    const { messages } = await view.messages({ provider: 'openai', model: 'gpt-5' })
    expect(messages).toHaveLength(2)
    expect(await callsOf(store)).toHaveLength(1)
    let exchanges = 0
    for await (const { type } of view.events({ types: ['http/exchange'] }))
      if (type === 'http/exchange') exchanges += 1
    expect(exchanges).toBe(1)
  })
})
