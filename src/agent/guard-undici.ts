/**
 * undici beside Node's own: its global dispatchers, and requests that any other dispatcher makes.
 * A request is refused before it is queued where that can be; it might wait behind one of somebody
 * else.
 */
import diagnostics from 'node:diagnostics_channel'
import type { Installed, Refuse } from './attempt.js'
import { hostTarget, urlTarget } from './guard-targets.js'
import type { Patches } from './patches.js'

/** Where each version keeps the dispatcher that requests go through unless told otherwise. */
const DISPATCHERS = [
  Symbol.for('undici.globalDispatcher.1'),
  Symbol.for('undici.globalDispatcher.2'),
]
const CREATED = 'undici:request:create'

interface Dispatcher {
  dispatch(options: unknown, handler: unknown): boolean
}

const globals = globalThis as unknown as Record<symbol, Dispatcher | undefined>

/** Whether `fetch` is answered inside the process: undici's `MockAgent`. */
export function isMocked(): boolean {
  return DISPATCHERS.some((name) => isMock(globals[name]))
}

function isMock(dispatcher: unknown): boolean {
  return (dispatcher as { isMockActive?: unknown } | undefined)?.isMockActive === true
}

export function guardDispatchers(patches: Patches, refuse: Refuse): Installed {
  for (const name of DISPATCHERS) {
    const dispatcher = globals[name]
    if (dispatcher !== undefined && !isMock(dispatcher))
      patches.replace(globalThis, name, guardedDispatcher(dispatcher, refuse))
  }
  const onCreated = (message: unknown): void => {
    const { request } = message as { readonly request: CreatedRequest }
    const refused = refuse('undici', () => urlTarget(request.origin))
    if (refused === undefined) return
    // An aborted request is never written. Its connection, if it needs one, is refused by itself.
    if (request.onError !== undefined) request.onError(refused)
    else request.onResponseError?.(refused)
  }
  diagnostics.subscribe(CREATED, onCreated)
  return { remove: () => void diagnostics.unsubscribe(CREATED, onCreated) }
}

interface CreatedRequest {
  readonly origin: unknown
  /** Before version 8. */
  onError?(error: Error): void
  onResponseError?(error: Error): void
}

/** Seems the same from outside; its private members are reached through itself. */
function guardedDispatcher(dispatcher: Dispatcher, refuse: Refuse): Dispatcher {
  const bound = new Map<unknown, unknown>()
  const dispatch = (options: unknown, handler: unknown): boolean => {
    const refused = refuse('undici', () => hostTarget(options))
    if (refused !== undefined) throw refused
    return dispatcher.dispatch(options, handler)
  }
  return new Proxy(dispatcher, {
    get(target, name) {
      if (name === 'dispatch') return dispatch
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || name === 'constructor') return value
      const known = bound.get(value) ?? value.bind(target)
      bound.set(value, known)
      return known
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  })
}
