/**
 * A new run with everything that can still be read of a damaged one.
 * What is whole is appended as it was, with its own time; what is not is named, never skipped.
 */
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { ParentLink } from '../core/event-map.js'
import type { StoreContext } from './context.js'
import type { EncodedEvent } from './new-event.js'
import type { Run } from './run.js'
import type { RunView } from './run-view.js'

/** Types whose meaning is bound to the log they were written in; they are kept as data. */
const BOUND_TYPE = /^(?:writer|log)\/|^redaction$/

export interface Salvaged {
  readonly run: string
  /** Events that were carried over. */
  readonly events: number
  /** Spans that could not be read, and events whose values are gone. */
  readonly gaps: number
}

/** Copy into `target`, a fresh run. */
export async function salvageInto(source: RunView, target: Run): Promise<Salvaged> {
  let events = 0
  let gaps = 0
  for (let from = 0; ; ) {
    try {
      for await (const event of source.events({ from })) {
        from = event.seq + 1
        if (event.type === 'run/start') continue
        if (event.type === 'log/gap' && event.hash === '') gaps += 1
        else events += 1
        await target.appendEncoded([carried(event, target)])
      }
      return { run: target.id, events, gaps }
    } catch (error) {
      if (!(error instanceof DaglogError) || !error.code.startsWith('OBJECT_')) throw error
      const seq = Number(error.data.seq)
      await target.appendEncoded([await withoutValues(source, seq, error)])
      gaps += 1
      from = seq + 1
    }
  }
}

function carried(event: RunEvent, target: Run): EncodedEvent {
  const { seq, time, type, data, redacted, op } = event
  if (type === 'log/gap' && event.hash === '') return { type, data: encodeData(data) }
  if (redacted === true)
    return { type: 'salvage/event', data: encodeData({ seq, type, redacted: true }), time }
  if (BOUND_TYPE.test(type))
    return { type: 'salvage/event', data: encodeData({ seq, type, data }), time }
  return { ...target.encode(type, data, op), time }
}

/** The event without the values that are gone, and which those were. */
async function withoutValues(
  source: RunView,
  seq: number,
  cause: DaglogError,
): Promise<EncodedEvent> {
  for await (const event of source.events({ from: seq, to: seq, refs: true })) {
    const { type, time, data, refs = [], op } = event
    const missing = refs.map(({ pointer, sha256, size, kind }) => ({ pointer, sha256, size, kind }))
    return {
      type: 'salvage/event',
      data: encodeData({ seq, type, data, missing, reason: cause.code, ...(op && { op }) }),
      time,
    }
  }
  return { type: 'salvage/event', data: encodeData({ seq, reason: cause.code }) }
}

/**
 * What a salvaged run begins in: its source's frame 0, or where that is gone the head that was
 * noted of it.
 */
export async function salvageLink(
  context: StoreContext,
  source: RunView,
): Promise<ParentLink | undefined> {
  const first = await source.headAt(0)
  const run = await source.identity()
  if (first !== undefined && run !== undefined) return { run, ...first, kind: 'salvage' }
  const noted = (await context.heads.refresh()).head(source.id)
  return noted && { run: noted.run, seq: noted.seq, hash: noted.hash, kind: 'salvage' }
}
