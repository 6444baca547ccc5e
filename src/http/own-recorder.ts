/**
 * Two recorders on the way of one call: a program that records by itself, under a sidecar that
 * records all. The inner one marks its calls, and the sidecar passes them on without recording them
 * again.
 */
import type { Fetch } from './fetch-request.js'

/**
 * Its value is the run that the program records into. A sidecar takes it away; nobody else gets it.
 */
export const OWN_RECORDER = 'x-daglog-recorded'

/** Set where a sidecar stands. */
const SIDECAR_VARIABLE = 'DAGLOG_PROXY'

/** The same fetch, marking its calls where a sidecar is on their way. */
export function marked(
  fetch: Fetch,
  run: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Fetch {
  if ((env[SIDECAR_VARIABLE] ?? '') === '') return fetch
  return (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}))
    // An id may be any text; a header may not.
    headers.set(OWN_RECORDER, encodeURIComponent(run))
    return fetch(input, { ...init, headers })
  }
}
