/**
 * A HAR, or a cassette of vcrpy, as a run of exchanges, whole or not at all. They go through the
 * same scrubbing and keys as what is recorded, so the run replays; what a HAR cannot carry is told.
 * @see docs/har.md#import
 */
import { basename } from 'node:path'
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'
import type { HttpExchange, HttpImport } from '../core/http-events.js'
import { HAR_FILE_BYTES_MAX } from '../core/limits.js'
import { fieldsOf, isFields, nameOf } from '../fold/provider/shape.js'
import { DraftRuns } from '../store/draft-runs.js'
import type { Store } from '../store/store.js'
import { encodedExchange, filedAgain, filedExchange } from './filed-exchange.js'
import { storeFingerprint } from './fingerprint.js'
import { exchangeOfHar, HAR_NEVER_HOLDS, type HarReading } from './har-exchange.js'
import { cassetteInteractions, toldInteraction, VCR_NEVER_HOLDS } from './vcr-told.js'

export interface HarSource {
  /** Absolute, or what it is called. */
  readonly path: string
  readonly bytes: Buffer
}

export type TrafficFormat = 'har' | 'vcr'

export interface HarImportOptions {
  readonly format?: TrafficFormat
  /** Version of this program. */
  readonly program: string
  /** What to call the run; made of date and hash unless told. */
  readonly id?: string | undefined
}

export interface HarImported extends HttpImport {
  readonly run: string
  /** `same`: the store has this very file already. */
  readonly outcome: 'new' | 'same'
}

/** @throws HAR_INVALID, LIMIT_EXCEEDED; RUN_EXISTS where the id asked for is taken */
export async function importHar(
  store: Store,
  source: HarSource,
  options: HarImportOptions,
): Promise<HarImported> {
  const { format = 'har' } = options
  checkSize(source)
  const { readings, creator, neverHeld } = (format === 'har' ? readHar : readCassette)(source)
  const digest = sha256(source.bytes)
  const date = dateOf(readings, store.context.now())
  const id = options.id ?? `${date}-${format}-${digest.slice(0, 8)}`
  const known = await knownImport(store, id, digest)
  if (known !== undefined) return { ...known, run: id, outcome: 'same' }
  const exchanges = await filed(store, readings)
  const told: HttpImport = {
    ...{ format, path: source.path, bytes: source.bytes.length, sha256: digest },
    ...(creator === '' ? {} : { creator }),
    ...{ entries: readings.length, exchanges: exchanges.length },
    refused: readings.flatMap((reading, entry) =>
      'refused' in reading ? [{ entry, reason: reading.refused }] : [],
    ),
    lost: lostIn(readings),
    neverHeld: readings.some((reading) => 'request' in reading) ? neverHeld : [],
    daglog: options.program,
  }
  await published(store, { id, name: basename(source.path), exchanges, told })
  return { ...told, run: id, outcome: 'new' }
}

interface FileReading {
  readonly readings: readonly HarReading[]
  readonly creator: string
  readonly neverHeld: readonly string[]
}

/** @throws LIMIT_EXCEEDED */
function checkSize({ path, bytes }: HarSource): void {
  if (bytes.length <= HAR_FILE_BYTES_MAX) return
  throw new DaglogError(
    'LIMIT_EXCEEDED',
    `${path} has ${bytes.length} bytes, and traffic is read up to ${HAR_FILE_BYTES_MAX}; try: its entries in several files`,
    { path, limit: 'HAR_FILE_BYTES_MAX' },
  )
}

function readCassette({ path, bytes }: HarSource): FileReading {
  const interactions = cassetteInteractions(bytes.toString('utf8'))
  if (interactions === undefined) {
    throw new DaglogError(
      'HAR_INVALID',
      `${path} is no cassette of vcrpy: it is no YAML with interactions; try: the file that vcrpy wrote`,
      { path },
    )
  }
  const readings = interactions.map(toldInteraction)
  return { readings, creator: 'vcrpy', neverHeld: VCR_NEVER_HOLDS }
}

function readHar({ path, bytes }: HarSource): FileReading {
  const log = fieldsOf(fieldsOf(jsonOf(path, bytes)).log)
  if (!Array.isArray(log.entries)) {
    throw new DaglogError(
      'HAR_INVALID',
      `${path} is JSON and no HAR: it has no log.entries; try: "Save all as HAR with content" of a browser`,
      { path },
    )
  }
  const { name, version } = fieldsOf(log.creator)
  return {
    readings: log.entries.map(exchangeOfHar),
    creator: [nameOf(name), nameOf(version)].join(' ').trim(),
    neverHeld: HAR_NEVER_HOLDS,
  }
}

function jsonOf(path: string, bytes: Buffer): unknown {
  try {
    // Some programs put a byte order mark in front.
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))
  } catch {
    // What the parser says may quote the file.
    throw new DaglogError(
      'HAR_INVALID',
      `${path} is no JSON, so no HAR; try: to export it again, it may be cut off`,
      { path },
    )
  }
}

function dateOf(readings: readonly HarReading[], now: number): string {
  const times = readings.flatMap((reading) => {
    if ('ours' in reading) return [reading.ours.timing.started]
    return 'request' in reading && reading.started !== undefined ? [reading.started] : []
  })
  const first = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY)
  return new Date(Number.isFinite(first) ? first : now).toISOString().slice(0, 10)
}

/** What was said of the same file when it was taken in. @throws RUN_EXISTS */
async function knownImport(
  store: Store,
  id: string,
  digest: Hash,
): Promise<HttpImport | undefined> {
  if (!(await store.context.backend.hasRun(id))) return undefined
  const said = (await (await store.inspectRun(id)).last('http/import'))?.data
  if (isFields(said) && said.sha256 === digest) return said as unknown as HttpImport
  throw new DaglogError('RUN_EXISTS', `run ${id} is there already; try: --id with another name`, {
    id,
  })
}

async function filed(store: Store, readings: readonly HarReading[]): Promise<HttpExchange[]> {
  const { backend, now } = store.context
  const fingerprint = await storeFingerprint(backend)
  const started = now()
  const own = readings.flatMap((reading) => ('ours' in reading ? [reading.ours.ordinal] : []))
  const told = readings.filter((reading) => !('refused' in reading))
  // Ordinals stay where they are all ours, and no two runs were put together.
  const keeps = own.length === told.length && new Set(own).size === own.length
  const exchanges: HttpExchange[] = []
  for (const reading of told) {
    const ordinal = keeps && 'ours' in reading ? reading.ours.ordinal : exchanges.length + 1
    if ('ours' in reading) exchanges.push(await filedAgain(reading.ours, { fingerprint, ordinal }))
    else if ('request' in reading)
      exchanges.push(await filedExchange(reading, { fingerprint, ordinal, started }))
  }
  return exchanges
}

function lostIn(readings: readonly HarReading[]): HttpImport['lost'] {
  const counts = new Map<string, number>()
  for (const reading of readings) {
    for (const what of 'lost' in reading ? reading.lost : [])
      counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts].map(([what, count]) => ({ what, count }))
}

async function published(
  store: Store,
  run: {
    readonly id: string
    readonly name: string
    readonly exchanges: readonly HttpExchange[]
    readonly told: HttpImport
  },
): Promise<void> {
  const { id, name, exchanges, told } = run
  const drafts = new DraftRuns(store.context)
  const draft = await drafts.begin(id, { name })
  if (draft === undefined)
    throw new DaglogError('RUN_EXISTS', `run ${id} was just made; try: again`, { id })
  try {
    await draft.append({ type: 'http/import', data: told })
    for (const exchange of exchanges) {
      const { ordinal, request } = exchange
      const { method, url } = request
      await draft.appendEncoded({ type: 'http/start', data: encodeData({ ordinal, method, url }) })
      await draft.appendEncoded({ type: 'http/exchange', data: encodedExchange(exchange) })
    }
  } catch (error) {
    await drafts.discard(draft)
    throw error
  }
  await drafts.publish()
}
