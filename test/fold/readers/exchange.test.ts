import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../../src/core/event.js'
import { exchange, rawEvent, readRun } from './exchange-run.js'

const CHAT = 'https://any.example/v1/chat/completions'

type Loose = Record<string, unknown>

const user = (content: string): Loose => ({ role: 'user', content })
const says = (content: string): Loose => ({ role: 'assistant', content, refusal: null })
const asks = (id: string): Loose => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{"a": 1}' } }],
})
const result = (id: string, content = 'ok'): Loose => ({ role: 'tool', tool_call_id: id, content })

function chat(
  seq: number,
  messages: readonly Loose[],
  message?: Loose,
  beside: Loose = {},
): RunEvent {
  const tools = beside.tools === undefined ? {} : { tools: beside.tools }
  const reply = {
    id: `chatcmpl-${seq}`,
    model: 'gpt-5-2025-08-07',
    choices: [{ index: 0, message, finish_reason: message?.tool_calls ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5 },
  }
  return exchange(seq, {
    url: CHAT,
    request: { model: 'gpt-5', messages, ...tools },
    ...(message === undefined ? { status: 429, reply: { error: {} } } : { reply }),
  })
}

const typesOf = (events: readonly RunEvent[]): string[] => events.map(({ type }) => type)
const textsOf = (view: readonly { content: unknown; role: string }[]): unknown[] =>
  view.map(({ role, content }) => [role, content])

describe('exchanges with a model', () => {
  it('give each message once, in turns, with usage where a model was asked', () => {
    const history = [user('go'), asks('a'), result('a')]
    const { events, view } = readRun([
      chat(0, [{ role: 'system', content: 'be brief' }, ...history.slice(0, 1)], asks('a')),
      chat(1, [{ role: 'system', content: 'be brief' }, ...history], says('done')),
      chat(
        2,
        [{ role: 'system', content: 'be brief' }, ...history, says('done'), user('more')],
        says('end'),
      ),
    ])
    expect(typesOf(events)).toEqual([
      'request/header',
      'turn/start',
      'user/message',
      'assistant/message',
      'tool/result',
      'assistant/message',
      'turn/end',
      'turn/start',
      'user/message',
      'assistant/message',
      'turn/end',
    ])
    expect(events[0]?.data).toEqual({ model: 'gpt-5', provider: 'openai', system: 'be brief' })
    expect(view.map(({ raw }) => raw)).toEqual([
      ...history,
      says('done'),
      user('more'),
      says('end'),
    ])
    const used = events.filter(({ data }) => (data as Loose).usage !== undefined)
    expect(used.length).toBe(3)
  })

  it('derive the same history whatever of it was recorded first', () => {
    const turns = fc.array(fc.tuple(fc.string(), fc.boolean()), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(turns, fc.nat(), (said, skip) => {
        const history: Loose[] = []
        const sent: RunEvent[] = []
        for (const [text, withTool] of said) {
          history.push(user(`u ${text}`))
          const replies = withTool
            ? [asks(`c${history.length}`), says('then')]
            : [says(`a ${text}`)]
          for (const reply of replies) {
            sent.push(chat(sent.length, [...history], reply))
            history.push(reply)
            if (reply.tool_calls !== undefined) {
              history.push(result(((reply.tool_calls as Loose[])[0] as Loose).id as string))
            }
          }
        }
        const { view } = readRun(sent.slice(skip % sent.length))
        expect(view.map(({ raw }) => raw)).toEqual(history)
      }),
    )
  })

  it('that fail and are tried again say what was asked once', () => {
    const { events, view } = readRun([
      chat(0, [user('go')]),
      chat(1, [user('go')]),
      chat(2, [user('go')], says('done')),
    ])
    expect(textsOf(view)).toEqual([
      ['user', 'go'],
      ['assistant', 'done'],
    ])
    expect(typesOf(events).filter((type) => type === 'turn/start').length).toBe(1)
  })

  it('that are asked the same again show the last reply, and count both', () => {
    const { events, view } = readRun([
      chat(0, [user('go')], says('one')),
      chat(1, [user('go')], says('two')),
    ])
    expect(textsOf(view)).toEqual([
      ['user', 'go'],
      ['assistant', 'two'],
    ])
    expect(events.filter(({ data }) => (data as Loose).usage !== undefined).length).toBe(2)
  })

  it('whose client cut old messages off are a compaction; nothing else is derived anew', () => {
    const long = [user('one'), says('1'), user('two'), says('2')]
    const { events, view } = readRun([
      chat(0, long.slice(0, 1), says('1')),
      chat(1, long.slice(0, 3), says('2')),
      chat(2, [user('summary of one'), ...long.slice(2), user('three')], says('3')),
    ])
    expect(textsOf(view)).toEqual([
      ['user', 'summary of one'],
      ['user', 'two'],
      ['assistant', '2'],
      ['user', 'three'],
      ['assistant', '3'],
    ])
    const compaction = events.find(({ type }) => type === 'compaction')
    expect(compaction?.data).toMatchObject({ replaces: ['0.2', '0.3'] })
    expect(typesOf(events).filter((type) => type === 'user/message').length).toBe(3)
  })

  it('whose client puts a summary in the place of all are a compaction too', () => {
    const summary = 'The user wanted a thing, and by now most of that thing is done and works.'
    const { view } = readRun([
      chat(0, [user('go')], says('1')),
      chat(1, [user('go'), says('1'), user('summarise this')], says(summary)),
      chat(2, [user(`From before: ${summary}`), user('on')], says('2')),
    ])
    expect(textsOf(view)).toEqual([
      ['user', `From before: ${summary}`],
      ['user', 'on'],
      ['assistant', '2'],
    ])
  })

  it('of another conversation are counted and shown to people, not to the model', () => {
    const { events, view } = readRun([
      chat(0, [user('go')], says('1')),
      chat(1, [user('a title for: go')], says('Going')),
      chat(2, [user('go'), says('1'), user('on')], says('2')),
    ])
    expect(textsOf(view)).toEqual([
      ['user', 'go'],
      ['assistant', '1'],
      ['user', 'on'],
      ['assistant', '2'],
    ])
    expect(events.filter(({ data }) => (data as Loose).usage !== undefined).length).toBe(3)
    expect(JSON.stringify(events)).toContain('Going')
  })

  it('show the conversation with tools, where one request without came before it', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const { view } = readRun([
      chat(0, [user('quota')], says('ok')),
      chat(1, [user('go')], says('1'), { tools }),
    ])
    expect(textsOf(view)).toEqual([
      ['user', 'go'],
      ['assistant', '1'],
    ])
  })

  it('derive nothing once the run logs a session of its own', () => {
    const { events } = readRun([
      rawEvent(0, 'turn/start', { turn: 1 }),
      rawEvent(1, 'user/message', { content: 'go' }),
      chat(2, [user('go')], says('1')),
      rawEvent(3, 'assistant/message', { content: '1' }),
    ])
    expect(events).toEqual([])
  })

  it('go on by the name of a response, where the server keeps the history', () => {
    const url = 'https://any.example/v1/responses'
    const reply = (id: string, text: string) => ({
      id,
      model: 'gpt-5',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
    })
    const { events, view } = readRun([
      exchange(0, { url, request: { model: 'gpt-5', input: 'go' }, reply: reply('r1', '1') }),
      exchange(1, {
        url,
        request: { model: 'gpt-5', input: 'on', previous_response_id: 'r1' },
        reply: reply('r2', '2'),
      }),
    ])
    expect(textsOf(view)).toEqual([
      ['user', 'go'],
      ['assistant', '1'],
      ['user', 'on'],
      ['assistant', '2'],
    ])
    expect(typesOf(events).filter((type) => type === 'request/header').length).toBe(1)
  })

  it('that are packed, streamed or cut are read as far as they go', () => {
    const sse = [
      { choices: [{ index: 0, delta: { role: 'assistant', content: 'Part' } }] },
      { choices: [{ index: 0, delta: { content: 'ial' } }] },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join('')
    const headers = [
      ['Content-Type', 'text/event-stream'],
      ['Content-Encoding', 'gzip'],
    ] as const
    const packed = new Uint8Array(gzipSync(sse))
    const request = { model: 'gpt-5', messages: [user('go')], stream: true }
    for (const reply of [packed, packed.subarray(0, packed.length - 8)]) {
      const { view } = readRun([
        exchange(0, { url: CHAT, request, reply, headers, end: 'upstream-reset' }),
      ])
      expect(view[1]).toMatchObject({ content: 'Partial', interrupted: true })
    }
  })

  it('that are no calls of a model, or make no sense, are left to others, or noted', () => {
    const request = { model: 'gpt-5', messages: [user('go')] }
    const { events } = readRun([
      exchange(0, {
        url: 'https://api.openai.com/v1/embeddings',
        request: { input: 'x' },
        reply: {},
      }),
      exchange(1, { url: 'https://any.example/v1/messages/count_tokens', request, reply: {} }),
      exchange(2, { url: 'https://api.openai.com/chat/completions', request: 'no json' }),
      rawEvent(3, 'http/exchange', null),
      rawEvent(4, 'http/exchange', { request: { url: 7 } }),
    ])
    expect(events).toEqual([])
    const { events: noted } = readRun([exchange(0, { url: CHAT, request, reply: '<html>' })])
    expect(noted.at(-1)).toMatchObject({
      type: 'note',
      data: { text: expect.stringContaining('no JSON object') },
    })
  })

  it('throw on nothing', () => {
    const part = fc.oneof(fc.jsonValue(), fc.constantFrom('user', 'assistant', 'tool', 'text'))
    const message = fc.dictionary(
      fc.constantFrom('role', 'content', 'tool_calls', 'tool_call_id', 'type', 'parts', 'id'),
      part,
    )
    const paths = fc.constantFrom(
      '/v1/chat/completions',
      '/v1/responses',
      '/v1/messages',
      '/m/g:generateContent',
    )
    const body = fc.record({
      messages: fc.array(message),
      input: fc.array(message),
      contents: fc.array(message),
      max_tokens: fc.constant(1),
    })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(paths, body, fc.oneof(fc.jsonValue(), fc.string())), { maxLength: 4 }),
        (all) => {
          const raw = all.map(([path, request, reply], seq) =>
            exchange(seq, { url: `https://h${path}`, request, reply }),
          )
          const { events } = readRun(raw)
          for (const { line } of events) expect(line).toBeGreaterThanOrEqual(0)
        },
      ),
    )
  })
})
