/**
 * Turns: what reaches a model is in the log, in the right order, before it gets there.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { directory } from '../../src/backend/fs.js'
import type { RunEvent } from '../../src/core/event.js'
import { messages, type Run, turns } from '../../src/index.js'
import { Store } from '../../src/store/store.js'
import { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { type FakeProcess, FakeProcesses } from '../backend/fake-processes.js'
import { temporaryStore } from './temporary.js'

const HEADER = { provider: 'openai', model: 'gpt-test', system: 'Be brief.' } as const

const WEATHER = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
} as const

function chat(message: object, finish = 'stop'): unknown {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt-test',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  }
}

function asking(id: string, args: string): unknown {
  const call = { id, type: 'function', function: { name: 'weather', arguments: args } }
  return chat({ content: null, tool_calls: [call] }, 'tool_calls')
}

async function* stream(pieces: readonly string[], cut = false): AsyncGenerator<unknown> {
  const base = { id: 'chatcmpl-2', object: 'chat.completion.chunk', model: 'gpt-test' }
  yield { ...base, choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
  for (const content of pieces) yield { ...base, choices: [{ index: 0, delta: { content } }] }
  if (cut) throw new Error('socket hang up')
  yield { ...base, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
}

async function eventsOf(run: Pick<Run, 'events'>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of run.events({ from: 1 })) all.push(event)
  return all
}

async function typesOf(run: Pick<Run, 'events'>): Promise<string[]> {
  return (await eventsOf(run)).map(({ type }) => type)
}

describe('a turn', () => {
  it('logs header, steps, messages, calls and results in the order in which they count', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const answer = await run.turn(async (turn) => {
      await turn.user('How is the weather in Bern?')
      const first = await turn.model(await run.request({ ...HEADER, tools: [WEATHER] }), async () =>
        asking('call-1', '{"city": "Bern"}'),
      )
      for (const call of first.toolCalls) {
        await turn.tool(call, () => ({ sky: 'clear', city: (call.input as { city: string }).city }))
      }
      const last = await turn.model(await run.request(), async () => chat({ content: 'Clear.' }))
      return last.text
    })
    expect(answer).toBe('Clear.')
    expect(await typesOf(run)).toEqual([
      'turn/start',
      'user/message',
      'step/start',
      'request/header',
      'assistant/message',
      'step/end',
      'step/start',
      'tool/call',
      'tool/result',
      'step/end',
      'step/start',
      'assistant/message',
      'step/end',
      'turn/end',
    ])
    const [, , , , asked, , , called, result] = await eventsOf(run)
    expect(asked?.data).toMatchObject({
      content: [{ type: 'tool_use', id: 'call-1', input: { city: 'Bern' } }],
      usage: { inputTokens: 7, outputTokens: 3 },
      model: 'gpt-test',
    })
    expect(called?.data).toMatchObject({ id: 'call-1', arguments: '{"city": "Bern"}' })
    expect(result?.data).toEqual({ id: 'call-1', content: '{"sky":"clear","city":"Bern"}' })
    expect(await run.project(turns)).toMatchObject([
      { turn: 1, reason: 'completed', messages: 3, toolCalls: 1 },
    ])
    await store.close()
  })

  it('gives requests that any later reader of the log rebuilds exactly', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    const sent: unknown[] = []
    for (const [n, question] of ['one', 'two', 'three'].entries()) {
      await run.turn(async (turn) => {
        await turn.user(question)
        const request = await run.request({ ...HEADER, params: { temperature: n } })
        await turn.model(request, async (body) => {
          sent.push(structuredClone(body))
          return n === 1 ? stream(['to', ' you', ' too']) : chat({ content: `answer ${n}` })
        })
      })
    }
    await store.close()
    const { store: again } = await temporaryStore(dir)
    const view = await again.inspectRun('r')
    const asked: number[] = []
    for await (const { seq, data } of view.events({ types: ['step/start'] })) {
      if (data.name === 'model') asked.push(seq)
    }
    for (const [index, seq] of asked.entries()) {
      const header = (sent[index] as { temperature: number }).temperature
      // The header may come right after the step's start, in the same append.
      expect(await view.request(undefined, { at: seq + 1 })).toEqual(sent[index])
      expect(header).toBe(index)
    }
    expect((sent[2] as { messages: unknown[] }).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'answer 0' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'to you too', refusal: null },
      { role: 'user', content: 'three' },
    ])
    await again.close()
  })

  it('refuses a request that is not what the log says, before anything is sent', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    let called = 0
    const call = async (): Promise<unknown> => {
      called += 1
      return chat({ content: 'x' })
    }
    const turning = run.turn(async (turn) => {
      await turn.user('hello')
      const request = await run.request(HEADER)
      request.messages.push({ role: 'user', content: 'and something that nobody logged' })
      await turn.model(request, call)
    })
    await expect(turning).rejects.toMatchObject({
      code: 'REQUEST_NOT_LOGGED',
      data: { pointer: '/messages/2' },
    })
    const stale = run.turn(async (turn) => {
      const request = await run.request(HEADER)
      await turn.user('said after the request was made')
      await turn.model(request, call)
    })
    await expect(stale).rejects.toMatchObject({ code: 'REQUEST_NOT_LOGGED' })
    await expect(
      run.turn((turn) => turn.model({ model: 'm', messages: [] }, call)),
    ).rejects.toMatchObject({ code: 'USAGE' })
    expect(called).toBe(0)
    await store.close()
  })

  it('takes a request of anybody that says what the log says, and logs a parameter that changed', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.turn(async (turn) => {
      await turn.user('hello')
      const request = await run.request(HEADER)
      request.temperature = 0.5
      await turn.model(request, async () => chat({ content: 'hi' }))
      const own = {
        model: 'other',
        messages: [
          { role: 'user', content: 'hello' },
          { role: 'assistant', content: 'hi' },
        ],
      }
      await turn.model(own, async () => chat({ content: 'again' }), { provider: 'openai' })
    })
    const headers: unknown[] = []
    for await (const { data } of run.events({ types: ['request/header'] })) headers.push(data)
    expect(headers).toEqual([
      { ...HEADER, params: { temperature: 0.5 } },
      { model: 'other', provider: 'openai' },
    ])
    await store.close()
  })

  it('keeps each piece of a stream with its time, and hands events on as they come', async () => {
    let now = 1000
    const { store } = await temporaryStore(undefined, { now: () => now })
    const run = await store.run('r')
    const pieces = Array.from({ length: 150 }, (_, n) => ` w${n}`)
    const seen: unknown[] = []
    const reply = await run.turn(async (turn) => {
      await turn.user('tell me')
      return turn.model(await run.request(HEADER), () => stream(pieces), {
        onEvent: (event) => {
          seen.push(event)
          now += 5
        },
      })
    })
    expect(reply.text).toBe(pieces.join(''))
    expect(seen).toHaveLength(152)
    const chunks = (await eventsOf(run)).filter(({ type }) => type === 'assistant/chunk')
    const logged = chunks.flatMap(({ data }) => (data as { pieces: string[] }).pieces)
    const times = chunks.flatMap(({ data }) => (data as { times: number[] }).times)
    expect(logged).toEqual(pieces)
    expect(times).toEqual(pieces.map((_, n) => 1005 + 5 * n))
    expect(chunks.length).toBeLessThanOrEqual(4)
    await store.close()
  })

  it('keeps what came of a stream that broke off, as an interrupted message, and throws on (T47)', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const turning = run.turn(async (turn) => {
      await turn.user('tell me')
      await turn.model(await run.request(HEADER), () => stream(['half an', ' answer'], true))
    })
    await expect(turning).rejects.toThrow('socket hang up')
    const seen = await run.project(messages)
    expect(seen.at(-1)).toMatchObject({ role: 'assistant', interrupted: true })
    expect(await run.project(turns)).toMatchObject([{ reason: 'error' }])
    const next = await run.request(HEADER)
    expect(next.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'half an answer' })
    await store.close()
  })

  it('tells the model of a tool that threw, and goes on', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.turn(async (turn) => {
      await turn.user('go')
      const reply = await turn.model(await run.request(HEADER), async () => asking('c', '{}'))
      const tools: Record<string, () => string> = {}
      const outcome = await turn.tool(
        reply.toolCalls[0] as never,
        () => tools.weather?.() ?? fail(),
      )
      expect(outcome).toMatchObject({ isError: true, content: 'Error: no such tool' })
    })
    expect((await run.last('tool/result'))?.data).toMatchObject({ id: 'c', isError: true })
    expect((await run.last('turn/end'))?.data).toMatchObject({ reason: 'completed' })
    await store.close()
  })

  it('lets tools run at once, each with its own result', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.turn(async (turn) => {
      const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'wait', input: { id } }))
      await Promise.all(
        calls.map((call, n) =>
          turn.tool(call, async (step) => {
            await new Promise((resolve) => setTimeout(resolve, 5 * (3 - n)))
            return step.run.step('inner', { n }, () => `done ${call.id}`)
          }),
        ),
      )
    })
    const results: unknown[] = []
    for await (const { data } of run.events({ types: ['tool/result'] })) results.push(data)
    expect(results).toEqual(
      expect.arrayContaining(['a', 'b', 'c'].map((id) => ({ id, content: `done ${id}` }))),
    )
    await store.close()
  })

  it('ends as aborted when it is, and hands its signal to steps', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const controller = new AbortController()
    const turning = run.turn(
      (turn) =>
        turn.tool({ id: 'x', name: 'wait', input: null }, (step) => {
          controller.abort(new Error('enough'))
          step.signal.throwIfAborted()
        }),
      { signal: controller.signal },
    )
    await expect(turning).rejects.toThrow('enough')
    expect((await run.last('turn/end'))?.data).toMatchObject({ turn: 1, reason: 'aborted' })
    expect((await run.last('step/end'))?.data).toMatchObject({ status: 'cancelled' })
    await store.close()
  })

  it('ends with the reason that it was given, or that the model was cut off', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.turn((turn) => turn.endWith('blocked', { by: 'policy' }))
    await run.turn(async (turn) => {
      await turn.user('long')
      await turn.model(await run.request(HEADER), async () => chat({ content: 'wo' }, 'length'))
    })
    expect((await run.project(turns)).map(({ reason }) => reason)).toEqual([
      'blocked',
      'max-tokens',
    ])
    expect((await eventsOf(run))[1]?.data).toEqual({ turn: 1, reason: 'blocked', by: 'policy' })
    await store.close()
  })

  it('does not begin inside another', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.turn(async () => {
      await expect(run.turn(() => {})).rejects.toMatchObject({
        code: 'TURN_OPEN',
        data: { turn: 1 },
      })
    })
    await run.turn(() => {})
    expect((await run.project(turns)).map(({ turn }) => turn)).toEqual([1, 2])
    await store.close()
  })

  it('is durable before the model is called and before the body of a tool runs', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    const onDisk = async (): Promise<string[]> => {
      // Another process reads the same files.
      const { store: other } = await temporaryStore(dir)
      const types: string[] = []
      for await (const { type } of (await other.inspectRun('r')).events()) types.push(type)
      await other.close()
      return types
    }
    await run.turn(async (turn) => {
      await turn.user('go')
      const reply = await turn.model(await run.request(HEADER), async () => {
        expect((await onDisk()).slice(-3)).toEqual(['user/message', 'step/start', 'request/header'])
        return asking('c', '{}')
      })
      await turn.tool(reply.toolCalls[0] as never, async () => {
        expect((await onDisk()).slice(-2)).toEqual(['step/start', 'tool/call'])
      })
    })
    await store.close()
  })
})

function fail(): never {
  throw new Error('no such tool')
}

/** One agent: a question, a tool, an answer; each event of it may be the last before a crash. */
async function agent(run: Run): Promise<void> {
  await run.turn(async (turn) => {
    await turn.user('How is the weather?')
    const first = await turn.model(await run.request({ ...HEADER, tools: [WEATHER] }), async () =>
      asking('call-1', '{}'),
    )
    for (const call of first.toolCalls) await turn.tool(call, () => 'clear')
    await turn.model(await run.request(), () => stream(['It is', ' clear', ' today']))
  })
}

describe('after a crash at any disk operation of a turn', () => {
  async function openOn(disk: SimulatedDisk, table: FakeProcess): Promise<Store> {
    const backend = directory('/store', { disk, processes: table, codec: 'stored' })
    return Store.open(backend, { create: true, onNotice: () => {} })
  }

  it('live, cold and resumed agree, every call has a result, and the next request is accepted', async () => {
    const processes = new FakeProcesses()
    const left: SimulatedDisk[] = []
    const disk: SimulatedDisk = new SimulatedDisk({
      // While a sync is on its way, power is lost in a few of the ways that there are.
      syncGate: async () => left.push(...disk.crashStates({ limit: 4, seed: left.length })),
    })
    const store = await openOn(disk, processes.start())
    await agent(await store.run('r'))
    left.push(disk.clone())
    await store.close()
    let crashes = 0
    let interrupted = 0
    const done = new Set<string>()
    for (const found of left) {
      const cold = await openOn(found, processes.start({ boot: `after-${crashes}` }))
      if (!(await cold.runs()).some(({ id }) => id === 'r')) continue
      const view = await cold.inspectRun('r')
      const shown = (await view.project(messages)).map(({ role, content }) => ({ role, content }))
      const run = await cold.run('r')
      const opened = (await run.project(messages)).map(({ role, content }) => ({ role, content }))
      expect(opened).toEqual(shown)
      for (const { reason } of await run.project(turns)) {
        expect(['completed', 'interrupted']).toContain(reason)
        if (reason === 'interrupted') interrupted += 1
      }
      const body = await run.request(HEADER)
      const asked = body.messages.flatMap(
        (one: { tool_calls?: { id: string }[] }) => one.tool_calls ?? [],
      )
      const answered = body.messages.filter(({ role }: { role: string }) => role === 'tool')
      expect(answered).toHaveLength(asked.length)
      done.add(JSON.stringify(opened))
      // And it goes on as if nothing had happened.
      await agent(run)
      expect((await run.project(turns)).at(-1)).toMatchObject({ reason: 'completed' })
      await cold.close()
      crashes += 1
    }
    expect(crashes).toBeGreaterThan(20)
    expect(interrupted).toBeGreaterThan(5)
    expect(done.size).toBeGreaterThan(5)
  })
})

it('T50: the prompt is durable before anything is sent', async () => {
  const { store, dir } = await temporaryStore()
  const run = await store.run('r')
  await run.turn(async (turn) => {
    await turn.user('the prompt')
    const { store: other } = await temporaryStore(dir)
    expect(await (await other.inspectRun('r')).project(messages)).toMatchObject([
      { role: 'user', content: 'the prompt' },
    ])
    await other.close()
  })
  await store.close()
})

it('outputs of tools of any kind reach the model as text that it can read', async () => {
  const { store } = await temporaryStore()
  const run = await store.run('r')
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.bigInt()),
      async (output) => {
        await run.turn(async (turn) => {
          const { content } = await turn.tool({ id: 'c', name: 't', input: {} }, () => output)
          if (typeof output === 'string') expect(content).toBe(output)
          else if (output === undefined) expect(content).toBe('')
          else if (typeof output !== 'bigint') expect(JSON.parse(content as string)).toEqual(output)
        })
      },
    ),
    { numRuns: 40 },
  )
  await store.close()
})
