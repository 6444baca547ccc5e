/**
 * The one error class, and every code it can carry.
 * @see docs/errors.md
 */

/** What the caller should do about it: this is the whole reason a kind exists. */
export type ErrorKind = 'retry' | 'input' | 'upgrade' | 'damage' | 'environment' | 'bug'

/** Every code we throw. A test proves that each one is thrown and documented. */
export const ERROR_KINDS = {
  // retry: nothing is wrong with the request; the same call may succeed later.
  RUN_LOCKED: 'retry',
  STORE_LOCKED: 'retry',
  WRITER_FENCED: 'retry',
  ASK_TIMEOUT: 'retry',
  // input: change what was asked for.
  USAGE: 'input',
  STORE_NOT_FOUND: 'input',
  RUN_NOT_FOUND: 'input',
  RUN_AMBIGUOUS: 'input',
  RUN_EXISTS: 'input',
  RUN_ID_INVALID: 'input',
  RUN_ENDED: 'input',
  RUN_HAS_FORKS: 'input',
  SEQ_NOT_FOUND: 'input',
  POINTER_NOT_FOUND: 'input',
  TYPE_INVALID: 'input',
  TYPE_RESERVED: 'input',
  EVENT_INVALID: 'input',
  OPERATION_CONFLICT: 'input',
  HISTORY_MISMATCH: 'input',
  CHECKPOINT_DELETED: 'input',
  VALUE_UNSUPPORTED: 'input',
  LIMIT_EXCEEDED: 'input',
  BODY_REDACTED: 'input',
  SECRETS_FOUND: 'input',
  BUNDLE_INVALID: 'input',
  HAR_INVALID: 'input',
  PROJECTION_CONFLICT: 'input',
  PROJECTION_FAILED: 'input',
  TURN_OPEN: 'input',
  REQUEST_NOT_LOGGED: 'input',
  STEP_KEY_TAKEN: 'input',
  STEP_IN_DOUBT: 'input',
  STEP_NOT_FOUND: 'input',
  ASK_NOT_FOUND: 'input',
  REPLAY_DIVERGED: 'input',
  WRITE_NOT_ALLOWED: 'input',
  PROVIDER_UNKNOWN: 'input',
  REPLAY_BLOCKED: 'input',
  CLOSED: 'input',
  // upgrade: written by a newer daglog.
  FORMAT_TOO_NEW: 'upgrade',
  // damage: bytes on the medium are not what was written.
  CHAIN_BROKEN: 'damage',
  FRAME_INVALID: 'damage',
  OBJECT_MISSING: 'damage',
  OBJECT_CORRUPT: 'damage',
  PACK_INVALID: 'damage',
  STORE_INVALID: 'damage',
  // environment: the disk, the file system or its permissions said no.
  WRITE_FAILED: 'environment',
  READ_FAILED: 'environment',
  MEDIUM_UNSUITABLE: 'environment',
  // bug: ours, please report.
  INVARIANT: 'bug',
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERROR_KINDS

/**
 * The only error class daglog throws.
 * `code` is API and never changes meaning; `message` is for people and may.
 * `data` holds the facts for machines; `cause` the original error, where there was one.
 */
export class DaglogError extends Error {
  override readonly name = 'DaglogError'
  readonly kind: ErrorKind

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly data: Readonly<Record<string, unknown>> = {},
    options?: { cause?: unknown },
  ) {
    super(`${code}: ${message}`, options)
    this.kind = ERROR_KINDS[code]
  }
}

/** State what must hold. A failure is our bug, never the user's. */
export function assert(condition: unknown, claim: string): asserts condition {
  if (!condition) throw new DaglogError('INVARIANT', claim)
}

/** The code of a Node system error (`ENOSPC`, `EEXIST`), or undefined. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}
