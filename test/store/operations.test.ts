/**
 * The same operation id twice is one event: in one process, after reopening, across processes and
 * kills.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DaglogError, memory, openStore, type RunEvent, type RunView } from '../../src/index.js'
import { jsonlEvents } from '../../src/store/jsonl.js'
import { redact } from '../golden/tamper.js'
import { startVerifier } from '../golden/verifier.js'
import { logPath, tamper, temporaryDir, temporaryStore } from './temporary.js'

async function notesOf(view: RunView): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of view.events({ types: ['note'] })) events.push(event)
  return events
}

const codeOf = (error: unknown): string => (error as DaglogError).code

const anyAppend = fc.record({
  op: fc.option(fc.constantFrom('a', 'b', 'c', 'é\ud800'), { nil: undefined }),
  value: fc.constantFrom(1, 2, 'x'.repeat(5000), new Date(5), new Uint8Array(5000)),
})
const anyCommand = fc.oneof(
  { weight: 6, arbitrary: fc.array(anyAppend, { minLength: 1, maxLength: 4 }) },
  { weight: 2, arbitrary: fc.constantFrom('release', 'reopen', 'forget') },
)

describe('an operation', () => {
  it('is one event and one answer, however appends, groups and openings are mixed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyCommand, { maxLength: 12 }), async (commands) => {
        const dir = temporaryDir()
        let { store } = await temporaryStore(join(dir, 'store'))
        let run = await store.run('r')
        const told = new Map<string, { value: unknown; seq: number; hash: string }>()
        const log: unknown[] = []
        for (const command of commands) {
          if (command === 'release') await run.release()
          else if (command === 'reopen' || command === 'forget') {
            await store.close()
            if (command === 'forget')
              rmSync(join(dir, 'store', 'cache'), { recursive: true, force: true })
            store = (await temporaryStore(join(dir, 'store'))).store
            run = await store.run('r')
          } else {
            const said = new Map([...told].map(([op, { value }]) => [op, value]))
            const fits = command.every(({ op, value }) => {
              if (op === undefined) return true
              if (!said.has(op)) said.set(op, value)
              return said.get(op) === value
            })
            const events = command.map(({ op, value }) => ({ type: 'note', data: { value }, op }))
            const appending = run.appendAll(events)
            if (!fits) {
              expect(codeOf(await appending.catch((error) => error))).toBe('OPERATION_CONFLICT')
              continue
            }
            for (const [at, { seq, hash }] of (await appending).entries()) {
              const { op, value } = command[at]!
              const before = op === undefined ? undefined : told.get(op)
              if (before === undefined) log.push([seq, value, op])
              else expect({ value, seq, hash }).toEqual(before)
              if (op !== undefined && before === undefined) told.set(op, { value, seq, hash })
            }
          }
        }
        const notes = await notesOf(run)
        expect(
          notes.map(({ seq, data, op }) => [seq, (data as { value: unknown }).value, op]),
        ).toEqual([...new Map(log.map((row) => [(row as unknown[])[0], row])).values()])
        for (const [op, { seq, hash }] of told)
          expect(await run.operation(op)).toMatchObject({ seq, hash, op })
        expect(await run.operation('never')).toBeUndefined()
        expect((await store.verify()).ok).toBe(true)
        await store.close()
      }),
      { numRuns: process.env.DAGLOG_LONG ? 500 : 30 },
    )
  })

  it('is one event where it is appended many times at once, and keeps the order of calls', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const appends = Array.from({ length: 30 }, (_, n) =>
      run.append('note', { n: n % 10 }, { op: `op ${n % 10}` }),
    )
    appends.push(run.append('note', { n: 10 }))
    const seqs = (await Promise.all(appends)).map(({ seq }) => seq)
    expect(seqs).toEqual([...seqs.slice(0, 10), ...seqs.slice(0, 10), ...seqs.slice(0, 10), 11])
    const notes = await notesOf(run)
    expect(notes.map(({ data }) => (data as { n: number }).n)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
  })

  it('is the same whatever the order of keys, and of a state whatever made it', async () => {
    const store = await openStore(memory())
    const run = await store.run('r')
    const first = await run.append('note', { a: 1, b: { c: [1n], d: -0 } }, { op: 'x' })
    expect(await run.append('note', { b: { d: -0, c: [1n] }, a: 1 }, { op: 'x' })).toEqual(first)
    const long = { list: ['x'.repeat(5000)], size: 1 }
    const second = await run.append('note', { long }, { op: 'y' })
    expect(await run.append('note', { long: { size: 1, list: long.list } }, { op: 'y' })).toEqual(
      second,
    )
    const state = await run.append('state/write', { value: { a: 1, b: [2] } }, { op: 'z' })
    await run.setState((draft) => {
      draft.a = 7
    })
    expect(await run.append('state/write', { value: { b: [2], a: 1 } }, { op: 'z' })).toEqual(state)
    expect(run.state.get(['a'])).toBe(7)
    expect((await run.operation('z'))?.data).toEqual({ value: { a: 1, b: [2] } })
  })

  it.each([
    ['other data', 'note', { n: 2 }],
    ['another type', 'cart/add', { n: 1 }],
    ['a value that differs in its sign', 'note', { n: -1 }],
  ])('is refused with %s, and the whole append with it', async (_what, type, data) => {
    const store = await openStore(memory())
    const run = await store.run('r')
    await run.append('note', { n: 1 }, { op: 'x' })
    const appending = run.appendAll([
      { type: 'note', data: { n: 3 } },
      { type, data, op: 'x' },
    ])
    const error = await appending.catch((error) => error)
    expect(error).toBeInstanceOf(DaglogError)
    expect(error.message).toMatch(/^OPERATION_CONFLICT: run r: an event .* seq 1, .*Try: /)
    expect(error.message).not.toContain('"x"')
    expect(error.data).toMatchObject({ run: 'r', op: 'x', seq: 1 })
    expect(await notesOf(run)).toHaveLength(1)
    await run.append('note', { n: 4 })
  })

  it('has an id: a string that is not empty and not too long', async () => {
    const run = await (await openStore(memory())).run('r')
    for (const op of ['', 7, null] as string[])
      await expect(run.append('note', {}, { op })).rejects.toThrow('EVENT_INVALID')
    await expect(run.append('note', {}, { op: 'é'.repeat(513) })).rejects.toThrow('LIMIT_EXCEEDED')
    await run.append('note', {}, { op: 'é'.repeat(512) })
  })

  it('is shown with its event, in lines too, and kept by salvage and by bundles', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.append('note', { text: 'x' }, { op: 'mine' })
    await run.close()
    const lines: string[] = []
    for await (const line of jsonlEvents(await store.inspectRun('r'))) lines.push(line)
    expect(JSON.parse(lines[1]!).op).toBe('mine')
    const parts: Buffer[] = []
    for await (const part of await store.exportBundle('r')) parts.push(part)
    const bundle = Buffer.concat(parts)
    const other = await openStore(memory())
    await other.importBundle({
      name: 'r.bundle',
      bytes: bundle.length,
      read: async (at, length) => bundle.subarray(at, at + length),
    })
    expect((await (await other.inspectRun('r')).operation('mine'))?.seq).toBe(1)
    tamper(logPath(dir, 'r'), (bytes) =>
      Buffer.from(bytes.toString().replace('"id":"r"', '"id":"s"')),
    )
    const salvaged = await store.salvage('r')
    expect((await (await store.inspectRun(salvaged.run)).operation('mine'))?.data).toEqual({
      text: 'x',
    })
    await store.close()
  })

  it('can be used again once its event was redacted, with and without a snapshot', async () => {
    for (const forget of [false, true]) {
      const { store, dir } = await temporaryStore()
      const run = await store.run('r')
      await run.append('note', { text: 'secret' }, { op: 'x' })
      await run.close()
      await store.close()
      redact(logPath(dir, 'r'), 1)
      if (forget) rmSync(join(dir, 'cache'), { recursive: true })
      const again = (await temporaryStore(dir)).store
      const reopened = await again.openRun('r')
      expect(await reopened.operation('x')).toBeUndefined()
      expect((await reopened.append('note', { text: 'other' }, { op: 'x' })).seq).toBe(2)
      await again.close()
    }
  })

  it('is not guessed where its frame is damaged', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.append('note', { text: 'x' }, { op: 'x' })
    tamper(logPath(dir, 'r'), (bytes) =>
      Buffer.from(bytes.toString().replace('"text":"x"', '"text":"y"')),
    )
    const error = await run.append('note', { text: 'y' }, { op: 'x' }).catch((error) => error)
    expect(codeOf(error)).toBe('CHAIN_BROKEN')
    await store.close()
  })
})

const WRITER = fileURLToPath(new URL('./operations-writer.mjs', import.meta.url))

interface Told {
  readonly op: string
  readonly seq: number
  readonly hash: string
}

/** What a writer was told until it ended, or was killed after `killAfter` answers. */
function write(dir: string, seed: number, count: number, killAfter?: number): Promise<Told[]> {
  return new Promise((resolve, reject) => {
    const args = [WRITER, dir, 'shared', String(seed), String(count)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (killAfter !== undefined && said.split('\n').length > killAfter) child.kill('SIGKILL')
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code !== 0 && signal !== 'SIGKILL') reject(new Error(`the writer ended with ${code}`))
      const lines = said.split('\n').slice(0, -1)
      resolve(
        lines.map((line) => {
          const [op, seq, hash] = line.split(' ') as [string, string, string]
          return { op, seq: Number(seq), hash }
        }),
      )
    })
  })
}

describe('an operation of several processes', () => {
  it('is one event where they do the same at the same time, and where they are killed', async () => {
    const dir = join(temporaryDir(), 'store')
    const count = 60
    await (await openStore(dir)).close()
    const told = [
      await Promise.all([write(dir, 1, count), write(dir, 2, count)]),
      [await write(dir, 3, count * 2, 70), await write(dir, 4, count * 2)],
    ].flat(2)
    const { store } = await temporaryStore(dir)
    const notes = await notesOf(await store.inspectRun('shared'))
    expect(notes.map(({ op }) => op).toSorted()).toEqual(
      Array.from({ length: count * 2 }, (_, op) => `op ${op}`).toSorted(),
    )
    const byOp = new Map(notes.map((event) => [event.op, event]))
    for (const { op, seq, hash } of told) expect(byOp.get(`op ${op}`)).toMatchObject({ seq, hash })
    expect(told.length).toBeGreaterThan(count * 4)
    expect((await store.verify()).ok).toBe(true)
    await store.close()
    const verifier = startVerifier(fileURLToPath(new URL('../../docs/verify.py', import.meta.url)))
    const report = await verifier.audit(dir)
    verifier.close()
    expect('runs' in report && report.runs.map(({ ok }) => ok)).toEqual([true])
  })
})
