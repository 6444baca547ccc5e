/**
 * The state of a run as one plain value, for folds and subscribers. A large one is read whole;
 * `run.state` and
 * `run.stateAt` read only what is looked at.
 */
import type { Projection } from './projection.js'

/** `{}` where none was written, as in `run.state`; undefined where the last one was redacted. */
export const state: Projection<unknown> = {
  key: 'state',
  version: 1,
  types: ['state/write'],
  whole: true,
  init: () => ({}),
  apply(before, { data, redacted }) {
    if (redacted) return undefined
    const written = data as { value?: unknown } | null | undefined
    return written?.value === undefined ? before : written.value
  },
}
