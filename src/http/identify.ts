/**
 * The key of a request that is asked, found just as a recorder finds it: scrubbed first, codings
 * off.
 */
import { BodyRecord, NOWHERE } from './body-record.js'
import type { BodyForm, RequestHead } from './exchange.js'
import { codingsOf, headerOf, type RequestIdentity, RequestKey } from './key.js'
import type { Normaliser } from './normalise.js'
import type { ExchangeScrub } from './scrub.js'

export interface AskedRequest extends RequestHead {
  readonly body: AsyncIterable<Uint8Array> | Uint8Array
  readonly form: BodyForm
}

export interface IdentifiedRequest {
  readonly identity: RequestIdentity
  /** Without its secrets. */
  readonly head: RequestHead
}

export async function identify(
  request: AskedRequest,
  scrub: ExchangeScrub,
  normalisers: readonly Normaliser[],
): Promise<IdentifiedRequest> {
  const { method, form, body } = request
  const headers = scrub.headers(request.headers, 'request')
  const head = { method, headers, url: scrub.url(request.url) }
  const key = new RequestKey(head, 'decoded', normalisers)
  const record = new BodyRecord({
    stored: NOWHERE,
    scrub,
    side: 'request',
    contentType: headerOf(request.headers, 'content-type') ?? '',
    codings: form === 'wire' ? codingsOf(request.headers) : [],
    form,
    keyed: (bytes) => key.push(bytes),
  })
  if (body instanceof Uint8Array) {
    if (body.length > 0) await record.push(body, 0)
  } else for await (const bytes of body) await record.push(bytes, 0)
  await record.end('')
  return { identity: key.end(), head }
}
