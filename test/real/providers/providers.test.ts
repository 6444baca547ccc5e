/**
 * Views, replies, streams and recorded exchanges against the official SDKs, offline: their own
 * stream classes and clients talk to a server on this machine.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  historyOf,
  providerView,
  type ViewProvider,
} from '../../../src/fold/provider/provider-view.js'
import { sseEvents, streamEvents } from '../../../src/fold/provider/sse.js'
import { assembleStream } from '../../../src/fold/provider/stream.js'
import { anyMessages } from '../../fold/provider/any-messages.js'
import { readRun } from '../../fold/readers/exchange-run.js'
import { realPackages } from '../real-packages.js'
import { typeCheck } from '../type-check.js'
import * as answers from './answers.js'
import { type Answer, type Stub, stub } from './stub.js'

const real = await realPackages('providers')

// biome-ignore lint/suspicious/noExplicitAny: the SDKs have no types here.
type Any = any

async function withStub<T>(list: readonly Answer[], use: (at: Stub) => Promise<T>): Promise<T> {
  const at = await stub(list)
  try {
    return await use(at)
  } finally {
    await at.close()
  }
}

async function openai(at: Stub): Promise<Any> {
  const { default: OpenAI } = await real.load('openai')
  return new OpenAI({ apiKey: 'none', baseURL: `${at.url}/v1`, maxRetries: 0 })
}

async function anthropic(at: Stub): Promise<Any> {
  const { default: Anthropic } = await real.load('@anthropic-ai/sdk')
  return new Anthropic({ apiKey: 'none', baseURL: at.url, maxRetries: 0 })
}

/** The same stream, put together here from what the SDK hands out. */
async function assembledHere(provider: ViewProvider, stream: AsyncIterable<unknown>) {
  const assembly = assembleStream(provider)
  for await (const event of stream) assembly.push(event)
  return assembly.finish()
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe.skipIf(real.skip !== undefined)('a stream is put together as the SDK does it', () => {
  it('by openai for chat completions', async () => {
    const answer = { events: answers.chatCallEvents }
    await withStub([answer, answer], async (at) => {
      const client = await openai(at)
      const request = { model: 'gpt-5', messages: [{ role: 'user', content: 'go' }] }
      const sdk = await client.chat.completions.stream(request).finalChatCompletion()
      const stream = await client.chat.completions.create({ ...request, stream: true })
      const here = await assembledHere('openai', stream)
      const { parsed, ...message } = sdk.choices[0].message
      expect(parsed).toBeNull()
      expect(here.raw).toEqual(plain(message))
      expect(here.interrupted).toBeUndefined()
      expect(here).toMatchObject({ id: sdk.id, model: sdk.model, stopReason: 'tool_calls' })
    })
  })

  it('by openai for responses', async () => {
    const answer = { events: answers.responsesEvents(true), named: true }
    await withStub([answer, answer], async (at) => {
      const client = await openai(at)
      const request = { model: 'gpt-5', input: 'go' }
      const sdk = await client.responses.stream(request).finalResponse()
      const stream = await client.responses.create({ ...request, stream: true })
      const here = await assembledHere('openai-responses', stream)
      expect(here.raw).toEqual(
        plain(sdk.output).map(({ parsed_arguments, ...item }: Any) => {
          if (item.type !== 'message') return item
          return { ...item, content: item.content.map(({ parsed, ...part }: Any) => part) }
        }),
      )
      expect(here.interrupted).toBeUndefined()
    })
  })

  it('by openai for responses that are cut', async () => {
    const answer = { events: answers.responsesEvents(false), named: true }
    await withStub([answer, answer], async (at) => {
      const client = await openai(at)
      const request = { model: 'gpt-5', input: 'go' }
      const sdk = await client.responses.stream(request).finalResponse()
      const here = await assembledHere(
        'openai-responses',
        await client.responses.create({ ...request, stream: true }),
      )
      const texts = (output: Any): unknown[] =>
        output.map(({ type, arguments: written, content }: Any) => [
          type,
          written,
          content?.map(({ text }: Any) => text),
        ])
      expect(texts(here.raw)).toEqual(texts(sdk.output))
      expect(here.interrupted).toBe(true)
    })
  })

  it('by @anthropic-ai/sdk', async () => {
    const answer = { events: answers.anthropicEvents(), named: true }
    await withStub([answer, answer], async (at) => {
      const client = await anthropic(at)
      const messages = [{ role: 'user', content: 'go' }]
      const request = { model: 'claude-x-1', max_tokens: 9, messages }
      const sdk = plain(await client.messages.stream(request).finalMessage()) as Any
      const here = await assembledHere(
        'anthropic',
        await client.messages.create({ ...request, stream: true }),
      )
      const { parsed_output, ...message } = sdk
      const content = message.content.map(({ parsed_output: _, ...block }: Any) => block)
      expect(here.raw).toEqual({ ...message, content })
      expect(here.raw).toEqual(answers.anthropicCall)
      expect(here.usage).toEqual({
        inputTokens: 10,
        outputTokens: 4,
        cacheReadTokens: 5,
        cacheWriteTokens: 2,
      })
    })
  })

  it('from bytes that another SSE parser, that of the SDK, reads the same', async () => {
    const { Stream } = await real.load('openai/streaming')
    const field = fc.constantFrom('data: {"a":"é😀"}', 'data: [1]', ': c', 'event: x', '', '')
    const lines = fc.array(fc.tuple(field, fc.constantFrom('\n', '\r\n')), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(lines, async (all) => {
        const text = all.flat().join('')
        // Two lines of data in one event are no JSON, and an event without data is none here.
        fc.pre(sseEvents(Buffer.from(text)).every(({ data }) => !data.includes('\n')))
        fc.pre(!/(?:^|\n)event: x\r?\n(?::[^\n]*\n)*\r?\n/.test(text))
        const response = new Response(new TextEncoder().encode(text))
        const sdk: unknown[] = []
        for await (const one of Stream.fromSSEResponse(response, new AbortController()))
          sdk.push(one)
        expect(streamEvents(sseEvents(Buffer.from(text)))).toEqual(sdk)
      }),
      { numRuns: 200 },
    )
  })
})

describe.skipIf(real.skip !== undefined)(
  'recorded exchanges give the history that the SDK held',
  () => {
    it('openai, chat completions: plain, streamed, and after a 429', async () => {
      const first = [
        { json: answers.chatCall },
        { events: answers.chatCallEvents },
        { status: 429, json: { error: { message: 'slow' } } },
      ]
      for (const answer of first) {
        const list = answer.status === 429 ? [answer, { json: answers.chatCall }] : [answer]
        await withStub([...list, { json: answers.chatWords }], async (at) => {
          const { default: OpenAI } = await real.load('openai')
          const client = new OpenAI({ apiKey: 'none', baseURL: `${at.url}/v1`, maxRetries: 1 })
          const messages: Any[] = [{ role: 'user', content: [{ type: 'text', text: 'go é😀' }] }]
          const request = { model: 'gpt-5', messages }
          const reply =
            answer.events === undefined
              ? (await client.chat.completions.create(request)).choices[0].message
              : await client.chat.completions.stream(request).finalMessage()
          const { parsed, ...message } = reply
          messages.push(message)
          for (const { id } of message.tool_calls) {
            messages.push({ role: 'tool', tool_call_id: id, content: `result of ${id}` })
          }
          messages.push((await client.chat.completions.create(request)).choices[0].message)
          const { view, events } = readRun(at.exchanges)
          const model = 'gpt-5'
          expect(providerView(view, { provider: 'openai', model })).toEqual({
            messages: plain(messages),
            lint: [],
          })
          expect(events.filter(({ data }) => (data as Any).usage !== undefined).length).toBe(2)
        })
      }
    })

    it('openai, responses', async () => {
      const list = [{ json: answers.responsesCall }, { json: answers.responsesWords }]
      await withStub(list, async (at) => {
        const client = await openai(at)
        const input: Any[] = [{ role: 'user', content: 'go' }]
        const request = { model: 'gpt-5', instructions: 'be brief', store: false, input }
        input.push(...(await client.responses.create(request)).output)
        input.push({ type: 'function_call_output', call_id: 'call_a', output: 'ok' })
        input.push(...(await client.responses.create(request)).output)
        const { view } = readRun(at.exchanges)
        const provider = 'openai-responses'
        expect(providerView(view, { provider, model: 'gpt-5' })).toEqual({
          messages: plain(input),
          lint: [],
        })
      })
    })

    it('@anthropic-ai/sdk, plain and streamed', async () => {
      for (const answer of [
        { json: answers.anthropicCall },
        { events: answers.anthropicEvents(), named: true },
      ]) {
        await withStub([answer, { json: answers.anthropicWords }], async (at) => {
          const client = await anthropic(at)
          const messages: Any[] = [{ role: 'user', content: 'go' }]
          const request = { model: 'claude-x-1', max_tokens: 9, messages }
          const reply =
            'json' in answer
              ? await client.messages.create(request)
              : await client.messages.stream(request).finalMessage()
          messages.push({ role: 'assistant', content: plain(reply.content) })
          const content = ['toolu_a', 'toolu_b'].map((tool_use_id) => ({
            type: 'tool_result',
            tool_use_id,
            content: [{ type: 'text', text: 'ok' }],
          }))
          messages.push({
            role: 'user',
            content: [...content, { type: 'text', text: 'and then?' }],
          })
          const last = await client.messages.create(request)
          messages.push({ role: 'assistant', content: last.content })
          const { view } = readRun(at.exchanges)
          expect(providerView(view, { provider: 'anthropic', model: 'claude-x-1' })).toEqual({
            messages: plain(messages),
            lint: [],
          })
        })
      }
    })

    it('@google/genai, its own chat, streamed', async () => {
      const list = [{ json: answers.geminiCall }, { events: answers.geminiWords, open: true }]
      await withStub(list, async (at) => {
        const { GoogleGenAI } = await real.load('@google/genai')
        const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: at.url } })
        const chat = ai.chats.create({ model: 'gemini-x' })
        await chat.sendMessage({ message: 'go' })
        const functionResponse = { name: 'f', response: { output: 'ok' } }
        const stream = await chat.sendMessageStream({ message: [{ functionResponse }] })
        let text = ''
        for await (const chunk of stream) text += chunk.text ?? ''
        expect(text).toBe('Done 😀.')
        const { view, events } = readRun(at.exchanges)
        const held = historyOf('gemini', plain(chat.getHistory())).map(({ data }) => data.content)
        expect(
          view.map(({ role, content }) =>
            role === 'tool' ? (content as Any)[0].content : content,
          ),
        ).toEqual(held)
        expect(view.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
        expect(events.filter(({ data }) => (data as Any).usage !== undefined).length).toBe(2)
      })
    })
  },
)

describe.skipIf(real.skip !== undefined)('views have the types of the SDKs', () => {
  it('whatever the messages are', async () => {
    const samples = fc.sample(anyMessages, { numRuns: 40, seed: 7 })
    const types: Record<ViewProvider, string> = {
      openai: "import('openai/resources/chat/completions').ChatCompletionMessageParam[]",
      'openai-responses': "import('openai/resources/responses/responses').ResponseInput",
      anthropic: "import('@anthropic-ai/sdk/resources/messages').MessageParam[]",
    }
    const lines = Object.entries(types).flatMap(([provider, type], group) =>
      samples.map((messages, index) => {
        const { messages: view } = providerView(messages, { provider, model: 'gpt-5' })
        return `export const view${group}_${index}: ${type} = ${JSON.stringify(view)}`
      }),
    )
    const path = new URL('node_modules/.daglog/views.ts', import.meta.url)
    writeFileSync(fileURLToPath(path), `${lines.join('\n')}\n`)
    expect(await typeCheck('providers')).toBe('')
  })
})
