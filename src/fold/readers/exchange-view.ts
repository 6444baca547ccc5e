/**
 * A recorded exchange as a reader wants it: the bodies as the two ends understood them.
 * Knows the event `http/exchange` by its shape only; what the bodies say is not its business.
 */
import { type Fields, fieldsOf, isFields, listOf, nameOf, textOf } from '../provider/shape.js'
import { decodedPart } from './content-coding.js'

export interface ExchangeView {
  readonly method: string
  readonly url: string
  /** Without its content-encoding. */
  readonly requestBody: Uint8Array
  /** 0 where no response came. */
  readonly status: number
  readonly responseHeaders: readonly (readonly [name: string, value: string])[]
  /** Without its content-encoding; of a broken one, what could be read. */
  readonly responseBody: Uint8Array
  /** Whether the response came to the end that it announced. */
  readonly complete: boolean
}

/** What an `http/exchange` says; undefined where its data is none. */
export function exchangeOf(data: unknown): ExchangeView | undefined {
  const { request, response, end } = fieldsOf(data)
  if (!isFields(request) || typeof request.url !== 'string') return undefined
  const answer = fieldsOf(response)
  return {
    method: nameOf(request.method).toUpperCase(),
    url: request.url,
    requestBody: bodyOf(request),
    status: typeof answer.status === 'number' ? answer.status : 0,
    responseHeaders: headersOf(answer.headers),
    responseBody: bodyOf(answer),
    complete: end === 'complete',
  }
}

function headersOf(value: unknown): [string, string][] {
  return listOf(value).flatMap((pair): [string, string][] => {
    const [name, text] = listOf(pair)
    return typeof name === 'string' && typeof text === 'string' ? [[name.toLowerCase(), text]] : []
  })
}

function bodyOf({ body, headers, form }: Fields): Uint8Array {
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(textOf(body) ?? '')
  if (form !== 'wire') return bytes
  return headersOf(headers)
    .filter(([name]) => name === 'content-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .reduceRight(readable, bytes)
}

/** What can be read of it: the reader finds no JSON in the rest, and says so. */
function readable(bytes: Uint8Array, coding: string): Uint8Array {
  return decodedPart(bytes, coding) ?? bytes
}
