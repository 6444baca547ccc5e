/**
 * Takes a content coding off a body as it comes.
 */
import { once } from 'node:events'
import type { Transform } from 'node:stream'
import zlib from 'node:zlib'

export interface Decoding {
  push(bytes: Uint8Array, waitUs: number): Promise<void>
  end(): Promise<void>
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  'x-gzip': () => zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  deflate: () => zlib.createInflate({ finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
}

/** Undefined where these codings do not come off here. What is broken ends where it breaks. */
export function decoding(
  codings: readonly string[],
  take: (bytes: Uint8Array, waitUs: number) => void | Promise<void>,
): Decoding | undefined {
  const [coding, ...others] = codings
  const make = coding === undefined || others.length > 0 ? undefined : DECODERS[coding]
  if (make === undefined) return undefined
  const decoder = make()
  let waited = 0
  const reading = (async () => {
    try {
      for await (const bytes of decoder) {
        await take(bytes as Buffer, waited)
        waited = 0
      }
    } catch (error) {
      // Of the decoder: the body is not what it says from here on. Of `take`: the caller must know.
      if (!String((error as { code?: unknown }).code).startsWith('Z_')) throw error
    }
  })()
  reading.catch(() => {}) // Told at the end.
  return {
    async push(bytes, waitUs) {
      waited += waitUs
      if (decoder.destroyed) return
      if (!decoder.write(Buffer.from(bytes))) await Promise.race([once(decoder, 'drain'), reading])
    },
    async end() {
      decoder.end()
      await reading
    },
  }
}
