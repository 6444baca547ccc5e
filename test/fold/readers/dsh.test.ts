import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Derived } from '../../../src/fold/reader.js'
import { dsh } from '../../../src/fold/readers/dsh.js'
import { eventOf, linesOf, ofType } from './claude-lines.js'

function read(bytes: Buffer): readonly Derived[] {
  return dsh.read(dsh.init(), eventOf(bytes)).events
}

const said = (words: string, more: object = {}) => ({
  type: 'user/message',
  data: { role: 'user', content: [{ type: 'text', text: words }] },
  ...more,
})

describe('a dsh log', () => {
  it('is read event for event; what has no neutral form is kept', () => {
    const found = read(
      linesOf([
        { type: 'session', version: 0, id: 's', createdAt: 1, cwd: '/x' },
        { type: 'turn/start', data: { turn: 1 } },
        said('hi'),
        {
          type: 'assistant/message',
          time: 1_790_000_000_000,
          data: {
            message: {
              id: 'm',
              content: [
                { type: 'reasoning', text: 'hm' },
                { type: 'tool-call', id: 'c', name: 'bash', arguments: '{"a":1}' },
              ],
              source: { provider: 'deepseek', model: 'v4' },
            },
            usage: { inputTokens: 5, cacheReadTokens: 7, outputTokens: 2 },
          },
        },
        { type: 'tool/call', data: { callId: 'c', name: 'bash', arguments: '{"a":1}' } },
        {
          type: 'tool/result',
          data: { message: { content: [{ type: 'tool-result', toolCallId: 'c', content: 'ok' }] } },
        },
        { type: 'goal/set', data: { goal: 'x' } },
        { type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } },
      ]),
    )
    expect(found.map(({ type }) => type)).toEqual([
      'session/info',
      'turn/start',
      'user/message',
      'assistant/message',
      'tool/call',
      'tool/result',
      'session/record',
      'turn/end',
    ])
    expect(found[3]).toMatchObject({
      time: 1_790_000_000_000,
      data: {
        id: 'm',
        model: 'v4',
        provider: 'deepseek',
        usage: { inputTokens: 12, cacheReadTokens: 7, outputTokens: 2 },
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'tool_use', id: 'c', name: 'bash', input: { a: 1 }, arguments: '{"a":1}' },
        ],
      },
    })
  })

  it('a message that replaces a span is a compaction; packed chunks count as many events', () => {
    const found = read(
      linesOf([
        { type: 'session', version: 0, id: 's', createdAt: 1 },
        said('one'),
        { type: 'text-chunks', data: { texts: ['a', 'b', 'c'] } },
        said('two'),
        said('three'),
        said('sum', { surfaceOp: { op: 'replace', start: 0, end: 4 } }),
      ]),
    )
    expect(ofType(found, 'compaction')).toMatchObject([{ replaces: ['2.1', '2.3'] }])
  })
})

const FIXTURES = join(import.meta.dirname, '../../../../shared/fixtures/dsh')

it.skipIf(!existsSync(FIXTURES))(
  'reads real logs: what a compaction names is what was said (skipped without ../shared/fixtures)',
  () => {
    const found = read(readFileSync(join(FIXTURES, 'compaction-recovery.session.jsonl')))
    expect(ofType(found, 'compaction')).toMatchObject([{ replaces: ['2.5'] }])
    const mixed = read(readFileSync(join(FIXTURES, 'subagent-mixed.session.jsonl')))
    expect(ofType(mixed, 'tool/result')).toHaveLength(2)
    expect(ofType(mixed, 'turn/end').map(({ reason }) => reason)).toEqual([
      'completed',
      'completed',
    ])
  },
)
