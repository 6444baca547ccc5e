/** `daglog cat RUN:SEQ[:POINTER] [--decoded]` or `daglog cat HASH` */

import { isUtf8 } from 'node:buffer'
import type { Hash } from '../core/hash.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { decodedBody, hashedBytes, payloadBytes } from './payload.js'
import { isShowable } from './showable.js'

const HASH = /^[0-9a-f]{64}$/
/** A pointer begins with a slash, so an id may hold colons. */
const PLACE = /^(.+?):(\d+)(?::(\/.*)?)?$/s

export async function cat(call: Call): Promise<ExitCode> {
  const { out } = call
  const what = call.argument('WHAT')
  const place = PLACE.exec(what)
  if (place === null && !HASH.test(what))
    throw call.usage(`"${what}" names no payload`, 'daglog cat @last:2:/output')
  if (place === null && call.has('decoded'))
    throw call.usage('--decoded needs a place', 'daglog cat --decoded @last:2:/response/body')
  const store = await call.store()
  const at = { seq: Number(place?.[2]), pointer: place?.[3] ?? '' }
  const read = call.has('decoded') ? decodedBody : payloadBytes
  const bytes =
    place === null
      ? await hashedBytes(store, what as Hash)
      : await read(await store.inspectRun(place[1] as string), at)
  if (out.json) {
    const text = isUtf8(bytes)
    const content = Buffer.from(bytes).toString(text ? 'utf8' : 'base64')
    const encoding = text ? 'utf8' : 'base64'
    out.document('daglog.cat/1', { ok: true, what, size: bytes.length, encoding, content })
    return 0
  }
  if (out.terminal && !isShowable(bytes)) {
    throw call.usage(
      `${bytes.length} bytes that are no plain text are not for a terminal`,
      `daglog cat '${what}' | less, or > FILE`,
    )
  }
  await out.bytes(bytes)
  return 0
}
