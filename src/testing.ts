/**
 * For tests of backends and of what is built on daglog: the contract that every backend must keep,
 * and a disk that loses power, fills up and fails.
 */
export { backendContract } from './testing/backend-contract.js'
export type { ContractOptions, ContractStore } from './testing/contract-case.js'
export type { Coverage } from './testing/crash-states.js'
export type {
  DiskOperation,
  DiskOperationEvent,
  DiskOperationTest,
} from './testing/disk-operation.js'
export { SimulatedDisk, type SimulatedDiskOptions } from './testing/simulated-disk.js'
