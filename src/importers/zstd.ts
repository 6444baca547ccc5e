/**
 * Zstandard files unpacked as they are read. Newer versions of Node can; for others there is
 * `fzstd`.
 */
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { DaglogError } from '../core/errors.js'

/** @throws READ_FAILED where it is no whole zstd file. */
export async function* unpacked(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (NATIVE === undefined) yield* inScript(packed)
    else yield* Readable.from(copied(packed)).pipe(NATIVE()) as AsyncIterable<Buffer>
  } catch (cause) {
    throw new DaglogError(
      'READ_FAILED',
      'a zstd file breaks off or is damaged; try: `zstd -t` on it',
      {},
      { cause },
    )
  }
}

const NATIVE = (zlib as { createZstdDecompress?: () => NodeJS.ReadWriteStream })
  .createZstdDecompress

async function* copied(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(chunk)
}

async function* inScript(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { Decompress } = createRequire(import.meta.url)('fzstd') as typeof import('fzstd')
  const out: Buffer[] = []
  const stream = new Decompress((bytes) => void out.push(Buffer.from(bytes)))
  for await (const chunk of packed) {
    stream.push(chunk)
    yield* out.splice(0)
  }
  stream.push(new Uint8Array(0), true)
  yield* out.splice(0)
}
