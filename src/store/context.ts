/**
 * What everything in one open store shares.
 */
import type { Backend } from '../backend/backend.js'
import type { HeadLog } from './head-log.js'
import type { Notices } from './notices.js'
import type { StandardSchema } from './schemas.js'
import type { Snapshots } from './snapshots.js'

/**
 * When an append resolves. `step`: once it would survive power loss; only stream chunks ride along
 * unsynced until the next synced event. `os`: once the operating system has it; a crash of the
 * process loses nothing, a power cut may.
 */
export type Durability = 'step' | 'os'

export interface StoreContext {
  readonly backend: Backend
  readonly notices: Notices
  readonly snapshots: Snapshots
  readonly heads: HeadLog
  readonly now: () => number
  readonly program: string
  readonly durability: Durability
  /** Checks for data of event types, when they are appended; never when they are read. */
  readonly schemas: Readonly<Record<string, StandardSchema>>
  readonly lockWaitMs: number
  readonly lockIdleMs: number
  /** Why nothing may be written, or undefined. */
  readonly readOnly: string | undefined
}
