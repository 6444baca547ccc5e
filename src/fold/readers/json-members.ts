/**
 * Members of parsed JSON whose shape nobody guarantees.
 */

export type Members = Readonly<Record<string, unknown>>

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Milliseconds since 1970 of an ISO date, if it is one. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}
