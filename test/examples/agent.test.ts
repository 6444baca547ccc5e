/**
 * The example agent, with the real SDK against a model stub on loopback: killed by SIGKILL at
 * random moments, started again, and always the same answer. DAGLOG_SEED repeats a run.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startModel } from '../../examples/agent/model-stub.mjs'
import { messages, openStore, turns } from '../../src/index.js'
import { temporaryDir } from '../store/temporary.js'

const AGENT = fileURLToPath(new URL('../../examples/agent/agent.mjs', import.meta.url))
const ANSWER = 'Lima is warmest, with 21 degrees; the three have 9 on average.'
const ROUNDS = 50
const AT_ONCE = 2

interface Killing {
  /** The request to the model that the kill waits for, from 1, and how long after it, in ms. */
  readonly request: number
  readonly afterMs: number
}

/** One run of the agent: what it printed, or undefined where it was killed. */
async function start(
  place: string,
  killing: Killing | undefined,
): Promise<{ said: string | undefined; bodies: unknown[] }> {
  const bodies: unknown[] = []
  let kill: () => void = () => {}
  const model = await startModel({
    onRequest: (body: unknown, count: number) => {
      bodies.push(body)
      if (count === killing?.request) setTimeout(() => kill(), killing.afterMs)
    },
  })
  const child = spawn(process.execPath, [AGENT, place, 'trip', model.baseURL], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  kill = () => child.kill('SIGKILL')
  let said = ''
  let complained = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    complained += piece
  })
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...ended) => resolve(ended))
  })
  await model.close()
  if (signal === 'SIGKILL') return { said: undefined, bodies }
  expect({ code, complained }).toEqual({ code: 0, complained: '' })
  return { said: said.trim(), bodies }
}

/** What the log says was sent, for each call of the model, in order. */
async function rebuilt(place: string): Promise<unknown[]> {
  const store = await openStore(place)
  const run = await store.inspectRun('trip')
  const bodies: unknown[] = []
  for await (const { seq, data } of run.events({ types: ['step/start'] })) {
    if (data.name !== 'model') continue
    const header = (await run.event(seq + 1))?.type === 'request/header'
    bodies.push(await run.request(undefined, { at: header ? seq + 1 : seq }))
  }
  await store.close()
  return bodies
}

async function round(killing: Killing): Promise<boolean> {
  const place = join(temporaryDir(), 'store')
  const first = await start(place, killing)
  const bodies = [...first.bodies]
  if (first.said === undefined) {
    const second = await start(place, undefined)
    expect(second.said).toBe(ANSWER)
    bodies.push(...second.bodies)
  } else expect(first.said).toBe(ANSWER)
  const store = await openStore(place)
  const run = await store.inspectRun('trip')
  const seen = await run.project(messages)
  const asked = seen.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string'
      ? content.flatMap((part) => (part.type === 'tool_use' ? [part.id] : []))
      : [],
  )
  const answered = seen.flatMap(({ role, content }) =>
    role === 'tool' && typeof content !== 'string'
      ? content.flatMap((part) => (part.type === 'tool_result' ? [part.id] : []))
      : [],
  )
  expect(answered.toSorted()).toEqual(asked.toSorted())
  for (const { reason } of await run.project(turns)) {
    expect(['completed', 'interrupted']).toContain(reason)
  }
  expect((await store.verify()).ok).toBe(true)
  await store.close()
  // A request may be in the log and killed before it was sent; none may be sent and not in the log.
  const logged = (await rebuilt(place)).map((body) => JSON.stringify(body))
  const sent = bodies.map((body) => JSON.stringify(body))
  expect(sent.filter((body) => !logged.includes(body))).toEqual([])
  expect(logged.length - sent.length).toBeLessThanOrEqual(1)
  return first.said === undefined
}

/** Numbers in [0, 1) that a seed repeats. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0
    return (state >>> 8) / 2 ** 24
  }
}

describe('the example agent', () => {
  it(`gives the same answer after each of ${ROUNDS} kills, every call closed, nothing sent unlogged`, async () => {
    const seed = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000_007)
    console.log(`seed ${seed}`)
    const random = randomOf(seed)
    const kills = Array.from({ length: ROUNDS }, () => ({
      request: 1 + Math.floor(random() * 4),
      afterMs: Math.floor(random() * 40),
    }))
    let killed = 0
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let next = kills.pop(); next !== undefined; next = kills.pop()) {
          if (await round(next)) killed += 1
        }
      }),
    )
    console.log(`${killed} of ${ROUNDS} were killed before they were done`)
  }, 600_000)

  it('sends, when nothing happens to it, exactly what its log says', async () => {
    const place = join(temporaryDir(), 'store')
    const { said, bodies } = await start(place, undefined)
    expect(said).toBe(ANSWER)
    expect(bodies).toHaveLength(4)
    expect(await rebuilt(place)).toEqual(bodies)
  })
})
