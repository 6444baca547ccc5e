/**
 * The other side of power loss: what was provably durable and is no longer what it was is damage,
 * also when there are torn bytes to blame, and is never cut.
 */
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/index.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { Machine, STORE_ROOT } from './machine.js'
import { momentsOf } from './power-loss.js'
import { SCENARIOS } from './scenarios.js'

const isLong = process.env.DAGLOG_LONG !== undefined
const HOUR_MS = 3_600_000
const RUN_DIR = `${STORE_ROOT}/runs/r`

/** A frame of the run, and where its line lies, newline included. */
interface PlacedFrame {
  readonly event: RunEvent
  readonly path: string
  readonly from: number
  readonly to: number
  /** Up to where it proves that frames were durable. */
  readonly provesSeq: number
}

/** The frames that a reader sees, and up to which seq they are proven to have been durable. */
async function lookAt(disk: SimulatedDisk): Promise<{ frames: PlacedFrame[]; provenSeq: number }> {
  const { store } = await new Machine(disk).start({ create: false })
  const found = (await store.runs()).find(({ id }) => id === 'r')
  const events: RunEvent[] = []
  if (found !== undefined)
    for await (const event of (await store.inspectRun('r')).events()) events.push(event)
  await store.close()
  const logs = logsOf(disk)
  const frames = events.map((event) => placed(event, logs))
  const proven = frames.map(({ provesSeq }) => provesSeq)
  return { frames, provenSeq: Math.max(found?.head?.seq ?? -1, ...proven) }
}

function logsOf(disk: SimulatedDisk): [path: string, bytes: Buffer][] {
  return [...disk.dump()].filter(([path]) => path.startsWith(`${RUN_DIR}/log.`))
}

function placed(event: RunEvent, logs: readonly [string, Buffer][]): PlacedFrame {
  for (const [path, bytes] of logs) {
    const at = bytes.indexOf(`,"hash":"${event.hash}"`)
    if (at < 0) continue
    const from = bytes.lastIndexOf('\n', at) + 1
    const to = bytes.indexOf('\n', at) + 1
    const { lag = 0 } = JSON.parse(bytes.toString('utf8', from, to)) as { lag?: number }
    return { event, path, from, to, provesSeq: event.seq - lag - 1 }
  }
  throw new Error(`frame ${event.seq} is in no log`)
}

/** What should not be, after bit `bit` of a frame was flipped and the run was opened. */
async function wrongAfterFlip(
  disk: SimulatedDisk,
  { event: { seq }, path, from }: PlacedFrame,
  bit: number,
): Promise<string[]> {
  const wrong: string[] = []
  const where = `bit ${bit} of frame ${seq}`
  disk.flipBit(path, from * 8 + bit)
  disk.removeTree(`${STORE_ROOT}/cache`) // A snapshot would spare the log from being read again.
  const before = logsOf(disk)
  const { store } = await new Machine(disk).start({ create: false, onNotice: () => {} })
  const [report] = (await store.verify('r')).runs
  if (report?.ok !== false) wrong.push(`${where}: verify says that all is well`)
  if (!report?.problems.some((problem) => problem.seq === seq))
    wrong.push(`${where}: verify does not name it`)
  const refused = await store.openRun('r').then(
    () => 'opened',
    ({ code }) => code,
  )
  if (refused !== 'CHAIN_BROKEN') wrong.push(`${where}: to append, the run is ${refused}`)
  for (const [name, bytes] of before) {
    if (!disk.dump().get(name)?.equals(bytes)) wrong.push(`${where}: ${name} was changed`)
  }
  await store.close()
  return wrong
}

describe('a flipped bit in a frame that was durable', () => {
  it.each([
    'one append after the other',
    'appends that share a sync',
    'atomic appends',
    'turns whose heads are noted',
    'chunks that ride along',
    'taking over from dead processes',
  ])(
    'is damage, and nothing is cut for it: %s',
    async (name) => {
      const { moments } = await momentsOf(SCENARIOS[name]!, { pageBytes: 256 })
      const wrong: string[] = []
      let flips = 0
      let states = 0
      const chosen = isLong ? moments : moments.filter(({ what }) => /sync|append|end/.test(what))
      for (const [turn, { disk }] of chosen.entries()) {
        for (const state of disk.crashStates({ limit: isLong ? 40 : 2, seed: turn })) {
          const { frames, provenSeq } = await lookAt(state.clone())
          states += 1
          const proven = frames.filter(({ event }) => event.seq <= provenSeq)
          const first = isLong ? 0 : flips % Math.max(1, proven.length)
          for (const frame of proven.slice(first, isLong ? undefined : first + 1)) {
            // Every bit has its turn, over all states: a prime steps through all of them.
            const bit = (flips * 7919) % ((frame.to - frame.from) * 8)
            wrong.push(...(await wrongAfterFlip(state.clone(), frame, bit)))
            flips += 1
          }
        }
      }
      console.log(`${name}: ${states} states, ${flips} flips, ${wrong.length} missed`)
      expect(wrong).toEqual([])
      expect(flips).toBeGreaterThan(20)
    },
    HOUR_MS,
  )
})
