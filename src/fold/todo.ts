/** The list of what is to do, as it was last written. */
import type { Projection } from './projection.js'

export const todo: Projection<readonly unknown[]> = {
  key: 'todo',
  version: 1,
  types: ['todo/write'],
  whole: true,
  init: () => [],
  apply(state, { data }) {
    const items = (data as { items?: unknown } | null | undefined)?.items
    return Array.isArray(items) ? items : state
  },
}
