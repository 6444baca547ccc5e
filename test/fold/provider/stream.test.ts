import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AssistantMessage } from '../../../src/core/event-map.js'
import { toolCallsOf } from '../../../src/fold/provider/neutral.js'
import type { ReadProvider } from '../../../src/fold/provider/provider-view.js'
import { assistantOf } from '../../../src/fold/provider/reply.js'
import { SseParser, sseEvents, streamEvents } from '../../../src/fold/provider/sse.js'
import { assembleStream } from '../../../src/fold/provider/stream.js'
import { cassetteStreams, chunksOf, fixture, hasFixtures } from './fixtures.js'

function assembled(provider: ReadProvider, events: readonly unknown[]): AssistantMessage {
  const stream = assembleStream(provider)
  for (const event of events) stream.push(event)
  return stream.finish()
}

/** What went into `assistant/chunk` as text. */
function saidIn(provider: ReadProvider, events: readonly unknown[]): string {
  const stream = assembleStream(provider)
  return events
    .flatMap((event) => stream.push(event) ?? [])
    .filter((piece) => typeof piece === 'string')
    .join('')
}

/** A text in pieces of any size. */
function pieces(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b)]
  return at.map((start, index) => text.slice(start, at[index + 1] ?? text.length))
}

const anyText = fc.string({ minLength: 1, maxLength: 20 })
const cuts = fc.array(fc.nat(), { maxLength: 5 })
const args = fc
  .dictionary(fc.string({ maxLength: 3 }), fc.jsonValue(), { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>)

describe('a stream says what the whole reply says', () => {
  it('of Anthropic', () => {
    fc.assert(
      fc.property(anyText, args, cuts, (text, input, at) => {
        const message = {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'claude-x-1',
          content: [
            { type: 'thinking', thinking: text, signature: 'sig' },
            { type: 'text', text },
            { type: 'tool_use', id: 'a', name: 'f', input },
          ],
          stop_reason: 'tool_use',
          stop_sequence: null,
          usage: { input_tokens: 3, output_tokens: 9, cache_read_input_tokens: 2 },
        }
        const json = JSON.stringify(input)
        const delta = (index: number, value: object) => ({
          type: 'content_block_delta',
          index,
          delta: value,
        })
        const events = [
          {
            type: 'message_start',
            message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 3 } },
          },
          {
            type: 'content_block_start',
            index: 0,
            content_block: { type: 'thinking', thinking: '', signature: '' },
          },
          ...pieces(text, at).map((thinking) => delta(0, { type: 'thinking_delta', thinking })),
          delta(0, { type: 'signature_delta', signature: 'sig' }),
          { type: 'content_block_stop', index: 0 },
          { type: 'ping' },
          { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
          ...pieces(text, at).map((piece) => delta(1, { type: 'text_delta', text: piece })),
          {
            type: 'content_block_start',
            index: 2,
            content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} },
          },
          ...pieces(json, at).map((partial_json) =>
            delta(2, { type: 'input_json_delta', partial_json }),
          ),
          {
            type: 'message_delta',
            delta: { stop_reason: 'tool_use', stop_sequence: null },
            usage: { output_tokens: 9, cache_read_input_tokens: 2 },
          },
          { type: 'message_stop' },
        ]
        const before = structuredClone(events)
        const stream = assembled('anthropic', events)
        const whole = assistantOf('anthropic', message)
        expect(events).toEqual(before)
        expect(stream.raw).toEqual(message)
        expect(stream).toEqual({ ...whole, content: stream.content })
        expect(toolCallsOf(stream)).toEqual([{ id: 'a', name: 'f', input, arguments: json }])
        expect(saidIn('anthropic', events)).toBe(text)
      }),
    )
  })

  it('of chat completions', () => {
    fc.assert(
      fc.property(anyText, args, cuts, (text, input, at) => {
        const written = JSON.stringify(input, null, 1)
        const call = { id: 'a', type: 'function', function: { name: 'f', arguments: written } }
        const message = { role: 'assistant', content: text, refusal: null, tool_calls: [call] }
        const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5' }
        const usage = {
          prompt_tokens: 5,
          completion_tokens: 7,
          prompt_tokens_details: { cached_tokens: 4 },
        }
        const choice = (delta: object, finish_reason: string | null = null) => ({
          ...head,
          usage: null,
          choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        })
        const tool = (fields: object) => choice({ tool_calls: [{ index: 0, ...fields }] })
        const events = [
          choice({ role: 'assistant', content: '', refusal: null }),
          ...pieces(text, at).map((content) => choice({ content })),
          tool({ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
          ...pieces(written, at).map((piece) => tool({ function: { arguments: piece } })),
          choice({}, 'tool_calls'),
          { ...head, choices: [], usage },
        ]
        const whole = assistantOf('openai', {
          ...head,
          object: 'chat.completion',
          choices: [{ index: 0, message, logprobs: null, finish_reason: 'tool_calls' }],
          usage,
        })
        expect(assembled('openai', events)).toEqual(whole)
        expect(whole.usage).toEqual({ inputTokens: 5, outputTokens: 7, cacheReadTokens: 4 })
        expect(saidIn('openai', events)).toBe(text)
      }),
    )
  })

  it('of Gemini', () => {
    fc.assert(
      fc.property(anyText, args, cuts, (text, input, at) => {
        const said = pieces(text, at).filter((piece) => piece !== '')
        const head = { modelVersion: 'gemini-x', responseId: 'r1' }
        const usageMetadata = {
          promptTokenCount: 5,
          candidatesTokenCount: 7,
          thoughtsTokenCount: 2,
          cachedContentTokenCount: 1,
        }
        const part = (value: object, beside: object = {}) => ({
          ...head,
          candidates: [{ content: { role: 'model', parts: [value] }, ...beside }],
        })
        const call = { functionCall: { name: 'f', args: input }, thoughtSignature: 'sig' }
        const events = [
          ...said.map((piece) => part({ text: piece, thought: true })),
          ...said.map((piece) => part({ text: piece })),
          { ...part(call, { finishReason: 'STOP' }), usageMetadata },
        ]
        const parts = [{ text, thought: true }, { text }, call]
        const whole = assistantOf('gemini', {
          ...head,
          candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
          usageMetadata,
        })
        expect(assembled('gemini', events)).toEqual(whole)
        expect(whole.usage).toEqual({
          inputTokens: 5,
          outputTokens: 9,
          cacheReadTokens: 1,
          reasoningTokens: 2,
        })
        expect(saidIn('gemini', events)).toBe(text)
      }),
    )
  })

  it('of responses, whose last event has it whole; without that event, what came until then', () => {
    const item = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'a',
      name: 'f',
      arguments: '{"a": 1}',
      status: 'completed',
    }
    const part = { type: 'output_text', text: 'hi there', annotations: [] }
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
    const response = {
      id: 'resp_1',
      model: 'gpt-5',
      status: 'completed',
      output: [{ ...message, content: [part] }, item],
      usage: { input_tokens: 4, output_tokens: 2, output_tokens_details: { reasoning_tokens: 1 } },
    }
    const events = [
      {
        type: 'response.created',
        response: { id: 'resp_1', model: 'gpt-5', status: 'in_progress', output: [] },
      },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...message, status: 'in_progress', content: [] },
      },
      {
        type: 'response.content_part.added',
        output_index: 0,
        content_index: 0,
        part: { ...part, text: '' },
      },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hi ' },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'there' },
      { type: 'response.output_item.added', output_index: 1, item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a"' },
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: ': 1}' },
      { type: 'response.completed', response },
    ]
    expect(assembled('openai-responses', events)).toEqual(assistantOf('openai-responses', response))
    const cut = assembled('openai-responses', events.slice(0, 7))
    expect(cut).toMatchObject({ interrupted: true, id: 'resp_1', model: 'gpt-5' })
    expect(cut.content).toMatchObject([
      { type: 'text', text: 'hi there' },
      { type: 'tool_use', id: 'a', arguments: '{"a"', input: '{"a"' },
    ])
    const bare = { ...response, output: [] }
    const withoutOutput = [...events.slice(0, 8), { type: 'response.completed', response: bare }]
    expect(toolCallsOf(assembled('openai-responses', withoutOutput))).toMatchObject([
      { input: { a: 1 } },
    ])
  })
})

describe('a stream', () => {
  const providers = ['openai', 'openai-responses', 'anthropic', 'gemini'] as const

  it.each(providers)('of %s throws on nothing and keeps what it does not know', (provider) => {
    const words = fc.constantFrom(
      'type',
      'choices',
      'delta',
      'index',
      'content',
      'error',
      'message',
      'candidates',
      'parts',
      'content_block',
      'output_index',
      'item',
      'response',
      'output',
      'text',
      '__proto__',
    )
    const types = fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'message_delta',
      'error',
      'response.output_text.delta',
      'response.output_item.added',
      'response.completed',
      'response.content_part.added',
      'response.odd.delta',
      'constructor.toString',
    )
    const value = fc.letrec((tie) => ({
      any: fc.oneof(fc.jsonValue(), types, fc.array(tie('any'), { maxLength: 2 }), tie('fields')),
      fields: fc.dictionary(words, tie('any'), { maxKeys: 4 }),
    })).any
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), (events) => {
        const before = structuredClone(events)
        const message = assembled(provider, events)
        expect(message.provider).toBe(provider)
        expect(events).toEqual(before)
      }),
      { numRuns: 500 },
    )
    const odd = { type: 'brand.new', payload: [1] }
    const message = assembled(provider, [odd])
    expect(message.content).toEqual([{ type: 'other', value: odd }])
    expect(message.interrupted).toBe(true)
  })

  it('T47: that is aborted leaves what it said', () => {
    const events = [
      {
        choices: [{ index: 0, delta: { role: 'assistant', content: 'Part' }, finish_reason: null }],
      },
      { choices: [{ index: 0, delta: { content: 'ial' }, finish_reason: null }] },
    ]
    const message = assembled('openai', events)
    expect(message).toMatchObject({ content: 'Partial', interrupted: true })
  })

  it('of a server that leaves out the index of a call keeps two calls apart', () => {
    const call = (fields: object) => ({
      choices: [{ index: 0, delta: { tool_calls: [fields] }, finish_reason: null }],
    })
    const message = assembled('openai', [
      call({ id: 'a', function: { name: 'f', arguments: '{' } }),
      call({ function: { arguments: '}' } }),
      call({ id: 'b', function: { name: 'g', arguments: '{}' } }),
    ])
    expect(toolCallsOf(message)).toMatchObject([
      { id: 'a', arguments: '{}' },
      { id: 'b', name: 'g' },
    ])
  })
})

describe.skipIf(!hasFixtures)('recorded streams', () => {
  it('are assembled the same under every split of their bytes', () => {
    const body = fixture('sse/tapes-messages_error_mid_stream.sse')
    const whole = assembled('anthropic', streamEvents(sseEvents(body)))
    for (let at = 0; at <= body.length; at++) {
      const parser = new SseParser()
      const events = [...parser.push(body.subarray(0, at)), ...parser.push(body.subarray(at))]
      expect(assembled('anthropic', streamEvents(events))).toEqual(whole)
    }
  })

  it('with an error in the middle are interrupted, and say the error', () => {
    const message = assembled(
      'anthropic',
      streamEvents(sseEvents(fixture('sse/tapes-messages_error_mid_stream.sse'))),
    )
    expect(message).toMatchObject({ interrupted: true, stopReason: 'overloaded_error' })
    expect(message.content).toMatchObject([
      { type: 'text', text: 'Starting to answer' },
      { type: 'other', value: { type: 'error' } },
    ])
    const [error] = cassetteStreams('vcr/pydantic-groq-tool-use-failed-streaming.yaml')
    const failed = assembled('openai', streamEvents(sseEvents(Buffer.from(error as string))))
    expect(failed).toMatchObject({ interrupted: true, stopReason: 'invalid_request_error' })
  })

  it('of a server tool keep its blocks as they are', () => {
    const events = chunksOf('sse/vercel-anthropic-programmatic-tool-calling.1.chunks.txt')
    const message = assembled('anthropic', events)
    expect(message.interrupted).toBeUndefined()
    expect(message.content).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'other' })]),
    )
    expect(toolCallsOf(message).length).toBeGreaterThan(0)
    expect(
      (message.content as unknown[]).some((part) => JSON.stringify(part).includes('ping')),
    ).toBe(false)
  })

  it('of responses give what their last event says', () => {
    for (const name of ['openai-compaction.1', 'openai-reasoning-encrypted', 'openai-error.1']) {
      const events = chunksOf(`sse/vercel-${name}.chunks.txt`) as Record<string, unknown>[]
      const message = assembled('openai-responses', events)
      const last = events.findLast(({ response }) => response !== undefined)?.response
      const { output } = last as { output: unknown[] }
      expect(message.raw).toEqual(output)
      expect(message.interrupted).toBe(name === 'openai-error.1' ? true : undefined)
    }
  })

  it('of responses, cut before the last event, have the same output items', () => {
    for (const name of ['openai-compaction.1', 'openai-reasoning-encrypted']) {
      const events = chunksOf(`sse/vercel-${name}.chunks.txt`)
      const whole = assembled('openai-responses', events)
      const cut = assembled('openai-responses', events.slice(0, -1))
      // What is encrypted is encrypted anew in the last event.
      const shape = (message: AssistantMessage) =>
        JSON.stringify(message.raw).replaceAll(/"encrypted_content":"[^"]*"/g, '')
      expect(shape(cut)).toBe(shape(whole))
      expect(cut.interrupted).toBe(true)
    }
  })

  it('T9: a call of each reply of a conversation is found', () => {
    const bodies = cassetteStreams('vcr/pydantic-bedrock-reused-tool-call-ids-stream.yaml')
    const calls = bodies.flatMap((body) =>
      toolCallsOf(assembled('openai-responses', streamEvents(sseEvents(Buffer.from(body))))),
    )
    expect(calls.map(({ name }) => name)).toEqual(['first_tool', 'second_tool'])
  })
})
