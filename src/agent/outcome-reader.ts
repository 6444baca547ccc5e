/**
 * Outcomes out of a log. They are asked for in the order in which they were recorded, mostly: so
 * the log is read forward, and places behind are looked up.
 */
import type { RunEvent } from '../core/event.js'
import type { StepEnd } from '../core/event-map.js'
import type { RunView } from '../store/run-view.js'
import type { StepOutcome } from '../store/step-outcome.js'
import { outcomeOf, type RecordedStep } from './recording.js'

/** Further ahead than this a place is looked up, in events. */
const READ_ON_EVENTS_MAX = 64

interface Cursor {
  readonly view: RunView
  readonly events: AsyncIterator<RunEvent>
  seq: number
}

export class OutcomeReader {
  private cursor: Cursor | undefined
  private reading: Promise<unknown> = Promise.resolve()

  /** @throws OBJECT_MISSING, OBJECT_CORRUPT */
  read(step: RecordedStep): Promise<StepOutcome<unknown>> {
    const reading = this.reading.then(() => this.readNow(step))
    this.reading = reading.catch(() => {})
    return reading
  }

  private async readNow({ view, end = -1 }: RecordedStep): Promise<StepOutcome<unknown>> {
    const { cursor } = this
    const near = cursor?.view === view && end > cursor.seq && end - cursor.seq <= READ_ON_EVENTS_MAX
    if (!near && cursor?.view === view && end <= cursor.seq) {
      return outcomeOf((await view.event(end))?.data as StepEnd)
    }
    const open = near ? (cursor as Cursor) : { view, events: endsFrom(view, end), seq: end - 1 }
    if (!near) await cursor?.events.return?.()
    this.cursor = open
    for (;;) {
      const { done, value } = await open.events.next()
      if (done === true) break
      open.seq = value.seq
      if (value.seq === end) return outcomeOf(value.data as StepEnd)
    }
    this.cursor = undefined
    return outcomeOf((await view.event(end))?.data as StepEnd)
  }

  async close(): Promise<void> {
    await this.reading
    await this.cursor?.events.return?.()
    this.cursor = undefined
  }
}

function endsFrom(view: RunView, from: number): AsyncIterator<RunEvent> {
  return view.events({ types: ['step/end'], from })[Symbol.asyncIterator]() as never
}
