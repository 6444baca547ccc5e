/**
 * The steps of a run as a graph: shown, and drawn.
 */
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/event.js'
import { DataFlow } from '../../src/fold/data-flow.js'
import { openStore } from '../../src/index.js'
import { dagText } from '../../src/store/dag-text.js'
import { temporaryDir } from '../store/temporary.js'
import { daglog } from './command.js'

const PAGE = `<html>${'words of a page '.repeat(10_000)}</html>`

/** A run whose steps hand on a large page, an answer with a message in it, and an error. */
async function recorded(cwd: string): Promise<void> {
  const store = await openStore(join(cwd, '.daglog'), { now: () => 1_790_000_000_000 })
  const run = await store.createRun({ id: 'r' })
  const page = await run.step('fetch', { url: 'https://example.com' }, () => ({ page: PAGE }))
  const reply = await run.step('llm', { messages: [{ role: 'user', content: page.page }] }, () => ({
    choices: [{ message: { role: 'assistant', content: 'it is about words' } }],
  }))
  await run.step('outer', {}, async (outer) => {
    await outer.step('check', { said: [reply.choices[0]?.message] }, () => 'fine')
  })
  await run.step('after', {}, () => true, { deps: ['n1'] })
  await run.end()
  await store.close()
}

describe('show --dag', () => {
  it('prints steps, and under each which value of which other it used', async () => {
    const cwd = temporaryDir()
    await recorded(cwd)
    const { out, code } = await daglog(['show', 'r', '--dag'], { cwd })
    expect(out.split('\n')).toEqual([
      'n1 fetch  ok  0 ms',
      'n2 llm  ok  0 ms',
      '    <- n1 fetch  /output/page -> /input/messages/0/content',
      'n3 outer  ok  0 ms',
      '  n4 check  ok  0 ms',
      '      <- n2 llm  /output/choices/0/message -> /input/said/0',
      'n5 after  ok  0 ms',
      '    <= n1 fetch',
      '5 steps  edges: 2 inferred (<-), 1 declared (<=), 1 nested (indented)',
      '',
    ])
    expect(code).toBe(0)
  })

  it('prints the same as one JSON document', async () => {
    const cwd = temporaryDir()
    await recorded(cwd)
    const { out } = await daglog(['show', 'r', '--dag', '--json'], { cwd })
    const { schema, ok, nodes, edges, steps, odd } = JSON.parse(out)
    expect([schema, ok, nodes.length, steps, odd]).toEqual(['daglog.dag/1', true, 5, 5, []])
    expect(edges.map((edge: { kind: string }) => edge.kind)).toEqual([
      'inferred',
      'nested',
      'inferred',
      'declared',
    ])
  })

  it('shows the run as of an event, and at most so many steps', async () => {
    const cwd = temporaryDir()
    await recorded(cwd)
    const early = await daglog(['show', 'r@2', '--dag'], { cwd })
    expect(early.out).toContain('1 step')
    const { out } = await daglog(['show', 'r', '--dag', '--limit', '1'], { cwd })
    expect(out).toContain('4 more steps; --limit 0 shows all')
  })
})

describe('a session', () => {
  it('has edges from what was said to the model that was asked with it, and on to the tool', async () => {
    const cwd = temporaryDir()
    const store = await openStore(join(cwd, '.daglog'), { now: () => 1_790_000_000_000 })
    const run = await store.createRun({ id: 'r' })
    const call = {
      type: 'tool_use' as const,
      id: 'call_1',
      name: 'weather',
      input: { city: 'Rome' },
    }
    const replies = [
      { role: 'assistant', tool_calls: [toolCall(call)], content: null },
      { role: 'assistant', content: 'sunny' },
    ].map((message) => ({ choices: [{ index: 0, finish_reason: 'stop', message }] }))
    await run.turn(async (turn) => {
      await turn.user('How is Rome?')
      for (const answer of replies) {
        const request = await run.request({ provider: 'openai', model: 'm' })
        const { toolCalls } = await turn.model(request, () => answer)
        for (const asked of toolCalls) await turn.tool(asked, () => 'sun all day')
      }
    })
    await store.close()
    const { out } = await daglog(['show', 'r', '--dag'], { cwd })
    expect(out.split('\n').slice(0, -2)).toEqual([
      'n1 model  ok  0 ms',
      'n2 weather  ok  0 ms',
      expect.stringMatching(/^ {4}<- n1 model {2}\/output/),
      'n3 model  ok  0 ms',
      '    <- n1 model  /output -> /input/request',
      '    <- n2 weather  /output -> /input/request',
    ])
  })
})

function toolCall({ id, name, input }: { id: string; name: string; input: object }): object {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

describe('export of a drawing', () => {
  it('writes Mermaid and DOT', async () => {
    const cwd = temporaryDir()
    await recorded(cwd)
    const mermaid = await daglog(['export', 'r', '--format', 'mermaid'], { cwd })
    expect(mermaid.out.split('\n')).toEqual([
      'flowchart TD',
      '  %% --> inferred, ==> declared, -.-> nested',
      '  s0["n1 fetch"]',
      '  s1["n2 llm"]',
      '  s2["n3 outer"]',
      '  s3["n4 check"]',
      '  s4["n5 after"]',
      '  s0 -->|"/input/messages/0/content"| s1',
      '  s2 -.-> s3',
      '  s1 -->|"/input/said/0"| s3',
      '  s0 ==> s4',
      '',
    ])
    const dot = await daglog(['export', 'r', '--format', 'dot', '-o', 'run.dot'], { cwd })
    expect(dot.code).toBe(0)
  })

  it('has no text that means something in the language, whatever steps are called', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }), (names) => {
        const flow = new DataFlow()
        for (const [seq, name] of names.entries()) {
          const data = { id: `${seq}${name}`, key: '', name }
          flow.apply({ seq, time: 0, type: 'step/start', data, hash: '' } as unknown as RunEvent)
        }
        const [mermaid, dot] = [[...dagText(flow, 'mermaid')], [...dagText(flow, 'dot')]]
        for (const line of mermaid.slice(1))
          expect(line).toMatch(/^ {2}s\d+\["(?:[\p{L}\p{N} _.,:/()-]|#\d+;)*"\]$/u)
        for (const line of dot.slice(1, -1))
          expect(line).toMatch(/^ {2}s\d+ \[label="(?:[^"\\\n]|\\["\\])*"\]$/)
      }),
    )
  })
})
