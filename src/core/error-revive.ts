/**
 * Errors out of data: an error that a log has, thrown again as what it was.
 * Classes that every program knows come back as themselves, so that `instanceof` holds; of others
 * the name, message, code and cause do. The stack says where it was recorded.
 */
import { DaglogError, ERROR_KINDS, type ErrorCode } from './errors.js'
import type { ErrorData } from './event-map.js'

/** By name. Ask with `Object.hasOwn`: the name of an error is what anybody says. */
export const ERROR_CLASSES: Readonly<Record<string, ErrorConstructor>> = {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
}

/** Names that `AbortSignal` and `fetch` give to their `DOMException`s. */
const DOM_NAMES: ReadonlySet<string> = new Set(['AbortError', 'TimeoutError', 'DataCloneError'])

export function reviveError(data: ErrorData): unknown {
  if ('thrown' in data) return data.thrown
  const error = made(data)
  const { name, message, code, cause, stack } = data
  if (error.name !== name) hidden(error, 'name', name)
  if (error.message !== message) hidden(error, 'message', message)
  if (code !== undefined && (error as { code?: unknown }).code === undefined)
    Object.defineProperty(error, 'code', { value: code, configurable: true, enumerable: true })
  if (cause !== undefined && error.cause === undefined) hidden(error, 'cause', reviveError(cause))
  if (stack !== undefined) hidden(error, 'stack', stack)
  return error
}

function made({ name, message, code, errors }: ErrorData): Error {
  if (name === 'DaglogError' && code !== undefined && Object.hasOwn(ERROR_KINDS, code)) {
    return new DaglogError(code as ErrorCode, message.replace(`${code}: `, ''))
  }
  if (name === 'AggregateError') return new AggregateError((errors ?? []).map(reviveError), message)
  // A DOMException has a number for a code; Node's own errors of that name have a text.
  if (DOM_NAMES.has(name) && (code === undefined || /^\d+$/.test(code)))
    return new DOMException(message, name)
  const known = Object.hasOwn(ERROR_CLASSES, name) ? ERROR_CLASSES[name] : undefined
  return new (known ?? Error)(message)
}

function hidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, {
    value,
    configurable: true,
    writable: true,
    enumerable: false,
  })
}
