/**
 * Bytes from one message to the next, chunk by chunk as they came, at the pace of the slower side.
 */
import type { IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'

/** How a body ended: as announced, or with less. */
export type FlowEnd = 'complete' | 'cut'

/**
 * Pass `source` on to `sink` and to `tee`, which may hold it up; the sink comes first, so that
 * nobody waits for a disk. Does not end the sink. Never rejects for what the source does; rejects
 * with what `tee` rejects with.
 */
export function flow(
  source: IncomingMessage,
  sink: Writable,
  tee: (bytes: Buffer) => void | Promise<void>,
): Promise<FlowEnd> {
  return new Promise((resolve, reject) => {
    source.on('data', (bytes: Buffer) => {
      const flows = sink.destroyed || sink.write(bytes)
      const kept = tee(bytes)
      if (flows && kept === undefined) return
      source.pause()
      Promise.all([kept, flows ? undefined : drained(sink)]).then(() => source.resume(), reject)
    })
    // An error comes before a close, and says no more than that the end is missing.
    source.on('error', () => {})
    source.on('close', () => resolve(source.complete ? 'complete' : 'cut'))
    source.on('end', () => resolve(source.complete ? 'complete' : 'cut'))
  })
}

/** Once more can be written, or nothing will be any more. */
export function drained(sink: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (sink.destroyed || !sink.writableNeedDrain) resolve()
    const done = (): void => {
      sink.off('drain', done)
      sink.off('close', done)
      resolve()
    }
    sink.on('drain', done)
    sink.on('close', done)
  })
}
