/**
 * Two or three writers at once, in every order of their disk calls.
 */
import { describe, expect, it, vi } from 'vitest'
import { FsLocks } from '../../src/backend/fs-locks.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { FakeProcesses } from './fake-processes.js'
import { explore, type Outcome, SteppedProcess } from './interleave.js'
import {
  freshDisk,
  LOG,
  layout,
  lies,
  segmentText,
  type WriterReport,
  type Written,
  writerProgram,
} from './writer-process.js'

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomBytes: (await import('./repeatable-random.js')).repeatableRandom,
}))

type WriterOptions = Omit<Parameters<typeof writerProgram>[0], 'table' | 'name'>

/** Drafts are a process's own, and nobody sees a sync while the power stays on. */
function isShared(name: string, path: string): boolean {
  return !name.startsWith('sync') && !path.startsWith(layout.tmp())
}

/** Writers over one disk; `before` is what happened until they start. */
function race(
  writers: readonly WriterOptions[],
  before: (disk: SimulatedDisk, processes: FakeProcesses) => void = () => {},
): () => { disk: SimulatedDisk; processes: SteppedProcess<WriterReport>[] } {
  return () => {
    const disk = freshDisk()
    const world = new FakeProcesses()
    before(disk, world)
    return {
      disk,
      processes: writers.map((options, at) => {
        const name = 'abc'[at] as string
        return new SteppedProcess(
          name,
          disk,
          writerProgram({ ...options, name, table: world.start() }),
          isShared,
        )
      }),
    }
  }
}

/** What a process left that held the log, had committed, and died. */
function deadHolder(disk: SimulatedDisk, world: FakeProcesses): void {
  const dead = world.start()
  new FsLocks(disk, layout, dead).acquire(LOG, 0, 'dead')
  const file = disk.openFile(layout.segment(LOG, 0), 'append')
  file.append(Buffer.from('<dead>'))
  file.syncNow()
  file.close()
  disk.syncDir(layout.locks())
  dead.die()
}

function reportsOf(outcomes: readonly Outcome<WriterReport>[]): WriterReport[] {
  return outcomes.map((outcome) => {
    if ('error' in outcome) throw outcome.error
    return outcome.value
  })
}

const segmentCount = (disk: SimulatedDisk): number =>
  disk.list(layout.run('r')).filter((name) => name.startsWith('log.')).length

describe('two processes that want to write at once', () => {
  it('T11: take turns in one segment, or one is told that it is locked', async () => {
    const { ends } = await explore(race([{}, {}]), [], ({ disk, outcomes }) => {
      const reports = reportsOf(outcomes)
      expect(lies(disk, reports)).toEqual([])
      expect(reports.some(({ segment }) => segment !== undefined)).toBe(true)
      expect(reports.map(({ fenced }) => fenced)).toEqual([false, false])
      expect(disk.list(layout.locks())).toEqual([])
      expect(disk.list(layout.tmp())).toEqual([])
      expect(segmentCount(disk)).toBe(1)
    })
    expect(ends).toBeGreaterThan(10)
  })

  it('take over from a dead one: exactly one does, in one new segment', async () => {
    const { ends } = await explore(race([{}, {}], deadHolder), [], ({ disk, outcomes }) => {
      const reports = reportsOf(outcomes)
      expect(lies(disk, reports)).toEqual([])
      expect(reports.filter(({ opened }) => opened === 'taken').length).toBe(1)
      expect(reports.map(({ fenced }) => fenced)).toEqual([false, false])
      expect(segmentText(disk, 0)).toBe('<dead>')
      expect(segmentCount(disk)).toBe(2)
      expect(disk.list(layout.locks())).toEqual([])
    })
    expect(ends).toBeGreaterThan(10)
  })
})

describe('a process that takes over by force', () => {
  it('never loses what the other was told is kept, and the other never is told more', async () => {
    const writers = [{ commits: 2 }, { force: true }]
    const { states } = await explore(
      race(writers),
      process.env.DAGLOG_LONG ? [] : await opening(writers),
      ({ disk, outcomes, order }) => {
        const reports = reportsOf(outcomes)
        expect(lies(disk, reports), `order ${order.join('')}`).toEqual([])
        expect(reports[1]?.acknowledged.length).toBe(1)
      },
    )
    expect(states).toBeGreaterThan(100)
  })

  it.runIf(process.env.DAGLOG_LONG)('is one of two that do, and neither is lied to', async () => {
    const both = race([{ force: true }, { force: true }])
    const check = ({
      disk,
      outcomes,
    }: {
      disk: SimulatedDisk
      outcomes: Outcome<WriterReport>[]
    }) => expect(lies(disk, reportsOf(outcomes))).toEqual([])
    await explore(both, [], check, 30_000)
  })
})

/** The calls with which the first writer opens, before the others make any. */
async function opening(writers: readonly WriterOptions[]): Promise<number[]> {
  let opened = false
  const onOpened = (): void => {
    opened = true
  }
  const { processes } = race([{ ...writers[0], onOpened }])()
  const calls: number[] = []
  while (!opened) {
    await processes[0]?.step()
    if (!opened) calls.push(0)
  }
  return calls
}

/** How many calls a writer makes that is alone and does `options`. */
async function callsOf(options: WriterOptions, before?: typeof deadHolder): Promise<number> {
  const { processes } = race([options], before)()
  await processes[0]?.run()
  return processes[0]?.callCount as number
}

describe('a takeover that died', () => {
  it('at any call leaves a log that the next one takes over, without force', async () => {
    const calls = await callsOf({}, deadHolder)
    for (let diedAt = 0; diedAt <= calls; diedAt += 1) {
      const disk = freshDisk()
      const world = new FakeProcesses()
      deadHolder(disk, world)
      const table = world.start()
      const acknowledged: Written[] = []
      const dying = new SteppedProcess(
        'dying',
        disk,
        writerProgram({
          name: 'dying',
          table,
          onAcknowledged: (written) => acknowledged.push(written),
        }),
      )
      await dying.step(diedAt)
      table.die()
      const died: WriterReport = { ...IDLE, name: 'dying', acknowledged: acknowledged.slice(-1) }
      for (const [at, state] of [disk, ...disk.crashStates({ limit: 20 })].entries()) {
        const boot = at === 0 ? 'boot-1' : 'boot-2'
        const next = writerProgram({ name: 'next', table: world.start({ boot }) })
        const report = await next(state)
        expect(report.acknowledged.length, `died at ${diedAt}, state ${at}`).toBe(1)
        expect(lies(state, [died, report])).toEqual([])
        expect(segmentText(state, 0)).toBe('<dead>')
      }
    }
  })

  it('leaves the writer before it fenced, wherever that one was stopped', async () => {
    const [first, taker] = [await callsOf({ commits: 2 }), await callsOf({ force: true })]
    const stride = process.env.DAGLOG_LONG ? 1 : 2
    for (let stoppedAt = 0; stoppedAt <= first; stoppedAt += stride) {
      for (let diedAt = 0; diedAt <= taker; diedAt += stride) {
        const { disk, processes } = race([{ commits: 2 }, { force: true }, { force: true }])()
        const [paused, dying, next] = processes as [Stepped, Stepped, Stepped]
        await paused.step(stoppedAt)
        await dying.step(diedAt)
        await next.run()
        await paused.run()
        const reports = reportsOf([paused.outcome, next.outcome] as Outcome<WriterReport>[])
        expect(lies(disk, reports), `stopped at ${stoppedAt}, died at ${diedAt}`).toEqual([])
        expect(reports[1]?.acknowledged.length).toBe(1)
      }
    }
  })
})

type Stepped = SteppedProcess<WriterReport>

const IDLE: WriterReport = {
  name: '',
  segment: undefined,
  seen: [],
  acknowledged: [],
  fenced: false,
}
