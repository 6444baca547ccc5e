import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { providerView } from '../../src/fold/provider/provider-view.js'
import { importTranscripts } from '../../src/importers/import-transcripts.js'
import { messages } from '../../src/index.js'
import { temporaryDir, temporaryStore } from '../store/temporary.js'
import { importAll, raw } from './importing.js'

const FIXTURES = join(import.meta.dirname, '../../../shared/fixtures')
/**
 * Counts in Python, by folder of fixtures; those of Codex are in test/fold/readers/codex.test.ts.
 */
const COUNTS: Readonly<Record<string, string>> = {
  claude: 'count-claude.py',
  entire: 'count-claude.py',
  dsh: 'count-dsh.py',
}

/** Transcripts of real programs; the last one is of a form that nobody here knows. */
const FILES = existsSync(FIXTURES)
  ? ['claude', 'entire', 'codex', 'dsh'].flatMap((dir) =>
      readdirSync(join(FIXTURES, dir))
        .filter((name) => name.endsWith('.jsonl'))
        .map((name) => join(FIXTURES, dir, name)),
    )
  : []

const COUNTED = FILES.flatMap((path): [string, string, string][] => {
  const script = COUNTS[basename(dirname(path))]
  return script === undefined ? [] : [[basename(path), path, join(import.meta.dirname, script)]]
})

/**
 * Ids of calls without a result and results without a call, in any provider's form: none may be
 * left.
 */
function unanswered(view: readonly unknown[]): string[] {
  const calls: string[] = []
  const results: string[] = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    const { type, id, tool_use_id, tool_call_id, call_id, role } = value as Record<string, string>
    if (type === 'tool_use' || type === 'function') calls.push(id as string)
    if (type === 'function_call' || type === 'custom_tool_call') calls.push(call_id as string)
    if (type === 'tool_result') results.push(tool_use_id as string)
    if (role === 'tool') results.push(tool_call_id as string)
    if (/_call_output$/.test(type ?? '')) results.push(call_id as string)
    const { content, tool_calls } = value as { content?: unknown; tool_calls?: unknown }
    if (role !== 'tool' && type !== 'tool_result') walk(content)
    walk(tool_calls)
  }
  walk(view)
  const only = (these: string[], those: string[]) => these.filter((id) => !those.includes(id))
  return [...only(calls, results), ...only(results, calls)]
}

describe.skipIf(FILES.length === 0)('real transcripts (skipped without ../shared/fixtures)', () => {
  it.each(FILES.map((path) => [basename(path), path]))(
    '%s is imported, verifies, comes back byte for byte, and a model can be asked to go on',
    async (_, path) => {
      const { store } = await temporaryStore()
      const [file, ...more] = (await importAll(store, path)).files
      expect(more).toEqual([])
      const view = await store.inspectRun(file?.run as string)
      expect((await raw(view)).equals(readFileSync(path))).toBe(true)
      expect((await store.verify()).ok).toBe(true)
      const history = await view.project(messages)
      for (const provider of ['anthropic', 'openai', 'openai-responses'] as const) {
        const { messages: view } = providerView(history, { provider, model: 'claude-sonnet-4-5' })
        expect(JSON.parse(JSON.stringify(view))).toEqual(view)
        expect(unanswered(view)).toEqual([])
      }
    },
  )

  const python = spawnSync('python3', ['--version']).status === 0
  if (!python) console.log('skipped: python3, which counts the fixtures anew, is not here')
  it.skipIf(!python).each(COUNTED)(
    '%s: totals are those that a script in Python counts',
    async (_, path, script) => {
      const { store } = await temporaryStore()
      const [file] = (await importAll(store, path)).files
      const counted = JSON.parse(spawnSync('python3', [script, path]).stdout.toString())
      const { title: _t, started: _s, updated: _u, faults, ...own } = file?.totals ?? {}
      expect({ faults, own }).toEqual({ faults: counted.faults, own: counted.own })
      const children = (await store.runs()).filter(({ parent }) => parent?.kind === 'child')
      const sum = (of: (run: (typeof children)[number]) => number): number =>
        children.reduce((total, run) => total + of(run), 0)
      expect({
        turns: sum(({ turns }) => turns),
        inputTokens: sum(({ tokensIn }) => tokensIn),
        outputTokens: sum(({ tokensOut }) => tokensOut),
      }).toEqual({
        turns: counted.side.turns,
        inputTokens: counted.side.inputTokens,
        outputTokens: counted.side.outputTokens,
      })
      const [listed] = (await store.runs()).filter(({ id }) => id === file?.run)
      expect(listed?.turns).toBe(counted.own.turns)
      expect(listed?.tokensIn).toBe(counted.own.inputTokens)
    },
  )

  it('a session that was seen twice: the second time only the news are taken', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    const path = join(dir, '768de5d6.jsonl')
    const [before, after] = [1, 2].map((n) => join(FIXTURES, `entire/768de5d6-snap${n}.full.jsonl`))
    copyFileSync(before as string, path)
    const first = (await importAll(store, path)).files[0]
    copyFileSync(after as string, path)
    const second = (await importAll(store, path)).files[0]
    expect(second).toMatchObject({ run: first?.run, outcome: 'grown' })
    const view = await store.inspectRun(second?.run as string)
    expect((await raw(view)).equals(readFileSync(after as string))).toBe(true)
    // The version before is there too, by the event it ended with.
    const news: number[] = []
    for await (const { seq, type } of view.events()) if (type === 'import/end') news.push(seq)
    expect((await raw(view, news[0])).equals(readFileSync(before as string))).toBe(true)
    // Seen from the other file, which is older, there is nothing to do.
    const { files } = await importTranscripts(store, [before as string], { program: 'test' })
    expect(files[0]).toMatchObject({ run: first?.run, outcome: 'older' })
  })
})
