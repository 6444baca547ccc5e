/**
 * A recorded answer in a form that the client who asks now can read: what was recorded by another door, or for a
 * client that reads other codings, may have to be given plain.
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import type { Answer, HeaderList } from '../exchange.js'
import { valuesOf, without } from './header-list.js'

export type Served = Pick<Answer, 'headers' | 'chunks'>

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  'x-gzip': () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  deflate: () => zlib.createInflate({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
}

/**
 * What to serve. As recorded wherever that can be: also to a client that does not say what it reads, and where
 * the coding is none that we know.
 */
export function negotiated(answer: Answer, request: HeaderList): Served {
  const [coding, ...others] = codingsOf(answer.headers)
  if (coding === undefined) return answer
  const chunks = (): AsyncIterable<Uint8Array> => answer.chunks()
  // The recorder saw it without its coding, so that is all there is; its length was another.
  if (answer.form === 'decoded') return { headers: plain(answer.headers), chunks }
  const decoder = others.length === 0 ? DECODERS[coding] : undefined
  if (decoder === undefined || accepts(request, coding)) return answer
  return { headers: plain(answer.headers), chunks: () => decoded(chunks(), decoder()) }
}

function codingsOf(headers: HeaderList): string[] {
  return valuesOf(headers, 'content-encoding')
    .flatMap((value) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
}

function plain(headers: HeaderList): HeaderList {
  return without(without(headers, 'content-encoding'), 'content-length')
}

/** RFC 9110, 12.5.3. */
function accepts(request: HeaderList, coding: string): boolean {
  const values = valuesOf(request, 'accept-encoding')
  if (values.length === 0) return true
  const offers = values
    .flatMap((value) => value.split(','))
    .map((offer) => {
      const [name = '', ...parameters] = offer.split(';').map((part) => part.trim().toLowerCase())
      return { name, refused: parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) }
    })
  const offer = offers.find(({ name }) => name === coding || `x-${name}` === coding)
  return !(offer ?? offers.find(({ name }) => name === '*') ?? { refused: true }).refused
}

async function* decoded(
  bytes: AsyncIterable<Uint8Array>,
  decoder: NodeJS.ReadWriteStream,
): AsyncGenerator<Uint8Array> {
  const reading = pipeline(Readable.from(bytes, { objectMode: false }), decoder)
  reading.catch(() => {}) // It reaches whoever reads from the decoder.
  for await (const piece of decoder) yield piece as Buffer
}
