/**
 * Plays a scenario on a simulated disk, and asks of every moment of it: if power were lost now, what
 * would be found?
 * Knows moments, crash states and counts; what is right is for the survey and the ledger.
 */
import { SimulatedDisk, type SimulatedDiskOptions } from '../../src/testing/simulated-disk.js'
import { Ledger, type LedgerPosition } from './ledger.js'
import { Machine } from './machine.js'
import { digestOf, type Survey, survey } from './survey.js'

/** What a scenario is played on. */
export interface Stage {
  readonly machine: Machine
  readonly disk: SimulatedDisk
  readonly ledger: Ledger
}

export interface Scenario {
  /** What is there before, all of it durable. Power is not lost during this. */
  readonly before?: (stage: Stage) => Promise<void>
  readonly play: (stage: Stage) => Promise<void>
}

export interface PowerLossOptions {
  readonly disk?: SimulatedDiskOptions
  /** Most crash states to visit at one moment. */
  readonly limit: number
  readonly seed?: number
  /** Whether the scenario lets go of runs with open turns or steps. */
  readonly mayStayOpen?: boolean
}

/** A moment of a scenario: the disk, and what had been promised. */
export interface Moment {
  readonly what: string
  readonly disk: SimulatedDisk
  readonly position: LedgerPosition
}

export interface Tally {
  moments: number
  /** Moments of which every state was visited. */
  whole: number
  states: number
  /** States that no other state visited before was equal to. */
  distinct: number
  acknowledged: number
  /** What was found wrong, each with the state that showed it. */
  readonly findings: Finding[]
}

export interface Finding {
  readonly what: string
  readonly moment: string
  readonly state: SimulatedDisk
}

const FINDINGS_MAX = 10

/** The moments of a scenario: before each change to the disk, and at each acknowledgement. */
export async function momentsOf(
  { before, play }: Scenario,
  options: SimulatedDiskOptions = {},
): Promise<{ moments: Moment[]; stage: Stage }> {
  const ledger = new Ledger()
  let disk = new SimulatedDisk(options)
  if (before !== undefined) {
    await before({ machine: new Machine(disk), disk, ledger })
    disk = settled(disk)
  }
  const stage = { machine: new Machine(disk), disk, ledger }
  return { moments: await recorded(stage, play), stage }
}

async function recorded(stage: Stage, play: Scenario['play']): Promise<Moment[]> {
  const { disk, ledger } = stage
  const moments: Moment[] = []
  const record = (what: string): void => {
    moments.push({ what, disk: disk.clone(), position: ledger.position() })
  }
  disk.onOperation = ({ phase, changes, name, path }) => {
    if (phase === 'before' && changes) record(`before ${name} ${path}`)
  }
  ledger.onAcknowledged = () => record('acknowledged')
  await play(stage)
  record('the end')
  disk.onOperation = undefined
  return moments
}

/** Lose power at each moment, in every way or in many. */
export async function losePower(scenario: Scenario, options: PowerLossOptions): Promise<Tally> {
  const { moments, stage } = await momentsOf(scenario, options.disk)
  const visitor = new Visitor(options)
  await visitor.visit(moments, stage.ledger)
  return visitor.tally
}

/** Kill the process at each moment; another one goes on, and power is lost during that. */
export async function killThenLosePower(
  scenario: Scenario,
  sequel: Scenario['play'],
  options: PowerLossOptions,
): Promise<Tally> {
  const { moments, stage } = await momentsOf(scenario, options.disk)
  const visitor = new Visitor(options)
  for (const moment of moments) {
    const next: Stage = {
      machine: stage.machine.afterKill(moment.disk),
      disk: moment.disk,
      ledger: stage.ledger.from(moment.position),
    }
    try {
      const later = await recorded(next, sequel)
      const said = later.filter(({ what }) => what === 'acknowledged')
      await visitor.visit(said, next.ledger, `killed ${moment.what}; `)
    } catch (error) {
      visitor.tally.findings.push({
        what: `sequel: ${error}`,
        moment: moment.what,
        state: moment.disk,
      })
    }
  }
  return visitor.tally
}

class Visitor {
  readonly tally: Tally = {
    moments: 0,
    whole: 0,
    states: 0,
    distinct: 0,
    acknowledged: 0,
    findings: [],
  }
  private readonly surveys = new Map<string, Survey>()

  constructor(private readonly options: PowerLossOptions) {}

  async visit(moments: readonly Moment[], ledger: Ledger, prefix = ''): Promise<void> {
    const { tally } = this
    tally.moments += moments.length
    tally.acknowledged += ledger.acknowledgedCount
    for (const moment of moments) {
      const states = moment.disk.crashStates(this.options)
      if (states.coverage === 'all') tally.whole += 1
      for (const state of states) {
        if (tally.findings.length > FINDINGS_MAX) return
        for (const what of await this.wrong(state, moment, ledger))
          tally.findings.push({ what, moment: prefix + moment.what, state })
      }
    }
  }

  private async wrong(
    state: SimulatedDisk,
    { position }: Moment,
    ledger: Ledger,
  ): Promise<string[]> {
    const key = digestOf(state)
    const known = this.surveys.get(key)
    const found = known ?? (await survey(state.clone()))
    this.surveys.set(key, found)
    this.tally.states += 1
    if (known === undefined) this.tally.distinct += 1
    return [
      ...(known === undefined ? found.complaints : []),
      ...(known === undefined && !this.options.mayStayOpen ? found.open : []),
      ...ledger.losses(found.before, position).map((loss) => `before: ${loss}`),
      ...ledger.losses(found.after, position).map((loss) => `after: ${loss}`),
    ]
  }
}

/** The disk as it is, with nothing left that a power loss could take. */
function settled(disk: SimulatedDisk): SimulatedDisk {
  for (const state of disk.crashStates({ limit: 1 })) return state
  return disk
}
