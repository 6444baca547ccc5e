/**
 * Errors as data: what a log keeps of one. Types only.
 */
export interface ErrorData {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly cause?: ErrorData
  /** Of an `AggregateError`. */
  readonly errors?: readonly ErrorData[]
  /** What was thrown, where that was no object: a text, a number, nothing. */
  readonly thrown?: string | number | boolean | null
  /** An annotation, never part of a step's identity. */
  readonly stack?: string
}
