/**
 * All that can be read of a run: where the payloads of an event are gone, the event still comes,
 * with its payloads left out, and the trouble is told.
 */
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { EventOf, EventsOptions } from '../store/event-reader.js'
import type { RunView } from '../store/run-view.js'

export type Events = Pick<RunView, 'events'>

/**
 * `onTrouble` is called for payloads that cannot be read, and for gaps, which are given as events.
 */
export function readable(view: RunView, onTrouble: (what: string) => void): Events {
  return {
    events<T extends string>(options: EventsOptions<T> = {}) {
      return readAll(view, options, onTrouble) as AsyncIterable<EventOf<T>>
    },
  }
}

async function* readAll(
  view: RunView,
  options: EventsOptions,
  onTrouble: (what: string) => void,
): AsyncGenerator<RunEvent> {
  let from = options.from ?? 0
  let lastGap = ''
  for (;;) {
    try {
      for await (const event of view.events({ ...options, from })) {
        if (isGap(event)) {
          const gap = JSON.stringify(event.data)
          // Going on after an event reads the gap before it again.
          if (gap === lastGap) continue
          lastGap = gap
          onTrouble(gapText(event))
        }
        yield event
        if (!isGap(event)) from = event.seq + 1
      }
      return
    } catch (error) {
      const event = isDamage(error) ? await firstEvent(view, { ...options, from }) : undefined
      if (event === undefined) throw error
      onTrouble((error as DaglogError).message)
      yield event
      from = event.seq + 1
    }
  }
}

/**
 * A gap that was found; one that a salvaged run recorded has a hash and is an event like any other.
 */
export function isGap(event: RunEvent): boolean {
  return event.type === 'log/gap' && event.hash === ''
}

export function gapText({ seq, data }: RunEvent): string {
  const { segment, offset, bytes, reason } = data as {
    readonly segment: number
    readonly offset: number
    readonly bytes: number
    readonly reason: string
  }
  return `seq ${seq}, segment ${segment}, byte ${offset}: ${bytes} bytes cannot be read: ${reason}`
}

/** Whether what is asked for should be here, and is not as it was written. */
export function isDamage(error: unknown): boolean {
  return error instanceof DaglogError && error.kind === 'damage'
}

async function firstEvent(view: RunView, options: EventsOptions): Promise<RunEvent | undefined> {
  for await (const event of view.events({ ...options, refs: true })) if (!isGap(event)) return event
  return undefined
}
