import { expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/event.js'
import { type ClaudeChain, claudeChain } from '../../src/fold/claude-chain.js'
import {
  assistant,
  derived,
  other,
  result,
  system,
  text,
  toolUse,
  user,
} from './readers/claude-lines.js'

/** Each record in a raw event of its own: its address is `SEQ.0`, from 2 on. */
function chainOf(records: readonly Record<string, unknown>[]): ClaudeChain {
  const places = new Map(records.map(({ uuid }, at) => [uuid, at + 2]))
  let state = claudeChain.init()
  for (const { type, data, line } of derived(records, { split: true })) {
    const seq = places.get((data as { source?: { id?: string } }).source?.id) ?? 0
    const event = { seq, line, time: 0, type, data, hash: '' } as unknown as RunEvent
    if (claudeChain.types?.includes(type) === true) state = claudeChain.apply(state, event)
  }
  return (claudeChain.view as (state: unknown) => ClaudeChain)(state)
}

const linked = (uuid: string, parentUuid: string | null) => ({ uuid, parentUuid })

it('walks from the newest message up through its parents', () => {
  const { leaf, chain, dangling, forks } = chainOf([
    user('a', linked('a', null)),
    assistant('m', [text('b')], linked('b', 'a')),
    user('c', linked('c', 'b')),
  ])
  expect({ leaf, chain, dangling, forks }).toEqual({
    leaf: '4.0',
    chain: ['2.0', '3.0', '4.0'],
    dangling: [],
    forks: [],
  })
})

it('lists both branches where a person went back; the newest is the chain', () => {
  const { chain, forks } = chainOf([
    user('a', linked('a', null)),
    assistant('m', [text('b')], linked('b', 'a')),
    user('first way', linked('c', 'b')),
    user('second way', linked('d', 'b')),
  ])
  expect(chain).toEqual(['2.0', '3.0', '5.0'])
  expect(forks).toEqual([{ at: '3.0', branches: ['4.0', '5.0'] }])
})

it('T34: hooks and progress that hang beside make no fork', () => {
  const { chain, forks } = chainOf([
    user('a', linked('a', null)),
    other('progress', { data: {}, ...linked('p', 'a') }),
    assistant('m', [text('b')], linked('b', 'a')),
    system('stop_hook_summary', linked('s', 'b')),
    user('c', linked('c', 's')),
  ])
  expect(chain).toEqual(['2.0', '4.0', '6.0'])
  expect(forks).toEqual([])
})

it('shows calls that ran at once with all their results, which hang side by side', () => {
  const { chain, forks } = chainOf([
    user('a', linked('a', null)),
    assistant('m', [toolUse('t1')], linked('b', 'a')),
    assistant('m', [toolUse('t2')], linked('c', 'b')),
    result('t1', 'ok', linked('r1', 'b')),
    result('t2', 'ok', linked('r2', 'c')),
    assistant('n', [text('done')], linked('d', 'r2')),
  ])
  expect(chain).toEqual(['2.0', '3.0', '4.0', '5.0', '6.0', '7.0'])
  expect(forks).toEqual([])
})

it('T33: a parent that was never written ends the chain; it is named, and file order goes on', () => {
  const records = [
    user('a', linked('a', null)),
    user('b', linked('b', 'never-written')),
    user('c', linked('c', 'b')),
  ]
  const { chain, dangling } = chainOf(records)
  expect(chain).toEqual(['3.0', '4.0'])
  expect(dangling).toEqual(['3.0'])
  expect(derived(records).filter(({ type }) => type === 'user/message')).toHaveLength(3)
})

it('records that lead in a circle end', () => {
  const { chain } = chainOf([user('a', linked('a', 'b')), user('b', linked('b', 'a'))])
  expect(chain).toEqual(['2.0', '3.0'])
})
