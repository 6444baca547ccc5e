/**
 * The exact bytes of what was recorded, by place or by hash.
 */
import type { Ref } from '../core/body.js'
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import { type Hash, sha256 } from '../core/hash.js'
import { valueAt } from '../core/pointer.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'
import { loadValue } from '../store/values.js'
import { requireSeq } from './run-at.js'

/**
 * The bytes at a pointer of an event's data: of a value out of line the bytes as they are stored, of a
 * text its UTF-8, of bytes themselves, of anything else its JSON.
 * @throws SEQ_NOT_FOUND, POINTER_NOT_FOUND, BODY_REDACTED, OBJECT_MISSING, OBJECT_CORRUPT
 */
export async function payloadBytes(
  view: RunView,
  { seq, pointer }: { readonly seq: number; readonly pointer: string },
): Promise<Uint8Array> {
  await requireSeq(view, seq)
  const bare = await eventAt(view, seq, true)
  if (bare.redacted === true) {
    throw new DaglogError(
      'BODY_REDACTED',
      `the body of seq ${seq} in run ${view.id} was redacted; try: daglog events ${view.id} --type redaction`,
      { run: view.id, seq },
    )
  }
  const ref = bare.refs?.find((candidate) => candidate.pointer === pointer)
  if (ref !== undefined) return loadRef(view, ref, seq)
  // Where nothing that is out of line lies under the pointer, nothing of it need be loaded.
  const needed = bare.refs?.some(
    (candidate) => within(candidate.pointer, pointer) || within(pointer, candidate.pointer),
  )
  const event = needed === true ? await eventAt(view, seq, false) : bare
  const value = valueAt(event.data, pointer)
  if (typeof value === 'string' && value.isWellFormed()) return Buffer.from(value)
  return value instanceof Uint8Array ? value : Buffer.from(encodeValue(value).text)
}

function within(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`)
}

async function eventAt(view: RunView, seq: number, refs: boolean): Promise<RunEvent> {
  for await (const event of view.events({ from: seq, to: seq, refs }))
    if (event.seq === seq && event.hash !== '') return event
  throw new DaglogError(
    'SEQ_NOT_FOUND',
    `seq ${seq} of run ${view.id} cannot be read; try: daglog verify ${view.id}`,
    { run: view.id, seq },
  )
}

function loadRef(view: RunView, ref: Ref, seq: number): Promise<Uint8Array> {
  return loadValue(view.log.backend, ref, { run: view.id, seq })
}

/** The bytes with this hash: in a pack, or among the objects of any run. @throws POINTER_NOT_FOUND */
export async function objectBytes(store: Store, hash: string): Promise<Uint8Array> {
  const { backend } = store.context
  const packed = await backend.getObject(hash as Hash, undefined)
  if (packed !== undefined) return packed
  for (const { id, place } of await backend.listRuns()) {
    const found = await backend.getObject(hash as Hash, id ?? place)
    if (found !== undefined && sha256(found) === hash) return found
  }
  throw new DaglogError(
    'POINTER_NOT_FOUND',
    `no object of this store has the hash ${hash}; try: daglog events RUN --refs`,
    { hash },
  )
}
