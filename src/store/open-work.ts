/**
 * What a run's last writer left open, from its index and from the events of the open turn.
 * The index sees bodies only; a long message is out of line, and the calls that it asks for with it.
 */
import { type OpenWork, RunIndex } from '../fold/run-index.js'
import { type EventSource, readEvents } from './event-reader.js'

/** Where the turn cannot be read whole, its calls are those that the index knows; that is told. */
export async function openWork(index: RunIndex, source: EventSource): Promise<OpenWork> {
  const open = index.open()
  const start = index.last('turn/start')
  if (open.turn === undefined || start === undefined) return open
  try {
    return { ...open, calls: await openCalls(source, start[0]) }
  } catch (error) {
    const trouble = `run ${source.run}: not all tool calls of the open turn could be read`
    source.notices.report('recovery', trouble, error)
    return open
  }
}

/** Tool calls without a result since an event. @throws OBJECT_MISSING, OBJECT_CORRUPT */
async function openCalls(source: EventSource, from: number): Promise<OpenWork['calls']> {
  const turn = new RunIndex()
  for await (const { type, data } of readEvents(source, { from })) {
    if (typeof data === 'object' && data !== null) {
      RunIndex.rules[type]?.(turn, data as Record<string, unknown>)
    }
  }
  return turn.open().calls
}
