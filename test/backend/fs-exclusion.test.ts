/**
 * Collectors and writers at once, in every order of their disk calls.
 */
import { describe, expect, it, vi } from 'vitest'
import type { Disk } from '../../src/backend/disk.js'
import { FsLocks } from '../../src/backend/fs-locks.js'
import { type ProcessTable, systemProcesses } from '../../src/backend/process-identity.js'
import { DaglogError } from '../../src/core/errors.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { FakeProcesses } from './fake-processes.js'
import { explore, type Program, SteppedProcess } from './interleave.js'
import { freshDisk, LOG, layout, segmentText, storeOf, writerProgram } from './writer-process.js'

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomBytes: (await import('./repeatable-random.js')).repeatableRandom,
}))

/** Drafts are a process's own, and nobody sees a sync while the power stays on. */
function isShared(name: string, path: string): boolean {
  return !name.startsWith('sync') && !path.startsWith(layout.tmp())
}

const MARK = `${layout.root}/collecting`

interface Report {
  readonly name: string
  /** What a collector saw of the run at its start and at its end; a writer's acknowledged text. */
  readonly saw: readonly string[]
  readonly refused: boolean
}

/** Keep writers out, look twice, let them in. */
function collector(name: string, table: ProcessTable): Program<Report> {
  return async (disk) => {
    const backend = storeOf(disk, table)
    let end: () => Promise<void>
    try {
      end = await backend.exclude(name)
    } catch (error) {
      if (!(error instanceof DaglogError && error.code === 'STORE_LOCKED')) throw error
      return { name, saw: [], refused: true }
    }
    disk.openFile(MARK, 'create').close() // Fails where another collects as well.
    const look = async (): Promise<string> => JSON.stringify(await backend.segments(LOG))
    const saw = [await look(), await look()]
    disk.remove(MARK)
    await end()
    return { name, saw, refused: false }
  }
}

function writer(name: string, table: ProcessTable): Program<Report> {
  const program = writerProgram({ name, table })
  return async (disk: Disk) => {
    const { segment, acknowledged } = await program(disk)
    return { name, saw: acknowledged.map(({ text }) => text), refused: segment === undefined }
  }
}

type Part = (name: string, table: ProcessTable) => Program<Report>

function race(
  parts: readonly Part[],
  before: (disk: SimulatedDisk, world: FakeProcesses) => void = () => {},
): () => { disk: SimulatedDisk; processes: SteppedProcess<Report>[] } {
  return () => {
    const disk = freshDisk()
    const world = new FakeProcesses()
    before(disk, world)
    const processes = parts.map((part, at) => {
      const name = 'abc'[at] as string
      return new SteppedProcess(name, disk, part(name, world.start()), isShared)
    })
    return { disk, processes }
  }
}

/** Try every order; what any collector saw must not have changed under it. */
async function everyOrder(start: ReturnType<typeof race>): Promise<{ refused: Set<string> }> {
  const refused = new Set<string>()
  const { ends } = await explore(start, [], ({ disk, outcomes, order }) => {
    const where = `order ${order.join('')}`
    for (const outcome of outcomes) {
      if ('error' in outcome) throw new Error(where, { cause: outcome.error })
      const { name, saw } = outcome.value
      if (outcome.value.refused) refused.add(name)
      else if (saw.length === 2) expect(saw[0], where).toBe(saw[1])
      else expect(segmentText(disk, 0) + segmentText(disk, 1), where).toContain(saw[0])
    }
    // Where all were refused, the lock of one that died may still be there.
    const left = disk.list(layout.locks()).filter((name) => name !== '~gc.0.lock')
    expect(left, where).toEqual([])
    expect(disk.exists(MARK), where).toBe(false)
  })
  expect(ends).toBeGreaterThan(5)
  return { refused }
}

function deadCollector(disk: SimulatedDisk, world: FakeProcesses): void {
  const dead = world.start()
  new FsLocks(disk, layout, dead).acquire('gc', 0, 'dead')
  dead.die()
}

function deadWriter(disk: SimulatedDisk, world: FakeProcesses): void {
  const dead = world.start()
  new FsLocks(disk, layout, dead).acquire(LOG, 0, 'dead')
  dead.die()
}

describe('a collector and a writer at once', () => {
  it('never work together: one waits for the other, or is refused', async () => {
    const { refused } = await everyOrder(race([collector, writer]))
    expect([...refused].sort()).toEqual(['a', 'b'])
  })

  it.runIf(process.env.DAGLOG_LONG)('neither where a collector has died', async () => {
    await everyOrder(race([collector, writer], deadCollector))
  })
})

describe('two collectors at once', () => {
  it('never work together', async () => {
    await everyOrder(race([collector, collector]))
  })

  it('neither where one has died: a dead lock is not stolen', async () => {
    await everyOrder(race([collector, collector], deadCollector))
  })
})

describe('a writer that would take over while the store is collected', () => {
  it('leaves nothing behind, so that the next one still knows that its predecessor died', async () => {
    const disk = freshDisk()
    const world = new FakeProcesses()
    deadWriter(disk, world)
    const end = await storeOf(disk, world.start()).exclude('gc')
    const table = world.start()
    await expect(storeOf(disk, table).openWriter(LOG, { program: 'w' })).rejects.toMatchObject({
      code: 'RUN_LOCKED',
      message: expect.stringMatching(/collected by pid \d+ on here \(gc\).*try: again/),
    })
    expect(disk.list(layout.run('r'))).toEqual(['log.000000.jsonl'])
    await end()
    const next = await storeOf(disk, table).openWriter(LOG, { program: 'w' })
    expect(next.opened).toBe('taken')
  })
})

describe('what is said', () => {
  it('names the run that is open, and by whom', async () => {
    const disk = freshDisk()
    const world = new FakeProcesses()
    const writing = await storeOf(disk, world.start()).openWriter(LOG, { program: 'agent' })
    const backend = storeOf(disk, world.start())
    await expect(backend.exclude('gc')).rejects.toMatchObject({
      code: 'STORE_LOCKED',
      kind: 'retry',
      message: expect.stringMatching(/run r is open in pid \d+ on here \(agent\)/),
      data: { run: 'r', program: 'agent', alive: true },
    })
    expect(disk.list(layout.locks())).toEqual(['r.0.lock'])
    await writing.release()
    await (await backend.exclude('gc'))()
  })

  it('says which file to remove where nobody can tell whether a collector lives', async () => {
    const disk = freshDisk()
    const world = new FakeProcesses()
    await storeOf(disk, world.start({ host: 'elsewhere' })).exclude('gc')
    for (const [act, code] of [
      [(): Promise<unknown> => storeOf(disk, world.start()).exclude('gc'), 'STORE_LOCKED'],
      [
        (): Promise<unknown> =>
          storeOf(disk, world.start()).openWriter(LOG, { program: 'w', force: true }),
        'RUN_LOCKED',
      ],
    ] as const) {
      await expect(act()).rejects.toMatchObject({
        code,
        message: expect.stringContaining('~gc.*.lock'),
        data: { alive: undefined },
      })
    }
  })

  it('is the same on a real machine', async () => {
    const disk = freshDisk()
    const end = await storeOf(disk, systemProcesses()).exclude('gc')
    await expect(storeOf(disk, systemProcesses()).exclude('gc')).rejects.toMatchObject({
      data: { pid: process.pid, alive: true },
    })
    await end()
  })
})
