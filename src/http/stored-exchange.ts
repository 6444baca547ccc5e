/**
 * Whether the data of an event is an exchange as recorders write it: anybody may append the type.
 */
import type { HttpExchange } from '../core/http-events.js'
import { fieldsOf, isFields } from '../fold/provider/shape.js'

export function isStoredExchange(data: unknown): data is HttpExchange {
  if (!isFields(data)) return false
  const { request, response, chunks, timing, end, ordinal, scrubbed } = data
  const { started, endUs } = fieldsOf(timing)
  return (
    isHead(request) &&
    (response === undefined || isHead(response)) &&
    typeof fieldsOf(request).method === 'string' &&
    typeof fieldsOf(request).url === 'string' &&
    (response === undefined || isCount(fieldsOf(response).status)) &&
    chunks instanceof Uint8Array &&
    isTime(started) &&
    isCount(endUs) &&
    isCount(ordinal) &&
    typeof end === 'string' &&
    Array.isArray(scrubbed)
  )
}

function isHead(value: unknown): boolean {
  if (!isFields(value)) return false
  const { body, headers, form, statusText, httpVersion } = value
  return (
    body instanceof Uint8Array &&
    (form === 'wire' || form === 'decoded') &&
    [statusText, httpVersion].every((text) => text === undefined || typeof text === 'string') &&
    Array.isArray(headers) &&
    headers.every(
      (pair) =>
        Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === 'string'),
    )
  )
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isSafeInteger(value)
}

/** What a Date can say. */
function isTime(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15
}
