/**
 * Cassettes of vcrpy (YAML), as what they tell of exchanges: bodies as they were on the wire, where
 * the cassette has their bytes.
 */
import { Buffer } from 'node:buffer'
import { parse } from 'yaml'
import { type Fields, fieldsOf, isFields, listOf, textOf, wordOf } from '../fold/provider/shape.js'
import type { HeaderList } from './exchange.js'
import type { Refused, ToldExchange } from './har-foreign.js'

/** What no cassette ever holds. */
export const VCR_NEVER_HOLDS: readonly string[] = [
  'when anything happened, and where the pieces of a body ended: a replay sends it in one, at once',
  'the order of headers with other names, and that of equal ones among them',
  'trailers, and responses before the last one (1xx)',
  'whether a response ended as it should: each is taken as complete',
]

/** The interactions of a cassette; undefined where the text is none. */
export function cassetteInteractions(text: string): readonly unknown[] | undefined {
  let root: unknown
  try {
    // Python writes bytes as `!!binary`; other tags of Python are left for what they hold.
    root = parse(text, { customTags: ['binary'], logLevel: 'error' })
  } catch {
    return undefined // What the parser says may quote the file.
  }
  const { interactions } = fieldsOf(root)
  return Array.isArray(interactions) ? interactions : undefined
}

export function toldInteraction(interaction: unknown): ToldExchange | Refused {
  const { request, response } = fieldsOf(interaction)
  if (!isFields(request) || !isFields(response))
    return { refused: 'is no pair of a request and a response' }
  const method = wordOf(request.method)?.toUpperCase()
  const url = textOf(request.uri) ?? ''
  if (method === undefined) return { refused: 'has no method' }
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return { refused: 'has no absolute URL' }
  const { code, message } = fieldsOf(response.status)
  if (typeof code !== 'number' || !Number.isInteger(code) || code < 100 || code > 999)
    return { refused: 'has no status' }
  const lost = new Set<string>()
  const sent = bodyOf(request, request.body, lost)
  const came = bodyOf(response, fieldsOf(response.body).string ?? response.body, lost)
  if (sent === undefined || came === undefined)
    return { refused: 'holds a body in a form that is neither text nor bytes' }
  const text = wordOf(message)
  return {
    request: { method, url, headers: headersOf(request.headers), ...sent },
    response: {
      status: code,
      ...(text === undefined ? {} : { statusText: text }),
      headers: headersOf(response.headers),
      ...came,
    },
    end: 'complete',
    lost: [...lost],
  }
}

interface ToldBody {
  readonly body: Uint8Array
  readonly form: 'wire' | 'decoded'
}

function bodyOf(message: Fields, body: unknown, lost: Set<string>): ToldBody | undefined {
  if (message.parsed_body !== undefined && (body === undefined || body === null)) {
    // What some serializers write in the place of a body that is JSON.
    lost.add('the exact bytes of a body: put together from its parsed_body')
    return { body: Buffer.from(JSON.stringify(message.parsed_body)), form: 'decoded' }
  }
  if (body === undefined || body === null) return { body: new Uint8Array(), form: 'wire' }
  if (typeof body === 'string') return { body: Buffer.from(body, 'utf8'), form: 'wire' }
  if (body instanceof Uint8Array) return { body, form: 'wire' }
  const { base64_string: encoded } = fieldsOf(body)
  if (typeof encoded === 'string') return { body: Buffer.from(encoded, 'base64'), form: 'wire' }
  return isFields(body) && Object.keys(body).length === 0
    ? { body: new Uint8Array(), form: 'wire' }
    : undefined
}

/** Each name with a list of values, or with one. */
function headersOf(value: unknown): HeaderList {
  return Object.entries(fieldsOf(value)).flatMap(([name, said]) => {
    const values = Array.isArray(said) ? listOf(said) : [said]
    return values.flatMap((one): [string, string][] => {
      if (one instanceof Uint8Array) return [[name, Buffer.from(one).toString('latin1')]]
      return typeof one === 'string' || typeof one === 'number' ? [[name, String(one)]] : []
    })
  })
}
