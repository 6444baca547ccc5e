/**
 * The events of a run as folds are given them: whole, in order, and every one of them, also where
 * its value is gone. A fork begins with the events of its parent, each marked with the run that it
 * is in.
 */
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { Hash } from '../core/hash.js'
import { type EventSource, readEvents } from './event-reader.js'

export interface FoldRange {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  /** All unless given. */
  readonly types?: readonly string[] | undefined
}

/**
 * Trees stay refs, but for states: a fold that wants one reads it when it is asked for.
 * Never throws on what lies out of line: where a value is gone, a `log/gap` stands in the event's
 * place.
 */
export async function* foldEvents(
  source: EventSource,
  { from, to, types }: FoldRange,
): AsyncGenerator<RunEvent> {
  let next = from
  while (next <= to) {
    try {
      const options = {
        from: next,
        to,
        trees: 'refs' as const,
        ...(types === undefined ? {} : { types }),
      }
      for await (const event of readEvents(source, options)) {
        yield event
        next = event.seq + 1
      }
      return
    } catch (error) {
      if (!(error instanceof DaglogError) || !error.code.startsWith('OBJECT_')) throw error
      const seq = Number(error.data.seq ?? next)
      source.notices.report(
        'gap',
        `run ${source.run}, seq ${seq} is folded without its value`,
        error,
      )
      yield gapAt(seq, error.message)
      next = seq + 1
    }
  }
}

function gapAt(seq: number, reason: string): RunEvent {
  const data = { segment: 0, offset: 0, bytes: 0, reason }
  return { seq, time: 0, type: 'log/gap', data, hash: '' as Hash }
}
