/**
 * Random programs: a replay always equals the recording, and a run that was killed anywhere resumes
 * to a result that its own log explains.
 * Short in CI; DAGLOG_LONG=1 runs thousands. Seeds are printed: DAGLOG_SEED repeats.
 */
import { describe, expect, it } from 'vitest'
import { encodeData } from '../../src/core/body.js'
import { memory, openStore, type RunView } from '../../src/index.js'
import { agentOf, drawer, hasRace, randomProgram, worldOf } from './programs.js'

type OpenStore = Awaited<ReturnType<typeof openStore>>

const LONG = process.env.DAGLOG_LONG !== undefined
const COUNT = LONG ? 3_000 : 120
const FIRST = Number(process.env.DAGLOG_SEED ?? Date.now() % 1_000_000)

describe('random programs', () => {
  it('replay to what was recorded, with no body run and no note', {
    timeout: LONG ? 3_600_000 : 120_000,
  }, async () => {
    console.log(`seed ${FIRST} (set DAGLOG_SEED to repeat)`)
    let answered = 0
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
      const draw = drawer(seed)
      const program = randomProgram(draw)
      const store = await openStore(memory())
      const r1 = await store.record('p', 'in', agentOf(program, worldOf(draw)))
      const world = worldOf(drawer(seed + 1))
      const r3 = await store.replay(r1.id, agentOf(program, world))
      if (!r3.ok || r3.notes.length > 0)
        console.log(JSON.stringify(program), await told(store, r1.id), r3.text())
      expect([seed, r3.ok]).toEqual([seed, true])
      expect([seed, r3.status, r3.output]).toEqual([seed, r1.status, r1.output])
      expect([seed, r3.notes.length, world.ran]).toEqual([seed, 0, []])
      answered += r3.answered
      await store.close()
    }
    console.log(`${COUNT} programs, ${answered} steps answered`)
    expect(answered).toBeGreaterThan(COUNT)
  })

  it('that were killed anywhere resume: nothing that ended runs again, and the whole replays', {
    timeout: LONG ? 3_600_000 : 120_000,
  }, async () => {
    for (let seed = FIRST; seed < FIRST + COUNT / 2; seed++) {
      const draw = drawer(seed)
      const program = randomProgram(draw)
      const whole = await openStore(memory())
      const r1 = await whole.record('p', 'in', agentOf(program, worldOf(draw)))
      const view = await whole.inspectRun(r1.id)
      const last = (await view.head())?.seq ?? 0
      const cut = 2 + Math.floor(draw() * (last - 2))
      const { store, id } = await cutAt(view, cut)
      const before = await endedKeys(await store.inspectRun(id))
      const world = worldOf(draw)
      const r2 = await store.resume(id, agentOf(program, world))
      expect([seed, cut, world.ran.filter((key) => before.has(key))]).toEqual([seed, cut, []])
      if (!hasRace(program)) expect([seed, cut, r2.output]).toEqual([seed, cut, r1.output])
      const r3 = await store.replay(id, agentOf(program, worldOf(draw)))
      if (!r3.ok) console.log(JSON.stringify(program), await told(store, id), r3.text())
      expect([seed, cut, r3.ok, r3.output]).toEqual([seed, cut, true, r2.output])
      await store.close()
      await whole.close()
    }
  })
})

/** A run of its own with the first events of another, as a crash behind them would leave it. */
async function cutAt(from: RunView, to: number): Promise<{ store: OpenStore; id: string }> {
  const store = await openStore(memory())
  const run = await store.createRun({ id: 'cut' })
  for await (const { type, data } of from.events({ from: 1, to }))
    if (type !== 'run/meta') await run.appendEncoded([{ type, data: encodeData(data) }])
  await run.close()
  return { store, id: run.id }
}

async function endedKeys(view: RunView): Promise<Set<string>> {
  const keys = new Map<string, string>()
  const ended = new Set<string>()
  for await (const { type, data } of view.events()) {
    const { id, key, status } = (data ?? {}) as Record<string, string>
    if (type === 'step/start') keys.set(id ?? '', key ?? '')
    if (type === 'step/end' && status !== 'interrupted') ended.add(keys.get(id ?? '') ?? '')
  }
  return ended
}

/** The steps of a run, for people. */
async function told(store: OpenStore, id: string): Promise<string> {
  const lines: string[] = []
  for await (const { seq, type, data } of (await store.inspectRun(id)).events())
    lines.push(
      `${seq} ${type} ${JSON.stringify({ ...(data as object), key: undefined, site: undefined }).slice(0, 160)}`,
    )
  return `\n${lines.join('\n')}\n`
}
