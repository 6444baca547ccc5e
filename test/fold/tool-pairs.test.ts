import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/event.js'
import { type ToolPairs, toolPairs } from '../../src/fold/tool-pairs.js'

const use = (...ids: string[]) => ids.map((id) => ({ type: 'tool_use', id, name: 'x', input: {} }))

function pairsOf(...events: readonly (readonly [type: string, data: unknown])[]): ToolPairs {
  const state = events.reduce(
    (before, [type, data], seq) =>
      toolPairs.apply(before, { seq, type, data, time: 0 } as RunEvent),
    toolPairs.init(),
  )
  return toolPairs.view?.(state) as ToolPairs
}

const NONE = { count: 0, at: [] }
const start = ['turn/start', { turn: 1 }] as const
const end = ['turn/end', { turn: 1 }] as const
const ask = (...ids: string[]) => ['assistant/message', { content: use(...ids) }] as const
const begin = (id: string) => ['tool/call', { id, name: 'x' }] as const
const result = (id: string) => ['tool/result', { id, content: '' }] as const

describe('tool pairs', () => {
  it('T9, T14: name the calls of a turn that never got a result, begun or not', () => {
    const pairs = pairsOf(start, ask('a', 'b', 'c'), begin('a'), begin('b'), result('b'), end)
    expect(pairs).toEqual({ calls: 3, unanswered: { count: 2, at: [1, 1] }, unasked: NONE })
  })

  it('wait with what is open until its turn ends', () => {
    expect(pairsOf(start, ask('a')).unanswered).toEqual(NONE)
    expect(pairsOf(start, ask('a'), ['turn/start', { turn: 2 }]).unanswered.count).toBe(1)
    expect(pairsOf(ask('a'), ['run/end', { status: 'ok' }]).unanswered.count).toBe(1)
  })

  it('name results that nobody asked for in their turn', () => {
    const pairs = pairsOf(start, ask('a'), result('a'), end, start, result('a'), end)
    expect(pairs).toEqual({ calls: 1, unanswered: NONE, unasked: { count: 1, at: [5] } })
  })

  it('pair an id that a provider uses again, in another turn and in the same', () => {
    const twice = [start, ask('a'), result('a'), ask('a'), result('a'), end] as const
    expect(pairsOf(...twice, ...twice)).toEqual({ calls: 4, unanswered: NONE, unasked: NONE })
    expect(pairsOf(start, ask('a'), result('a'), ask('a'), end).unanswered.count).toBe(1)
  })

  it('take a message that is stated anew for the same one', () => {
    const grown = (...ids: string[]) =>
      ['assistant/message', { id: 'm', content: use(...ids) }] as const
    const pairs = pairsOf(start, grown('a'), result('a'), grown('a', 'b'), result('b'), end)
    expect(pairs).toEqual({ calls: 2, unanswered: NONE, unasked: NONE })
  })

  it('survive any shape of data, and count on where they no longer name', () => {
    const odd = [null, 7, {}, { id: 1 }, { content: [null, 7, { type: 'tool_use' }] }]
    for (const data of odd)
      for (const type of toolPairs.types ?? []) pairsOf(start, [type, data], end)
    const many = Array.from({ length: 40 }, (_, n) => ask(`a${n}`))
    const { unanswered } = pairsOf(start, ...many, end)
    expect([unanswered.count, unanswered.at.length]).toEqual([40, 16])
    const answered = Array.from({ length: 500 }, (_, n) => [ask(`a${n}`), result(`a${n}`)]).flat()
    expect(pairsOf(ask('first'), ...answered, ['run/end', {}])).toMatchObject({
      calls: 501,
      unanswered: { count: 1, at: [0] },
    })
  })
})
