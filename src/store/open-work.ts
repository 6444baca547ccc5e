/**
 * What a run's last writer left open, from its index and from the events of the open turn.
 * The index sees bodies only; a long message is out of line, and the calls that it asks for with
 * it.
 */
import type { RunEvent } from '../core/event.js'
import type { AssistantChunk, StepEnd } from '../core/event-map.js'
import { type OpenWork, RunIndex } from '../fold/run-index.js'
import { type EventSource, readEvents } from './event-reader.js'

/** The same with what came of messages that were never finished. */
export interface OpenTurnWork extends OpenWork {
  /** Their texts, as far as they are in the log, in the order in which they began. */
  readonly partials: readonly string[]
}

/** Where the turn cannot be read whole, its calls are those that the index knows; that is told. */
export async function openWork(index: RunIndex, source: EventSource): Promise<OpenTurnWork> {
  const open = { ...index.open(), partials: [] }
  const start = index.last('turn/start')
  if (open.turn === undefined || start === undefined) return open
  try {
    const { calls, partials } = await openWorkIn(readEvents(source, { from: start[0] }))
    return { ...open, calls, partials }
  } catch (error) {
    const trouble = `run ${source.run}: not all tool calls of the open turn could be read`
    source.notices.report('recovery', trouble, error)
    return open
  }
}

/** What is open after these events. @throws OBJECT_MISSING, OBJECT_CORRUPT */
export async function openWorkIn(events: AsyncIterable<RunEvent>): Promise<OpenTurnWork> {
  const index = new RunIndex()
  const pieces = new Map<string, string>()
  for await (const { type, data } of events) {
    if (typeof data !== 'object' || data === null) continue
    RunIndex.rules[type]?.(index, data as unknown as Record<string, unknown>)
    if (type === 'assistant/chunk') addPieces(pieces, data as AssistantChunk)
    if (type === 'step/end') pieces.delete((data as StepEnd).id)
    if (type === 'assistant/message') pieces.clear()
  }
  return { ...index.open(), partials: [...pieces.values()].filter((text) => text !== '') }
}

/** Only text makes a message that a model can be shown; what is no text stays in its chunk. */
function addPieces(found: Map<string, string>, { message, pieces }: AssistantChunk): void {
  if (!Array.isArray(pieces)) return
  const text = pieces.filter((piece) => typeof piece === 'string').join('')
  found.set(String(message), (found.get(String(message)) ?? '') + text)
}
