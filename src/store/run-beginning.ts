/**
 * What a run begins with, and the first events that say so.
 */
import { randomBytes } from 'node:crypto'
import { encodeData } from '../core/body.js'
import type { EventMap, ParentLink } from '../core/event-map.js'
import { genesisExtra } from '../core/frame.js'
import type { Draft } from './appender.js'
import type { NewEvent } from './new-event.js'

export interface RunBeginning {
  readonly parent?: ParentLink
  readonly name?: string
  readonly meta?: unknown
  readonly tags?: readonly string[]
  /** Of a child: how many runs it is below the first. */
  readonly depth?: number
  /** What closes the turn that is open where it begins. */
  readonly closing?: readonly NewEvent[]
}

/** Frame 0. Its nonce makes its hash, which is the run's identity, unlike any other. */
function genesisDraft(id: string, beginning: RunBeginning, time: number): Draft {
  const { parent, depth } = beginning
  return {
    type: 'run/start',
    time,
    data: encodeData({ id, ...(depth === undefined ? {} : { depth }) }),
    extra: genesisExtra({
      nonce: randomBytes(16).toString('hex'),
      ...(parent === undefined ? {} : { parent }),
    }),
  }
}

/** The first append: frame 0, and with it what closes the turn that the run begins in. */
export function firstDrafts(id: string, beginning: RunBeginning, time: number): Draft[] {
  const closing = beginning.closing ?? []
  return [
    genesisDraft(id, beginning, time),
    ...closing.map(({ type, data }) => ({ type, time, data: encodeData(data) })),
  ]
}

/** Data of the `run/meta` that follows it; undefined where there is nothing to say. */
export function metaOf({ name, meta, tags }: RunBeginning): EventMap['run/meta'] | undefined {
  if (name === undefined && meta === undefined && tags === undefined) return undefined
  return {
    ...(name !== undefined && { name }),
    ...(meta !== undefined && { meta }),
    ...(tags && { tags }),
  }
}
