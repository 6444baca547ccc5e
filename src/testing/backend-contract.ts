/**
 * The suite that every backend must pass, written against `Backend` alone.
 * Uses no test runner of its own: pass `describe` and `it` of whichever runs it. A test of an
 * ability that a backend does not have (`can`) passes without doing anything.
 */
import type { ContractOptions } from './contract-case.js'
import { endsContract, logsContract } from './contract-logs.js'
import { cacheContract, objectsContract, sealsContract } from './contract-objects.js'
import { manifestContract, removalContract, runsContract } from './contract-runs.js'
import { fencingContract, writersContract } from './contract-writers.js'

/**
 * Define the suite.
 *
 * ```ts
 * import { describe, it } from 'node:test' import { backendContract } from 'daglog/testing'
 * backendContract('mine', { describe, it, open: async () => ({ backend: await freshPlace() }) })
 * ```
 * @param name Of the backend, for the names of tests.
 */
export function backendContract(name: string, options: ContractOptions): void {
  const { describe } = options
  const part = (noun: string, ...contracts: ((options: ContractOptions) => void)[]): void => {
    describe(`${name}: ${noun}`, () => {
      for (const contract of contracts) contract(options)
    })
  }
  part('a store', manifestContract)
  part('its runs', runsContract, removalContract)
  part('its logs', logsContract, endsContract)
  part('its writers', writersContract, fencingContract)
  part('its objects', objectsContract, sealsContract)
  part('its cache', cacheContract)
}
