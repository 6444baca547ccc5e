/**
 * Errors as data: what a step or a run keeps of one.
 * Never throws, whatever was thrown: the error itself must not be lost over its description.
 */
import type { ErrorData } from './event-map.js'

/** Causes deeper than this are left out; a chain this long is a cycle or a mistake. */
const CAUSES_MAX = 8
/** Most members of an `AggregateError` that are kept. */
const ERRORS_MAX = 64

/** How an error is kept: enough to know it again, its stack as an annotation. */
export function errorData(error: unknown, depth = 0): ErrorData {
  const code = member(error, 'code')
  const cause = member(error, 'cause')
  const stack = member(error, 'stack')
  return {
    name: stringOf(member(error, 'name')) ?? 'Error',
    message: stringOf(member(error, 'message')) ?? textOf(error) ?? 'an error without a text',
    ...(code === undefined ? {} : { code: textOf(code) ?? 'unknown' }),
    ...(cause === undefined || depth >= CAUSES_MAX ? {} : { cause: errorData(cause, depth + 1) }),
    ...aggregated(error, depth),
    ...thrownAs(error),
    ...(typeof stack !== 'string' || depth > 0 ? {} : { stack }),
  }
}

/** What several promises failed with, as `Promise.any` says it. */
function aggregated(error: unknown, depth: number): Pick<ErrorData, 'errors'> {
  const errors = member(error, 'errors')
  if (member(error, 'name') !== 'AggregateError' || !Array.isArray(errors)) return {}
  if (depth >= CAUSES_MAX) return {}
  return { errors: errors.slice(0, ERRORS_MAX).map((one) => errorData(one, depth + 1)) }
}

/** Anything may be thrown. */
function thrownAs(error: unknown): Pick<ErrorData, 'thrown'> {
  const plain = error === null || typeof error === 'string' || typeof error === 'boolean'
  return plain || Number.isFinite(error)
    ? { thrown: error as string | number | boolean | null }
    : {}
}

/** A member of an error of any class, of another realm, or of a plain object that was thrown. */
function member(error: unknown, key: string): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  try {
    return (error as Record<string, unknown>)[key]
  } catch {
    return undefined // A getter that throws says nothing.
  }
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'object' || typeof value === 'function') return objectText(value)
  return String(value)
}

function objectText(value: unknown): string | undefined {
  try {
    const text = String(value)
    return text.startsWith('[object ') ? undefined : text
  } catch {
    return undefined // Nothing in it has a text.
  }
}
