import { describe, expect, it } from 'vitest'
import { ImportCount } from '../../../src/fold/import-totals.js'
import { claudeCode } from '../../../src/fold/readers/claude-code.js'
import {
  assistant,
  derived,
  eventOf,
  linesOf,
  ofType,
  other,
  result,
  system,
  text,
  toolUse,
  user,
} from './claude-lines.js'

function types(records: readonly unknown[]): string[] {
  return derived(records)
    .map(({ type }) => type)
    .filter((type) => type !== 'session/info')
}

describe('a response that comes in several lines', () => {
  const usage = (output: number) => ({
    usage: { input_tokens: 3, cache_read_input_tokens: 40, output_tokens: output },
  })
  const records = [
    user('go'),
    assistant('m1', [{ type: 'thinking', thinking: 'hm', signature: 's' }], {}, usage(1)),
    assistant('m1', [text('I look.')], {}, usage(1)),
    assistant('m1', [toolUse('t1')], {}, usage(9)),
    result('t1'),
    assistant('m1', [toolUse('t2')], {}, { ...usage(9), stop_reason: 'tool_use' }),
    result('t2'),
    assistant('m2', [text('Done.')], {}, { ...usage(5), stop_reason: 'end_turn' }),
  ]

  it('is one message that grows, also where its results lie between', () => {
    const messages = ofType(derived(records), 'assistant/message')
    expect(messages.map(({ id, content }) => [id, (content as unknown[]).length])).toEqual([
      ['m1', 1],
      ['m1', 2],
      ['m1', 3],
      ['m1', 4],
      ['m2', 1],
    ])
    expect(messages[3]).toMatchObject({
      stopReason: 'tool_use',
      usage: { inputTokens: 43, cacheReadTokens: 40, outputTokens: 9 },
    })
  })

  it('T40: its usage counts once, by its largest statement', () => {
    const count = new ImportCount()
    for (const event of derived(records)) count.take(event)
    expect(count.totals()).toMatchObject({ inputTokens: 86, outputTokens: 14, calls: 2, turns: 1 })
  })

  it('is read the same in one raw event and in many', () => {
    const split = derived(records, { split: true })
    expect(split.map(({ type, data }) => [type, data])).toEqual(
      derived(records).map(({ type, data }) => [type, data]),
    )
  })

  it('written twice (the same uuid) counts once', () => {
    const line = assistant('m1', [text('once')], {}, usage(4))
    const found = derived([user('go'), line, line])
    expect(ofType(found, 'assistant/message')).toHaveLength(1)
    expect(ofType(found, 'session/record')).toMatchObject([{ record: 'assistant/replayed' }])
  })
})

describe('turns', () => {
  it('begin with what a person says and end with the next, by the reason of the last message', () => {
    const end = (reason: string) => ({ stop_reason: reason })
    const found = derived([
      user('one'),
      assistant('m1', [text('a')], {}, end('end_turn')),
      user('two'),
      assistant('m2', [text('b')], {}, end('max_tokens')),
      user('three'),
      assistant('m3', [toolUse('t')], {}, end('tool_use')),
      user('four'),
      user('[Request interrupted by user]'),
      user('five'),
      assistant('m4', [text('c')], {}, end('end_turn')),
      system('turn_duration', { durationMs: 3 }),
    ])
    expect(ofType(found, 'turn/end')).toEqual([
      { turn: 1, reason: 'completed' },
      { turn: 2, reason: 'max-tokens' },
      { turn: 3, reason: 'aborted', cause: 'the model had not finished' },
      { turn: 4, reason: 'aborted', by: 'user' },
      { turn: 5, reason: 'completed' },
    ])
  })

  it('are not begun by what a machine says in the name of the user', () => {
    const found = derived([
      user('<command-name>/model</command-name>'),
      user('<local-command-stdout>set</local-command-stdout>'),
      user('a reminder', { isMeta: true }),
      result('t9'),
    ])
    expect(ofType(found, 'turn/start')).toEqual([])
    expect(ofType(found, 'user/message')).toHaveLength(3)
  })

  it('T9: a call without a result stays visible as one', () => {
    const found = derived([user('go'), assistant('m', [toolUse('a'), toolUse('b')]), result('a')])
    expect(ofType(found, 'tool/result').map(({ id }) => id)).toEqual(['a'])
  })
})

describe('compaction', () => {
  it('T17, T20: shadows what was before, by address, and removes nothing', () => {
    const kept = user('kept')
    const records = [
      user('one'),
      assistant('m1', [text('a')], {}, { stop_reason: 'end_turn' }),
      kept,
      system('compact_boundary', {
        compactMetadata: {
          trigger: 'auto',
          preTokens: 9,
          preservedSegment: { headUuid: kept.uuid, anchorUuid: 'x', tailUuid: kept.uuid },
        },
      }),
      user('the summary', { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
    ]
    const found = derived(records)
    expect(ofType(found, 'compaction')).toMatchObject([
      { replaces: ['2.0', '2.1'], message: { role: 'user', content: 'the summary' } },
    ])
    expect(ofType(found, 'user/message')).toHaveLength(2)
  })

  it('T21: a second one names the summary of the first, not what that had replaced', () => {
    const summary = () => user('sum', { isCompactSummary: true })
    const found = derived([user('one'), summary(), user('two'), summary()])
    const replaced = ofType(found, 'compaction').map(({ replaces }) => replaces)
    expect(replaced).toEqual([['2.0'], ['2.1', '2.2']])
  })
})

describe('records of other kinds', () => {
  it('T30: unknown types, enums and fields are kept whole, never an error', () => {
    const odd = other('brand-new', { payload: [1, { deep: true }] })
    const attachment = other('attachment', { attachment: { type: 'never-seen', x: 1 } })
    const bare = { silly: 'this' }
    const found = derived([odd, attachment, bare, 42, 'text', null, [1]])
    expect(ofType(found, 'session/record').map(({ record, value }) => [record, value])).toEqual([
      ['brand-new', odd],
      ['attachment/never-seen', attachment],
      ['unknown', bare],
      ['value', 42],
      ['value', 'text'],
      ['value', null],
      ['value', [1]],
    ])
  })

  it('T34: hooks, progress and snapshots are no messages and begin no branch', () => {
    expect(
      types([
        user('go'),
        other('progress', { data: { type: 'hook_progress' }, toolUseID: 't' }),
        { type: 'file-history-snapshot', messageId: 'm', snapshot: {} },
        { type: 'queue-operation', operation: 'remove', content: null },
      ]),
    ).toEqual(['turn/start', 'user/message', 'session/record', 'session/record', 'session/record'])
  })

  it('what is said in the middle of a turn belongs to it', () => {
    const queued = (prompt: unknown) =>
      other('attachment', { attachment: { type: 'queued_command', prompt } })
    const found = derived([user('go'), queued('also this'), queued([text('and that')])])
    expect(ofType(found, 'turn/start')).toHaveLength(1)
    expect(ofType(found, 'user/message').map(({ content }) => content)).toEqual([
      'go',
      'also this',
      [text('and that')],
    ])
  })

  it('titles: what a person wrote wins over what was made up', () => {
    const found = derived([
      { type: 'summary', summary: 'made up', leafUuid: 'x' },
      { type: 'custom-title', customTitle: 'mine' },
      { type: 'ai-title', aiTitle: 'better?' },
    ])
    expect(ofType(found, 'session/info').map(({ title }) => title)).toEqual(['made up', 'mine'])
  })

  it('an error of the service is a retry, not a message', () => {
    const found = derived([
      user('go'),
      system('api_error', {
        error: { error: { message: 'Overloaded' } },
        retryInMs: 500,
        retryAttempt: 1,
      }),
      assistant('m', [text('API Error')], { isApiErrorMessage: true }, { model: '<synthetic>' }),
      user('again'),
    ])
    expect(ofType(found, 'retry')).toMatchObject([{ reason: 'Overloaded', delayMs: 500 }])
    expect(ofType(found, 'assistant/message')).toEqual([])
    expect(ofType(found, 'turn/end')).toEqual([{ turn: 1, reason: 'error' }])
  })

  it('T33: a record says what it hangs on, also where that was never written', () => {
    const found = derived([user('go', { uuid: 'b', parentUuid: 'never-written' })])
    expect(ofType(found, 'user/message')).toMatchObject([
      { source: { id: 'b', parent: 'never-written' } },
    ])
  })

  it('T38: thinking keeps its signature, byte for byte, and whose it is', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2ln' }
    const redacted = { type: 'redacted_thinking', data: 'ZW5j' }
    const [message] = ofType(derived([assistant('m', [thinking, redacted])]), 'assistant/message')
    expect(message?.content).toEqual([
      { type: 'thinking', text: 'hm', signature: 'c2ln', model: 'claude-sonnet-4-5' },
      { type: 'thinking', text: '', encrypted: 'ZW5j', model: 'claude-sonnet-4-5' },
    ])
    expect(message?.raw).toMatchObject({ content: [thinking, redacted] })
  })

  it('a result says which files were touched, and keeps the second copy', () => {
    const details = { filePath: '/a.ts', oldString: 'x', newString: 'y', structuredPatch: [] }
    const [found] = ofType(derived([result('t', 'ok', { toolUseResult: details })]), 'tool/result')
    expect(found).toMatchObject({ files: [{ path: '/a.ts', op: 'edit' }], details })
  })

  it('sidechain lines of old versions are no messages of the main session', () => {
    const found = derived([user('go'), user('do this', { isSidechain: true })])
    expect(ofType(found, 'user/message')).toHaveLength(1)
    expect(ofType(found, 'session/record')).toMatchObject([{ record: 'sidechain/user' }])
  })

  it("a sub-agent's own file, which is all sidechain, is read as a session", () => {
    const found = derived([user('do this', { isSidechain: true, agentId: 'a1' })])
    expect(ofType(found, 'user/message')).toHaveLength(1)
  })
})

it('state between raw events stays small, whatever the lines hold', () => {
  const records = Array.from({ length: 300 }, (_, at) => [
    assistant(`m${at}`, [toolUse(`t${at}`)]),
    result(`t${at}`, 'x'.repeat(10_000)),
  ]).flat()
  const bytes = linesOf(records)
  const { state } = claudeCode.read(claudeCode.init(), eventOf(bytes))
  // Places of what the model sees, and the last few messages: nothing of the 3 MB of results.
  expect(bytes.length).toBeGreaterThan(3_000_000)
  expect(JSON.stringify(state).length).toBeLessThan(30_000)
})
