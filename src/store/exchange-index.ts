/**
 * The exchanges of a run by their place in its log: the projection `exchanges`, folded without
 * reading a body, and kept in the cache. What is in the cache is used only where the log still
 * says the same.
 */
import { parseBody, type Ref, restoreData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { HttpExchange } from '../core/http-events.js'
import { replaceAt } from '../core/pointer.js'
import { type ExchangeRow, type ExchangesState, exchanges } from '../fold/exchanges.js'
import { type EventSource, type RawEvent, readEventAt, readFrames } from './event-reader.js'
import type { Place } from './log-reader.js'
import { shapeOf } from './log-shape.js'
import type { Head } from './log-walk.js'
import { RunView } from './run-view.js'
import { readValue, resolveRef } from './values.js'

/** An exchange, and where it lies. */
export interface FoundExchange {
  readonly row: ExchangeRow
  readonly place: Place
  readonly source: EventSource
}

/** An exchange whose bodies are still where they are. */
export interface LoadedExchange {
  readonly seq: number
  readonly run: string
  /** Its bodies may be empty here: ask `body`. */
  readonly data: HttpExchange
  body(side: 'request' | 'response'): { size: number; bytes(): AsyncIterable<Uint8Array> }
}

interface Stored {
  readonly version: number
  readonly state: ExchangesState
  readonly places: readonly (readonly [segment: number, from: number, to: number])[]
}

/** Fewest new exchanges for which the cache is written again. */
const CACHE_ROWS_MIN = 64

/**
 * All exchanges of a run up to an event, oldest first; a fork begins with those of its parent.
 * @throws RUN_NOT_FOUND where the run that a fork begins in is not in this store
 */
export async function exchangesOf(
  view: RunView,
  to = Number.POSITIVE_INFINITY,
): Promise<readonly FoundExchange[]> {
  const { parent } = await view.summary()
  const before = parent?.kind === 'fork' ? await exchangesOfParent(view, parent) : []
  const source = await view.source()
  const { state, places } = await folded(view, source)
  const own = (exchanges.view?.(state) ?? []).map((row, index): FoundExchange => {
    const [segment, from, end] = places[index] as Stored['places'][number]
    return { row, place: { segment, from, to: end }, source }
  })
  return [...before, ...own.filter(({ row }) => row[2] <= to)]
}

async function exchangesOfParent(
  view: RunView,
  parent: { readonly run: string; readonly seq: number },
): Promise<readonly FoundExchange[]> {
  const id = (await view.context.heads.refresh()).idOf(parent.run)
  if (id === undefined) {
    throw new DaglogError(
      'RUN_NOT_FOUND',
      `run ${view.id} begins with the exchanges of run ${parent.run}, which is not in this store. Try: \`daglog import\` of a bundle that holds it`,
      { run: view.id, parent: parent.run },
    )
  }
  return exchangesOf(new RunView(view.context, id), parent.seq)
}

async function folded(view: RunView, source: EventSource): Promise<Stored> {
  const { snapshots } = view.context
  const cacheKey = `http-exchanges/${view.id}`
  const shape = await shapeOf(source.reader)
  const cached = await snapshots.read(cacheKey, source.reader, shape)
  const known = cached?.state as Stored | undefined
  const usable = known?.version === exchanges.version
  let state = usable ? known.state : exchanges.init()
  const places = usable ? [...known.places] : []
  const cachedRows = places.length
  let head: Head | undefined
  for await (const raw of readFrames(source, usable ? (cached?.head.seq ?? -1) + 1 : 0)) {
    const { seq, hash, segment, from, to } = raw
    if (hash !== '') head = { seq, hash, place: { segment, from, to } }
    if (raw.redacted || !exchanges.types?.includes(raw.type)) continue
    const after = exchanges.apply(state, eventOf(raw))
    if (raw.type === 'http/exchange' && after !== state) places.push([segment, from, to])
    state = after
  }
  const stored = { version: exchanges.version, state, places }
  if (head !== undefined && places.length - cachedRows >= CACHE_ROWS_MIN) {
    await snapshots.write(cacheKey, head, stored)
  }
  return stored
}

/** Without what is out of line. */
function eventOf({ seq, time, type, hash, body }: RawEvent): RunEvent {
  const data = restoreData({ ...parseBody(body), refs: [] }, new Map())
  return { seq, time, type, hash, data: data as never }
}

const BODIES = { request: '/request/body', response: '/response/body' } as const

/** @throws OBJECT_MISSING, OBJECT_CORRUPT; CHAIN_BROKEN where it is not there any more */
export async function loadExchange({ row, place, source }: FoundExchange): Promise<LoadedExchange> {
  const [, , seq] = row
  const { run, reader } = source
  const event = await readEventAt(source, place, true)
  if (event === undefined || event.seq !== seq) {
    throw new DaglogError(
      'CHAIN_BROKEN',
      `run ${run}, seq ${seq}: the exchange is not where it was; try: \`daglog verify\``,
      { run, seq },
    )
  }
  const refs: readonly Ref[] = event.refs ?? []
  const pointers: readonly string[] = Object.values(BODIES)
  let data: unknown = event.data
  for (const ref of refs) {
    if (pointers.includes(ref.pointer)) continue
    data = replaceAt(data, ref.pointer, await resolveRef(reader.backend, ref, { run, seq }))
  }
  const exchange = data as HttpExchange
  return {
    seq,
    run,
    data: exchange,
    body(side) {
      const ref = refs.find(({ pointer }) => pointer === BODIES[side])
      if (ref !== undefined) {
        return { size: ref.size, bytes: () => readValue(reader.backend, ref, { run, seq }) }
      }
      const bytes = exchange[side]?.body ?? new Uint8Array(0)
      return { size: bytes.length, bytes: () => one(bytes) }
    },
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}
