/**
 * Errors as data: what a step or a run keeps of one.
 */
import type { ErrorData } from './event.js'

/** Causes deeper than this are left out; a chain this long is a cycle or a mistake. */
const CAUSES_MAX = 8

/** How an error is kept: enough to know it again, its stack as an annotation. */
export function errorData(error: unknown, depth = 0): ErrorData {
  if (!(error instanceof Error))
    return { name: 'Error', message: typeof error === 'string' ? error : String(error) }
  const code = (error as { code?: unknown }).code
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code) } : {}),
    ...(error.cause !== undefined && depth < CAUSES_MAX
      ? { cause: errorData(error.cause, depth + 1) }
      : {}),
    ...(error.stack === undefined || depth > 0 ? {} : { stack: error.stack }),
  }
}
