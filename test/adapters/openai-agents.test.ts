/**
 * Sessions of the OpenAI Agents SDK, held to the SDK's own in-memory session and to the SDK itself.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, messages, openStore, type Run, type RunEvent } from '../../src/index.js'
import { openAiSession } from '../../src/openai-agents.js'
import { realPackages } from '../real/real-packages.js'
import { typeCheck } from '../real/type-check.js'
import { temporaryDir, temporaryStore } from '../store/temporary.js'

const real = await realPackages('openai-agents')
const AGENT = fileURLToPath(new URL('../real/openai-agents/agent.mjs', import.meta.url))
const agentModule = () => import(/* @vite-ignore */ pathToFileURL(AGENT).href)

const user = (content: string) => ({ role: 'user', content })
const call = (callId: string, name = 'weather') => ({
  type: 'function_call',
  callId,
  name,
  status: 'completed',
  arguments: '{}',
})

async function eventsOf(run: Run): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run.events()) events.push(event)
  return events
}

const code = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'ok',
    (error: { code?: string }) => error.code,
  )

describe('a session over a run', () => {
  it('is the run: its id, its items exactly, the latest of them', async () => {
    const run = await (await openStore(memory())).run('r')
    const session = openAiSession(run)
    expect(await session.getSessionId()).toBe('r')
    expect(await session.getItems()).toEqual([])
    const odd = {
      role: 'user',
      content: 'a',
      providerData: { when: undefined, bytes: new Uint8Array([1]) },
    }
    await session.addItems([user('x'.repeat(100_000)), odd])
    await session.addItems([])
    await session.addItems([user('c')])
    const items = await session.getItems()
    expect(items).toStrictEqual([user('x'.repeat(100_000)), odd, user('c')])
    items[1].content = 'changed'
    expect(await session.getItems(2)).toStrictEqual([odd, user('c')])
    expect(await session.getItems(0)).toEqual([])
    expect(await session.getItems(-1)).toEqual([])
    expect(await session.getItems(99)).toHaveLength(3)
    await expect(session.addItems([{ role: 'user', content: () => 1 }])).rejects.toThrow(
      'VALUE_UNSUPPORTED',
    )
    expect(await session.getItems()).toHaveLength(3)
  })

  it('rewrites nothing: what was popped, cleared and replaced is all there to see', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const session = openAiSession(run)
    await session.addItems([user('one'), user('two')])
    expect(await session.popItem()).toEqual(user('two'))
    await session.clearSession()
    expect(await session.popItem()).toBeUndefined()
    await session.clearSession()
    await session.addItems([call('a'), call('b'), call('a')])
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'a', replacement: call('a', 'other') }],
    })
    expect(await session.getItems()).toEqual([call('a', 'other'), call('b')])
    await session.replaceHistoryWithCompaction([
      { type: 'compaction', encrypted_content: 'z' },
      user('last'),
    ])
    expect(await session.getItems()).toHaveLength(2)
    const events = await eventsOf(run)
    expect(events.map(({ type, data }) => [type, (data as { reason?: string }).reason])).toEqual([
      ['run/start', undefined],
      ['openai-agents/items', undefined],
      ['openai-agents/replace', 'pop'],
      ['openai-agents/replace', 'clear'],
      ['openai-agents/items', undefined],
      ['openai-agents/replace', 'mutations'],
      ['openai-agents/replace', 'compaction'],
    ])
    expect((events[1]!.data as { items: unknown }).items).toEqual([user('one'), user('two')])
    expect((await store.verify()).ok).toBe(true)
  })

  it('means messages: what left the history left the view of the model, and is shown to people', async () => {
    const run = await (await openStore(memory())).run('r')
    const session = openAiSession(run)
    const output = {
      type: 'function_call_result',
      callId: 'a',
      name: 'weather',
      output: { type: 'text', text: 'sunny' },
    }
    await session.addItems([user('one'), call('a'), output, user('two')])
    await session.popItem()
    await session.addItems([
      { role: 'assistant', content: [{ type: 'output_text', text: 'three' }] },
    ])
    const view = (await run.project(messages)).map(({ role, content }) => [role, content])
    expect(view).toEqual([
      ['user', 'one'],
      ['assistant', [{ type: 'tool_use', id: 'a', name: 'weather', input: {}, arguments: '{}' }]],
      ['tool', [{ type: 'tool_result', id: 'a', content: [{ type: 'text', text: 'sunny' }] }]],
      ['assistant', [{ type: 'text', text: 'three' }]],
    ])
    const shown: unknown[] = []
    for await (const { seq, line, type } of run.session()) shown.push([seq, line, type])
    expect(shown).toEqual([
      [0, undefined, 'run/start'],
      [1, undefined, 'openai-agents/items'],
      [1, 0, 'user/message'],
      [1, 1, 'assistant/message'],
      [1, 2, 'tool/result'],
      [1, 3, 'user/message'],
      [2, undefined, 'openai-agents/replace'],
      [2, 0, 'compaction'],
      [3, undefined, 'openai-agents/items'],
      [3, 0, 'assistant/message'],
    ])
    await session.clearSession()
    expect(await run.project(messages)).toEqual([])
  })

  it('goes on in a fork, which shares the items before it', async () => {
    const store = await openStore(memory())
    const session = openAiSession(await store.run('r'))
    await session.addItems([user('one'), user('two')])
    const fork = openAiSession(await store.fork('r', { id: 'f' }))
    await fork.popItem()
    await fork.addItems([user('three')])
    expect(await fork.getItems()).toEqual([user('one'), user('three')])
    expect(await session.getItems()).toEqual([user('one'), user('two')])
    const second = openAiSession(await store.fork('f', { id: 'g' }))
    expect(await second.popItem()).toEqual(user('three'))
    expect(await second.getItems()).toEqual([user('one')])
    expect((await second.run.project(messages)).map(({ content }) => content)).toEqual(['one'])
  })

  it('pops each item once, however many pop at the same time', async () => {
    const run = await (await openStore(memory())).run('r')
    const [session, other] = [openAiSession(run), openAiSession(run)]
    await session.addItems(['a', 'b', 'c', 'd'].map(user))
    const popped = await Promise.all([session, other, session].map((one) => one.popItem()))
    expect(popped.map(({ content }) => content).toSorted()).toEqual(['b', 'c', 'd'])
    expect(await session.getItems()).toEqual([user('a')])
    expect((await run.project(messages)).map(({ content }) => content)).toEqual(['a'])
  })
})

describe('a history transaction', () => {
  it('T24: whose answer got lost is applied once, also in another process after a crash', async () => {
    const dir = join(temporaryDir(), 'store')
    const transactions = [
      {
        operationId: 'turn 1',
        transaction: { type: 'append_items', items: [user('one'), call('a')] },
      },
      {
        operationId: 'turn 2',
        transaction: {
          type: 'replace_suffix',
          expectedSuffix: [call('a')],
          replacement: [call('b'), user('x')],
        },
      },
    ] as const
    for (let round = 0; round < 3; round += 1) {
      const { store } = await temporaryStore(dir)
      const session = openAiSession(await store.run('r'))
      for (const transaction of structuredClone(transactions)) {
        await session.applyHistoryTransaction(transaction as never)
        await Promise.all([
          session.applyHistoryTransaction(structuredClone(transaction) as never),
          session.applyHistoryTransaction(structuredClone(transaction) as never),
        ])
      }
      expect(await session.getItems()).toEqual([user('one'), call('b'), user('x')])
      await store.close()
    }
    const { store } = await temporaryStore(dir)
    const run = await store.run('r')
    expect((await eventsOf(run)).filter(({ op }) => op !== undefined)).toHaveLength(2)
    await store.close()
  })

  it('changes nothing where the id was another, the end differs, or it makes no sense', async () => {
    const run = await (await openStore(memory())).run('r')
    const session = openAiSession(run)
    await session.addItems([user('one')])
    const append = (operationId: string, items: unknown[]) =>
      session.applyHistoryTransaction({
        operationId,
        transaction: { type: 'append_items', items } as never,
      })
    const replace = (operationId: string, expectedSuffix: unknown[], replacement: unknown[]) =>
      session.applyHistoryTransaction({
        operationId,
        transaction: { type: 'replace_suffix', expectedSuffix, replacement } as never,
      })
    await append('a', [user('two')])
    const before = await eventsOf(run)
    expect(await code(append('a', [user('three')]))).toBe('OPERATION_CONFLICT')
    expect(await code(replace('a', [user('two')], []))).toBe('OPERATION_CONFLICT')
    expect(await code(replace('b', [user('three')], []))).toBe('HISTORY_MISMATCH')
    expect(await code(replace('b', [user('0'), user('one'), user('two')], []))).toBe(
      'HISTORY_MISMATCH',
    )
    for (const odd of ['', '  ', 7, undefined])
      expect(await code(append(odd as string, [user('x')]))).toBe('EVENT_INVALID')
    for (const odd of [
      undefined,
      null,
      {},
      { type: 'x' },
      { type: 'append_items' },
      { type: 'append_items', items: [7] },
      { type: 'append_items', items: [], more: 1 },
      { type: '__proto__' },
    ])
      expect(
        await code(
          session.applyHistoryTransaction({ operationId: 'c', transaction: odd as never }),
        ),
      ).toBe('EVENT_INVALID')
    expect(await eventsOf(run)).toEqual(before)
    await replace('b', [user('one'), user('two')], [user('both')])
    await replace('b', [user('one'), user('two')], [user('both')])
    expect(await session.getItems()).toEqual([user('both')])
  })
})

describe.skipIf(real.skip !== undefined)("beside the SDK's own session", () => {
  const anyItem = fc.constantFrom(user('a'), user('b'), call('1'), call('2'))
  const anyItems = fc.array(anyItem, { maxLength: 3 })
  const anyCommand = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant('addItems'), anyItems) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('popItem')) },
    fc.tuple(fc.constant('clearSession')),
    fc.tuple(fc.constant('reopen')),
    fc.tuple(
      fc.constant('applyHistoryMutations'),
      fc.array(fc.constantFrom('1', '2', '3'), { maxLength: 2 }).map((ids) => ({
        mutations: ids.map((callId) => ({
          type: 'replace_function_call',
          callId,
          replacement: call(callId, 'other'),
        })),
      })),
    ),
    {
      weight: 4,
      arbitrary: fc.tuple(
        fc.constant('applyHistoryTransaction'),
        fc.record({
          operationId: fc.constantFrom('x', 'y', 'z'),
          transaction: fc.oneof(
            fc.record({ type: fc.constant('append_items'), items: anyItems }),
            fc.record({
              type: fc.constant('replace_suffix'),
              expectedSuffix: fc.array(anyItem, { maxLength: 2 }),
              replacement: anyItems,
            }),
          ),
        }),
      ),
    },
  )

  it('answers the same to any order of calls, and has the same items after each', async () => {
    const { MemorySession } = await real.load('@openai/agents')
    await fc.assert(
      fc.asyncProperty(fc.array(anyCommand, { maxLength: 15 }), async (commands) => {
        const backend = memory()
        let store = await openStore(backend)
        let ours = openAiSession(await store.run('r'))
        const theirs = new MemorySession({ sessionId: 'r' })
        // Theirs forgets its operations when it is cleared; ours does not, so none is asked for
        // again.
        let clearings = 0
        for (const [name, argument] of commands) {
          if (name === 'reopen') {
            await ours.run.close()
            ours = openAiSession(await store.run('r'))
            continue
          }
          if (name === 'clearSession') clearings += 1
          const given = structuredClone(argument) as { operationId?: string } | undefined
          if (given?.operationId !== undefined) given.operationId += clearings
          const outcome = async (session: object): Promise<unknown> => {
            const method = (session as Record<string, (given: unknown) => Promise<unknown>>)[name]!
            try {
              return { value: await method.call(session, structuredClone(given)) }
            } catch {
              return 'refused'
            }
          }
          expect(await outcome(ours), name).toEqual(await outcome(theirs))
          for (const limit of [undefined, 1, 3])
            expect(await ours.getItems(limit)).toEqual(await theirs.getItems(limit))
        }
        await store.close()
        store = await openStore(backend)
      }),
      { numRuns: process.env.DAGLOG_LONG ? 1000 : 80 },
    )
  })

  it('is a Session to the compiler, with transactions and rewriting', async () => {
    expect(await typeCheck('openai-agents')).toBe('')
  })
})

describe.skipIf(real.skip !== undefined)('an agent of the SDK', () => {
  it('asks its model the same, and leaves the same items, as with their own session', async () => {
    const { MemorySession } = await real.load('@openai/agents')
    const { agentOf, askAll, StubModel } = await agentModule()
    const store = await openStore(memory())
    const ours = openAiSession(await store.run('r'))
    const theirs = new MemorySession()
    const models = [new StubModel(), new StubModel()]
    await askAll(ours, agentOf(models[0]))
    await askAll(theirs, agentOf(models[1]))
    expect(models[0].requests).toEqual(models[1].requests)
    expect(models[0].requests).toHaveLength(8)
    expect(await ours.getItems()).toEqual(await theirs.getItems())
    const last = (await ours.run.project(messages)).at(-1)
    expect(last?.content).toEqual([{ type: 'text', text: 'Answer 4: sunny, 4 degrees' }])
  })

  it('T24: whose write fails after the tool ran goes on without running it again', async () => {
    const { run: runAgent } = await real.load('@openai/agents')
    const { agentOf, StubModel } = await agentModule()
    const session = openAiSession(await (await openStore(memory())).run('r'))
    const ran: number[] = []
    // Blocks the first answer, so the SDK writes what the tool did, and replaces that once it may.
    let blocked = 2
    const execute = async () => ({ outputInfo: {}, tripwireTriggered: blocked-- > 0 })
    const agent = agentOf(new StubModel(), {
      onTool: (question: number) => ran.push(question),
      outputGuardrails: [{ name: 'picky', execute }],
    })
    // The answer of each write gets lost once, after it was made.
    const lost = new Map<string, string>()
    const apply = session.applyHistoryTransaction.bind(session)
    session.applyHistoryTransaction = async (args) => {
      await apply(args)
      if (lost.has(args.operationId)) return
      lost.set(args.operationId, args.transaction.type)
      throw new Error('the answer got lost')
    }
    let state: unknown = 'How is Paris?'
    let output: unknown
    for (let tries = 0; output === undefined && tries < 6; tries += 1) {
      try {
        output = (await runAgent(agent, state, { session })).finalOutput
      } catch (error) {
        state = (error as { state?: unknown }).state ?? state
      }
    }
    expect(output).toBe('Answer 1: sunny, 1 degrees')
    expect(ran).toEqual([1])
    expect([...lost.values()]).toEqual(['append_items', 'replace_suffix'])
    const kinds = (await session.getItems()).map(({ type }) => type)
    expect(kinds).toEqual(['message', 'function_call', 'function_call_result', 'message'])
    const operations = (await eventsOf(session.run)).flatMap(({ op }) => op ?? [])
    expect(operations).toEqual([...lost.keys()])
  })

  it('comes to the same items when it is killed at random moments', async () => {
    const { agentOf, askAll, StubModel } = await agentModule()
    const whole = openAiSession(await (await openStore(memory())).run('r'))
    await askAll(whole, agentOf(new StubModel()))
    const dir = join(temporaryDir(), 'store')
    await (await openStore(dir)).close()
    const rounds = process.env.DAGLOG_LONG ? 50 : 6
    let killed = 0
    for (let round = 0; round < rounds; round += 1) {
      if ((await ask(dir, `r${round % 2}`, (round * 7919) % 60)) === 'killed') killed += 1
    }
    for (const id of ['r0', 'r1']) expect(await ask(dir, id)).toBe('done')
    const { store } = await temporaryStore(dir)
    for (const id of ['r0', 'r1']) {
      expect(await openAiSession(await store.openRun(id)).getItems()).toEqual(
        await whole.getItems(),
      )
    }
    expect((await store.verify()).ok).toBe(true)
    await store.close()
    console.log(`${killed} of ${rounds} agents were killed`)
  })
})

/** Let the agent ask in a process of its own; kill it so many ms after it opened its run. */
function ask(dir: string, id: string, killMs?: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [AGENT, dir, id], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (killMs !== undefined && said === 'open\n') setTimeout(() => child.kill('SIGKILL'), killMs)
    })
    child.on('error', reject)
    child.on('close', (status, signal) => {
      if (signal === 'SIGKILL') resolve('killed')
      else if (status === 0) resolve(said.endsWith('done\n') ? 'done' : said)
      else reject(new Error(`the agent ended with ${status}`))
    })
  })
}
