/**
 * What a store says of itself after a power loss: looked at as it lies, opened for appending, used,
 * and looked at again.
 * Knows what is wrong after any honest crash; what was promised is for the ledger.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '../../src/core/hash.js'
import { DaglogError, type RunEvent } from '../../src/index.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { Machine, type MachineProcess, STORE_ROOT } from './machine.js'

/** The events of each run, in order. */
export type Logs = ReadonlyMap<string, readonly RunEvent[]>

export interface Survey {
  /** Before anybody opened a run to append. */
  readonly before: Logs
  /** After recovery, one more append to each run and a clean close. */
  readonly after: Logs
  /** What should never be seen after an honest crash. */
  readonly complaints: readonly string[]
  /** Turns and steps that are still open in the end: wrong where their writer died. */
  readonly open: readonly string[]
}

/** Over the limit for values inside an event, so that a file of objects is mended too. */
const PROBE = 'probe '.repeat(1000)

/** Look at what is on a disk after a power loss; the disk is changed by it. */
export async function survey(disk: SimulatedDisk, root = STORE_ROOT): Promise<Survey> {
  disk.capacityBytes = Number.POSITIVE_INFINITY // By then, somebody has made room.
  const surveyor = new Surveyor(new Machine(disk, root))
  const before = await surveyor.attempt('before', new Map(), () => surveyor.lookBefore())
  await surveyor.attempt('append', undefined, () => surveyor.appendToAll())
  const after = await surveyor.attempt('after', new Map(), () => surveyor.lookAfter())
  for (const [id, events] of before) {
    if (!isDeepStrictEqual(after.get(id)?.slice(0, events.length), events))
      surveyor.complaints.push(`run ${id}: recovery changed what could be read before it`)
  }
  surveyor.complaints.push(...missingEvidence(disk))
  return { before, after, complaints: surveyor.complaints, open: surveyor.open }
}

class Surveyor {
  readonly complaints: string[] = []
  readonly open: string[] = []

  constructor(private readonly machine: Machine) {}

  async attempt<R>(what: string, otherwise: R, use: () => Promise<R>): Promise<R> {
    try {
      return await use()
    } catch (error) {
      const known = error instanceof DaglogError
      this.complaints.push(`${what}: ${known ? error.message : (error as Error).stack}`)
      return otherwise
    }
  }

  async lookBefore(): Promise<Logs> {
    let process: MachineProcess
    try {
      process = await this.machine.start({ create: false })
    } catch (error) {
      if (error instanceof DaglogError && error.code === 'STORE_NOT_FOUND') return new Map()
      throw error
    }
    const logs = await this.read(process, 'before')
    const { runs, storeLog } = await process.store.verify()
    for (const { run, problems } of runs) this.blame(`before: run ${run}`, problems)
    this.blame("before: the store's log", storeLog.problems)
    await this.finish(process, 'before')
    return logs
  }

  /** Append to every run there is, or to a new one. */
  async appendToAll(): Promise<void> {
    const process = await this.machine.start()
    const ids = (await process.store.runs()).map(({ id }) => id)
    for (const id of ids.length > 0 ? ids : ['probe']) {
      const run = await process.store.run(id)
      await run.append('note', { probe: PROBE + id })
      await run.close()
    }
    await this.finish(process, 'append')
  }

  async lookAfter(): Promise<Logs> {
    const process = await this.machine.start({ create: false })
    const logs = await this.read(process, 'after')
    for (const [id, events] of logs) {
      const { type, data } = events.at(-1) ?? {}
      if (type !== 'note' || (data as { probe?: unknown }).probe !== PROBE + id)
        this.complaints.push(`after: run ${id} has not kept what was appended`)
    }
    const { runs, storeLog } = await process.store.verify()
    for (const { run, problems, incomplete, stray } of runs) {
      this.blame(`after: run ${run}`, problems)
      for (const text of incomplete) {
        const isOpen = /is open$|^steps? .* open$/.test(text)
        ;(isOpen ? this.open : this.complaints).push(`after: run ${run} is incomplete: ${text}`)
      }
      // A takeover that died before its first frame was whole leaves a segment that begins nowhere.
      for (const { segment, offset } of stray.filter((bytes) => bytes.offset > 0))
        this.complaints.push(`after: run ${run} has stray bytes at ${offset} of segment ${segment}`)
    }
    this.blame("after: the store's log", storeLog.problems)
    for (const text of storeLog.incomplete) this.complaints.push(`after: ${text}`)
    await this.finish(process, 'after')
    return logs
  }

  /** The runs there are, with all their events and values. */
  private async read({ store }: MachineProcess, when: string): Promise<Logs> {
    const logs = new Map<string, readonly RunEvent[]>()
    for (const { id, head, current } of await store.runs()) {
      const events: RunEvent[] = []
      for await (const event of (await store.inspectRun(id)).events()) events.push(event)
      logs.set(id, events)
      const isHead = head === undefined ? when === 'before' : events[head.seq]?.hash === head.hash
      if (!isHead) this.complaints.push(`${when}: run ${id} has not the head of the list of runs`)
      if (when === 'after' && !current)
        this.complaints.push(`after: the head of run ${id} in the list is not its last`)
      if (events.some(({ type }) => type === 'log/gap'))
        this.complaints.push(`${when}: run ${id} has a gap`)
    }
    return logs
  }

  private blame(
    who: string,
    problems: readonly { readonly seq: number; readonly reason: string }[],
  ): void {
    for (const { seq, reason } of problems) this.complaints.push(`${who}, seq ${seq}: ${reason}`)
  }

  private async finish({ store, notices, kill }: MachineProcess, when: string): Promise<void> {
    await store.close()
    kill()
    for (const { about, message, cause } of notices) {
      if (about === 'recovery') continue
      this.complaints.push(`${when}: notice about ${about}: ${message} (${cause})`)
    }
  }
}

/** Cut bytes that a `log/recovered` names and `torn/` does not hold. */
function missingEvidence(disk: SimulatedDisk): string[] {
  const missing: string[] = []
  const files = [...disk.dump()]
  for (const [path, log] of files) {
    const match = /^(.*)\/(?:log|store)\.\d+\.jsonl$/.exec(path)
    if (match === null) continue
    for (const { segment, offset, bytes, sha256: hash } of recoveries(log)) {
      const start = `${match[1]}/torn/${segment}.${offset}`
      const isKept = files.some(([name, content]) => {
        const isNamed = name === start || name.startsWith(`${start}.`)
        return isNamed && content.length === bytes && sha256(content) === hash
      })
      if (!isKept) missing.push(`${start} does not hold the ${bytes} bytes that were cut`)
    }
  }
  return missing
}

interface Recovered {
  readonly segment: number
  readonly offset: number
  readonly bytes: number
  readonly sha256: string
}

/** The whole ones; a torn frame says nothing. */
function recoveries(log: Buffer): Recovered[] {
  return log
    .toString('latin1')
    .split('\n')
    .filter((line) => /^\{"seq":\d+,"time":\d+,"type":"log\/recovered".*\}$/.test(line))
    .map((line) => JSON.parse(line).body.data)
}

/** Equal where a store would say the same: of everything but drafts, which nobody reads. */
export function digestOf(disk: SimulatedDisk, root = STORE_ROOT): string {
  const digest = createHash('sha256')
  const visit = (dir: string): void => {
    for (const name of disk.list(dir).sort()) {
      const path = dir === '/' ? `/${name}` : `${dir}/${name}`
      if (dir === `${root}/tmp`) continue
      const bytes = disk.sizeOf(path)
      digest.update(`${path}\0${bytes}\0`)
      if (bytes === undefined) {
        visit(path)
        continue
      }
      const content = Buffer.allocUnsafe(bytes)
      disk.openFile(path, 'read').read(content, 0)
      digest.update(content)
    }
  }
  visit('/')
  return digest.digest('hex')
}
