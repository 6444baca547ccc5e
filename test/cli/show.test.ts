/**
 * How a session is shown: turns and steps indented, a message a line, a result under its call.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { openAiSession } from '../../src/openai-agents.js'
import { temporaryDir } from '../store/temporary.js'
import { daglog } from './command.js'

/** The rows of a run, without the columns of time. */
async function rows(cwd: string, run: string): Promise<string[]> {
  const { out } = await daglog(['show', run], { cwd })
  return out
    .split('\n')
    .flatMap((line) => /^ {0,4}([\d.]+) +[\d.]+ \w+ {2}(.*)$/.exec(line)?.slice(1).join(' ') ?? [])
}

describe('show', () => {
  it('gives each message a line, and each tool result the name of its tool', async () => {
    const cwd = temporaryDir()
    // The clock stands, so a step takes no time.
    const store = await openStore(join(cwd, '.daglog'), { now: () => 1_790_000_000_000 })
    const run = await store.run('r')
    await run.append('turn/start', { turn: 1 })
    await run.append('user/message', { content: 'How is\nParis?' })
    await run.append('assistant/message', {
      content: [
        { type: 'thinking', text: 'hm' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Paris' } },
      ],
      usage: { inputTokens: 20, outputTokens: 9 },
    })
    await run.append('tool/call', { id: 'c1', name: 'weather' })
    await run.append('tool/result', { id: 'c1', content: 'sunny' })
    await run.append('assistant/message', { content: 'It is \u001b[31msunny.', interrupted: true })
    await run.append('assistant/message', { content: 7 as never })
    await run.append('turn/end', { turn: 1, reason: 'completed' })
    await store.close()
    expect(await rows(cwd, 'r')).toEqual([
      '0 run/start        r',
      '1 turn/start       turn 1',
      '2   user/message   "How is\\nParis?"',
      '3   assistant/message thinking "hm" · "Let me look." · weather {"city":"Paris"}  20 → 9 tokens',
      '4     tool/call    c1 weather',
      '5     tool/result  weather c1 "sunny" 0 ms',
      '6   assistant/message interrupted "It is \\u001b[31msunny."',
      '7   assistant/message 7',
      '8 turn/end         turn 1 completed',
    ])
  })

  it('shows what readers find in raw events in their place, with their address', async () => {
    const cwd = temporaryDir()
    const store = await openStore(join(cwd, '.daglog'))
    const session = openAiSession(await store.run('r'))
    await session.addItems([
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
    ])
    await session.popItem()
    await store.close()
    expect(await rows(cwd, 'r')).toEqual([
      '0 run/start        r',
      '1.0 user/message     "one"',
      '1.1 user/message     "two"',
      '2.0 compaction       {"replaces":["1.1"],"message":[]}',
    ])
    const { out } = await daglog(['show', 'r', '--json'], { cwd })
    const types = (JSON.parse(out) as { events: { type: string }[] }).events.map(({ type }) => type)
    expect(types).toEqual(['run/start', 'openai-agents/items', 'openai-agents/replace'])
  })
})
