/**
 * Whether a session goes on from another one without holding a copy of it, and whether a model
 * still sees what was there.
 */
import type { Compaction, SessionInfo, SessionParent } from '../core/event-map.js'
import type { Projection } from './projection.js'

export interface Referred {
  readonly from: (SessionParent & Required<Pick<SessionParent, 'before'>>) | null
  /** A compaction stands for all that was said before it, there too. */
  readonly replaced: boolean
}

export const referred: Projection<Referred> = {
  key: 'referred',
  version: 1,
  types: ['session/info', 'compaction'],
  init: () => ({ from: null, replaced: false }),
  apply(state, { type, data, redacted }) {
    if (redacted === true || typeof data !== 'object' || data === null) return state
    if (type === 'compaction') {
      const { message } = data as unknown as Compaction
      const isRollback = Array.isArray(message) && message.length === 0
      return isRollback || state.replaced ? state : { ...state, replaced: true }
    }
    const { parent } = data as SessionInfo
    if (parent?.before === undefined || state.from !== null) return state
    return { ...state, from: { ...parent, before: parent.before } }
  },
}
