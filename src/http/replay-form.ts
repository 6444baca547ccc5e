/**
 * A recorded answer in the form that a door gives: as a client hands it out, or as it goes over a wire.
 */
import { withoutCodings } from '../fold/readers/content-coding.js'
import { decoding } from './decoding.js'
import type { Answer, HeaderList } from './exchange.js'
import { codingsOf } from './key.js'
import { collected } from './pieces.js'

export interface FormedAnswer {
  readonly headers: HeaderList
  chunks(): AsyncIterable<Uint8Array>
}

/**
 * As `fetch` gives it: the body without its codings, the headers as they came. Codings that do not come
 * off (they are unknown here, or the bytes are not what they say) stay on.
 */
export function asDecoded(answer: Answer): FormedAnswer {
  const { headers } = answer
  const codings = codingsOf(headers)
  if (answer.form === 'decoded' || codings.length === 0) {
    return { headers, chunks: () => answer.chunks() }
  }
  return { headers, chunks: () => decodedChunks(answer, codings) }
}

/**
 * As it goes over a wire to a client that accepts these codings (the value of its `accept-encoding`;
 * undefined for any). Where the bytes are decoded, or the client would not understand them, the headers
 * say so; `content-length` is that of the bytes that are given, or not there where nobody knows it yet.
 */
export function asWire(answer: Answer, accepts?: string): FormedAnswer {
  const codings = codingsOf(answer.headers)
  if (answer.form === 'wire' && codings.every((coding) => isAccepted(coding, accepts))) {
    return { headers: sized(answer.headers, answer), chunks: () => answer.chunks() }
  }
  if (codings.length === 0) {
    return { headers: sized(answer.headers, answer), chunks: () => answer.chunks() }
  }
  const headers = answer.headers.filter(([name]) => !/^content-(?:encoding|length)$/i.test(name))
  if (answer.form === 'wire') return { headers, chunks: () => decodedChunks(answer, codings) }
  const length: HeaderList = answer.end === 'complete' ? [['content-length', `${answer.size}`]] : []
  return { headers: [...headers, ...length], chunks: () => answer.chunks() }
}

/** What was scrubbed has another length; a body that was cut had promised more, and still does. */
function sized(headers: HeaderList, { end, size, status }: Answer): HeaderList {
  if (end !== 'complete' || size === 0 || status === 304) return headers
  return headers.map(([name, value]) =>
    name.toLowerCase() === 'content-length' ? [name, `${size}`] : [name, value],
  )
}

function isAccepted(coding: string, accepts: string | undefined): boolean {
  if (accepts === undefined) return true
  const quality = new Map(
    accepts.split(',').map((part): [string, number] => {
      const [name = '', ...parameters] = part
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/)
      const q = parameters.find((parameter) => parameter.startsWith('q='))
      return [name, q === undefined ? 1 : Number(q.slice(2))]
    }),
  )
  const name = coding === 'x-gzip' ? 'gzip' : coding
  return (quality.get(name) ?? quality.get('*') ?? 0) > 0
}

async function* decodedChunks(
  answer: Answer,
  codings: readonly string[],
): AsyncGenerator<Uint8Array> {
  const out: Uint8Array[] = []
  const decoder = decoding(codings, (bytes) => {
    out.push(bytes)
  })
  if (decoder === undefined) {
    const whole = await collected(answer.chunks())
    yield withoutCodings(whole, codings) ?? whole
    return
  }
  for await (const bytes of answer.chunks()) {
    await decoder.push(bytes, 0)
    while (out.length > 0) yield out.shift() as Uint8Array
  }
  await decoder.end()
  yield* out
  // As undici has it of a body that is not what its headers say.
  if (decoder.broken && answer.end === 'complete') throw new TypeError('terminated')
}
