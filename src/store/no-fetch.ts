/** The `fetch` of a run whose store knows nobody who could record. */
import { DaglogError } from '../core/errors.js'

export function noFetch(): Promise<never> {
  const text = 'the store of this run records no traffic; try: openStore of daglog, or withReplay'
  return Promise.reject(new DaglogError('USAGE', text))
}
