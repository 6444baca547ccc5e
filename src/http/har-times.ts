/**
 * When what of an exchange happened, as HAR says it: milliseconds where daglog has microseconds.
 */
import type { HttpExchange } from '../core/http-events.js'
import { exchangeOf } from '../fold/readers/exchange-view.js'
import { piecesOf } from './chunk-table.js'
import type { TimedPiece } from './har-event-source.js'
import type { HarTimings } from './har-log.js'

export interface HarClock {
  /** In ms since 1970. */
  readonly started: number
  readonly total: number
  readonly timings: HarTimings
}

export function harClock({ timing }: HttpExchange): HarClock {
  const { started, headUs, endUs } = timing
  const total = endUs / 1000
  const wait = (headUs ?? endUs) / 1000
  // When the request had been sent is not known apart: waiting begins with it.
  return { started, total, timings: { send: 0, wait, receive: round(total - wait) } }
}

/** Differences of fractions are no fractions of differences. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/**
 * The body of the response, decoded, as it came. Of one that came with a content-encoding the
 * pieces are pieces of that: its text is given whole, at the end.
 */
export function timedPieces(data: HttpExchange): TimedPiece[] {
  const { response, chunks, timing } = data
  const body = exchangeOf(data)?.responseBody ?? new Uint8Array()
  const end = timing.started + timing.endUs / 1000
  if (response === undefined || body.length !== response.body.length)
    return [{ bytes: body, at: end }]
  const pieces: TimedPiece[] = []
  let [from, us] = [0, timing.headUs ?? 0]
  for (const { bytes: length, waitUs } of piecesOf(chunks, body.length)) {
    us += waitUs
    pieces.push({ bytes: body.subarray(from, from + length), at: timing.started + us / 1000 })
    from += length
  }
  return pieces
}
