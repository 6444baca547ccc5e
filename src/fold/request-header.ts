/** What a model was last asked with beside the messages: the other half of a request. */
import type { RequestHeader } from '../core/event-map.js'
import type { Projection } from './projection.js'

export const requestHeader: Projection<RequestHeader | null> = {
  key: 'request-header',
  version: 1,
  types: ['request/header'],
  whole: true,
  init: () => null,
  apply(state, { data }) {
    const { model, provider } = (data ?? {}) as Partial<RequestHeader>
    return typeof model === 'string' && typeof provider === 'string'
      ? (data as RequestHeader)
      : state
  },
}
