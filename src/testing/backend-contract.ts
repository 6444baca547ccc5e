/**
 * The suite that every backend must pass, written against `Backend` alone.
 * Uses no test runner of its own: pass `describe` and `it` of whichever runs it. A test of an ability that
 * a backend does not have (`can`) passes without doing anything.
 */
import type { ContractOptions } from './contract-case.js'
import { logsContract, writersContract } from './contract-logs.js'
import { cacheContract, objectsContract } from './contract-objects.js'
import { manifestContract, runsContract } from './contract-runs.js'

/**
 * Define the suite.
 *
 * ```ts
 * import { describe, it } from 'node:test'
 * import { backendContract } from 'daglog/testing'
 * backendContract('mine', { describe, it, open: async () => ({ backend: await freshPlace() }) })
 * ```
 * @param name Of the backend, for the names of tests.
 */
export function backendContract(name: string, options: ContractOptions): void {
  const { describe } = options
  describe(`${name}: a store`, () => manifestContract(options))
  describe(`${name}: its runs`, () => runsContract(options))
  describe(`${name}: its logs`, () => logsContract(options))
  describe(`${name}: its writers`, () => writersContract(options))
  describe(`${name}: its objects`, () => objectsContract(options))
  describe(`${name}: its cache`, () => cacheContract(options))
}
