/**
 * Readers of transcripts among the readers of all runs: each reads the lines of its own format
 * only.
 */
import type { AnyReader, Reader } from './reader.js'

interface State {
  /** That of the reader, while the lines are of its format; null before and elsewhere. */
  readonly own: unknown
}

const ELSEWHERE: State = { own: null }

/**
 * The same reader, at work where the `import/source` before says that the lines are of format
 * `key`.
 */
export function importReader(reader: AnyReader): Reader<State> {
  const { key, version } = reader
  return {
    key,
    version,
    types: [...new Set(['import/source', ...reader.types])],
    init: () => ELSEWHERE,
    read(state, event) {
      if (event.type === 'import/source') {
        const isOwn = (event.data as { format?: unknown } | null | undefined)?.format === key
        if (!isOwn) return { state: ELSEWHERE, events: [] }
        if (state.own === null) return goOn(reader, reader.init(), event)
      }
      if (state.own === null || !reader.types.includes(event.type)) return { state, events: [] }
      return goOn(reader, state.own, event)
    },
  }
}

function goOn(
  reader: AnyReader,
  own: unknown,
  event: Parameters<AnyReader['read']>[1],
): ReturnType<Reader<State>['read']> {
  if (!reader.types.includes(event.type)) return { state: { own }, events: [] }
  const { state, events } = reader.read(own, event)
  return { state: { own: state }, events }
}
