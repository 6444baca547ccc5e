/**
 * Calls to a simulated disk: how a hook sees them, and the faults that wait for them.
 * Knows calls and errors, not what a disk holds.
 */
import { getSystemErrorMap } from 'node:util'
import type { Disk, DiskFile } from '../backend/disk.js'

export interface DiskOperation {
  readonly name: keyof Disk | keyof DiskFile
  readonly path: string
  /** The new name, of `link` and `rename`. */
  readonly to?: string
  /** Of `openFile`. */
  readonly mode?: 'read' | 'append' | 'create'
  /**
   * Of `append` the count asked for, and afterwards the count written; of `read` the count asked
   * for; of `truncate` the new length.
   */
  readonly bytes?: number
}

/** Where a call stands. One that fails has no `after`. */
export interface DiskOperationEvent extends DiskOperation {
  readonly phase: 'before' | 'after'
  /** Whether such a call may change what survives a power loss. Nothing to see at the others. */
  readonly changes: boolean
}

export type DiskOperationTest = (operation: DiskOperation) => boolean

type DiskFault = { readonly code: string } | { readonly keptBytes: number }

/** What every call passes through. */
export class DiskCalls {
  hook: ((operation: DiskOperationEvent) => void) | undefined
  readonly #faults: { readonly test: DiskOperationTest; readonly fault: DiskFault }[] = []

  /** Faults that have not struck. */
  get faultsLeft(): number {
    return this.#faults.length
  }

  /** Faults strike once each; of those that fit a call, the one added first. */
  addFault(test: DiskOperationTest, fault: DiskFault): void {
    this.#faults.push({ test, fault })
  }

  run<T>(operation: DiskOperation, act: () => T): T {
    const { error } = this.start(operation)
    if (error !== undefined) throw error
    const result = act()
    this.end(operation)
    return result
  }

  /** @returns The error to throw instead of acting, or else the most bytes to append. */
  start(operation: DiskOperation): { error?: Error; bytesMax: number } {
    this.#report(operation, 'before')
    const index = this.#faults.findIndex(({ test }) => test(operation))
    if (index < 0) return { bytesMax: Number.POSITIVE_INFINITY }
    const { fault } = this.#faults.splice(index, 1)[0]!
    if ('keptBytes' in fault) return { bytesMax: fault.keptBytes }
    return { error: systemError(fault.code, operation), bytesMax: 0 }
  }

  end(operation: DiskOperation): void {
    this.#report(operation, 'after')
  }

  #report(operation: DiskOperation, phase: DiskOperationEvent['phase']): void {
    this.hook?.({ ...operation, phase, changes: isChange(operation) })
  }
}

/** An error like Node's: `code`, `errno`, `syscall` (here the name of the call), `path`, `dest`. */
export function systemError(code: string, { name, path, to }: DiskOperation): Error {
  const [errno, text] = ERRORS.get(code) ?? [undefined, 'unknown error']
  const dest = to === undefined ? '' : ` -> '${to}'`
  const error = new Error(`${code}: ${text}, ${name} '${path}'${dest}`)
  return Object.assign(error, { code, errno, syscall: name, path }, to && { dest: to })
}

const ERRORS = new Map(
  [...getSystemErrorMap()].map(([errno, [code, text]]) => [code, [errno, text] as const]),
)

const READING: ReadonlySet<DiskOperation['name']> = new Set([
  'read',
  'size',
  'close',
  'exists',
  'sizeOf',
  'list',
])

function isChange({ name, mode }: DiskOperation): boolean {
  return name === 'openFile' ? mode === 'create' : !READING.has(name)
}
