/**
 * Bytes that come in some pieces, given in others.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Piece } from './chunk-table.js'

export async function collected(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of bytes) parts.push(part)
  return Buffer.concat(parts)
}

/** Waits shorter than this are added up: no timer is that fine. */
const WAIT_MS_MIN = 1

/**
 * The same bytes in these pieces, none of them longer than what is read at once has to be.
 * @param pace By how much the waits between pieces are divided; none are kept unless given.
 */
export async function* cutTo(
  bytes: AsyncIterable<Uint8Array>,
  pieces: Iterable<Piece>,
  pace?: number,
): AsyncGenerator<Uint8Array> {
  const reading = bytes[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array(0)
  let owedMs = 0
  try {
    for (const piece of pieces) {
      if (pace !== undefined) {
        owedMs += piece.waitUs / 1000 / pace
        if (owedMs >= WAIT_MS_MIN) {
          await wait(owedMs)
          owedMs = 0
        }
      }
      const parts: Uint8Array[] = []
      let left = piece.bytes
      while (left > 0) {
        if (rest.length === 0) {
          const next = await reading.next()
          if (next.done === true) break
          rest = next.value
        }
        parts.push(rest.subarray(0, left))
        left -= Math.min(left, rest.length)
        rest = rest.subarray(parts.at(-1)?.length ?? 0)
      }
      if (parts.length > 0) {
        yield parts.length === 1 ? new Uint8Array(parts[0] as Uint8Array) : joined(parts)
      }
    }
    // What was read is good only once its end was reached and found to be right.
    while ((await reading.next()).done !== true);
  } finally {
    await reading.return?.()
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}
