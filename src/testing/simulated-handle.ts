/**
 * An open file of a simulated disk.
 * Knows one file's calls and their errors; it holds no bytes itself.
 */
import type { DiskFile } from '../backend/disk.js'
import { type DiskCalls, type DiskOperation, systemError } from './disk-operation.js'
import type { PendingChange, SimulatedFile } from './simulated-file.js'

/** What a file needs of its disk. */
export interface Medium {
  readonly calls: DiskCalls
  readonly syncGate: (path: string) => Promise<unknown>
  freeBytes(): number
}

export class SimulatedHandle implements DiskFile {
  readonly #medium: Medium
  readonly #file: SimulatedFile
  readonly #path: string
  readonly #isWritable: boolean
  #isOpen = true

  constructor(
    medium: Medium,
    { file, path, isWritable }: { file: SimulatedFile; path: string; isWritable: boolean },
  ) {
    this.#medium = medium
    this.#file = file
    this.#path = path
    this.#isWritable = isWritable
  }

  append(bytes: Uint8Array): number {
    const operation = this.#operation('append', bytes.length)
    if (!this.#isWritable) throw systemError('EBADF', operation)
    const { error, bytesMax } = this.#medium.calls.start(operation)
    if (error !== undefined) throw error
    const freeBytes = this.#medium.freeBytes()
    if (freeBytes === 0 && bytes.length > 0) throw systemError('ENOSPC', operation)
    const count = Math.min(bytes.length, bytesMax, freeBytes)
    this.#file.append(bytes.subarray(0, count))
    this.#medium.calls.end({ ...operation, bytes: count })
    return count
  }

  read(into: Uint8Array, atByte: number): number {
    return this.#medium.calls.run(this.#operation('read', into.length), () => {
      const bytes = this.#file.bytes.subarray(atByte, atByte + into.length)
      into.set(bytes)
      return bytes.length
    })
  }

  size(): number {
    return this.#medium.calls.run(this.#operation('size'), () => this.#file.bytes.length)
  }

  truncate(bytes: number): void {
    const operation = this.#operation('truncate', bytes)
    if (!this.#isWritable) throw systemError('EINVAL', operation)
    this.#medium.calls.run(operation, () => this.#file.truncate(bytes))
  }

  async sync(): Promise<void> {
    const operation = this.#operation('sync')
    const { error } = this.#medium.calls.start(operation)
    const changes = this.#file.unsynced()
    await this.#medium.syncGate(this.#path)
    this.#complete(operation, { changes, error })
  }

  syncNow(): void {
    const operation = this.#operation('syncNow')
    const { error } = this.#medium.calls.start(operation)
    this.#complete(operation, { changes: this.#file.unsynced(), error })
  }

  close(): void {
    if (!this.#isOpen) return
    const operation = this.#operation('close')
    // A failed close closes all the same.
    this.#isOpen = false
    this.#medium.calls.run(operation, () => {})
  }

  #complete(
    operation: DiskOperation,
    { changes, error }: { changes: readonly PendingChange[]; error: Error | undefined },
  ): void {
    if (error !== undefined) {
      this.#file.forsake(changes)
      throw error
    }
    this.#file.settle(changes)
    this.#medium.calls.end(operation)
  }

  #operation(name: keyof DiskFile, bytes?: number): DiskOperation {
    const operation = { name, path: this.#path, ...(bytes !== undefined && { bytes }) }
    if (!this.#isOpen) throw systemError('EBADF', operation)
    return operation
  }
}
