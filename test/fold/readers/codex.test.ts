import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { providerView } from '../../../src/fold/provider/provider-view.js'
import { codex } from '../../../src/fold/readers/codex.js'
import {
  bytesOf,
  call,
  count,
  dataOf,
  item,
  type Line,
  line,
  meta,
  ofType,
  rawEvent,
  readAll,
  result,
  START,
  said,
  sessionOf,
  told,
  viewOf,
  wordsOf,
} from './rollouts.js'

const FIXTURES = join(import.meta.dirname, '../../../../shared/fixtures/codex')
const COUNT = join(import.meta.dirname, 'count-codex.py')

/** A session of everything that is common. */
const COMMON: readonly Line[] = [
  meta({ originator: 'codex_cli', cli_version: '0.98.0', git: { branch: 'main' } }),
  told('task_started', { turn_id: 't1' }, 1),
  line('turn_context', { turn_id: 't1', cwd: '/work', model: 'gpt-5-codex', effort: 'high' }, 1),
  said('user', 'build it', 2),
  told('user_message', { message: 'build it' }, 2),
  item(
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' },
    5,
  ),
  told('agent_reasoning', { text: 'hm' }, 5),
  call('c1', 'exec_command', '{"cmd":"make"}'),
  result('c1', 'ok'),
  count([100, 40, 10, 3], [100, 40, 10, 3], 8),
  said('assistant', 'built', 9),
  told('agent_message', { message: 'built' }, 9),
  count([220, 140, 15, 3], [120, 100, 5, 0], 9),
  told('task_complete', { turn_id: 't1' }, 10),
]

describe('what a rollout says', () => {
  it('becomes messages, calls, results, usage and turns', () => {
    const events = sessionOf(COMMON)
    expect(wordsOf(events)).toEqual([
      'user: build it',
      'assistant: <thinking>',
      'assistant: exec_command()',
      'tool: = ok',
      'assistant: built',
    ])
    expect(dataOf(events, 'turn/start', 'turn/end')).toEqual([
      { turn: 1, id: 't1' },
      { turn: 1, reason: 'completed' },
    ])
    expect(dataOf(events, 'tool/call')).toEqual([
      { id: 'c1', name: 'exec_command', input: { cmd: 'make' }, arguments: '{"cmd":"make"}' },
    ])
    expect(dataOf(events, 'request/header')).toEqual([
      {
        model: 'gpt-5-codex',
        provider: 'openai-responses',
        params: { reasoning: { effort: 'high' } },
      },
    ])
    expect(dataOf(events, 'session/info').at(-1)).toEqual({
      session: 'own',
      client: 'codex_cli',
      version: '0.98.0',
      cwd: '/work',
      branch: 'main',
      model: 'gpt-5-codex',
    })
    const usage = dataOf(events, 'assistant/usage').map((data) => data.usage)
    expect(usage).toEqual([
      { inputTokens: 100, cacheReadTokens: 40, outputTokens: 10, reasoningTokens: 3 },
      { inputTokens: 120, cacheReadTokens: 100, outputTokens: 5, reasoningTokens: 0 },
    ])
  })

  it('is told at the time of its line, and keeps the item as it was', () => {
    const events = sessionOf(COMMON)
    const [answer] = ofType(events, 'assistant/message').slice(-1)
    expect(answer?.time).toBe(START + 9000)
    expect(answer?.data).toMatchObject({ raw: [COMMON[10]?.payload] })
  })

  it('means the same in batches of any size', () => {
    const plain = (lines: readonly Line[], batch: number) => {
      const events = sessionOf(lines, batch)
      // Addresses differ; what they point to must not.
      const place = (event: { seq: number; line?: number }) => `${event.seq}.${event.line}`
      const number = new Map(events.map((event, index) => [place(event), index]))
      return events.map(({ type, time, data }) => {
        const text = JSON.stringify(data).replace(
          /"(\d+\.\d+)"/g,
          (_, at) => `"#${number.get(at)}"`,
        )
        return `${type} ${time} ${text.replace(/event-\d+\.\d+/g, 'event')}`
      })
    }
    const lines = [
      ...COMMON,
      line('compacted', { message: '', replacement_history: [] }),
      ...COMMON,
    ]
    const whole = plain(lines, lines.length)
    for (let batch = 1; batch < lines.length; batch++) expect(plain(lines, batch)).toEqual(whole)
  })

  it('is read from no other format, and from nothing redacted', () => {
    const lines = rawEvent(2, 'import/lines', { from: 0, lines: 3, bytes: bytesOf(COMMON) })
    expect(readAll([rawEvent(1, 'import/source', { format: 'pi' }), lines])).toEqual([])
    const gone = { ...rawEvent(2, 'import/lines', undefined), redacted: true }
    expect(readAll([rawEvent(1, 'import/source', { format: 'codex' }), gone])).toEqual([])
  })
})

describe('records nobody knows', () => {
  it('are kept and shown, whatever they are, and never an error', () => {
    const known = fc.constantFrom(
      'session_meta',
      'response_item',
      'event_msg',
      'compacted',
      'turn_context',
      'token_usage_record',
      '__proto__',
      'constructor',
    )
    const kind = fc.constantFrom(
      'message',
      'reasoning',
      'function_call',
      'function_call_output',
      'local_shell_call',
      'token_count',
      'user_message',
      'item_completed',
      'thread_rolled_back',
      'task_started',
      'toString',
    )
    const value = fc.jsonValue({ maxDepth: 4 })
    const payload = fc.oneof(
      value,
      fc.record(
        {
          type: kind,
          role: value,
          content: value,
          output: value,
          arguments: value,
          call_id: value,
          info: value,
          item: value,
          num_turns: value,
          replacement_history: value,
          usage: value,
          source: value,
        },
        { requiredKeys: ['type'] },
      ),
    )
    const record = fc.oneof(
      value,
      fc.record({ timestamp: value, ordinal: value, type: fc.oneof(known, fc.string()), payload }),
    )
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (records) => {
        const events = sessionOf(records as Line[], 3)
        expect(events.every(({ line }) => Number.isSafeInteger(line))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('T30, T27: new types and mixed versions are records of their own; what follows is read', () => {
    const events = sessionOf([
      meta({ history_mode: 'paginated', source: { brand: 'new' } }),
      { ...told('task_started', { turn_id: 't1' }), ordinal: 1 },
      line('retained_context', { anything: [1] }, 0, { ordinal: 2 }),
      // An older version went on without ordinals.
      said('user', 'go on'),
      told('quantum_state', { x: 1 }),
      item({ type: 'hologram', data: 'abc' }),
      { ...said('assistant', 'yes'), ordinal: 9 },
    ])
    expect(wordsOf(events)).toEqual(['user: go on', 'assistant: <other>', 'assistant: yes'])
    const records = dataOf(events, 'session/record')
    expect(records.map(({ record }) => record)).toEqual([
      'session_meta',
      'retained_context',
      'event_msg/quantum_state',
    ])
    expect(records[2].value).toEqual({ type: 'quantum_state', x: 1 })
  })

  it('T1, T2, T4: torn, fused and zeroed lines are faults; the records beside them are read', () => {
    const fused = JSON.stringify(said('user', 'one')) + JSON.stringify(said('user', 'two'))
    const torn = JSON.stringify(said('assistant', 'never whole')).slice(0, 40)
    const bytes = Buffer.from(`\ufeff${JSON.stringify(meta())}\r\n${fused}\n\0\0\0\n${torn}`)
    const events = readAll([
      rawEvent(1, 'import/source', { format: 'codex' }),
      rawEvent(2, 'import/lines', { from: 0, lines: 4, bytes }),
    ])
    expect(wordsOf(events)).toEqual(['user: one', 'user: two'])
    expect(dataOf(events, 'session/fault').map(({ fault }) => fault)).toEqual([
      'fused',
      'zeros',
      'torn',
    ])
  })
})

describe('texts that exist twice', () => {
  const pair = (role: 'user' | 'assistant', text: string): [Line, Line] => [
    said(role, text),
    told(role === 'user' ? 'user_message' : 'agent_message', { message: text }),
  ]

  it('count once, in either order', () => {
    const [askedItem, askedEvent] = pair('user', 'why?')
    const [saidItem, saidEvent] = pair('assistant', 'because')
    for (const asked of [
      [askedItem, askedEvent],
      [askedEvent, askedItem],
    ])
      for (const answer of [
        [saidItem, saidEvent],
        [saidEvent, saidItem],
      ])
        expect(wordsOf(sessionOf([meta(), ...asked, ...answer]))).toEqual([
          'user: why?',
          'assistant: because',
        ])
  })

  it('count as often as they were said', () => {
    const again = pair('user', 'continue')
    const lines = [meta(), ...again, ...pair('assistant', 'ok'), ...again, ...again]
    expect(wordsOf(sessionOf(lines))).toEqual([
      'user: continue',
      'assistant: ok',
      'user: continue',
      'user: continue',
    ])
  })

  it('count once where reasoning comes before the answer that an event announced', () => {
    const lines = [
      meta(),
      told('agent_reasoning', { text: 'one' }),
      told('agent_reasoning', { text: 'two' }),
      told('agent_message', { message: 'answer' }),
      item({
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'one' },
          { type: 'summary_text', text: 'two' },
        ],
      }),
      said('assistant', 'answer'),
      told('agent_message', { message: 'answer' }),
      told('task_complete'),
    ]
    expect(wordsOf(sessionOf(lines))).toEqual([
      'assistant: <thinking>',
      'assistant: answer',
      'assistant: answer',
    ])
  })

  it('are kept where only people were told: a prompt at once, an answer when no item comes', () => {
    const lines = [
      told('user_message', { message: 'hello' }),
      told('agent_message', { message: 'hi' }),
    ]
    const open = sessionOf([meta(), told('task_started'), ...lines])
    expect(wordsOf(open)).toEqual(['user: hello'])
    expect(dataOf(open, 'assistant/chunk')[0].pieces).toEqual(['hi'])
    const ended = sessionOf([meta(), told('task_started'), ...lines, told('task_complete')])
    expect(wordsOf(ended)).toEqual(['user: hello', 'assistant: hi'])
  })

  it('of items that newer versions complete for people are the same texts', () => {
    const done = (type: string, content: unknown): Line =>
      told('item_completed', { item: { type, content } })
    const lines = [
      meta(),
      told('task_started'),
      said('user', 'list it'),
      done('UserMessage', [{ type: 'text', text: 'list it' }]),
      said('assistant', 'listed'),
      done('AgentMessage', [{ type: 'Text', text: 'listed' }]),
      told('item_completed', { item: { type: 'Plan', text: 'a plan' } }),
    ]
    const events = sessionOf(lines)
    expect(wordsOf(events)).toEqual(['user: list it', 'assistant: listed'])
    expect(dataOf(events, 'session/record').map(({ record }) => record)).toContain(
      'event_msg/item_completed/Plan',
    )
  })
})

describe('turns', () => {
  it('end as the record says, and an aborted one says why', () => {
    const events = sessionOf([
      meta(),
      told('turn_started', { turn_id: 'a' }),
      told('turn_aborted', { reason: 'interrupted' }),
      said('user', '<turn_aborted>'),
      told('task_started', { turn_id: 'b' }),
      told('task_started', { turn_id: 'c' }),
    ])
    expect(dataOf(events, 'turn/start', 'turn/end')).toEqual([
      { turn: 1, id: 'a' },
      { turn: 1, reason: 'aborted', cause: 'interrupted' },
      { turn: 2, id: 'b' },
      { turn: 2, reason: 'interrupted', cause: 'not recorded: the next turn begins' },
      { turn: 3, id: 'c' },
    ])
  })

  it('of files that record none begin with what a person says', () => {
    const events = sessionOf([
      meta(),
      said('user', '<environment_context>'),
      said('user', 'one'),
      told('user_message', { message: 'one' }),
      said('assistant', 'done'),
      said('user', 'two'),
      call('c1'),
      said('user', 'three'),
    ])
    expect(
      dataOf(events, 'turn/start', 'turn/end').map(({ turn, reason }) => [turn, reason]),
    ).toEqual([
      [1, undefined],
      [1, 'completed'],
      [2, undefined],
      [2, 'interrupted'],
      [3, undefined],
    ])
  })

  it('T2: a record that was written twice is one message and one call', () => {
    const once = item({
      id: 'fc_1',
      type: 'function_call',
      name: 'ls',
      arguments: '{}',
      call_id: 'c',
    })
    const events = sessionOf([meta(), once, once, result('c')])
    expect(wordsOf(events)).toEqual(['assistant: ls()', 'tool: = done'])
    expect(dataOf(events, 'tool/call')).toHaveLength(1)
  })

  it('E0: files without a wrapper are read, states among them', () => {
    const events = sessionOf([
      { id: 'old', timestamp: '2025-05-01T10:00:00.000Z', instructions: 'be brief', git: {} },
      { record_type: 'state' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: 'c' },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: '{"output":"no","metadata":{"exit_code":2}}',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hm' }] },
    ])
    expect(wordsOf(events).map((words) => words.slice(0, 20))).toEqual([
      'user: hi',
      'assistant: shell()',
      'tool: = {"output":"n',
      'assistant: hm',
    ])
    expect(dataOf(events, 'tool/result')[0].isError).toBe(true)
    expect(ofType(events, 'user/message')[0]?.time).toBe(Date.parse('2025-05-01T10:00:00.000Z'))
    expect(dataOf(events, 'session/record').map(({ record }) => record)).toEqual([
      'session_meta',
      'state',
    ])
  })
})

describe('what the model sees', () => {
  const history = (text: string) => [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
  ]
  const compacted = (text: string): Line =>
    line('compacted', { message: '', replacement_history: history(text) })

  it('T17, T21: a compaction stands for all before it; nothing is removed, and the next one stands for it', () => {
    const lines = [
      meta(),
      said('user', 'a'),
      said('assistant', 'b'),
      compacted('sum 1'),
      said('assistant', 'c'),
      compacted('sum 2'),
      said('user', 'd'),
    ]
    const events = sessionOf(lines)
    expect(wordsOf(events)).toEqual(['user: sum 2', 'user: d'])
    expect(dataOf(events, 'compaction').map(({ replaces }) => replaces)).toEqual([
      ['2.1', '2.2'],
      ['2.3', '2.4'],
    ])
    expect(ofType(events, 'user/message', 'assistant/message')).toHaveLength(4)
  })

  it('of calls and results inside a compaction is kept in its place', () => {
    const replacement = [
      call('c1').payload,
      result('c1').payload,
      { type: 'compaction', encrypted_content: 'x' },
    ]
    const events = sessionOf([
      meta(),
      said('user', 'a'),
      line('compacted', { message: '', replacement_history: replacement }),
    ])
    expect(wordsOf(events)).toEqual([
      'assistant: exec_command()',
      'user: = done',
      'assistant: <other>',
    ])
  })

  it('after a compaction of older versions is what the user said, and the summary', () => {
    const lines = [
      meta(),
      said('user', 'a'),
      said('assistant', 'b'),
      line('compacted', { message: 'the story' }),
    ]
    expect(wordsOf(sessionOf(lines))).toEqual(['user: a', 'user: the story'])
  })

  it('after a rollback lacks the last turns', () => {
    const turn = (n: number): Line[] => [
      told('task_started', { turn_id: `${n}` }),
      said('user', `q${n}`),
      said('assistant', `a${n}`),
      told('task_complete'),
    ]
    const rolled = (turns: number): Line => told('thread_rolled_back', { num_turns: turns })
    const lines = [meta(), ...turn(1), ...turn(2), ...turn(3), rolled(2), ...turn(4)]
    expect(wordsOf(sessionOf(lines))).toEqual([
      'user: q1',
      'assistant: a1',
      'user: q4',
      'assistant: a4',
    ])
    expect(wordsOf(sessionOf([...lines, rolled(2)]))).toEqual([])
    const beyond = sessionOf([meta(), ...turn(1), compacted('s'), ...turn(2), rolled(2)])
    expect(wordsOf(beyond)).toEqual(['user: s'])
    expect(dataOf(beyond, 'session/record').at(-1).record).toBe(
      'event_msg/thread_rolled_back/beyond-compaction',
    )
  })

  it('T39: another provider is named, so that its reasoning goes to no one else', () => {
    const lines = [
      meta({ model_provider: 'acme' }),
      item({ type: 'reasoning', summary: [], encrypted_content: 'x' }),
    ]
    const events = sessionOf([...lines, said('assistant', 'hi')])
    expect(dataOf(events, 'assistant/message')[0]).toMatchObject({ provider: 'acme' })
    const { messages, lint } = providerView(viewOf(events), { provider: 'openai-responses' })
    expect(messages).toHaveLength(1)
    expect(lint.map(({ kind }) => kind)).toContain('thinking-foreign')
  })

  it('is also a patch, whose files are told with its result, and a plan', () => {
    const patch =
      '*** Begin Patch\n*** Update File: a.ts\n*** Move to: b.ts\n*** Delete File: __proto__\n*** End Patch\n'
    const events = sessionOf([
      meta(),
      item({ type: 'custom_tool_call', name: 'apply_patch', input: patch, call_id: 'p' }),
      item({ type: 'custom_tool_call_output', call_id: 'p', output: 'Success' }),
      call('u', 'update_plan', '{"plan":[{"step":"x","status":"pending"}]}'),
    ])
    expect(dataOf(events, 'tool/result')[0].files).toEqual([
      { path: 'a.ts', op: 'update' },
      { path: 'b.ts', op: 'move' },
      { path: '__proto__', op: 'delete' },
    ])
    expect(dataOf(events, 'todo/write')).toEqual([{ items: [{ step: 'x', status: 'pending' }] }])
  })
})

describe.skipIf(!existsSync(FIXTURES))('real rollouts (skipped without ../shared/fixtures)', () => {
  const files = existsSync(FIXTURES) ? readdirSync(FIXTURES) : []

  it.each(files)('%s passes the view of every provider: each call has one result', (file) => {
    const bytes = readFileSync(join(FIXTURES, file))
    const data = { from: 0, lines: 0, bytes }
    const { events } = codex.read(codex.init(), rawEvent(1, 'import/lines', data))
    const list = viewOf(events.map((event) => ({ ...rawEvent(1, '', {}), ...event }) as never))
    const calls = list.filter(({ content }) => {
      return typeof content !== 'string' && content[0]?.type === 'tool_use'
    }).length
    for (const provider of ['openai', 'openai-responses', 'anthropic'] as const) {
      const text = JSON.stringify(providerView(list, { provider }).messages)
      const ids = { openai: /"tool_call_id":/g, anthropic: /"tool_use_id":/g }
      const results = text.match(provider === 'openai-responses' ? /_call_output"/g : ids[provider])
      expect([provider, results?.length ?? 0]).toEqual([provider, calls])
    }
  })

  const hasPython = spawnSync('python3', ['--version']).status === 0
  if (!hasPython) console.log('skipped: python3, which counts the rollouts anew, is not here')
  it.skipIf(!hasPython).each(files)('%s says what a count in Python says', (file) => {
    const bytes = readFileSync(join(FIXTURES, file))
    const { events } = codex.read(
      codex.init(),
      rawEvent(1, 'import/lines', { from: 0, lines: 0, bytes }),
    )
    const all = events.map((event) => ({ ...rawEvent(1, '', {}), ...event }) as never)
    const python = spawnSync('python3', [COUNT, join(FIXTURES, file)], { encoding: 'utf8' })
    const found = dataOf(all, 'assistant/message').map(({ content }) => content[0].type)
    const of = (type: string): number => found.filter((one) => one === type).length
    const ends = dataOf(all, 'turn/end').map(({ reason }) => reason)
    const sum = (key: string): number =>
      dataOf(all, 'assistant/usage').reduce((sum, { usage }) => sum + (usage[key] ?? 0), 0)
    expect({
      lines: bytes.toString().split('\n').length - 1,
      turns: dataOf(all, 'turn/start').length,
      completed: ends.filter((reason) => reason === 'completed').length,
      aborted: ends.filter((reason) => reason === 'aborted').length,
      users: dataOf(all, 'user/message').length,
      answers: of('text'),
      thoughts: of('thinking'),
      calls: dataOf(all, 'tool/call').length,
      results: dataOf(all, 'tool/result').length,
      tokens: ['inputTokens', 'cacheReadTokens', 'outputTokens', 'reasoningTokens'].map(sum),
    }).toEqual(JSON.parse(python.stdout))
  })
})
