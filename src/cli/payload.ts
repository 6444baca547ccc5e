/**
 * The exact bytes of what was recorded, by place or by hash.
 */
import type { Ref } from '../core/body.js'
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { Hash } from '../core/hash.js'
import { valueAt } from '../core/pointer.js'
import { exchangeOf } from '../fold/readers/exchange-view.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'
import { loadValue } from '../store/values.js'
import { requireSeq } from './run-at.js'

/**
 * The bytes at a pointer of an event's data: a text as its UTF-8, bytes themselves, anything else
 * as its JSON. Only what lies at the pointer is loaded.
 * @throws SEQ_NOT_FOUND, POINTER_NOT_FOUND, BODY_REDACTED, OBJECT_MISSING, OBJECT_CORRUPT
 */
export async function payloadBytes(
  view: RunView,
  { seq, pointer }: { readonly seq: number; readonly pointer: string },
): Promise<Uint8Array> {
  await requireSeq(view, seq)
  const bare = await eventAt(view, seq, { refs: true })
  if (bare.redacted === true) {
    throw new DaglogError(
      'BODY_REDACTED',
      `the body of seq ${seq} in run ${view.id} was redacted; try: daglog events ${view.id} --type redaction`,
      { run: view.id, seq },
    )
  }
  const near = (bare.refs ?? []).filter(
    (ref) => within(ref.pointer, pointer) || within(pointer, ref.pointer),
  )
  const [only] = near
  if (only !== undefined && near.length === 1 && only.pointer === pointer && only.kind !== 'tagged')
    return loadValue(view.log.backend, only, { run: view.id, seq })
  const event = near.length === 0 ? bare : await eventAt(view, seq, { refs: false })
  const value = valueAt(event.data, pointer)
  if (typeof value === 'string' && value.isWellFormed()) return Buffer.from(value)
  return value instanceof Uint8Array ? value : Buffer.from(encodeValue(value).text)
}

/**
 * A body of an exchange without its content-encoding: as the two ends understood it.
 * @throws USAGE where the place is no body of one, and as `payloadBytes`
 */
export async function decodedBody(
  view: RunView,
  { seq, pointer }: { readonly seq: number; readonly pointer: string },
): Promise<Uint8Array> {
  await requireSeq(view, seq)
  const { type, data, redacted } = await eventAt(view, seq, { refs: false })
  const side = /^\/(request|response)\/body$/.exec(pointer)?.[1] as
    | 'request'
    | 'response'
    | undefined
  const exchange = type === 'http/exchange' && redacted !== true ? exchangeOf(data) : undefined
  if (exchange !== undefined && side !== undefined) return exchange[`${side}Body`]
  throw new DaglogError(
    'USAGE',
    `--decoded is for bodies of exchanges, and ${view.id}:${seq}:${pointer} is none; try: daglog show ${view.id}`,
    { run: view.id, seq, pointer },
  )
}

function within(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`)
}

async function eventAt(
  view: RunView,
  seq: number,
  { refs }: { readonly refs: boolean },
): Promise<RunEvent> {
  for await (const event of view.events({ from: seq, to: seq, refs }))
    if (event.seq === seq && event.hash !== '') return event
  throw new DaglogError(
    'SEQ_NOT_FOUND',
    `seq ${seq} of run ${view.id} cannot be read; try: daglog verify ${view.id}`,
    { run: view.id, seq },
  )
}

/**
 * The bytes with this SHA-256: an object of the store, or a payload that is kept in pieces.
 * @throws POINTER_NOT_FOUND
 */
export async function hashedBytes(store: Store, hash: Hash): Promise<Uint8Array> {
  const { backend } = store.context
  const packed = await backend.getObject(hash, undefined)
  if (packed !== undefined) return packed
  const ids = (await backend.listRuns()).map(({ id, place }) => id ?? place)
  for (const id of ids) {
    const found = await backend.getObject(hash, id)
    if (found !== undefined) return found
  }
  for (const id of ids) {
    const found = await payloadIn(await store.inspectRun(id), hash)
    if (found !== undefined) return found
  }
  throw new DaglogError(
    'POINTER_NOT_FOUND',
    `nothing in this store has the hash ${hash}; try: daglog events RUN --refs`,
    { hash },
  )
}

async function payloadIn(view: RunView, hash: Hash): Promise<Uint8Array | undefined> {
  const seen = (ref: Ref): boolean => ref.sha256 === hash
  for await (const { seq, refs = [] } of view.events({ refs: true })) {
    const ref = refs.find(seen)
    if (ref !== undefined) return loadValue(view.log.backend, ref, { run: view.id, seq })
  }
  return undefined
}
