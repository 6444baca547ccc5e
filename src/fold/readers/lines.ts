/**
 * Lines of JSON of no known format: each is a record of its own.
 */
import type { SessionRecord } from '../../core/event-map.js'
import { faultEvent, linesOf } from '../import-lines.js'
import type { Derived, Reader } from '../reader.js'

export const lines: Reader<0> = {
  key: 'lines',
  version: 1,
  types: ['import/lines'],
  init: () => 0,
  read(state, event) {
    const { from, items } = linesOf(event.data)
    const events: Derived[] = []
    for (const item of items) {
      const { line, fault, value } = item
      const type = (value as { type?: unknown } | null | undefined)?.type
      const data: SessionRecord = { record: typeof type === 'string' ? type : 'line', value }
      events.push(
        fault === undefined ? { line, type: 'session/record', data } : faultEvent(item, from),
      )
    }
    return { state, events }
  },
}
