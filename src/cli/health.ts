/**
 * The health of a store and of the machine it is on, as findings.
 * Reads; the only thing it writes is a probe in the cache, which is never truth.
 */
import { statfsSync } from 'node:fs'
import { networkFileSystem } from '../backend/fs-medium.js'
import type { Ref } from '../core/body.js'
import { systemCode } from '../core/errors.js'
import type { RunInfo } from '../store/run-infos.js'
import { walkValues } from '../store/run-values.js'
import type { Store } from '../store/store.js'
import type { Finding } from './finding.js'
import { bytesText, countText } from './quantity.js'
import { sessionFindings } from './session-health.js'

const NODE_OLDEST = [20, 19] as const

/** What a sync means here, as Node asks for it. */
const SYNCS: Readonly<Record<string, string>> = {
  linux: 'fdatasync: on stable storage, if the disk does not lie',
  darwin: 'F_FULLFSYNC: on stable storage',
  win32: 'FlushFileBuffers: on stable storage, if the disk does not lie',
}

export function machineFindings(): Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [oldest, oldestMinor] = NODE_OLDEST
  const recent = major > oldest || (major === oldest && minor >= oldestMinor)
  return [
    {
      state: recent ? 'good' : 'bad',
      about: 'node',
      what: `${process.versions.node} on ${process.platform} ${process.arch}`,
      ...(recent ? {} : { advice: `Node ${oldest}.${oldestMinor} or newer` }),
    },
    {
      state: process.platform in SYNCS ? 'good' : 'note',
      about: 'sync',
      what: SYNCS[process.platform] ?? 'fsync, whatever it means on this platform',
    },
  ]
}

export async function* storeFindings(store: Store): AsyncGenerator<Finding> {
  const { place, readOnly } = store
  const { read, write } = store.manifest.format
  yield {
    state: readOnly === undefined ? 'good' : 'note',
    about: 'store',
    what: readOnly ?? `${place} (format ${read}/${write})`,
  }
  yield mediumFinding(place)
  yield await logFinding(store)
  yield await lockFinding(store, 'store', "the store's log")
  let runs: readonly RunInfo[] = []
  try {
    runs = await store.runs()
  } catch (error) {
    yield { state: 'bad', about: 'runs', what: `cannot be listed: ${reasonOf(error)}` }
  }
  for (const run of runs) yield* runFindings(store, run)
  yield {
    state: 'note',
    about: 'audit',
    what: 'logs and payloads were read as far as the above needs, and not audited',
    advice: 'daglog verify',
  }
  yield await cacheFinding(store)
  yield await sizeFinding(store, runs)
  yield await repeatsFinding(store, runs)
}

function mediumFinding(place: string): Finding {
  const network = networkFileSystem(place)
  const { bavail, bsize } = statfsSync(place)
  const free = `${bytesText(bavail * bsize)} free`
  if (network === undefined) return { state: 'good', about: 'disk', what: `local, ${free}` }
  return {
    state: 'bad',
    about: 'disk',
    what: `${network}, ${free}: locks and syncs over a network do not hold what a log needs`,
    advice: 'a local directory',
  }
}

async function logFinding(store: Store): Promise<Finding> {
  const { storeLog } = await store.verify([])
  const about = 'head log'
  if (!storeLog.ok) {
    const { seq, byte, reason } = storeLog.problems[0] ?? { seq: 0, reason: 'unknown' }
    return {
      state: 'bad',
      about,
      what: `damaged at seq ${seq}, byte ${byte ?? 0}: ${reason}`,
      advice: 'a backup of store.*.jsonl; runs can still be read',
    }
  }
  const torn = storeLog.incomplete[0]
  if (torn !== undefined)
    return { state: 'note', about, what: `${torn}; the next writer cuts them` }
  return { state: 'good', about, what: `${countText(storeLog.events, 'event')}, chain intact` }
}

async function lockFinding(
  store: Store,
  log: { readonly run: string } | 'store',
  about: string,
): Promise<Finding> {
  const holder = await store.context.backend.holder(log)
  if (holder === undefined) return { state: 'good', about, what: 'not locked' }
  const { pid, host, program, alive } = holder
  const life = alive === undefined ? 'alive or dead, unknown from here' : alive ? 'alive' : 'dead'
  const what = `locked by ${program}, pid ${pid} on ${host} (${life})`
  if (alive === true) return { state: 'note', about, what }
  if (alive === false)
    return { state: 'note', about, what: `${what}; the next writer takes over by itself` }
  return { state: 'note', about, what, advice: '--takeover, if you know that it is gone' }
}

async function* runFindings(store: Store, info: RunInfo): AsyncGenerator<Finding> {
  const about = `run ${info.id}`
  const lock = await lockFinding(store, { run: info.id }, about)
  if (lock.state !== 'good') yield lock
  const held = lock.what.includes('(alive)')
  try {
    const view = await store.inspectRun(info.id)
    const { torn, damage } = await view.condition()
    if (damage !== undefined) {
      yield {
        state: 'bad',
        about,
        what: `damaged at seq ${damage.seq}, byte ${damage.place.from}: ${damage.reason}`,
        advice: `a backup, or daglog salvage ${info.id}`,
      }
      return
    }
    const head = await view.head()
    if (info.head !== undefined && (head?.seq ?? -1) < info.head.seq) {
      yield {
        state: 'bad',
        about,
        what: `ends at seq ${head?.seq ?? -1}, before its head in the store's log (${info.head.seq})`,
        advice: `daglog verify ${info.id}`,
      }
    }
    if (torn !== undefined && !held)
      yield { state: 'incomplete', about, what: `${torn.bytes} torn bytes at its end` }
    if (!info.current && !held && head !== undefined)
      yield { state: 'note', about, what: `its last events are not in the store's log yet` }
    yield* sessionFindings(store, view, held)
  } catch (error) {
    const reason = reasonOf(error)
    yield {
      state: 'bad',
      about,
      what: `cannot be read: ${reason}`,
      advice: `daglog verify ${info.id}`,
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const PROBE_KEY = 'doctor/probe'

async function cacheFinding({ context }: Store): Promise<Finding> {
  const about = 'cache'
  try {
    const probe = Buffer.from('daglog')
    await context.backend.writeCache(PROBE_KEY, probe)
    const found = await context.backend.readCache(PROBE_KEY)
    if (found !== undefined && probe.equals(found)) return { state: 'good', about, what: 'usable' }
    return { state: 'note', about, what: 'does not give back what was written; things are slower' }
  } catch (error) {
    const reason = systemCode(error) ?? String(error)
    return { state: 'note', about, what: `cannot be written (${reason}); things are slower` }
  }
}

async function sizeFinding({ context }: Store, runs: readonly RunInfo[]): Promise<Finding> {
  const logs = runs.reduce((sum, { bytes }) => sum + bytes, 0)
  let open = 0
  for (const { id } of runs) open += await context.backend.objectBytes(id)
  const packs = await context.backend.objectBytes(undefined)
  const parts = `logs ${bytesText(logs)}, open objects ${bytesText(open)}, packs ${bytesText(packs)}`
  return { state: 'note', about: 'size', what: `${countText(runs.length, 'run')}: ${parts}` }
}

/** What was appended more than once, and is stored once. A run that cannot be read was told of. */
async function repeatsFinding({ context }: Store, runs: readonly RunInfo[]): Promise<Finding> {
  const sizes = new Map<string, number>()
  let [given, repeats] = [0, 0]
  const list = await context.heads.refresh()
  for (const { id } of runs) {
    const visit = async ({ root, size }: Ref): Promise<void> => {
      given += size
      if (sizes.has(root)) repeats += size
      else sizes.set(root, size)
    }
    await walkValues(context.backend, { id, noted: list.head(id) }, visit).catch(() => undefined)
  }
  const share = given === 0 ? 0 : Math.round((100 * repeats) / given)
  const what = `${bytesText(repeats)} of ${bytesText(given)} of values (${share} %) were there already, and are stored once`
  return { state: 'note', about: 'repeats', what, advice: 'daglog du, which also sees parts' }
}
