/**
 * The request that `trace-put` and `trace-get` are given on the command line.
 */
import type { BodyForm, HeaderList } from '../http/exchange.js'
import type { Call } from './call.js'
import { readInput } from './input-file.js'

export interface TraceRequest {
  readonly method: string
  readonly url: string
  readonly headers: HeaderList
  readonly body: Uint8Array
  /** As it was sent: a content-encoding that a header names is on. */
  readonly form: BodyForm
}

/** @throws USAGE */
export async function traceRequest(call: Call): Promise<TraceRequest> {
  const body = call.text('body')
  return {
    method: required(call, 'method').toUpperCase(),
    url: absoluteUrl(call, required(call, 'url')),
    headers: headersOf(call, 'header'),
    body: body === undefined ? new Uint8Array() : await readInput(body),
    form: 'wire',
  }
}

/** @throws USAGE */
export function required(call: Call, flag: string): string {
  const value = call.text(flag)
  if (value === undefined || value === '') throw call.usage(`--${flag} is missing`)
  return value
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** `K: V`, each. @throws USAGE; what stands there is not repeated, since it may be a secret. */
export function headersOf(call: Call, flag: string): HeaderList {
  return call.list(flag).map((line, at) => {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).trim()
    const value = line.slice(colon + 1).trim()
    if (TOKEN.test(name) && !/[\r\n\0]/.test(value)) return [name, value] as const
    throw call.usage(`--${flag} number ${at + 1} is no header`, `--${flag} 'accept: text/plain'`)
  })
}

function absoluteUrl(call: Call, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw call.usage('--url is no absolute URL of http or https', '--url https://host/path')
  url.hash = ''
  return url.href
}
