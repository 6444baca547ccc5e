/**
 * Runs that begin in others: forks outside an open turn or with what closes it, children from their
 * first frame on.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { listRuns } from '../../src/cli/run-family.js'
import {
  type DaglogError,
  memory,
  messages,
  openStore,
  type Run,
  type Store,
  turns,
  usage,
} from '../../src/index.js'
import { startVerifier } from '../golden/verifier.js'
import { tamper, temporaryDir, temporaryStore } from './temporary.js'

async function typesOf(run: Run): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of run.events()) types.push(type)
  return types
}

/** Seqs: 0 run/start, 1-4 turn 1, 5 note, 6-10 turn 2, 11 note. */
async function twoTurns(store: Store): Promise<Run> {
  const run = await store.run('r')
  await run.append('turn/start', { turn: 1 })
  await run.append('user/message', { content: 'one' })
  await run.append('assistant/message', { content: 'first' })
  await run.append('turn/end', { turn: 1, reason: 'completed' })
  await run.append('note', {})
  await run.append('turn/start', { turn: 2 })
  await run.append('user/message', { content: 'two' })
  await run.append('assistant/message', {
    content: [
      { type: 'tool_use', id: 'a', name: 'x', input: {} },
      { type: 'tool_use', id: 'b', name: 'x', input: 'y'.repeat(5000) },
    ],
  })
  await run.append('tool/call', { id: 'a', name: 'x' })
  await run.append('turn/end', { turn: 2, reason: 'aborted' })
  await run.append('note', {})
  return run
}

const failure = async (work: Promise<unknown>): Promise<DaglogError> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error as DaglogError,
  )

describe('a fork', () => {
  it('begins outside an open turn, at every such event', async () => {
    const store = await openStore(memory())
    await twoTurns(store)
    for (const at of [0, 4, 5, 10, 11]) {
      const fork = await store.fork('r', { at, id: `at ${at}` })
      expect((await fork.project(turns)).every(({ reason }) => reason !== 'open')).toBe(true)
      expect(await typesOf(fork)).toEqual(['run/start', 'run/meta'])
    }
  })

  it('is refused inside an open turn, in words that name where it may begin', async () => {
    const store = await openStore(memory())
    const run = await twoTurns(store)
    for (const at of [6, 7, 8, 9]) {
      const error = await failure(store.fork('r', { at, id: 'f' }))
      expect(error.code).toBe('TURN_OPEN')
      expect(error.message).toContain(`turn 2 at seq ${at}`)
      expect(error.message).toContain(
        'at seq 5, before it; at seq 10, after it; or with { close: true }',
      )
      expect(error.data).toMatchObject({ before: 5, after: 10, turn: 2 })
    }
    expect((await failure(store.fork('r', { at: 1 }))).data).toMatchObject({ before: 0, after: 4 })
    await run.append('turn/start', { turn: 3 })
    const { data, message } = await failure(store.fork('r'))
    expect(data).toEqual({ run: 'r', seq: 12, turn: 3, before: 11, after: undefined })
    expect(message).toContain('try: at seq 11, before it; or with')
    expect((await store.runs()).map(({ id }) => id)).toEqual(['r'])
  })

  it('begins there with what closes the turn, where that is asked for', async () => {
    const { store, dir } = await temporaryStore()
    await twoTurns(store)
    const fork = await store.fork('r', { at: 9, id: 'f', close: true })
    expect(await typesOf(fork)).toEqual([
      'run/start',
      'tool/result',
      'tool/result',
      'turn/end',
      'run/meta',
    ])
    const results: unknown[] = []
    for await (const { data } of fork.events({ types: ['tool/result'] }))
      results.push([data.id, data.closedBy])
    expect(results).toEqual([
      ['a', 'outcome-unknown'],
      ['b', 'not-started'],
    ])
    expect((await fork.project(turns)).map(({ turn, reason }) => [turn, reason])).toEqual([
      [1, 'completed'],
      [2, 'interrupted'],
    ])
    expect((await fork.project(messages)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'tool',
    ])
    await fork.turn(async (turn) => expect(turn.number).toBe(3))
    const plain = await store.fork('r', { at: 10, id: 'g', close: true })
    expect(await typesOf(plain)).toEqual(['run/start', 'run/meta'])
    expect((await store.verify()).ok).toBe(true)
    await store.close()
    const verifier = startVerifier(fileURLToPath(new URL('../../docs/verify.py', import.meta.url)))
    const report = await verifier.audit(dir)
    verifier.close()
    expect('runs' in report && report.runs.every(({ ok }) => ok)).toBe(true)
  })

  it('of a run whose writer is dead is told of the turn that is open in the log', async () => {
    const dir = join(temporaryDir(), 'store')
    await killed(dir, 'turn')
    const { store } = await temporaryStore(dir)
    expect((await failure(store.fork('parent'))).code).toBe('TURN_OPEN')
    const fork = await store.fork('parent', { id: 'f', close: true })
    expect((await fork.project(turns)).map(({ reason }) => reason)).toEqual(['interrupted'])
    await store.close()
  })
})

describe('a child', () => {
  it('T45: is linked to its parent, with depth and kind, in lists, in the parent, and in itself', async () => {
    const store = await openStore(memory())
    const parent = await store.run('parent')
    const child = await parent.child({ id: 'child', name: 'search', meta: { agent: 1 } })
    const grandchild = await child.child({ name: 'page' })
    expect(grandchild.id).toMatch(/^\d{4}-\d\d-\d\d-page-[0-9a-f]{4}$/)
    const said = await parent.last('run/child')
    expect(said?.data).toEqual({ id: 'child', name: 'search', depth: 1 })
    expect((await child.event(0))?.data).toEqual({ id: 'child', depth: 1 })
    expect((await child.last('run/meta'))?.data).toEqual({ name: 'search', meta: { agent: 1 } })
    expect(await child.summary()).toMatchObject({
      depth: 1,
      parent: { run: await parent.identity(), seq: said?.seq, kind: 'child' },
    })
    expect((await grandchild.summary()).depth).toBe(2)
    await store.fork('child', { id: 'fork' })
    const family = (await listRuns(store)).map(({ id, below, parent }) => [below, id, parent?.kind])
    expect(family).toEqual([
      [0, 'parent', undefined],
      [1, 'child', 'child'],
      ...[
        [2, 'fork', 'fork'],
        [2, grandchild.id, 'child'],
      ].toSorted((a, b) => (String(a[1]) < String(b[1]) ? 1 : -1)),
    ])
    expect((await listRuns(store, { flat: true })).map(({ below }) => below)).toEqual([0, 0, 0, 0])
    expect((await store.verify()).ok).toBe(true)
    expect((await failure(parent.child({ id: 'child' }))).code).toBe('RUN_EXISTS')
    expect((await typesOf(parent)).filter((type) => type === 'run/child')).toHaveLength(1)
    // A child begins with nothing of its parent.
    expect(await child.project(messages)).toEqual([])
    await parent.close()
    await child.append('note', {})
  })

  it('T46: is linked whenever its parent is killed, and there is none without a link', async () => {
    for (const moment of ['child', 'running'] as const) {
      const dir = join(temporaryDir(), 'store')
      await killed(dir, moment)
      const { store } = await temporaryStore(dir)
      const listed = await listRuns(store)
      const known = listed.filter(({ events }) => events > 0)
      expect(known.map(({ id, below }) => [id, below])[0]).toEqual(['parent', 0])
      for (const { below, parent } of known.slice(1))
        expect([below, parent?.kind]).toEqual([1, 'child'])
      expect(known.length).toBeGreaterThan(1)
      expect((await store.verify()).ok).toBe(true)
      await store.close()
    }
  })

  it('T46: goes with its parent or keeps it from going', async () => {
    const store = await openStore(memory())
    const parent = await store.run('parent')
    const child = await parent.child({ id: 'child' })
    await (await child.child({ id: 'grandchild' })).close()
    await child.close()
    await parent.close()
    const error = await failure(store.deleteRun('parent'))
    expect(error.code).toBe('RUN_HAS_FORKS')
    expect(error.message).toContain(
      'has 1 other below it (child); try: delete those first, or { children: true }',
    )
    await (await store.fork('grandchild', { id: 'fork' })).close()
    expect((await failure(store.deleteRun('parent', { children: true }))).message).toContain('fork')
    await store.deleteRun('fork')
    await store.deleteRun('parent', { children: true })
    expect(await store.runs()).toEqual([])
  })
})

const SPAWNER = fileURLToPath(new URL('./spawner.mjs', import.meta.url))

/** Let a process begin children, and kill it at a moment. */
function killed(dir: string, moment: 'turn' | 'child' | 'running'): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [SPAWNER, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (said.includes(moment)) child.kill('SIGKILL')
    })
    child.on('error', reject)
    child.on('close', (_code, signal) => {
      if (signal === 'SIGKILL') resolve()
      else reject(new Error(`the spawner ended by itself: ${said}`))
    })
  })
}

describe('a fork whose parent was cut off before it', () => {
  it('does not pass off what is left as its history', async () => {
    const { store, dir } = await temporaryStore()
    await twoTurns(store)
    await store.fork('r', { at: 5, id: 'f' })
    await store.close()
    rmSync(join(dir, 'cache'), { recursive: true })
    tamper(join(dir, 'runs/r/log.000000.jsonl'), (bytes) => {
      let end = 0
      for (let line = 0; line < 3; line += 1) end = bytes.indexOf(0x0a, end) + 1
      return bytes.subarray(0, end)
    })
    const other = await openStore(dir, { onNotice: () => {} })
    const view = await other.inspectRun('f')
    expect((await failure(view.project(messages))).code).toBe('CHAIN_BROKEN')
    await other.close()
  })
})

describe('a fork whose parent is gone', () => {
  it('is read, audited, totalled and written to; only what needs the parent says that it is missing', async () => {
    const { store, dir } = await temporaryStore()
    await twoTurns(store)
    const fork = await store.fork('r', { at: 5, id: 'f' })
    await fork.append('turn/start', { turn: 2 })
    await fork.append('user/message', { content: 'other' })
    await fork.append('assistant/message', {
      content: 'own',
      usage: { inputTokens: 3, outputTokens: 4 },
    })
    await fork.append('turn/end', { turn: 2, reason: 'completed' })
    const used = await fork.project(usage)
    await store.close()
    for (const name of ['runs/r', 'cache']) rmSync(join(dir, name), { recursive: true })
    const elsewhere = await openStore(dir)
    const view = await elsewhere.inspectRun('f')
    expect((await view.last('assistant/message'))?.data.content).toBe('own')
    expect(await view.project(usage)).toEqual(used)
    expect((await view.project(usage)).calls.length).toBe(1)
    const missing = await failure(view.project(messages))
    expect([missing.code, missing.message]).toEqual([
      'RUN_NOT_FOUND',
      expect.stringContaining('which is not in this store. Try: '),
    ])
    expect((await failure(view.request({ provider: 'openai', model: 'm' }))).code).toBe(
      'RUN_NOT_FOUND',
    )
    const run = await elsewhere.openRun('f')
    await run.append('note', { text: 'goes on' })
    expect(await run.project(usage)).toEqual(used)
    await elsewhere.close()
  })
})
