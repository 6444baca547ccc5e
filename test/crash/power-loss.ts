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
): Promise<{ moments: Moment[]; ledger: Ledger }> {
  const ledger = new Ledger()
  let disk = new SimulatedDisk(options)
  if (before !== undefined) {
    await before({ machine: new Machine(disk), disk, ledger })
    disk = settled(disk)
  }
  const moments: Moment[] = []
  const record = (what: string): void => {
    moments.push({ what, disk: disk.clone(), position: ledger.position() })
  }
  disk.onOperation = ({ phase, changes, name, path }) => {
    if (phase === 'before' && changes) record(`before ${name} ${path}`)
  }
  ledger.onAcknowledged = () => record('acknowledged')
  await play({ machine: new Machine(disk), disk, ledger })
  record('the end')
  return { moments, ledger }
}

/** Lose power at each moment, in every way or in many. */
export async function losePower(
  scenario: Scenario,
  { disk, limit, seed = 1 }: PowerLossOptions,
): Promise<Tally> {
  const { moments, ledger } = await momentsOf(scenario, disk)
  const { acknowledged } = ledger
  const tally: Tally = {
    moments: moments.length,
    whole: 0,
    states: 0,
    distinct: 0,
    acknowledged,
    findings: [],
  }
  const surveys = new Map<string, Survey>()
  for (const moment of moments) {
    const states = moment.disk.crashStates({ limit, seed })
    if (states.coverage === 'all') tally.whole += 1
    for (const state of states) {
      const key = digestOf(state)
      let found = surveys.get(key)
      const isNew = found === undefined
      found ??= await survey(state.clone())
      surveys.set(key, found)
      tally.states += 1
      if (isNew) tally.distinct += 1
      const wrong = [
        ...(isNew ? found.complaints : []),
        ...ledger.losses(found.before, moment.position).map((loss) => `before: ${loss}`),
        ...ledger.losses(found.after, moment.position).map((loss) => `after: ${loss}`),
      ]
      for (const what of wrong) tally.findings.push({ what, moment: moment.what, state })
      if (tally.findings.length > FINDINGS_MAX) return tally
    }
  }
  return tally
}

/** The disk as it is, with nothing left that a power loss could take. */
function settled(disk: SimulatedDisk): SimulatedDisk {
  for (const state of disk.crashStates({ limit: 1 })) return state
  return disk
}
