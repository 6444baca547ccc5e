/**
 * Something that a replay must not do, and that was tried inside one.
 */
import type { DaglogError } from '../core/errors.js'

/** What of the process something was asked of. */
export type AttemptApi =
  | 'fetch'
  | 'undici'
  | 'http'
  | 'net'
  | 'socket'
  | 'dns'
  | 'dgram'
  | 'child_process'
  | 'worker_threads'

export interface Attempt {
  readonly api: AttemptApi
  /**
   * Origin, host and port, or file; never a path of a URL, a query or an argument: secrets are in
   * those.
   */
  readonly target: string
  /** Whether it was kept from happening. */
  readonly refused: boolean
  /** The innermost step whose body it was in; outside of all bodies there is none. */
  readonly step?: { readonly id: string; readonly name: string }
}

/**
 * What a guarded place asks first. @returns The error to fail with; undefined outside of replays.
 */
export type Refuse = (api: AttemptApi, target: () => string) => DaglogError | undefined

/** What a place says that cannot be known to be harmless, and that goes on. */
export type Tell = (api: AttemptApi, target: () => string) => void

export interface Installed {
  remove(): void
}
