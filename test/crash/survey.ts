/**
 * What a store says of itself after a power loss: looked at as it lies, opened for appending, used, and
 * looked at again.
 * Knows what is wrong after any honest crash; what was promised is for the ledger.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '../../src/core/hash.js'
import { DaglogError, type RunEvent, type Store } from '../../src/index.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { Machine, type MachineProcess, STORE_ROOT } from './machine.js'

export type Logs = ReadonlyMap<string, readonly RunEvent[]>

export interface Survey {
  /** The events of each run before anybody opened it to append. */
  readonly before: Logs
  /** The same after recovery, one more append and a clean close. */
  readonly after: Logs
  /** What should never be seen after an honest crash. */
  readonly complaints: readonly string[]
}

/** Look at what is on a disk after a power loss; the disk is changed by it. */
export async function survey(disk: SimulatedDisk, root = STORE_ROOT): Promise<Survey> {
  const machine = new Machine(disk, root)
  const complaints: string[] = []
  const act = async <R>(what: string, fallback: R, use: () => Promise<R>): Promise<R> => {
    try {
      return await use()
    } catch (error) {
      complaints.push(`${what}: ${error instanceof DaglogError ? error.message : inspected(error)}`)
      return fallback
    }
  }
  const none: Logs = new Map()
  const before = await act('before', none, () => lookBefore(machine, complaints))
  await act('append', undefined, () => appendToAll(machine, complaints))
  const after = await act('after', none, () => lookAfter(machine, complaints))
  for (const [id, events] of before) {
    if (!isDeepStrictEqual(after.get(id)?.slice(0, events.length), events))
      complaints.push(`run ${id}: recovery changed what could be read before it`)
  }
  complaints.push(...missingEvidence(disk))
  return { before, after, complaints }
}

async function lookBefore(machine: Machine, complaints: string[]): Promise<Logs> {
  let started: MachineProcess
  try {
    started = await machine.start({ create: false })
  } catch (error) {
    if (error instanceof DaglogError && error.code === 'STORE_NOT_FOUND') return new Map()
    throw error
  }
  const logs = await look(started.store, 'before', complaints)
  await finish(started, 'before', complaints)
  return logs
}

/** Open every run, append to it, close it. */
async function appendToAll(machine: Machine, complaints: string[]): Promise<void> {
  const process = await machine.start()
  for (const { id } of await process.store.runs()) {
    const run = await process.store.openRun(id)
    await run.append('note', { probe: id })
    await run.append('note', { probe: `${id}${'.'.repeat(5000)}` })
    await run.close()
  }
  const fresh = await process.store.run('probe')
  await fresh.append('note', { probe: 'fresh' })
  await fresh.close()
  await finish(process, 'append', complaints)
}

async function lookAfter(machine: Machine, complaints: string[]): Promise<Logs> {
  const process = await machine.start({ create: false })
  const { store } = process
  const logs = await look(store, 'after', complaints)
  for (const [id, events] of logs) {
    const probes = events.filter(({ data }) => (data as { probe?: unknown } | null)?.probe)
    if (probes.length === 0) complaints.push(`after: run ${id} has not kept what was appended`)
  }
  for (const { id, current } of await store.runs()) {
    if (!current) complaints.push(`after: the head of ${id} in the store's log is not its last`)
  }
  await finish(process, 'after', complaints)
  return logs
}

/** What reading, listing and verifying say, without changing anything. */
async function look(store: Store, when: string, complaints: string[]): Promise<Logs> {
  const logs = new Map<string, readonly RunEvent[]>()
  for (const { id, head } of await store.runs()) {
    const events: RunEvent[] = []
    for await (const event of (await store.inspectRun(id)).events()) events.push(event)
    logs.set(id, events)
    if (events.some(({ type }) => type === 'log/gap'))
      complaints.push(`${when}: run ${id} has a gap`)
    if (head !== undefined && events[head.seq]?.hash !== head.hash)
      complaints.push(`${when}: run ${id} has not the head that the list of runs says`)
  }
  const report = await store.verify()
  for (const { run, problems, incomplete, stray } of report.runs) {
    for (const problem of problems)
      complaints.push(`${when}: run ${run} seq ${problem.seq}: ${problem.kind}: ${problem.reason}`)
    if (when === 'before') continue
    for (const text of incomplete) complaints.push(`${when}: run ${run} is incomplete: ${text}`)
    // A takeover that died before its first frame was whole leaves a segment that begins nowhere.
    for (const { segment, offset } of stray)
      if (offset > 0) complaints.push(`${when}: run ${run} has stray bytes in segment ${segment}`)
  }
  for (const problem of report.storeLog.problems)
    complaints.push(`${when}: the store's log, seq ${problem.seq}: ${problem.reason}`)
  if (when !== 'before' && report.storeLog.incomplete.length > 0)
    complaints.push(`${when}: ${report.storeLog.incomplete}`)
  return logs
}

async function finish(process: MachineProcess, when: string, complaints: string[]): Promise<void> {
  await process.store.close()
  for (const { about, message, cause } of process.notices) {
    if (about !== 'recovery') complaints.push(`${when}: notice: ${about}: ${message}: ${cause}`)
  }
  process.kill()
}

/** Cut bytes that a `log/recovered` names and `torn/` does not hold. */
function missingEvidence(disk: SimulatedDisk): string[] {
  const missing: string[] = []
  const files = disk.dump()
  for (const [path, bytes] of files) {
    const match = /^(.*)\/(?:log|store)\.\d+\.jsonl$/.exec(path)
    if (match === null) continue
    for (const { segment, offset, bytes: length, sha256: hash } of recoveries(bytes)) {
      const start = `${match[1]}/torn/${segment}.${offset}`
      const kept = [...files].some(
        ([name, content]) =>
          (name === start || name.startsWith(`${start}.`)) &&
          content.length === length &&
          sha256(content) === hash,
      )
      if (!kept) missing.push(`${start} does not hold the ${length} bytes that were cut`)
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

function recoveries(log: Buffer): Recovered[] {
  return log
    .toString('latin1')
    .split('\n')
    .filter((line) => /^\{"seq":\d+,"time":\d+,"type":"log\/recovered"/.test(line))
    .map((line) => JSON.parse(line).body.data)
}

function inspected(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Equal where a store would say the same: everything but drafts that nobody reads. */
export function digestOf(disk: SimulatedDisk, root = STORE_ROOT): string {
  const digest = createHash('sha256')
  const drafts = `${root}/tmp/`
  const visit = (path: string): void => {
    for (const name of disk.list(path === '' ? '/' : path).sort()) {
      const child = `${path}/${name}`
      if (child.startsWith(drafts)) continue
      const bytes = disk.sizeOf(child)
      digest.update(`${child}\0${bytes}\0`)
      if (bytes === undefined) {
        visit(child)
        continue
      }
      const file = disk.openFile(child, 'read')
      const content = Buffer.allocUnsafe(bytes)
      file.read(content, 0)
      digest.update(content)
    }
  }
  visit('')
  return digest.digest('hex')
}
