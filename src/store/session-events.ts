/**
 * The events of a run as people and folds see them: as they were appended, with what readers find
 * in them.
 */
import type { RunEvent } from '../core/event.js'
import { builtInReaders } from '../fold/readers.js'
import { Registry } from '../fold/registry.js'
import type { EventSource, EventsOptions } from './event-reader.js'
import { foldEvents } from './fold-events.js'

/**
 * In order of (seq, line); `pending` comes last. A reader is given all that lies before `from` too.
 */
export async function* sessionEvents(
  source: EventSource,
  pending: readonly RunEvent[],
  options: EventsOptions,
): AsyncGenerator<RunEvent> {
  const { from = 0, to = Number.POSITIVE_INFINITY } = options
  const wanted = options.types === undefined ? undefined : new Set<string>(options.types)
  const wants = ({ seq, type }: RunEvent): boolean =>
    seq >= from && seq <= to && (wanted?.has(type) ?? true)
  const readers = await builtInReaders()
  const registry = new Registry(readers)
  const read = readers.flatMap(({ types }) => types)
  const types = wanted === undefined ? undefined : [...wanted, ...read]
  if (from > 0) {
    for await (const event of foldEvents(source, { from: 0, to: from - 1, types: read })) {
      registry.derive(event)
    }
  }
  for await (const event of foldEvents(source, { from, to, types })) {
    if (wants(event) || event.type === 'log/gap') yield event
    for (const derived of registry.derive(event)) if (wants(derived)) yield derived
  }
  for (const event of pending) if (wants(event)) yield event
}
