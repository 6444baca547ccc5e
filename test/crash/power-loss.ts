/**
 * Plays a scenario on a simulated disk, and asks of every moment of it: if power were lost now,
 * what would be found? Knows moments, crash states and counts; what is right is for the survey and
 * the ledger.
 */
import { SimulatedDisk, type SimulatedDiskOptions } from '../../src/testing/simulated-disk.js'
import { Ledger, type LedgerPosition } from './ledger.js'
import { Machine, STORE_ROOT } from './machine.js'
import { digestOf, type Survey, survey } from './survey.js'

/** What a scenario is played on. */
export interface Stage {
  readonly machine: Machine
  readonly disk: SimulatedDisk
  readonly ledger: Ledger
}

export interface Scenario {
  /** What is there in the beginning, all of it durable. */
  readonly before?: (stage: Stage) => Promise<void>
  readonly play: (stage: Stage) => Promise<void>
  /** How others go on after a crash in it, where not by appending to run `r`. */
  readonly sequel?: (stage: Stage) => Promise<void>
  /** Takes long: fewer states of it are visited. */
  readonly isLarge?: boolean
  /** Lets go of runs in good order while turns or steps of them are open. */
  readonly leavesOpen?: boolean
  /** Where the store is, unless at `STORE_ROOT`. */
  readonly root?: string
}

export interface PowerLossOptions {
  /**
   * Most crash states to visit at one moment; the first 4 are the extremes, the last of them the
   * worst.
   */
  readonly limit: number
  /** Visit only the last of them. */
  readonly lastOnly?: boolean
  readonly seed?: number
  readonly disk?: SimulatedDiskOptions
  /** Which moments to look at; all unless told. */
  readonly select?: (what: string) => boolean
}

/** A moment of a scenario: the disk as it was, and what had been promised. */
export interface Moment {
  readonly what: string
  readonly disk: SimulatedDisk
  readonly position: LedgerPosition
}

/** Something wrong, and the state that showed it. */
export interface Finding {
  readonly what: string
  readonly moment: string
  readonly state: SimulatedDisk
}

const FINDINGS_MAX = 10

/** Visits crash states, each content once, and counts. */
export class Visitor {
  moments = 0
  /** Moments of which every state was visited. */
  whole = 0
  states = 0
  /** States that were unlike all visited before. */
  distinct = 0
  /** Broken promises. */
  readonly losses: Finding[] = []
  /** What no honest crash may lead to: damage above all. */
  readonly complaints: Finding[] = []
  private readonly surveys = new Map<string, Survey>()

  constructor(
    private readonly scenario: Pick<Scenario, 'leavesOpen' | 'root'>,
    private readonly options: PowerLossOptions,
  ) {}

  async visit(moments: readonly Moment[], ledger: Ledger, prefix = ''): Promise<void> {
    const { limit, seed = 1, lastOnly = false, select = () => true } = this.options
    for (const moment of moments.filter(({ what }) => select(what))) {
      const states = moment.disk.crashStates({ limit, seed })
      this.moments += 1
      if (states.coverage === 'all' && !lastOnly) this.whole += 1
      for (const state of lastOnly ? [...states].slice(-1) : states) {
        if (this.losses.length + this.complaints.length > FINDINGS_MAX) return
        await this.look(state, { ...moment, what: prefix + moment.what }, ledger)
      }
    }
  }

  private async look(state: SimulatedDisk, moment: Moment, ledger: Ledger): Promise<void> {
    const { root = STORE_ROOT, leavesOpen = false } = this.scenario
    const key = digestOf(state, root)
    const known = this.surveys.get(key)
    const found = known ?? (await survey(state.clone(), root))
    this.states += 1
    for (const when of ['before', 'after'] as const) {
      for (const loss of ledger.losses(found[when], moment.position))
        this.losses.push({ what: `${when}: ${loss}`, moment: moment.what, state })
    }
    if (known !== undefined) return
    this.surveys.set(key, found)
    this.distinct += 1
    for (const what of [...found.complaints, ...(leavesOpen ? [] : found.open)])
      this.complaints.push({ what, moment: moment.what, state })
  }

  /** Everything wrong, in words. */
  get findings(): string[] {
    return [...this.losses, ...this.complaints].map(({ what, moment }) => `${moment}: ${what}`)
  }

  toString(): string {
    return (
      `${this.moments} moments (${this.whole} of them whole), ${this.states} states ` +
      `(${this.distinct} distinct), ${this.losses.length} losses, ` +
      `${this.complaints.length} false alarms`
    )
  }
}

/** The moments of a scenario: before each change to the disk, and at each acknowledgement. */
export async function momentsOf(
  { before, play, root }: Scenario,
  options: SimulatedDiskOptions = {},
): Promise<{ moments: Moment[]; stage: Stage }> {
  const ledger = new Ledger()
  let disk = new SimulatedDisk(options)
  if (before !== undefined) {
    await before({ machine: new Machine(disk, root), disk, ledger })
    disk = settled(disk)
  }
  const stage = { machine: new Machine(disk, root), disk, ledger }
  return { moments: await record(stage, play), stage }
}

/** The disk as it is, with nothing left that a power loss could take. */
function settled(disk: SimulatedDisk): SimulatedDisk {
  for (const state of disk.crashStates({ limit: 1 })) return state
  return disk
}

async function record(stage: Stage, play: Scenario['play']): Promise<Moment[]> {
  const { disk, ledger } = stage
  const moments: Moment[] = []
  const note = (what: string): void => {
    moments.push({ what, disk: disk.clone(), position: ledger.position() })
  }
  disk.onOperation = ({ phase, changes, name, path }) => {
    if (phase === 'before' && changes) note(`before ${name} ${path}`)
  }
  ledger.onAcknowledged = () => note('acknowledged')
  await play(stage)
  note('the end')
  disk.onOperation = undefined
  return moments
}

/** Lose power at each moment. */
export async function losePower(scenario: Scenario, options: PowerLossOptions): Promise<Visitor> {
  const { moments, stage } = await momentsOf(scenario, options.disk)
  const visitor = new Visitor(scenario, options)
  await visitor.visit(moments, stage.ledger)
  return visitor
}

/**
 * Kill all processes at each moment; others go on with the disk as it is, of which much may not be
 * synced, and lose power right after what they acknowledge.
 */
export async function killThenLosePower(
  scenario: Scenario,
  sequel: Scenario['play'],
  options: PowerLossOptions,
): Promise<Visitor> {
  const { moments, stage } = await momentsOf(scenario, options.disk)
  const visitor = new Visitor(scenario, options)
  for (const { what, disk, position } of moments) {
    const ledger = stage.ledger.from(position, 'kill')
    const machine = stage.machine.afterKill(disk)
    const later = await record({ machine, disk, ledger }, sequel)
    const promises = later.filter((moment) => moment.what === 'acknowledged')
    await visitor.visit(promises, ledger, `killed ${what}, then `)
  }
  return visitor
}

/**
 * Lose power at each moment, in a few ways; and again at each moment of what recovers from that.
 */
export async function losePowerTwice(
  scenario: Scenario,
  sequel: Scenario['play'],
  { first, ...options }: PowerLossOptions & { readonly first: PowerLossOptions },
): Promise<Visitor> {
  const { moments, stage } = await momentsOf(scenario, options.disk)
  const visitor = new Visitor(scenario, options)
  const seen = new Set<string>()
  const { limit, seed = 1, select = () => true } = first
  for (const { what, disk, position } of moments.filter((moment) => select(moment.what))) {
    for (const state of disk.crashStates({ limit, seed })) {
      const key = digestOf(state, scenario.root)
      if (seen.has(key)) continue
      seen.add(key)
      const ledger = stage.ledger.from(position, 'power loss')
      const machine = new Machine(state, scenario.root)
      const later = await record({ machine, disk: state, ledger }, sequel)
      await visitor.visit(later, ledger, `power lost ${what}, then `)
    }
  }
  return visitor
}
