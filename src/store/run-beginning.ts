/**
 * What a run begins with, and the first events that say so.
 */
import { randomBytes } from 'node:crypto'
import { encodeData } from '../core/body.js'
import type { EventMap, ParentLink } from '../core/event-map.js'
import { genesisExtra } from '../core/frame.js'
import type { Draft } from './appender.js'

export interface RunBeginning {
  readonly parent?: ParentLink
  readonly name?: string
  readonly meta?: unknown
  readonly tags?: readonly string[]
}

/** Frame 0. Its nonce makes its hash, which is the run's identity, unlike any other. */
export function genesisDraft(id: string, parent: ParentLink | undefined, time: number): Draft {
  return {
    type: 'run/start',
    time,
    data: encodeData({ id }),
    extra: genesisExtra({
      nonce: randomBytes(16).toString('hex'),
      ...(parent === undefined ? {} : { parent }),
    }),
  }
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
