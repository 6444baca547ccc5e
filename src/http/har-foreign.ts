/**
 * An entry of a HAR that another program wrote, as an exchange. What it does not say is not made
 * up: it is told, and an entry that would answer otherwise than its server did gives no exchange.
 */
import { Buffer } from 'node:buffer'
import { type Fields, fieldsOf, isFields, listOf, textOf, wordOf } from '../fold/provider/shape.js'
import type { ExchangeEnd, HeaderList } from './exchange.js'
import { eventStreamOf } from './har-event-source.js'
import { bytesOfHarText } from './har-text.js'

/** What an entry tells; everything else of an exchange is for whoever stores it. */
export interface ToldExchange {
  readonly request: ToldHead & { readonly method: string; readonly url: string }
  readonly response?: ToldHead & { readonly status: number; readonly statusText?: string }
  readonly end: ExchangeEnd
  /** In ms since 1970. */
  readonly started?: number
  /** Until the response began, and until it ended, in ms from the start. */
  readonly headMs?: number
  readonly totalMs?: number
  /** What the entry says that is not taken over, or had to be put together, a sentence each. */
  readonly lost: readonly string[]
}

interface ToldHead {
  readonly httpVersion?: string
  readonly headers: HeaderList
  readonly body: Uint8Array
  /** As it was on the wire; without its content-encoding unless told. */
  readonly form?: 'wire' | 'decoded'
}

/** Why an entry gives no exchange, in words that follow its name. */
export interface Refused {
  readonly refused: string
}

export function toldExchange(entry: Fields): ToldExchange | Refused {
  const reading = new ForeignEntry(entry)
  try {
    return reading.read()
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message }
    throw error
  }
}

class Refusal extends Error {}

/** Members of an entry that are read, or that are views of what is. */
const READ: Readonly<Record<string, readonly string[]>> = {
  '': ['startedDateTime', 'time', 'request', 'response', 'timings', '_eventSourceMessages'],
  request: [
    ...['method', 'url', 'httpVersion', 'headers', 'cookies', 'queryString', 'postData'],
    ...['headersSize', 'bodySize'],
  ],
  response: [
    ...['status', 'statusText', 'httpVersion', 'headers', 'cookies', 'content', 'redirectURL'],
    ...['headersSize', 'bodySize', '_error', '_failureText'],
  ],
}

class ForeignEntry {
  readonly #lost = new Set<string>()

  constructor(private readonly entry: Fields) {}

  read(): ToldExchange {
    const { entry } = this
    const request = fieldsOf(entry.request)
    const method = wordOf(request.method)?.toUpperCase()
    if (method === undefined) throw new Refusal('has no method')
    const url = urlOf(request.url)
    if (listOf(entry._webSocketMessages).length > 0)
      throw new Refusal('is a WebSocket, which is no exchange')
    const response = this.#response(method)
    const asked = {
      method,
      url,
      ...this.#version(request),
      headers: this.#headers(request.headers, 'request'),
      body: this.#requestBody(request),
    }
    this.#passOver()
    return {
      request: asked,
      ...(response === undefined ? {} : { response }),
      end: this.#end(response !== undefined),
      ...this.#times(),
      lost: [...this.#lost],
    }
  }

  #version({ httpVersion }: Fields): { readonly httpVersion?: string } {
    const said = wordOf(httpVersion)
    return said === undefined || said === 'unknown' ? {} : { httpVersion: said }
  }

  #headers(value: unknown, side: string): HeaderList {
    const headers: (readonly [string, string])[] = []
    for (const one of listOf(value)) {
      const { name, value: text } = fieldsOf(one)
      if (typeof name !== 'string' || typeof text !== 'string')
        this.#lost.add(`a header of the ${side} that is no pair of texts`)
      // What HTTP/2 writes among headers is said by method and URL.
      else if (!name.startsWith(':')) headers.push(...oneEach(name, text))
    }
    return headers
  }

  #requestBody({ postData, bodySize }: Fields): Uint8Array {
    if (postData === undefined || postData === null) {
      if (typeof bodySize === 'number' && bodySize > 0)
        throw new Refusal(`does not hold the body of its request, ${bodySize} bytes`)
      return new Uint8Array()
    }
    const said = fieldsOf(postData)
    const body = bytesOfHarText(said)
    const params = listOf(said.params)
    // Programs write an empty text beside the fields of a form.
    if (body !== undefined && (body.length > 0 || params.length === 0)) return body
    if (said._file !== undefined || said._sha1 !== undefined)
      throw new Refusal('holds the body of its request in another file')
    if (body === undefined && said.text !== undefined)
      throw new Refusal('holds the body of its request in an unknown encoding')
    if (!/^application\/x-www-form-urlencoded\b/i.test(textOf(said.mimeType) ?? ''))
      throw new Refusal('holds the body of its request only as fields, which are not its bytes')
    this.#lost.add('the exact body of a request: put together from the fields of its form')
    return formBody(params)
  }

  #response(method: string): ToldExchange['response'] {
    const response = fieldsOf(this.entry.response)
    const { status } = response
    if (typeof status !== 'number' || !Number.isInteger(status) || status < -1 || status > 999)
      throw new Refusal('has no status')
    // Chrome says 0 and Playwright -1 where no response came.
    if (status <= 0) return undefined
    const text = wordOf(response.statusText)
    return {
      status,
      ...(text === undefined ? {} : { statusText: text }),
      ...this.#version(response),
      headers: this.#headers(response.headers, 'response'),
      body: this.#responseBody(fieldsOf(response.content), method, status),
    }
  }

  #responseBody(content: Fields, method: string, status: number): Uint8Array {
    const { size } = content
    const told = typeof size === 'number' ? size : 0
    const body = bytesOfHarText(content)
    if (content._file !== undefined || content._sha1 !== undefined)
      throw new Refusal('holds the body of its response in another file')
    if (body === undefined && content.text !== undefined)
      throw new Refusal('holds the body of its response in an unknown encoding')
    if (body !== undefined && (body.length > 0 || told <= 0)) {
      if (body.length < told) this.#lost.add('a part of a body: it is shorter than its size says')
      return body
    }
    const messages = this.entry._eventSourceMessages
    if (listOf(messages).length > 0) {
      const stream = eventStreamOf(messages)
      if (stream === undefined) throw new Refusal('holds events that no stream can say')
      this.#lost.add('the exact bytes of an event stream: put together from its messages')
      return stream
    }
    const never = method === 'HEAD' || status === 204 || status === 205 || status === 304
    if (told > 0 && !never)
      throw new Refusal(`does not hold the body of its response, ${told} bytes`)
    return new Uint8Array()
  }

  #end(answered: boolean): ExchangeEnd {
    const { _error, _failureText } = fieldsOf(this.entry.response)
    const said = wordOf(_error) ?? wordOf(_failureText)
    if (said === undefined) {
      if (answered) return 'complete'
      this.#lost.add('why a request was not answered')
      return 'unreachable'
    }
    if (/timed?[\s_-]?out/i.test(said)) return 'timeout'
    if (/abort|cancel/i.test(said)) return 'client-abort'
    return answered ? 'upstream-reset' : 'unreachable'
  }

  #times(): Pick<ToldExchange, 'started' | 'headMs' | 'totalMs'> {
    const { startedDateTime, time, timings } = this.entry
    const started = Date.parse(textOf(startedDateTime) ?? '')
    const total = typeof time === 'number' && time >= 0 ? time : undefined
    const { receive } = fieldsOf(timings)
    const head =
      total !== undefined && typeof receive === 'number' && receive >= 0 && receive <= total
        ? total - receive
        : undefined
    return {
      ...(Number.isNaN(started) ? {} : { started }),
      ...(total === undefined ? {} : { totalMs: total }),
      ...(head === undefined ? {} : { headMs: head }),
    }
  }

  /** Names what nothing is made of. */
  #passOver(): void {
    for (const [place, known] of Object.entries(READ)) {
      const fields = place === '' ? this.entry : fieldsOf(this.entry[place])
      for (const [name, value] of Object.entries(fields)) {
        if (known.includes(name) || name === '_daglog' || saysNothing(value)) continue
        this.#lost.add(`what ${place === '' ? '' : `${place}.`}${name} says`)
      }
    }
    if (isFields(this.entry._daglog))
      this.#lost.add('what daglog kept beside an entry: the entry was changed since')
  }
}

function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Several `set-cookie` of one response: Chrome writes them as one, with line ends between. */
function oneEach(name: string, text: string): (readonly [string, string])[] {
  return text.split(/\r?\n/).map((value) => [name, value] as const)
}

function urlOf(value: unknown): string {
  const said = textOf(value) ?? ''
  try {
    const url = new URL(said)
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new Refusal(`is no call over HTTP, but over ${url.protocol.slice(0, -1)}`)
    return said
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal('has no absolute URL')
  }
}

function formBody(params: readonly unknown[]): Uint8Array {
  const form = new URLSearchParams()
  for (const param of params) {
    const { name, value } = fieldsOf(param)
    form.append(textOf(name) ?? '', textOf(value) ?? '')
  }
  return Buffer.from(form.toString(), 'latin1')
}
