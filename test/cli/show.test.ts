/**
 * How a session is shown: turns and steps indented, a message a line, a result under its call.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { openAiSession } from '../../src/openai-agents.js'
import { assistant, linesOf, text, user } from '../fold/readers/claude-lines.js'
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
    const found = (JSON.parse(out) as { events: { seq: number; line?: number; type: string }[] })
      .events
    // Programs get both, and know them apart by the line.
    expect(found.map(({ seq, line, type }) => [seq, line, type])).toEqual([
      [0, undefined, 'run/start'],
      [1, undefined, 'openai-agents/items'],
      [1, 0, 'user/message'],
      [1, 1, 'user/message'],
      [2, undefined, 'openai-agents/replace'],
      [2, 0, 'compaction'],
    ])
  })

  it('has the same rows for an import, and so has tail, whose last lines are those inside', async () => {
    const cwd = temporaryDir()
    const path = join(cwd, 'session.jsonl')
    const reply = assistant('m', [text('fine')], {}, { stop_reason: 'end_turn' })
    writeFileSync(path, linesOf([user('hello'), reply]))
    await daglog(['import', path], { cwd })
    const run = '2026-02-03-claude-11111111'
    const shown = await rows(cwd, run)
    expect(shown.map((row) => row.split(/ +/).slice(0, 2).join(' '))).toEqual([
      '0 run/start',
      '1 import/source',
      '2.0 session/info',
      '2.0 turn/start',
      '2.0 user/message',
      '2.1 session/info',
      '2.1 assistant/message',
      '3 import/end',
    ])
    const tail = async (...more: string[]): Promise<string[]> => {
      const { out, code } = await daglog(['tail', run, ...more], { cwd })
      expect(code).toBe(0)
      return out.trim().split('\n')
    }
    const lines = await tail('--lines', '2')
    expect(lines.map((line) => line.trim().split(/ +/)[0])).toEqual(['2.1', '3'])
    expect(lines[0]).toMatch(/assistant\/message.*"fine"/)
    expect(await tail('--lines', '100')).toHaveLength(shown.length)
    // Programs follow the log as it lies.
    const types = (await tail('--jsonl')).map((line) => JSON.parse(line).type)
    expect(types).toEqual(['run/start', 'import/source', 'import/lines', 'import/end'])
  })

  it('tells once of what is gone, and shows what is around it', async () => {
    const cwd = temporaryDir()
    const path = join(cwd, 'session.jsonl')
    const long = Array.from({ length: 3000 }, (_, at) => user(`${at} ${'x'.repeat(900)}`))
    writeFileSync(path, linesOf(long))
    await daglog(['import', path], { cwd })
    const packs = join(cwd, '.daglog/packs')
    for (const name of readdirSync(packs)) rmSync(join(packs, name))
    const { code, err, out } = await daglog(['show', '2026-02-03-claude-11111111'], { cwd })
    expect(code).toBe(3)
    const said = `${out}${err}`
    expect(said.match(/cannot be read/g)).toHaveLength(said.match(/import\/lines/g)?.length ?? 0)
    expect(out).toMatch(/import\/end/)
  })
})
