/**
 * Questions to people: answered in the process, from another one, too late, after a kill, and by a
 * log.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, openStore, type Run, type Store } from '../../src/index.js'
import { daglog, finished, printed } from '../cli/command.js'
import { temporaryDir } from '../store/temporary.js'

const ASKING = fileURLToPath(new URL('./asking-agent.mjs', import.meta.url))

/** Resolves once a run asks so many things. */
async function asks(store: Store, id: string, count = 1): Promise<void> {
  for (;;) {
    let found = 0
    const there = (await store.runs()).some((run) => run.id === id)
    const view = there ? await store.inspectRun(id) : undefined
    for await (const _ of view?.events({ types: ['ask/question'] }) ?? []) found += 1
    if (found >= count) return
    await new Promise(setImmediate)
  }
}

async function typesOf(store: Store, id: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of (await store.inspectRun(id)).events()) types.push(type)
  return types
}

describe('a question that is answered in its own process', () => {
  it('has the answer for its output, whatever it is, and in each replay', async () => {
    const store = await openStore(memory())
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 5 }), async (values) => {
        const agent = async (run: Run): Promise<unknown[]> => {
          const going = values.map((_, at) => run.ask(`q${at}`, { at }))
          // In any order, also before the question is in the log.
          const given = [...values.keys()].reverse().map((at) => run.answer(`q${at}`, values[at]))
          await Promise.all(given)
          return Promise.all(going)
        }
        const first = await store.record('job', 0, agent)
        expect(first.output).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))))
        const again = await store.replay(first.id, agent)
        expect([again.ok, again.output]).toEqual([true, first.output])
        expect((await store.resume(first.id, agent)).output).toEqual(first.output)
      }),
      { numRuns: 25 },
    )
    await store.close()
  })

  it('is a step with the question for its input, and what says that it asks', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const going = run.ask('approve', { sum: 12 }, { timeoutMs: 60_000 })
    expect(await run.answer('approve', 'yes')).toBe(true)
    expect(await going).toBe('yes')
    expect((await run.last('step/start'))?.data).toMatchObject({
      name: 'approve',
      input: { sum: 12 },
      effect: 'read',
    })
    expect((await run.last('ask/question'))?.data).toEqual({ name: 'approve', timeoutMs: 60_000 })
    expect((await run.last('step/end'))?.data).toMatchObject({ status: 'ok', output: 'yes' })
    await store.close()
  })

  it('is answered once, and only what is asked: ASK_NOT_FOUND', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    await expect(run.answer('approve', 1)).rejects.toMatchObject({ code: 'ASK_NOT_FOUND' })
    const going = run.ask('approve')
    const [one, other] = [run.answer('approve', 1), run.answer('approve', 2)]
    await expect(other).rejects.toMatchObject({ code: 'ASK_NOT_FOUND' })
    expect([await one, await going]).toEqual([true, 1])
    await store.close()
  })

  it('stays open where the answer cannot be recorded; two of a name are told apart by step', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const going = [run.ask('pick', 'a'), run.ask('pick', 'b')]
    await asks(store, 'r', 2)
    await expect(run.answer('pick', 1)).rejects.toMatchObject({
      code: 'USAGE',
      data: { steps: ['n1', 'n2'] },
    })
    await expect(run.answer('n1', () => 1)).rejects.toMatchObject({ code: 'VALUE_UNSUPPORTED' })
    await run.answer('n2', 'second')
    await run.answer('n1', 'first')
    expect(await Promise.all(going)).toEqual(['first', 'second'])
    await store.close()
  })
})

describe('a question that nobody answers', () => {
  it('ends with ASK_TIMEOUT, which a replay and a resume give as well', async () => {
    const store = await openStore(memory())
    const agent = async (run: Run): Promise<unknown> =>
      run.ask('approve', 'ok?', { timeoutMs: 1 }).catch(({ code }) => code)
    const first = await store.record('job', 0, agent)
    expect(first.output).toBe('ASK_TIMEOUT')
    const again = await store.replay(first.id, agent)
    expect([again.ok, again.output]).toEqual([true, 'ASK_TIMEOUT'])
    expect((await store.resume(first.id, agent)).output).toBe('ASK_TIMEOUT')
    await expect(store.answer(first.id, 'approve', 1)).rejects.toMatchObject({
      code: 'ASK_NOT_FOUND',
    })
    const run = await store.run('other')
    await expect(run.ask('x', 1, { timeoutMs: Number.NaN })).rejects.toMatchObject({
      code: 'USAGE',
    })
    await store.close()
  })

  it('ends as cancelled when its signal is aborted', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const control = new AbortController()
    const going = run.ask('approve', 'ok?', { signal: control.signal })
    control.abort(new Error('no longer'))
    await expect(going).rejects.toThrow('no longer')
    expect((await run.last('step/end'))?.data.status).toBe('cancelled')
    await store.close()
  })
})

describe('a question that is answered from elsewhere', () => {
  it('finds the answer in a run below, which verifies, and the first one counts', async () => {
    const dir = temporaryDir()
    const [store, other] = [await openStore(dir), await openStore(dir)]
    const agent = (run: Run): Promise<unknown> => run.ask('approve', 'ok?')
    const going = store.record('job', 0, agent, { id: 'job' })
    await asks(other, 'job')
    const given = await Promise.allSettled([
      other.answer('job', 'approve', { by: 'a' }, { lockWaitMs: 10_000 }),
      store.answer('job', 'approve', { by: 'b' }, { lockWaitMs: 10_000 }),
    ])
    const taken = given.filter(({ status }) => status === 'fulfilled')
    const refused = given.find(({ status }) => status === 'rejected')
    expect(taken).toHaveLength(1)
    expect(refused).toMatchObject({ reason: { code: 'ASK_NOT_FOUND' } })
    const by = given[0]?.status === 'fulfilled' ? 'a' : 'b'
    const first = await going
    expect(first.output).toEqual({ by })
    expect((await store.replay('job', agent)).ok).toBe(true)
    const answers = (await other.runs()).find(({ id }) => id.startsWith('job.answers-'))
    expect(answers).toMatchObject({ parent: { kind: 'child' }, status: 'ok' })
    // It is about another run, as a replay is.
    expect(await other.resolve('@last')).toBe('job')
    expect((await other.verify()).ok).toBe(true)
    await Promise.all([store.close(), other.close()])
  })

  it('takes it from the command line while its process waits', async () => {
    const dir = temporaryDir()
    const child = spawn(process.execPath, [ASKING, dir, 'record'], { stdio: 'pipe' })
    const [ended, said] = [finished(child), printed(child)]
    await said('asking')
    const unknown = await daglog(['answer', 'asking', 'approv', '--store', dir])
    expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining('open are: approve')])
    const given = await daglog(['answer', '@last', 'approve', '--data', '{"ok":true}', '--json'], {
      env: { DAGLOG_DIR: dir },
    })
    expect([given.code, JSON.parse(given.out)]).toEqual([
      0,
      expect.objectContaining({ ok: true, run: 'asking', step: 'n2' }),
    ])
    expect((await ended).out).toContain('result it said {"ok":true}')
  })
})

describe('a question inside other things', () => {
  it('is asked anew in a fork behind its cut, and has answers of its own there', async () => {
    const store = await openStore(memory())
    const agent = async (run: Run, input: string): Promise<unknown> =>
      run.step('plan', { input }, async () => [input, await run.ask('approve', 'ok?')])
    const going = store.record('job', 'a', agent, { id: 'job' })
    await asks(store, 'job')
    await store.answer('job', 'approve', 'first')
    expect((await going).output).toEqual(['a', 'first'])
    const forking = store.forkRun('job', { edit: () => 'b', id: 'fork' }, agent)
    await asks(store, 'fork')
    await store.answer('fork', 'approve', 'second')
    expect((await forking).output).toEqual(['b', 'second'])
    expect((await store.replay('fork', agent)).ok).toBe(true)
    expect((await store.replay('job', agent, { verify: 'pure' })).output).toEqual(['a', 'first'])
    expect((await store.verify()).ok).toBe(true)
    await store.close()
  })

  it('takes an answer of many megabytes from elsewhere', async () => {
    const store = await openStore(temporaryDir())
    const run = await store.run('r')
    const going = run.ask('paste')
    await asks(store, 'r')
    const text = 'a line of text\n'.repeat(300_000)
    await store.answer('r', 'paste', { text })
    expect(((await going) as { text: string }).text === text).toBe(true)
    expect((await store.verify()).ok).toBe(true)
    await store.close()
  })

  it('is over with its run, and keeps no process alive', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const going = run.ask('approve')
    const refused = expect(going).rejects.toMatchObject({ code: 'CLOSED' })
    await asks(store, 'r')
    await run.close()
    await refused
    await store.close()
    const left = await finished(
      spawn(process.execPath, [ASKING, temporaryDir(), 'leave'], { stdio: 'pipe' }),
    )
    expect([left.code, left.out]).toEqual([0, 'asking\nresult left\n'])
  })

  it('is over with its function: nobody answers what it left behind', async () => {
    const store = await openStore(memory())
    const first = await store.record('job', 0, async (run) => {
      run.ask('approve', 'ok?').catch(() => {})
      while ((await run.last('ask/question')) === undefined) await new Promise(setImmediate)
      return 'gone'
    })
    expect(first.output).toBe('gone')
    await expect(store.answer(first.id, 'approve', 1)).rejects.toMatchObject({
      code: 'ASK_NOT_FOUND',
    })
    await store.close()
  })
})

describe('an asker that is killed', () => {
  async function killed(dir: string): Promise<void> {
    const child = spawn(process.execPath, [ASKING, dir, 'record'], { stdio: 'pipe' })
    await printed(child)('asking')
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  it('is given, when it is resumed, the answer that came meanwhile', async () => {
    const dir = temporaryDir()
    await killed(dir)
    const given = await daglog(['answer', 'asking', 'approve', '--data', '-', '--store', dir], {
      input: '"yes"',
    })
    expect(given.code).toBe(0)
    const resumed = await finished(
      spawn(process.execPath, [ASKING, dir, 'resume'], { stdio: 'pipe' }),
    )
    expect(resumed.out).toContain('result it said "yes"')
  })

  it('asks the same again where none came', async () => {
    const dir = temporaryDir()
    await killed(dir)
    const child = spawn(process.execPath, [ASKING, dir, 'resume'], { stdio: 'pipe' })
    const ended = finished(child)
    const store = await openStore(dir)
    await asks(store, 'asking', 2)
    await store.answer('asking', 'approve', 'late')
    expect((await ended).out).toContain('result it said "late"')
    const types = await typesOf(store, 'asking')
    expect(types.filter((type) => type === 'ask/question')).toHaveLength(2)
    expect((await store.verify()).ok).toBe(true)
    await store.close()
  })
})
