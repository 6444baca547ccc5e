/**
 * Projections of runs in a store: the same result live and cold, from whichever snapshot, and
 * whatever happens to the caches.
 */
import { chmodSync, cpSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { directory } from '../../src/backend/fs.js'
import type { RunEvent } from '../../src/core/event.js'
import type { Projection } from '../../src/fold/projection.js'
import {
  messages,
  openStore,
  type Run,
  requestHeader,
  type Store,
  state,
  steps,
  todo,
  turns,
} from '../../src/index.js'
import { Store as StoreClass } from '../../src/store/store.js'
import { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { FakeProcesses } from '../backend/fake-processes.js'
import { anyEvents } from '../fold/any-events.js'
import { flipBit, tamper, temporaryDir, temporaryStore } from './temporary.js'

/** Every event that it was given, so that a test sees what was folded and how often. */
const seen: Projection<readonly string[]> = {
  key: 'seen',
  version: 1,
  init: () => [],
  apply: (state, { seq, type, data }) => [...state, `${seq} ${type} ${JSON.stringify(data)}`],
}

const BUILT_IN = { messages, turns, steps, todo, state, requestHeader }

async function results(run: Pick<Run, 'project'>): Promise<unknown> {
  const found: Record<string, unknown> = { seen: await run.project(seen) }
  for (const [name, projection] of Object.entries(BUILT_IN)) {
    found[name] = await run.project(projection as Projection<unknown>)
  }
  return found
}

async function fillTurns(run: Run, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await run.append('turn/start', { turn: n + 1 })
    await run.append('user/message', {
      content: n % 7 === 0 ? `${n}`.repeat(3000) : `question ${n}`,
    })
    await run.append('assistant/message', { content: [{ type: 'text', text: `answer ${n}` }] })
    await run.append('turn/end', { turn: n + 1, reason: 'completed' })
  }
}

function cacheFiles(dir: string): string[] {
  return readdirSync(join(dir, 'cache'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, 'cache', name))
    .filter((path) => statSync(path).isFile())
}

describe('a projection', () => {
  it('is the same live, cold, and after the run was opened again', async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents(), fc.nat(), async (events, n) => {
        const { store, dir } = await temporaryStore()
        const run = await store.run('r')
        await results(run)
        const cut = n % (events.length + 1)
        for (const [index, { type, data }] of events.entries()) {
          if (index === cut) {
            await run.project(messages)
            await run.release()
          }
          const taken = type === 'turn/end' ? { ...(data as object), reason: 'error' } : data
          await run.append(type, taken as never)
        }
        const live = await results(run)
        await store.close()
        const cold = await openStore(dir)
        expect(await results(await cold.inspectRun('r'))).toEqual(live)
        rmSync(join(dir, 'cache'), { recursive: true })
        const colder = await openStore(dir)
        expect(await results(await colder.inspectRun('r'))).toEqual(live)
        expect(await results(await colder.run('r'))).toEqual(live)
        await Promise.all([cold.close(), colder.close()])
      }),
      { numRuns: 25 },
    )
  })

  it('as of an event is what it was then', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const was: unknown[] = []
    for (let n = 0; n < 12; n += 1) {
      const { seq } = await run.append('user/message', { content: `${n}` })
      was[seq] = await run.project(messages)
    }
    for (const [seq, then] of was.entries()) {
      if (then !== undefined) expect(await run.project(messages, { at: seq })).toEqual(then)
    }
    await store.close()
  })

  it('is folded from its snapshot, and only what came after is given to it again', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await fillTurns(run, 30)
    await run.project(messages)
    await run.close()
    let applied = 0
    const counting = {
      ...messages,
      apply: (...given: Parameters<typeof messages.apply>) => {
        applied += 1
        return messages.apply(...given)
      },
    }
    const other = await openStore(dir)
    const again = await other.run('r')
    expect(await again.project(counting)).toHaveLength(60)
    expect(applied).toBe(0)
    await fillTurns(again, 1)
    await again.project(counting)
    expect(applied).toBe(3)
    await Promise.all([store.close(), other.close()])
  })

  it('of another version folds the log again, and drags no other along', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.project(messages)
    await run.project(turns)
    await fillTurns(run, 30)
    await store.close()
    const given: string[] = []
    const spy = <S, V>(projection: Projection<S, V>, version: number): Projection<S, V> => ({
      ...projection,
      version,
      apply: (state, event) => {
        given.push(projection.key)
        return projection.apply(state, event)
      },
    })
    const again = await openStore(dir)
    const view = await again.inspectRun('r')
    await view.project(spy(messages, 1))
    await view.project(spy(turns, turns.version + 1))
    expect(new Set(given)).toEqual(new Set(['turns']))
    await again.close()
  })

  it('that keeps what no snapshot can is folded each time, and that is told', async () => {
    const { store, notices } = await temporaryStore()
    const run = await store.run('r')
    const odd: Projection<Map<string, number>> = {
      key: 'odd',
      version: 1,
      init: () => new Map(),
      apply: (state, { type }) => new Map([...state, [type, (state.get(type) ?? 0) + 1]]),
    }
    await run.append('note', 1)
    expect((await run.project(odd)).get('note')).toBe(1)
    await run.close()
    expect(notices.map(({ message }) => message).join()).toMatch(/"odd" keeps what no snapshot can/)
    expect((await (await store.inspectRun('r')).project(odd)).get('note')).toBe(1)
    await store.close()
  })

  it('whose schema refuses the snapshot is folded from the log', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.project(messages)
    await fillTurns(run, 3)
    await store.close()
    let asked = 0
    const refusing = {
      ...messages,
      schema: {
        '~standard': {
          validate: () => {
            asked += 1
            return { issues: [{ message: 'no' }] }
          },
        },
      },
    }
    const again = await openStore(dir)
    expect(await (await again.inspectRun('r')).project(refusing)).toHaveLength(6)
    expect(asked).toBe(1)
    await again.close()
  })

  it('that throws is set aside alone, and all others go on', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const touchy: Projection<number> = {
      key: 'touchy',
      version: 1,
      init: () => 0,
      apply: (state, { type }) => {
        if (type === 'note') throw new Error('no notes')
        return state + 1
      },
    }
    await run.project(touchy)
    await run.append('note', 1)
    await run.append('user/message', { content: 'hello' })
    await expect(run.project(touchy)).rejects.toMatchObject({ code: 'PROJECTION_FAILED' })
    expect(await run.project(messages)).toHaveLength(1)
    await run.append('note', 2)
    expect(await run.project(messages)).toHaveLength(1)
    await store.close()
  })

  it('registered late sees all that was before', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.project(turns)
    await fillTurns(run, 5)
    const late = run.project(seen)
    const more = run.append('note', 'while it catches up')
    await Promise.all([late, more])
    const all: string[] = []
    for await (const { seq, type, data } of run.events()) {
      all.push(`${seq} ${type} ${JSON.stringify(data)}`)
    }
    expect(await run.project(seen)).toEqual(all)
    await store.close()
  })

  it('counts every event once, however appends and questions interleave', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    const asked: Promise<readonly string[]>[] = []
    const appended: Promise<unknown>[] = []
    for (let n = 0; n < 60; n += 1) {
      appended.push(
        run.append(n % 3 === 0 ? 'user/message' : 'note', { content: `${n}`.repeat(n * 90) }),
      )
      if (n % 4 === 0) asked.push(run.project({ ...seen, key: `seen-${n % 8}` }))
      if (n % 10 === 0) await Promise.all(appended)
    }
    await Promise.all(appended)
    for (const list of await Promise.all(asked)) {
      expect(list.map((text) => Number.parseInt(text, 10))).toEqual(list.map((_, index) => index))
    }
    expect(await run.project({ ...seen, key: 'seen-0' })).toHaveLength(61)
    await store.close()
  })
})

describe('a subscriber', () => {
  it('is told the value that is there, and then each new one, finished and durable', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    await run.append('user/message', { content: 'one' })
    const told: [number, number][] = []
    const end = run.subscribe(messages, (value, asOfSeq) => told.push([value.length, asOfSeq]))
    await settled(() => told.length === 1)
    await run.append('note', 'nothing new for messages')
    await run.appendAll([
      { type: 'user/message', data: { content: 'two' } },
      { type: 'user/message', data: { content: 'long '.repeat(3000) } },
    ])
    await settled(() => told.at(-1)?.[0] === 3)
    end()
    await run.append('user/message', { content: 'nobody listens' })
    await run.project(messages)
    expect(told[0]).toEqual([1, 1])
    expect(told.at(-1)).toEqual([3, 4])
    expect(told.length).toBeLessThanOrEqual(3)
    await store.close()
  })

  it('that throws is reported, and disturbs no other', async () => {
    const { store, notices } = await temporaryStore()
    const run = await store.run('r')
    let told = 0
    run.subscribe(messages, () => {
      throw new Error('not my day')
    })
    run.subscribe(messages, () => {
      told += 1
    })
    await settled(() => told === 1)
    await run.append('user/message', { content: 'x' })
    await settled(() => told === 2)
    expect(notices.filter(({ message }) => /a subscriber .* failed/.test(message))).toHaveLength(2)
    await store.close()
  })

  it('may append and ask for projections from inside', async () => {
    const { store } = await temporaryStore()
    const run = await store.run('r')
    let answered = false
    run.subscribe(messages, async (value) => {
      if (value.length !== 1) return
      await run.append('note', { heard: (await run.project(turns)).length })
      answered = true
    })
    await run.append('user/message', { content: 'x' })
    await settled(() => answered)
    expect((await run.last('note'))?.data).toEqual({ heard: 0 })
    await store.close()
  })
})

/** Wait for what happens by itself. */
async function settled(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve))
}

describe('a cache', () => {
  async function made(): Promise<{ dir: string; expected: unknown }> {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await results(run)
    await fillTurns(run, 80)
    const expected = await results(run)
    await store.close()
    return { dir, expected }
  }

  async function coldResults(dir: string): Promise<unknown> {
    const store = await openStore(dir, { onNotice: () => {} })
    const found = await results(await store.inspectRun('r'))
    await store.close()
    return found
  }

  it('that is deleted, cut or flipped anywhere changes no result', async () => {
    const { dir, expected } = await made()
    const paths = cacheFiles(dir)
    expect(paths.length).toBeGreaterThan(5)
    for (const [n, path] of paths.entries()) {
      const copy = join(temporaryDir(), 'store')
      cpSync(dir, copy, { recursive: true })
      const victim = path.replace(dir, copy)
      if (n % 3 === 0) rmSync(victim)
      else if (n % 3 === 1) tamper(victim, (bytes) => bytes.subarray(0, bytes.length >> 1))
      else tamper(victim, (bytes) => flipBit(bytes, (bytes.length * 8 * (n + 1)) % 7919))
      expect(await coldResults(copy)).toEqual(expected)
    }
  })

  it('that belongs to another history under the same id is not believed', async () => {
    // The log shrank, and grew again to something else: a backup was put back, another went on from
    // there.
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.project(messages)
    await fillTurns(run, 10)
    await run.close()
    await store.close()
    const backup = join(temporaryDir(), 'runs')
    cpSync(join(dir, 'runs'), backup, { recursive: true })
    const first = await openStore(dir)
    const later = await first.run('r')
    await later.project(messages)
    await fillTurns(later, 20)
    await first.close()
    rmSync(join(dir, 'runs'), { recursive: true })
    cpSync(backup, join(dir, 'runs'), { recursive: true })
    for (const name of readdirSync(dir)) if (/^store\.\d/.test(name)) rmSync(join(dir, name))
    const second = await openStore(dir, { onNotice: () => {} })
    const other = await second.run('r')
    for (let n = 0; n < 90; n += 1) await other.append('user/message', { content: `other ${n}` })
    const texts = (await other.project(messages)).map(({ content }) => JSON.stringify(content))
    expect(texts).toHaveLength(20 + 90)
    expect(texts.slice(20).every((text) => text.startsWith('"other'))).toBe(true)
    await second.close()
  })

  it('that cannot be written slows, and breaks nothing', async (context) => {
    if (process.getuid?.() === 0) {
      // Root may write anywhere: a file in the place of the directory stands in its way all the
      // same.
      const { store, dir, notices } = await temporaryStore()
      rmSync(join(dir, 'cache'), { recursive: true, force: true })
      writeFileSync(join(dir, 'cache'), 'no directory')
      const run = await store.run('r')
      await run.project(messages)
      await fillTurns(run, 5)
      await run.close()
      expect(notices.some(({ about }) => about === 'cache')).toBe(true)
      expect(await (await store.inspectRun('r')).project(messages)).toHaveLength(10)
      await store.close()
      return
    }
    const { store, dir, notices } = await temporaryStore()
    chmodSync(join(dir, 'cache'), 0o500)
    onTestFinished(() => chmodSync(join(dir, 'cache'), 0o700))
    const run = await store.run('r')
    await run.project(messages)
    await fillTurns(run, 5)
    await run.close()
    expect(notices.some(({ about }) => about === 'cache')).toBe(true)
    context.skip(false)
    await store.close()
  })
})

describe('a fork', () => {
  it('begins with what its parent had seen there, and says where each message is from', async () => {
    const { store, dir } = await temporaryStore()
    const parent = await store.run('parent')
    await fillTurns(parent, 3)
    const { seq } = await parent.append('note', 'the fork begins here')
    await fillTurns(parent, 1)
    const fork = await store.fork('parent', { at: seq, id: 'fork' })
    await fork.append('user/message', { content: 'another way' })
    const live = await fork.project(messages)
    expect(live).toHaveLength(7)
    const identity = await parent.identity()
    expect(live.map(({ run }) => run)).toEqual([...Array(6).fill(identity), undefined])
    expect((await fork.project(turns)).map(({ turn }) => turn)).toEqual([1, 2, 3])
    expect(await fork.project(steps)).toEqual([])
    await store.close()
    const again = await openStore(dir)
    const grandchild = await again.fork('fork', { id: 'grandchild' })
    await grandchild.append('user/message', { content: 'and another' })
    expect((await grandchild.project(messages)).slice(0, 7).map(({ content }) => content)).toEqual(
      live.map(({ content }) => content),
    )
    await again.close()
  })
})

describe('a run whose writer died in a turn', () => {
  async function left(): Promise<{ open: (alive?: boolean) => Promise<Store> }> {
    const disk = new SimulatedDisk({ syncGate: () => Promise.resolve() })
    const processes = new FakeProcesses()
    const first = processes.start()
    const openAs = (table: typeof first): Promise<Store> =>
      StoreClass.open(directory('/store', { disk, processes: table, codec: 'stored' }), {
        create: true,
        onNotice: () => {},
      })
    const store = await openAs(first)
    const run = await store.run('r')
    await run.append('turn/start', { turn: 1 })
    await run.append('user/message', { content: 'do it' })
    await run.append('assistant/message', {
      content: [
        { type: 'tool_use', id: 'a', name: 'read', input: {} },
        { type: 'tool_use', id: 'b', name: 'write', input: {} },
      ],
    })
    await run.append('step/start', { id: 'n1', key: 'k', name: 'write' })
    await run.append('tool/call', { id: 'b', name: 'write' })
    return {
      open: (alive = false) => {
        if (!alive) first.die()
        return openAs(processes.start())
      },
    }
  }

  it('is shown balanced, with nothing written, and then opens to exactly that', async () => {
    const { open } = await left()
    const store = await open()
    const view = await store.inspectRun('r')
    const headBefore = await view.head()
    const shown = await results(view)
    const pending: RunEvent[] = []
    for await (const event of view.session()) if (event.pending === true) pending.push(event)
    expect(
      pending.map(({ type, data }) => [type, (data as { closedBy?: string }).closedBy]),
    ).toEqual([
      ['tool/result', 'not-started'],
      ['tool/result', 'outcome-unknown'],
      ['step/end', undefined],
      ['turn/end', undefined],
    ])
    expect(await view.head()).toEqual(headBefore)
    const run = await store.run('r')
    const opened = (await results(run)) as { messages: { content: unknown }[]; turns: unknown[] }
    const balanced = shown as typeof opened
    expect(opened.messages.map(({ content }) => content)).toEqual(
      balanced.messages.map(({ content }) => content),
    )
    expect(opened.turns).toMatchObject([{ turn: 1, reason: 'interrupted' }])
    expect(balanced.turns).toMatchObject([{ turn: 1, reason: 'interrupted' }])
    await store.close()
  })

  it('is left alone while that writer lives', async () => {
    const { open } = await left()
    const store = await open(true)
    const view = await store.inspectRun('r')
    expect(await view.project(turns)).toMatchObject([{ turn: 1, reason: 'open' }])
    await expect(store.run('r')).rejects.toMatchObject({ code: 'RUN_LOCKED' })
    await store.close()
  })
})

test('session() gives events from any seq on', async () => {
  const { store } = await temporaryStore()
  const run = await store.run('r')
  await fillTurns(run, 3)
  const from: number[] = []
  for await (const { seq } of run.session({ from: 5, types: ['user/message'] })) from.push(seq)
  expect(from).toEqual([6, 10])
  await store.close()
})

describe('a projection whose events say the whole state', () => {
  it('is read from the last of them alone, and is what a fold of all gives', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    for (let n = 0; n < 20; n += 1) {
      await run.append('state/write', { value: { page: `${n}`.repeat(8000) } })
    }
    await run.append('todo/write', { items: ['one'] })
    await run.append('todo/write', 'of another shape' as never)
    await store.close()
    const folded: number[] = []
    const counting: Projection<unknown> = {
      ...state,
      apply(before, event) {
        folded.push(event.seq)
        return state.apply(before, event)
      },
    }
    const other = await openStore(dir)
    const view = await other.inspectRun('r')
    const last = await view.last('state/write')
    expect(await view.project(counting)).toEqual(last?.data.value)
    expect(folded).toEqual([last?.seq])
    expect(await view.project(state, { at: 1 })).toEqual({ page: '0'.repeat(8000) })
    expect(await view.project(todo)).toEqual(['one'])
    await other.close()
  })

  it('is unknown where that one was redacted, as the state is', () => {
    const event = { seq: 1, time: 1, type: 'state/write', hash: '' as never }
    const written = state.apply(state.init(), { ...event, data: { value: 1 } } as RunEvent)
    expect(written).toBe(1)
    expect(
      state.apply(written, { ...event, data: undefined, redacted: true } as RunEvent),
    ).toBeUndefined()
  })
})
