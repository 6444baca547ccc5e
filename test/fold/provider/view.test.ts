import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../../src/fold/message.js'
import { sameModel } from '../../../src/fold/provider/model-name.js'
import {
  providerView,
  requestBody,
  splitBody,
  type ViewProvider,
} from '../../../src/fold/provider/provider-view.js'
import { VIEW_CHANGES } from '../../../src/fold/provider/view.js'
import { anyMessages } from './any-messages.js'
import { faultsOf } from './view-rules.js'

const PROVIDERS: readonly ViewProvider[] = ['openai', 'openai-responses', 'anthropic']
const numRuns = process.env.DAGLOG_LONG === undefined ? 1_000 : 50_000

const kindsOf = (view: { lint: readonly { kind: string }[] }): string[] =>
  view.lint.map(({ kind }) => kind)

function user(seq: number, content: string): Message {
  return { seq, role: 'user', content }
}

function result(seq: number, id: string, content = 'done'): Message {
  return { seq, role: 'tool', content: [{ type: 'tool_result', id, content }] }
}

function asks(seq: number, ...ids: string[]): Message {
  const content = ids.map((id) => ({
    type: 'tool_use' as const,
    id,
    name: 'f',
    input: {},
    arguments: '{}',
  }))
  return { seq, role: 'assistant', content }
}

describe('a view of any messages', () => {
  it.each(PROVIDERS)('is one that %s takes, and leaves the log as it was', (provider) => {
    const options = fc.record({ model: fc.constantFrom('gpt-5', 'claude-x-1', undefined) })
    fc.assert(
      fc.property(anyMessages, options, (messages, { model }) => {
        const before = structuredClone(messages)
        const view = providerView(messages, { provider, ...(model === undefined ? {} : { model }) })
        expect(faultsOf(provider, view.messages)).toEqual([])
        expect(messages).toEqual(before)
        for (const { kind, seq, what, why } of view.lint) {
          expect(why).toBe(VIEW_CHANGES[kind])
          expect(seq).toBeLessThan(messages.length)
          expect(what).not.toBe('')
        }
      }),
      { numRuns },
    )
  })

  it.each(PROVIDERS)('of %s is the same when it is made again', (provider) => {
    fc.assert(
      fc.property(anyMessages, (messages) => {
        expect(providerView(messages, { provider })).toEqual(providerView(messages, { provider }))
      }),
    )
  })

  it.each(PROVIDERS)('of %s, sent and read back, needs no further change', (provider) => {
    fc.assert(
      fc.property(anyMessages, (messages) => {
        const { body } = requestBody({ model: 'gpt-5', provider }, messages)
        const again = splitBody(provider, body)
        const next = requestBody(again.header, again.messages)
        expect(next.body).toEqual(body)
        expect(next.lint).toEqual([])
      }),
    )
  })
})

describe('a request body', () => {
  const bodies: Record<ViewProvider, Record<string, unknown>> = {
    openai: {
      model: 'gpt-5',
      temperature: 0,
      stream: true,
      tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
      messages: [
        { role: 'developer', content: 'be brief' },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{ }' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'ok' },
        { role: 'user', content: 'and?' },
        { role: 'user', content: 'well?' },
      ],
    },
    'openai-responses': {
      model: 'gpt-5',
      instructions: 'be brief',
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'user', content: 'hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'zz' },
        { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{ }' },
        { type: 'function_call_output', call_id: 'a', output: 'ok' },
        { type: 'item_reference', id: 'msg_9' },
      ],
    },
    anthropic: {
      model: 'claude-x-1',
      max_tokens: 10,
      system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
            { type: 'tool_use', id: 'b', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'b', content: 'ok' },
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'ok' }] },
            { type: 'text', text: 'go on', cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    },
  }

  it.each(PROVIDERS)('of %s comes back deep-equal, with nothing to say', (provider) => {
    const { header, messages } = splitBody(provider, bodies[provider])
    const { body, lint } = requestBody(header, messages)
    expect(body).toEqual(bodies[provider])
    expect(lint).toEqual([])
  })

  it('has the history in no header', () => {
    for (const provider of PROVIDERS) {
      const { header } = splitBody(provider, bodies[provider])
      expect(JSON.stringify(header)).not.toContain('"hi"')
      expect(header.provider).toBe(provider)
    }
  })

  it('of a provider without a view is refused with the names of those that have one', () => {
    expect(() => requestBody({ model: 'm', provider: 'gemini' }, [])).toThrow(
      /PROVIDER_UNKNOWN: .*openai, openai-responses, anthropic/,
    )
  })
})

describe('rows of transcripts.md section 5', () => {
  it('T9: of parallel tools, the one whose result was never written is closed and named', () => {
    const view = providerView([user(0, 'go'), asks(1, 'a', 'b'), result(2, 'b')], {
      provider: 'anthropic',
    })
    expect(view.messages[2]).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'b', content: 'done' },
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: expect.stringContaining('No result'),
          is_error: true,
        },
      ],
    })
    expect(view.lint).toMatchObject([{ seq: 1, kind: 'call-unanswered', what: 'call a' }])
  })

  it.each(PROVIDERS)('T13: a call without a result does not brick %s', (provider) => {
    const messages = [user(0, 'go'), asks(1, 'a'), user(2, 'are you there?')]
    const view = providerView(messages, { provider })
    expect(faultsOf(provider, view.messages)).toEqual([])
    expect(kindsOf(view)).toEqual(['call-unanswered'])
  })

  it('T14: each orphan of many sessions is counted', () => {
    const messages = Array.from({ length: 311 }, (_, seq) => result(seq, `gone_${seq}`))
    const view = providerView(messages, { provider: 'openai' })
    expect(view.messages).toEqual([])
    expect(kindsOf(view)).toEqual(Array.from({ length: 311 }, () => 'result-orphan'))
  })

  it.each(PROVIDERS)(
    'T37: a lone surrogate does not brick %s, in text, in arguments or in a key',
    (provider) => {
      const half = '\ud83d'
      const messages: Message[] = [
        user(0, `cut ${half}`),
        {
          seq: 1,
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'a', name: 'f', input: { [half]: half } }],
        },
        result(2, 'a', half),
      ]
      const view = providerView(messages, { provider })
      expect(faultsOf(provider, view.messages)).toEqual([])
      expect(messages[0]?.content).toBe(`cut ${half}`)
      expect(view.lint.filter(({ kind }) => kind === 'surrogate').map(({ seq }) => seq)).toEqual([
        0, 1, 2,
      ])
    },
  )

  it('T38: thinking goes back byte-exact to the model that signed it, and to no other', () => {
    const raw = {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: ' x ', signature: 'sig==' },
        { type: 'text', text: 'y' },
      ],
    }
    const message: Message = {
      seq: 1,
      role: 'assistant',
      content: 'y',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5-20250929',
      raw,
    }
    const view = (model: string) =>
      providerView([user(0, 'hi'), message], { provider: 'anthropic', model })
    expect(view('claude-sonnet-4-5').messages[1]).toBe(raw)
    expect(view('claude-sonnet-4-5').lint).toEqual([])
    expect(view('claude-opus-4-1').messages[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'y' }],
    })
    expect(kindsOf(view('claude-opus-4-1'))).toEqual(['thinking-foreign'])
  })

  it('T38: thinking with an empty signature is left out', () => {
    const content = [
      { type: 'thinking', thinking: 'x', signature: '' },
      { type: 'text', text: 'y' },
    ]
    const raw = { role: 'assistant', content }
    const message: Message = { seq: 1, role: 'assistant', content: 'y', provider: 'anthropic', raw }
    const view = providerView([user(0, 'hi'), message], { provider: 'anthropic' })
    expect(view.messages[1]).toEqual({ role: 'assistant', content: [content[1]] })
    expect(kindsOf(view)).toEqual(['thinking-unsigned'])
  })

  it('T39: the reasoning of one server is not sent to another model, nor to another API', () => {
    const raw = { role: 'assistant', content: 'y', reasoning_content: 'secret thoughts' }
    const message: Message = {
      seq: 1,
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'secret thoughts', model: 'deepseek-r1' },
        { type: 'text', text: 'y' },
      ],
      provider: 'openai',
      model: 'deepseek-r1',
      raw,
    }
    const messages = [user(0, 'hi'), message]
    const own = providerView(messages, { provider: 'openai', model: 'deepseek-r1' })
    expect(own.messages[1]).toBe(raw)
    for (const provider of PROVIDERS) {
      const view = providerView(messages, { provider, model: 'gpt-5' })
      expect(JSON.stringify(view.messages)).not.toContain('secret thoughts')
      expect(kindsOf(view)).toContain('thinking-foreign')
    }
  })

  it('T39: where reasoning of the responses is left out, the ids that name it go too', () => {
    const raw = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'zz' },
      { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{}' },
    ]
    const message: Message = {
      ...asks(1, 'a'),
      provider: 'openai-responses',
      model: 'gpt-5-2025-08-07',
      raw,
    }
    const view = providerView([user(0, 'x'), message, result(2, 'a')], {
      provider: 'openai-responses',
      model: 'o4-mini',
    })
    expect(view.messages[1]).toEqual({
      type: 'function_call',
      call_id: 'a',
      name: 'f',
      arguments: '{}',
    })
    expect(kindsOf(view)).toEqual(['thinking-foreign', 'item-id'])
  })

  it.each(PROVIDERS)(
    'T47: what a cut reply had said stays, for %s, without the call inside which it was cut',
    (provider) => {
      const cut: Message = {
        seq: 1,
        role: 'assistant',
        interrupted: true,
        content: [
          { type: 'text', text: 'I will look' },
          { type: 'tool_use', id: 'a', name: 'f', input: '{"pa', arguments: '{"pa' },
        ],
      }
      const view = providerView([user(0, 'hi'), cut, result(2, 'a'), user(3, 'go on')], {
        provider,
      })
      expect(JSON.stringify(view.messages)).toContain('I will look')
      expect(JSON.stringify(view.messages)).not.toContain('pa')
      expect(kindsOf(view)).toEqual(['call-cut', 'result-orphan'])
    },
  )

  it('T48: what a crash left open is closed in the log, and the view has nothing to add', () => {
    const closed = result(2, 'a', 'outcome unknown: the run stopped while this ran')
    const view = providerView([user(0, 'x'), asks(1, 'a'), closed], { provider: 'openai' })
    expect(view.messages[2]).toMatchObject({ role: 'tool', tool_call_id: 'a' })
    expect(view.lint).toEqual([])
  })
})

describe('pairs', () => {
  it('go by the turn: an id that is used again is another call', () => {
    const messages = [
      user(0, 'x'),
      asks(1, 'a'),
      result(2, 'a', 'one'),
      asks(3, 'a'),
      result(4, 'a', 'two'),
    ]
    const chat = providerView(messages, { provider: 'openai' })
    expect(chat.messages.filter((one) => (one as { role: string }).role === 'tool')).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'a', content: 'two' },
    ])
    expect(chat.lint).toEqual([])
    const anthropic = providerView(messages, { provider: 'anthropic' })
    expect(anthropic.messages[4]).toMatchObject({
      content: [{ tool_use_id: 'a-2', content: 'two' }],
    })
    expect(kindsOf(anthropic)).toEqual(['id-changed'])
  })

  it('take a result that came late to its call, and only the first of two', () => {
    const messages = [asks(0, 'a'), user(1, 'meanwhile'), result(2, 'a', 'one'), result(3, 'a')]
    const view = providerView(messages, { provider: 'openai' })
    expect(view.messages[1]).toEqual({ role: 'tool', tool_call_id: 'a', content: 'one' })
    expect(view.lint).toMatchObject([
      { seq: 2, kind: 'result-moved' },
      { seq: 3, kind: 'result-duplicate' },
    ])
  })

  it('have a picture that a result of a chat cannot hold in the next message', () => {
    const picture = { type: 'image' as const, mediaType: 'image/png', data: new Uint8Array([1]) }
    const shown: Message = {
      seq: 1,
      role: 'tool',
      content: [{ type: 'tool_result', id: 'a', content: [picture] }],
    }
    const view = providerView([asks(0, 'a'), shown], { provider: 'openai' })
    expect(view.messages.slice(1)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '[see the next message of the user]' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AQ==' } }],
      },
    ])
    expect(kindsOf(view)).toEqual(['part-moved'])
  })
})

describe('names of models', () => {
  it.each([
    ['gpt-5', 'gpt-5-2025-08-07', true],
    ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929', true],
    ['claude-sonnet-4-0', 'claude-sonnet-4-20250514', true],
    ['claude-3-7-sonnet-latest', 'claude-3-7-sonnet-20250219', true],
    ['us.anthropic.claude-x-1-20250929-v1:0', 'claude-x-1', true],
    ['models/gemini-2.5-flash', 'gemini-2.5-flash', true],
    ['gpt-5-2025-08-07', 'gpt-5-2025-11-01', false],
    ['gpt-5', 'gpt-5-mini', false],
    ['claude-opus-4-1', 'claude-sonnet-4-5', false],
  ])('%s and %s: one model is %s', (left, right, same) => {
    expect(sameModel(left, right)).toBe(same)
    expect(sameModel(right, left)).toBe(same)
  })
})
