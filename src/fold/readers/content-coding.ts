/**
 * Content codings of HTTP taken off bytes. Knows no headers.
 */
import zlib from 'node:zlib'
import { HTTP_DECODED_BYTES_MAX } from '../../core/limits.js'

/**
 * What can be read of bytes with this coding: a cut body gives what came before the cut. Undefined
 * where they are not what the coding says, or it is not known here.
 */
export function decodedPart(bytes: Uint8Array, coding: string): Uint8Array | undefined {
  return decoded(bytes, coding, {
    finishFlush: zlib.constants.Z_SYNC_FLUSH,
    brotliFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
  })
}

/**
 * The bytes without their codings, which were applied in this order; undefined where not all came
 * off.
 */
export function withoutCodings(
  bytes: Uint8Array,
  codings: readonly string[],
): Uint8Array | undefined {
  return codings.reduceRight<Uint8Array | undefined>(
    (rest, coding) => rest && decoded(rest, coding, {}),
    bytes,
  )
}

interface Flush {
  readonly finishFlush?: number
  readonly brotliFlush?: number
}

function decoded(
  bytes: Uint8Array,
  coding: string,
  { finishFlush, brotliFlush }: Flush,
): Uint8Array | undefined {
  const limit = { maxOutputLength: HTTP_DECODED_BYTES_MAX }
  const options = finishFlush === undefined ? limit : { ...limit, finishFlush }
  try {
    if (coding === 'gzip' || coding === 'x-gzip') return zlib.gunzipSync(bytes, options)
    if (coding === 'deflate') {
      const wrapped = ((bytes[0] ?? 0) & 0x0f) === 8
      return wrapped ? zlib.inflateSync(bytes, options) : zlib.inflateRawSync(bytes, options)
    }
    if (coding === 'br') {
      const flush = brotliFlush === undefined ? limit : { ...limit, finishFlush: brotliFlush }
      return zlib.brotliDecompressSync(bytes, flush)
    }
    const { zstdDecompressSync: zstd } = zlib as { zstdDecompressSync?: typeof zlib.gunzipSync }
    if (coding === 'identity' || coding === '') return bytes
    return coding === 'zstd' ? zstd?.(bytes, limit) : undefined
  } catch {
    return undefined // Not what the coding says: the caller decides what that means.
  }
}
