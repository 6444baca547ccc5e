/**
 * Reads a run for its data flow: which steps use what others gave.
 * Large payloads are read where they are looked into; one too large for that is known by the hashes
 * of its texts only, and that is said.
 */
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import { DataFlow, FLOW_TYPES } from '../fold/data-flow.js'
import type { RunView } from './run-view.js'

/** An event with more than this out of line is not read whole, in bytes. */
export const FLOW_READ_BYTES_MAX = 32 * 1024 * 1024

export interface RunFlow {
  readonly flow: DataFlow
  /** What could not be read. */
  readonly problems: readonly { readonly seq: number; readonly message: string }[]
}

/** Read the flow of a run, or of what it was at seq `to`. */
export async function flowOf(
  view: Pick<RunView, 'id' | 'events' | 'event'>,
  options: { readonly to?: number } = {},
): Promise<RunFlow> {
  const flow = new DataFlow()
  const problems: { seq: number; message: string }[] = []
  for await (const event of view.events({ refs: true, types: FLOW_TYPES, ...options })) {
    try {
      flow.apply(await whole(view, event as RunEvent))
    } catch (error) {
      if (!(error instanceof DaglogError) || error.kind !== 'damage') throw error
      problems.push({ seq: event.seq, message: error.message })
      flow.apply(event as RunEvent)
    }
  }
  return { flow, problems }
}

async function whole(view: Pick<RunView, 'event'>, event: RunEvent): Promise<RunEvent> {
  const { refs = [], type } = event
  if (refs.length === 0 || (!type.startsWith('step/') && type !== 'assistant/message')) return event
  let bytes = 0
  for (const { size } of refs) bytes += size
  if (bytes > FLOW_READ_BYTES_MAX) return event
  return (await view.event(event.seq)) ?? event
}
