/**
 * Takes a content coding off a body as it comes.
 */
import { once } from 'node:events'
import { pipeline, type Transform } from 'node:stream'
import zlib from 'node:zlib'

export interface Decoding {
  /** Whether the bytes were not what the coding says. */
  readonly broken: boolean
  push(bytes: Uint8Array, waitUs: number): Promise<void>
  end(): Promise<void>
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  'x-gzip': () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  deflate: () => zlib.createInflate({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
}

/** Undefined where these codings do not all come off here. What is broken ends where it breaks. */
export function decoding(
  codings: readonly string[],
  take: (bytes: Uint8Array, waitUs: number) => void | Promise<void>,
): Decoding | undefined {
  const makers = codings.toReversed().map((coding) => DECODERS[coding])
  if (makers.length === 0 || makers.includes(undefined)) return undefined
  const decoders = makers.map((make) => (make as () => Transform)())
  const [first] = decoders as [Transform]
  const last = decoders.length === 1 ? first : pipeline(decoders as never, () => {})
  let waited = 0
  let broken = false
  const reading = (async () => {
    try {
      for await (const bytes of last as Transform) {
        await take(bytes as Buffer, waited)
        waited = 0
      }
    } catch (error) {
      // Of a decoder: the body is not what it says from here on. Of `take`: the caller must know.
      const code = String((error as { code?: unknown }).code)
      if (!/^(?:Z_|ERR_(?:_ERROR_FORMAT|BROTLI|STREAM_PREMATURE))/.test(code)) throw error
      broken = true
    }
  })()
  reading.catch(() => {}) // Told at the end.
  return {
    get broken() {
      return broken
    },
    async push(bytes, waitUs) {
      waited += waitUs
      if (first.destroyed) return
      if (!first.write(Buffer.from(bytes))) await Promise.race([once(first, 'drain'), reading])
    },
    async end() {
      if (!first.destroyed) first.end()
      await reading
    },
  }
}
