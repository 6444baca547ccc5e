/**
 * A disk that fails once, wherever that can be: with an error, for want of room, or by a short
 * write.
 * What was acknowledged before and after must survive, power loss included, and a second try must
 * work.
 * Short in CI, where only some places fail; DAGLOG_LONG=1 takes all.
 */
import { describe, expect, it } from 'vitest'
import { DaglogError, type Run } from '../../src/index.js'
import type { DiskOperation } from '../../src/testing/disk-operation.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { losePower, type Scenario, type Stage, type Visitor } from './power-loss.js'
import { large, leaveTorn } from './scenarios.js'

const isLong = process.env.DAGLOG_LONG !== undefined
const HOUR_MS = 3_600_000

/** Something that goes wrong once, at the n-th call of its kind. */
interface Fault {
  /** The call that it struck, or undefined where there were not so many. */
  struck(): string | undefined
  /** Called when the program was told of it. */
  mend(): void
}

type MakeFault = (disk: SimulatedDisk, nth: number) => Fault

const isChange = ({ name, mode }: DiskOperation): boolean =>
  name === 'openFile' ? mode === 'create' : !READS.has(name)
const READS: ReadonlySet<string> = new Set(['read', 'size', 'close', 'exists', 'sizeOf', 'list'])
const isSync = ({ name }: DiskOperation): boolean => name.startsWith('sync')
const isRead = ({ name, mode }: DiskOperation): boolean =>
  (name === 'openFile' && mode !== 'create') || (READS.has(name) && name !== 'close')

/** Says yes to the n-th call that passes, and remembers it. */
function nthCall(test: (operation: DiskOperation) => boolean, nth: number) {
  let count = 0
  let struck: string | undefined
  return {
    test(operation: DiskOperation): boolean {
      if (!test(operation)) return false
      count += 1
      if (count !== nth) return false
      struck = `${operation.name} ${operation.path}`
      return true
    },
    struck: () => struck,
  }
}

function failing(test: (operation: DiskOperation) => boolean): MakeFault {
  return (disk, nth) => {
    const call = nthCall(test, nth)
    disk.failNext(call.test, { code: 'EIO' })
    return { struck: call.struck, mend: () => {} }
  }
}

function shortWrite(keptBytes: number): MakeFault {
  return (disk, nth) => {
    const call = nthCall(() => true, nth)
    disk.shortWriteNext(call.test, keptBytes)
    return { struck: call.struck, mend: () => {} }
  }
}

/** From the n-th write on there is room for that many bytes more. */
function full(spareBytes: number): MakeFault {
  return (disk, nth) => {
    const call = nthCall(({ name }) => name === 'append', nth)
    const { onOperation } = disk
    disk.onOperation = (operation) => {
      onOperation?.(operation)
      if (operation.phase === 'before' && call.test(operation))
        disk.capacityBytes = usedBytes(disk) + spareBytes
    }
    return {
      struck: call.struck,
      mend: () => {
        disk.capacityBytes = Number.POSITIVE_INFINITY
      },
    }
  }
}

function usedBytes(disk: SimulatedDisk): number {
  return [...disk.dump().values()].reduce((sum, { length }) => sum + length, 0)
}

/** What a stubborn program appends, one after the other. */
const APPENDS = [
  ['note'],
  ['assistant/chunk'],
  ['turn/start', 'note'],
  ['note'],
  ['state/write'],
  ['turn/end'],
] as const

/** Does everything twice if need be; a second failure is one too many. */
class StubbornProgram {
  private run: Run | undefined

  constructor(
    private readonly stage: Stage,
    private readonly durability: 'step' | 'os',
    private readonly onFailure: () => void,
  ) {}

  async work(): Promise<void> {
    const { machine } = this.stage
    const { durability } = this
    const process = await this.twice('open', () => machine.start({ durability }))
    for (const [n, types] of APPENDS.entries())
      await this.twice(`append ${n}`, async () => {
        this.run ??= await process.store.run('r')
        const data = { text: n % 2 === 0 ? large(n) : n, turn: 1, reason: 'completed' }
        const isSynced = durability === 'step' && types[0] !== 'assistant/chunk'
        const events = types.map((type) => [type, data] as const)
        await this.stage.ledger.append(this.run, events, isSynced ? 'durable' : 'to the system')
      })
    await this.twice('close', () => process.store.close())
  }

  private async twice<R>(what: string, act: () => Promise<R>): Promise<R> {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof DaglogError) || error.kind !== 'environment') throw error
      this.onFailure()
      await this.run?.close().catch(() => {})
      this.run = undefined
    }
    try {
      return await act()
    } catch (cause) {
      throw new Error(`${what} fails a second time`, { cause })
    }
  }
}

interface Strikes {
  readonly durability: 'step' | 'os'
  /** What the program finds in the beginning; nothing unless told. */
  readonly before?: Scenario['before'] | undefined
  /** Strike at the first place, and then this many places on. */
  readonly stride: number
}

async function strikeEverywhere(
  makeFault: MakeFault,
  { durability, before, stride }: Strikes,
): Promise<{ places: number; states: number; losses: number; alarms: number; wrong: string[] }> {
  const sum = { places: 0, states: 0, losses: 0, alarms: 0, wrong: [] as string[] }
  for (let nth = 1; ; nth += stride) {
    let struck: string | undefined
    const scenario: Scenario = {
      ...(before === undefined ? {} : { before }),
      leavesOpen: true,
      async play(stage) {
        const fault = makeFault(stage.disk, nth)
        await new StubbornProgram(stage, durability, fault.mend).work()
        struck = fault.struck()
        fault.mend()
      },
    }
    const visitor = await strike(scenario).catch((error: unknown) => {
      throw new Error(`at place ${nth}`, { cause: error })
    })
    if (struck === undefined) return sum
    sum.places += 1
    sum.states += visitor.states
    sum.losses += visitor.losses.length
    sum.alarms += visitor.complaints.length
    sum.wrong.push(...visitor.findings.map((finding) => `${nth}, ${struck}: ${finding}`))
  }
}

/** What is acknowledged tells most, where all is lost then that may be. */
function strike(scenario: Scenario): Promise<Visitor> {
  const disk = { pageBytes: 256 }
  if (isLong) return losePower(scenario, { limit: 6, disk })
  const select = (what: string): boolean => what === 'acknowledged' || what === 'the end'
  return losePower(scenario, { limit: 4, lastOnly: true, disk, select })
}

describe.each([
  { name: 'a new store, durability step', durability: 'step', before: undefined },
  { name: 'a new store, durability os', durability: 'os', before: undefined },
  { name: 'what a crash left, durability step', durability: 'step', before: leaveTorn },
] as const)('a disk that fails once: $name', ({ name, durability, before }) => {
  it.each([
    ['a sync', failing(isSync), 3],
    ['any other change', failing((operation) => isChange(operation) && !isSync(operation)), 5],
    ['a look', failing(isRead), 11],
    ['a write, which is short', shortWrite(1), 5],
    ['a write, which is short by little', shortWrite(100), 5],
    ['a write, for want of room', full(0), 3],
    ['a write, for want of room for all of it', full(50), 3],
  ] as const)(
    'loses nothing by it: %s',
    async (what, makeFault, stride) => {
      const strikes = { durability, before, stride: isLong ? 1 : stride }
      const { places, states, losses, alarms, wrong } = await strikeEverywhere(makeFault, strikes)
      const counts = `${places} places, ${states} states, ${losses} losses, ${alarms} false alarms`
      console.log(`${what}, ${name}: ${counts}`)
      expect(wrong).toEqual([])
      expect(places).toBeGreaterThan(2)
    },
    HOUR_MS,
  )
})
