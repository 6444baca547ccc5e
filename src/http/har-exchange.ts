/**
 * An entry of a HAR as an exchange: of one of ours that nobody edited the very one, of any other
 * what it tells. Neither scrubs nor makes keys.
 * @see docs/har.md#import
 */
import { Buffer } from 'node:buffer'
import { applyTags } from '../core/decode.js'
import type { Tagging } from '../core/encode.js'
import type { HttpExchange } from '../core/http-events.js'
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../fold/provider/shape.js'
import type { HeaderList } from './exchange.js'
import { HAR_MEMBER_VERSION, harDigest } from './har-entry.js'
import { type Refused, type ToldExchange, toldExchange } from './har-foreign.js'
import { bytesOfHarText } from './har-text.js'

/** Either our own as it was, or what another program's entry tells, or why it gives none. */
export type HarReading = { readonly ours: HttpExchange } | ToldExchange | Refused

/** What no HAR of others ever holds. */
export const HAR_NEVER_HOLDS: readonly string[] = [
  'where the pieces of a body ended, and when they came: a replay sends it in one',
  'bodies of responses as they were on the wire: they are kept decoded',
  'trailers, and responses before the last one (1xx)',
  'whether a response ended as it should: one without an error is taken as complete',
]

export function exchangeOfHar(entry: unknown): HarReading {
  if (!isFields(entry) || !isFields(entry.request) || !isFields(entry.response))
    return { refused: 'is no pair of a request and a response' }
  const ours = oursOf(entry)
  return ours === undefined ? toldExchange(entry) : { ours }
}

/** The exchange that an entry was made of; undefined where anything in it is another. */
function oursOf({ request, response, _daglog }: Fields): HttpExchange | undefined {
  if (!isFields(_daglog) || _daglog.version !== HAR_MEMBER_VERSION) return undefined
  const { sha256, ...member } = _daglog
  if (harDigest(request, response, member) !== sha256) return undefined
  const tags = listOf(member.enc) as readonly Tagging[]
  const rest = fieldsOf(applyTags(structuredClone(member.exchange), tags))
  const [asked, answered] = [fieldsOf(request), fieldsOf(response)]
  const answer =
    rest.response === undefined
      ? {}
      : {
          response: {
            ...fieldsOf(rest.response),
            status: answered.status,
            headers: headersOf(answered.headers),
            body: storedBody(textOf(member.wire), fieldsOf(answered.content)),
          },
        }
  // The digest says that it is what an exchange of ours was turned into.
  return {
    ...rest,
    request: {
      ...fieldsOf(rest.request),
      method: asked.method,
      url: asked.url,
      headers: headersOf(asked.headers),
      body: bytesOfHarText(fieldsOf(asked.postData)) ?? new Uint8Array(),
    },
    ...answer,
  } as unknown as HttpExchange
}

function storedBody(wire: string | undefined, content: Fields): Uint8Array {
  return wire === undefined
    ? (bytesOfHarText(content) ?? new Uint8Array())
    : Buffer.from(wire, 'base64')
}

function headersOf(value: unknown): HeaderList {
  return listOf(value).map((one) => {
    const { name, value: text } = fieldsOf(one)
    return [String(name), String(text)] as const
  })
}
