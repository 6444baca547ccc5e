/**
 * A session store for the Claude Agent SDK, held to what its documentation says of one, to the
 * SDK's own in-memory store, and to the SDK's functions that read and change stored sessions.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ClaudeSessionStoreOptions,
  claudeSessionStore,
  type SessionEntry,
  type SessionKey,
} from '../../src/claude-agent-sdk.js'
import { listRuns } from '../../src/cli/run-family.js'
import { memory, messages, openStore } from '../../src/index.js'
import { realPackages } from '../real/real-packages.js'
import { typeCheck } from '../real/type-check.js'
import { logPath, tamper, temporaryDir, temporaryStore } from '../store/temporary.js'

const real = await realPackages('claude-agent-sdk')

const main: SessionKey = { projectKey: '-home-me-project', sessionId: 'a1' }
const sub: SessionKey = { ...main, subpath: 'subagents/agent-7' }
const entry = (uuid: string | undefined, more: object = {}): SessionEntry => ({
  type: 'user',
  ...(uuid === undefined ? {} : { uuid }),
  ...more,
})

async function freshSessions(options: ClaudeSessionStoreOptions = {}) {
  const store = await openStore(memory())
  return { store, sessions: claudeSessionStore(store, options) }
}

const anyText = fc.string({
  unit: fc.constantFrom('a', 'B', '/', '%', '~', '.', 'é', '\ud800', '\0', '_'),
})
const anyKey: fc.Arbitrary<SessionKey> = fc.oneof(
  fc.record({ projectKey: anyText, sessionId: anyText }),
  fc.record({
    projectKey: anyText,
    sessionId: anyText,
    subpath: anyText.filter((text) => text !== ''),
  }),
)
const anyEntry = fc
  .tuple(fc.object({ withNullPrototype: false }), fc.constantFrom('user', 'title'))
  .map(([more, type]) => JSON.parse(JSON.stringify({ ...more, type })) as SessionEntry)

describe('a session store', () => {
  it('gives back what was appended, deep-equal and in order, also from another process', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyEntry, { maxLength: 4 }), { maxLength: 4 }),
        async (batches) => {
          const { dir, store } = await temporaryStore()
          const sessions = claudeSessionStore(store)
          for (const batch of batches) await sessions.append(main, batch)
          const all = batches.flat()
          expect(await sessions.load(main)).toStrictEqual(all.length === 0 ? null : all)
          await store.close()
          const again = claudeSessionStore((await temporaryStore(dir)).store)
          expect(await again.load(main)).toStrictEqual(all.length === 0 ? null : all)
          await again.store.close()
        },
      ),
      { numRuns: 20 },
    )
  })

  it('keeps what JSON can say, whatever its keys and length', async () => {
    const { sessions } = await freshSessions()
    const odd = JSON.parse(
      '{"type":"x","__proto__":{"a":1},"uuid":"1","":[null,-0,1e300,"\\ud800"]}',
    )
    const long = entry('2', {
      text: 'y'.repeat(300_000),
      list: Array.from({ length: 3000 }, (_, n) => n),
    })
    await sessions.append(main, [odd, long])
    const loaded = await sessions.load(main)
    expect(loaded).toStrictEqual([odd, long])
    expect(Object.hasOwn(loaded?.[0] as object, '__proto__')).toBe(true)
  })

  it('has null for a key that was never written', async () => {
    const { sessions, store } = await freshSessions()
    expect(await sessions.load(main)).toBeNull()
    await sessions.append(sub, [entry('1')])
    expect(await sessions.load(main)).toBeNull()
    expect(await sessions.load({ ...main, subpath: 'other' })).toBeNull()
    expect(await sessions.listSessions(main.projectKey)).toEqual([])
    expect(await store.runs()).toHaveLength(2)
  })

  it('keeps an entry once however often it is sent, alone or in a batch with others', async () => {
    const { sessions } = await freshSessions()
    const [one, two, three] = ['1', '2', '3'].map((uuid) => entry(uuid, { n: uuid }))
    await sessions.append(main, [one!, two!])
    await sessions.append(main, [one!, two!])
    await Promise.all([
      sessions.append(main, [two!, three!]),
      sessions.append(main, [three!, three!]),
    ])
    expect(await sessions.load(main)).toEqual([one, two, three])
  })

  it('lets another entry under the same uuid take the place of the first, and shows both to people', async () => {
    const { sessions, store } = await freshSessions()
    await sessions.append(main, [entry('1', { n: 1 }), entry('2')])
    await sessions.append(main, [entry('1', { n: 2 })])
    await sessions.append(main, [entry('1', { n: 2 })])
    expect(await sessions.load(main)).toEqual([entry('1', { n: 2 }), entry('2')])
    const kept: unknown[] = []
    const view = await store.inspectRun((await store.runs())[0]!.id)
    for await (const { data } of view.events({ types: ['claude-agent-sdk/entry'] })) kept.push(data)
    expect(kept).toHaveLength(3)
  })

  it('keeps entries without a uuid each time they are sent', async () => {
    const { sessions } = await freshSessions()
    const title = { type: 'custom-title', customTitle: 'x' }
    await sessions.append(main, [title])
    await sessions.append(main, [title])
    expect(await sessions.load(main)).toEqual([title, title])
  })

  it('takes entries as they are at the call, in the order of the calls', async () => {
    const { sessions } = await freshSessions()
    const mine = entry(undefined, { n: 0 })
    const appends = [0, 1, 2, 3, 4, 5].map((n) => {
      mine.n = n
      return sessions.append(main, [mine])
    })
    mine.n = 'later'
    await Promise.all(appends)
    expect((await sessions.load(main))?.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5])
    const loaded = await sessions.load(main)
    loaded![0]!.n = 'changed'
    expect((await sessions.load(main))?.[0]?.n).toBe(0)
  })

  it('never takes one key for another', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyKey, { maxLength: 6, selector: (key) => JSON.stringify(key) }),
        async (keys) => {
          const { sessions } = await freshSessions()
          for (const [n, key] of keys.entries()) await sessions.append(key, [entry('1', { n })])
          for (const [n, key] of keys.entries())
            expect(await sessions.load(key)).toEqual([entry('1', { n })])
          for (const { projectKey, sessionId } of keys) {
            const ids = keys.filter(
              (key) => key.projectKey === projectKey && key.subpath === undefined,
            )
            const listed = (await sessions.listSessions(projectKey)).map((one) => one.sessionId)
            expect(listed.toSorted()).toEqual(ids.map((key) => key.sessionId).toSorted())
            const subs = keys.filter(
              (key) => key.projectKey === projectKey && key.sessionId === sessionId,
            )
            const subpaths = subs.flatMap(({ subpath }) => subpath ?? [])
            expect((await sessions.listSubkeys({ projectKey, sessionId })).toSorted()).toEqual(
              subpaths.toSorted(),
            )
          }
        },
      ),
      { numRuns: 40 },
    )
    const { sessions } = await freshSessions()
    const long = {
      projectKey: 'p'.repeat(2000),
      sessionId: `${'s'.repeat(2000)}`,
      subpath: 'x'.repeat(2000),
    }
    await sessions.append(long, [entry('1')])
    await sessions.append({ projectKey: long.projectKey, sessionId: long.sessionId }, [entry('2')])
    expect(await sessions.listSubkeys(long)).toEqual([long.subpath])
    expect(await sessions.listSessions(long.projectKey)).toMatchObject([
      { sessionId: long.sessionId },
    ])
  })

  it('has sub-agents as runs below the session, linked when they begin', async () => {
    const { sessions, store } = await freshSessions()
    await sessions.append(sub, [entry('1')])
    await sessions.append(main, [entry('2')])
    const family = (await listRuns(store)).map(({ below, name, parent }) => [
      below,
      name,
      parent?.kind,
    ])
    expect(family).toEqual([
      [0, 'a1', undefined],
      [1, 'subagents/agent-7', 'child'],
    ])
    expect((await store.verify()).ok).toBe(true)
  })

  it('forgets a deleted session with all below it, and keeps what was there for people', async () => {
    const { sessions, store } = await freshSessions()
    await sessions.delete(main)
    await sessions.append(main, [entry('1')])
    await sessions.append(sub, [entry('2')])
    await sessions.append({ ...main, sessionId: 'other' }, [entry('3')])
    await sessions.delete(main)
    await sessions.delete(main)
    expect(await sessions.load(main)).toBeNull()
    expect(await sessions.load(sub)).toBeNull()
    expect(await sessions.listSubkeys(main)).toEqual([])
    expect(
      (await sessions.listSessions(main.projectKey)).map(({ sessionId }) => sessionId),
    ).toEqual(['other'])
    const { events } = (await store.runs()).find(({ name }) => name === 'a1')!
    // What was sent before the deletion may come again.
    await sessions.append(main, [entry('1')])
    expect(await sessions.load(main)).toEqual([entry('1')])
    await sessions.delete(sub)
    expect(await sessions.load(main)).toEqual([entry('1')])
    expect(events).toBeGreaterThan(0)
    expect((await store.verify()).ok).toBe(true)
  })

  it('erases a deleted session where that is wanted', async () => {
    const { sessions, store } = await freshSessions({ erase: true })
    await sessions.append(main, [entry('1')])
    await sessions.append(sub, [entry('2')])
    await sessions.delete(main)
    expect(await store.runs()).toEqual([])
    expect(await sessions.load(main)).toBeNull()
    await sessions.append(main, [entry('1')])
    expect(await sessions.load(main)).toEqual([entry('1')])
  })

  it('says when a session was last kept, by the clock of the store', async () => {
    let now = 1000
    const store = await openStore(memory(), { now: () => now })
    const sessions = claudeSessionStore(store)
    await sessions.append(main, [entry('1', { timestamp: '2020-01-01T00:00:00Z' })])
    now = 5000
    await sessions.append({ ...main, sessionId: 'b' }, [entry('2')])
    const listed = await sessions.listSessions(main.projectKey)
    expect(listed.toSorted((a, b) => a.mtime - b.mtime)).toEqual([
      { sessionId: 'a1', mtime: 1000 },
      { sessionId: 'b', mtime: 5000 },
    ])
    expect(sessions.listSessionSummaries).toBeUndefined()
  })

  it('does not give a transcript with a hole for a whole one', async () => {
    const { dir, store } = await temporaryStore()
    const sessions = claudeSessionStore(store)
    await sessions.append(
      main,
      ['1', '2', '3'].map((uuid) => entry(uuid, { text: `text ${uuid}` })),
    )
    const { id } = (await store.runs())[0]!
    const place = await store.context.backend.placeOf(id)
    await store.close()
    tamper(logPath(dir, place), (bytes) =>
      Buffer.from(bytes.toString().replace('text 2', 'text X')),
    )
    const again = claudeSessionStore((await temporaryStore(dir)).store)
    await expect(again.load(main)).rejects.toThrow('CHAIN_BROKEN')
  })
})

const MIRROR = fileURLToPath(new URL('../real/claude-agent-sdk/mirror.mjs', import.meta.url))

function mirror(dir: string, seed: number, killAfter?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MIRROR, dir, String(seed), '12'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (killAfter !== undefined && said.includes(killAfter)) child.kill('SIGKILL')
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL' || (code === 0 && said.endsWith('done\n'))) resolve()
      else reject(new Error(`the mirror ended with ${code}: ${said}`))
    })
  })
}

describe('several processes', () => {
  it('mirror the same session at the same time, are killed, and leave each entry once', async () => {
    const dir = join(temporaryDir(), 'store')
    await (await openStore(dir)).close()
    await mirror(dir, 1, '5\n')
    await Promise.all([mirror(dir, 2), mirror(dir, 3)])
    const { store } = await temporaryStore(dir)
    const sessions = claudeSessionStore(store)
    const key = { projectKey: 'p', sessionId: 's' }
    for (const subpath of [undefined, 'subagents/agent-1']) {
      const loaded = await sessions.load(subpath === undefined ? key : { ...key, subpath })
      expect(loaded?.map(({ uuid }) => uuid).toSorted()).toEqual(
        Array.from({ length: 36 }, (_, n) => `u${n}`).toSorted(),
      )
    }
    expect((await listRuns(store)).map(({ below }) => below)).toEqual([0, 1])
    expect((await store.verify()).ok).toBe(true)
    await store.close()
  })
})

describe.skipIf(real.skip !== undefined)('with the SDK', () => {
  const SDK = '@anthropic-ai/claude-agent-sdk'
  const ID = '11111111-1111-4111-8111-111111111111'
  const project = '/home/me/project'

  /** Lines as Claude Code writes them. */
  function transcript(sessionId: string, text: string, marks: object = {}): SessionEntry[] {
    const uuid = (n: number) => `${sessionId.slice(0, 35)}${n}`
    const at = (n: number) => `2026-01-01T00:00:0${n}.000Z`
    const common = {
      sessionId,
      cwd: project,
      version: '2.0.0',
      gitBranch: 'main',
      userType: 'external',
      isSidechain: false,
      ...marks,
    }
    return [
      {
        ...common,
        type: 'user',
        uuid: uuid(1),
        parentUuid: null,
        timestamp: at(1),
        message: { role: 'user', content: text },
      },
      {
        ...common,
        type: 'assistant',
        uuid: uuid(2),
        parentUuid: uuid(1),
        timestamp: at(2),
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'claude',
          content: [{ type: 'text', text: `re: ${text}` }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
    ]
  }

  it('is a SessionStore to the compiler', async () => {
    expect(await typeCheck('claude-agent-sdk')).toBe('')
  })

  it("answers each of the SDK's functions as its own store does", async () => {
    const sdk = await real.load(SDK)
    const { InMemorySessionStore, foldSessionSummary } = sdk
    const { sessions } = await freshSessions({ foldSessionSummary })
    const theirs = new InMemorySessionStore()
    const key = { projectKey: project.replaceAll(/[^a-zA-Z0-9]/g, '-'), sessionId: ID }
    const other = { ...key, sessionId: ID.replaceAll('1', '2') }
    const agent = { ...key, subpath: 'subagents/agent-abc' }
    for (const store of [sessions, theirs]) {
      await store.append(key, transcript(ID, 'Fix the bug'))
      await store.append(other, transcript(other.sessionId, 'Another thing'))
      await store.append(agent, transcript(ID, 'Look there', { isSidechain: true, agentId: 'abc' }))
    }
    const asked: Record<string, (sessionStore: unknown) => Promise<unknown>> = {
      listSessions: (sessionStore) => sdk.listSessions({ dir: project, sessionStore }),
      getSessionInfo: (sessionStore) => sdk.getSessionInfo(ID, { dir: project, sessionStore }),
      getSessionMessages: (sessionStore) =>
        sdk.getSessionMessages(ID, { dir: project, sessionStore }),
      listSubagents: (sessionStore) => sdk.listSubagents(ID, { dir: project, sessionStore }),
      getSubagentMessages: (sessionStore) =>
        sdk.getSubagentMessages(ID, 'abc', { dir: project, sessionStore }),
    }
    const withoutTimes = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value ?? null, (name, inner) => (name === 'lastModified' ? 0 : inner)),
      )
    const compare = async () => {
      for (const [name, ask] of Object.entries(asked)) {
        const [mine, its] = [withoutTimes(await ask(sessions)), withoutTimes(await ask(theirs))]
        const order = (value: unknown) =>
          name === 'listSessions'
            ? (value as object[]).map((one) => JSON.stringify(one)).toSorted()
            : value
        expect(order(mine), name).toEqual(order(its))
      }
    }
    await compare()
    expect(await sdk.getSessionMessages(ID, { dir: project, sessionStore: sessions })).toHaveLength(
      2,
    )
    expect(await sdk.listSessions({ dir: project, sessionStore: sessions })).toHaveLength(2)
    for (const store of [sessions, theirs]) {
      await sdk.renameSession(ID, 'A better title', { dir: project, sessionStore: store })
      await sdk.tagSession(ID, 'urgent', { dir: project, sessionStore: store })
    }
    await compare()
    const info = await sdk.getSessionInfo(ID, { dir: project, sessionStore: sessions })
    expect(info).toMatchObject({ customTitle: 'A better title', tag: 'urgent' })
    const fork = await sdk.forkSession(ID, { dir: project, sessionStore: sessions })
    expect(
      await sdk.getSessionMessages(fork.sessionId, { dir: project, sessionStore: sessions }),
    ).toHaveLength(2)
    await sdk.deleteSession(fork.sessionId, { dir: project, sessionStore: sessions })
    for (const store of [sessions, theirs])
      await sdk.deleteSession(ID, { dir: project, sessionStore: store })
    await compare()
    expect(await sdk.listSessions({ dir: project, sessionStore: sessions })).toHaveLength(1)
  })

  it('means messages: a session is read as the transcript that it is, and a deleted one shows none', async () => {
    const { sessions, store } = await freshSessions()
    const key = { projectKey: 'p', sessionId: ID }
    await sessions.append(key, transcript(ID, 'Fix the bug'))
    const { id } = (await store.runs())[0]!
    const view = await store.inspectRun(id)
    const shown = async () =>
      (await view.project(messages)).map(({ role, content }) => [role, content])
    expect(await shown()).toEqual([
      ['user', 'Fix the bug'],
      ['assistant', [{ type: 'text', text: 're: Fix the bug' }]],
    ])
    await sessions.delete(key)
    expect(await shown()).toEqual([])
  })

  it('keeps summaries that are those of a fold over all entries, also from another process', async () => {
    const { foldSessionSummary } = await real.load(SDK)
    const { dir, store } = await temporaryStore()
    const sessions = claudeSessionStore(store, { foldSessionSummary })
    const entries = transcript(ID, 'Fix the bug')
    const title = { type: 'custom-title', customTitle: 'Later', sessionId: ID }
    await sessions.append({ projectKey: 'p', sessionId: ID }, entries)
    await sessions.append({ projectKey: 'p', sessionId: ID }, [title])
    await sessions.append({ projectKey: 'p', sessionId: ID, subpath: 's' }, [entry('9')])
    const key = { projectKey: 'p', sessionId: ID }
    const { data } = foldSessionSummary(undefined, key, [...entries, title])
    const [summary, ...more] = (await sessions.listSessionSummaries?.('p')) ?? []
    expect(more).toEqual([])
    expect(summary).toMatchObject({ sessionId: ID, data })
    expect(summary?.mtime).toBe((await sessions.listSessions('p'))[0]?.mtime)
    await store.close()
    const again = claudeSessionStore((await temporaryStore(dir)).store, { foldSessionSummary })
    expect(await again.listSessionSummaries?.('p')).toEqual([summary])
    await again.delete(key)
    expect(await again.listSessionSummaries?.('p')).toEqual([])
    await again.store.close()
  })

  it('takes in a local session with its sub-agents, and once more without a second copy', async () => {
    const { importSessionToStore } = await real.load(SDK)
    const config = temporaryDir()
    const key = project.replaceAll(/[^a-zA-Z0-9]/g, '-')
    const place = join(config, 'projects', key)
    mkdirSync(join(place, ID, 'subagents'), { recursive: true })
    const lines = (entries: readonly object[]) =>
      entries.map((one) => `${JSON.stringify(one)}\n`).join('')
    writeFileSync(join(place, `${ID}.jsonl`), lines(transcript(ID, 'Fix the bug')))
    const agent = transcript(ID, 'Look there', { isSidechain: true, agentId: 'abc' })
    writeFileSync(join(place, ID, 'subagents', 'agent-abc.jsonl'), lines(agent))
    const { sessions } = await freshSessions()
    const before = process.env.CLAUDE_CONFIG_DIR
    process.env.CLAUDE_CONFIG_DIR = config
    try {
      for (let times = 0; times < 2; times += 1)
        await importSessionToStore(ID, sessions, { dir: project })
    } finally {
      if (before === undefined) delete process.env.CLAUDE_CONFIG_DIR
      else process.env.CLAUDE_CONFIG_DIR = before
    }
    const main = { projectKey: key, sessionId: ID }
    expect(await sessions.load(main)).toEqual(transcript(ID, 'Fix the bug'))
    expect(await sessions.listSubkeys(main)).toEqual(['subagents/agent-abc'])
    expect(await sessions.load({ ...main, subpath: 'subagents/agent-abc' })).toEqual(agent)
  })
})
