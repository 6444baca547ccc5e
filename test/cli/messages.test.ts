/** The history of a run as a model would be given it. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { temporaryDir } from '../store/temporary.js'
import { daglog } from './command.js'

describe('messages', () => {
  it('are printed as of any event, neutral or in the form of a provider, which says what it changed', async () => {
    const cwd = temporaryDir()
    const store = await openStore(join(cwd, '.daglog'))
    const run = await store.run('r')
    const { seq } = await run.append('user/message', { content: 'hello' })
    await run.append('assistant/message', {
      content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }],
    })
    const { messages, lint } = await run.messages({ provider: 'anthropic' })
    expect(messages).toHaveLength(3)
    expect(lint.map(({ seq, kind }) => [seq, kind])).toEqual([[2, 'call-unanswered']])
    await store.close()
    const neutral = await daglog(['messages', 'r', '--json'], { cwd })
    expect(JSON.parse(neutral.out)).toMatchObject({
      schema: 'daglog.messages/1',
      messages: [{ seq: 1, role: 'user', content: 'hello' }, { role: 'assistant' }],
    })
    const before = await daglog(['messages', `r@${seq}`], { cwd })
    expect(before.out.trim().split('\n')).toHaveLength(1)
    const view = await daglog(['messages', 'r', '--provider', 'openai'], { cwd })
    const roles = view.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).role)
    expect(roles).toEqual(['user', 'assistant', 'tool'])
    expect(view.err).toContain('2: call-unanswered')
    const unknown = await daglog(['messages', 'r', '--provider', 'x'], { cwd })
    expect(unknown.err).toContain('PROVIDER_UNKNOWN')
  })
})
