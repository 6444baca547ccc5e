/**
 * What an event is, and which types daglog itself knows.
 * Types are an open interface, merged by declaration; unknown types are kept, shown, and ignored by
 * folds.
 * @see docs/format.md#events
 */
import type { Ref } from './body.js'
import { DaglogError } from './errors.js'
import type { DataOf } from './event-map.js'
import type { Hash } from './hash.js'
import { OPERATION_BYTES_MAX, TYPE_BYTES_MAX } from './limits.js'

/** An event as it is read: `data` is what was given to `append`, whole. */
export interface RunEvent<T extends string = string> {
  readonly seq: number
  /** Milliseconds since 1970; never orders anything. */
  readonly time: number
  readonly type: T
  readonly data: DataOf<T>
  /**
   * Set where it comes from before a fork: the identity of the run that it is in, which counts its
   * own seqs.
   */
  readonly run?: Hash
  /**
   * True for what is not in the log yet: how opening the run will close what its dead writer left
   * open.
   */
  readonly pending?: boolean
  /**
   * Set where a reader derived it from the event with this seq: its place in there. Its address is
   * `SEQ.LINE`.
   */
  readonly line?: number
  /** The head after this event: commits to it and to all before. */
  readonly hash: Hash
  /** The caller's id of the append, where there was one: the same id twice is one event. */
  readonly op?: string
  /** True where the body was redacted; `data` is then undefined. */
  readonly redacted?: boolean
  /** Only when asked for: what lies out of line, with `null` in `data` at each pointer. */
  readonly refs?: readonly Ref[]
}

const TYPE_PATTERN = /^[a-z0-9-]+(?:\/[a-z0-9-]+)*$/
const RESERVED = /^(?:run|log|writer|store)\/|^redaction$/

/** Types that ride along unsynced until the next event that is synced. */
export const UNSYNCED_TYPES: ReadonlySet<string> = new Set(['assistant/chunk', 'tick'])

/** @throws TYPE_INVALID */
export function checkType(type: string): void {
  if (typeof type !== 'string' || type.length > TYPE_BYTES_MAX || !TYPE_PATTERN.test(type)) {
    throw new DaglogError(
      'TYPE_INVALID',
      `${typeof type === 'string' ? JSON.stringify(type.slice(0, 80)) : `a ${typeof type}`} is no event type; try: lower-case words of [a-z0-9-] joined by "/", at most ${TYPE_BYTES_MAX} bytes, such as "cart/add"`,
      { type },
    )
  }
}

/**
 * Types that only the store itself writes, and the reason that only recovery gives.
 * @throws TYPE_INVALID, TYPE_RESERVED
 */
export function checkUserEvent(type: string, data: unknown): void {
  checkType(type)
  if (RESERVED.test(type)) {
    throw new DaglogError(
      'TYPE_RESERVED',
      `"${type}" is written by the store only; try: a type of your own, or "note"`,
      { type },
    )
  }
  if (type === 'turn/end' && (data as { reason?: unknown } | null)?.reason === 'interrupted') {
    throw new DaglogError(
      'TYPE_RESERVED',
      'reason "interrupted" is written by recovery only; try: "aborted"',
      { type },
    )
  }
}

/** @throws EVENT_INVALID, LIMIT_EXCEEDED */
export function checkOperation(op: unknown): void {
  if (typeof op !== 'string' || op === '') {
    const what = op === '' ? 'an empty string' : `a ${typeof op}`
    throw new DaglogError(
      'EVENT_INVALID',
      `${what} is no operation id; try: a string that stays the same when the append is sent again`,
    )
  }
  if (Buffer.byteLength(op) <= OPERATION_BYTES_MAX) return
  throw new DaglogError(
    'LIMIT_EXCEEDED',
    `an operation id has at most ${OPERATION_BYTES_MAX} bytes; try: a hash of it`,
    { limit: 'OPERATION_BYTES_MAX' },
  )
}
