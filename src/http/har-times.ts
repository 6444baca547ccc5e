/**
 * When what of an exchange happened, as HAR says it.
 */
import type { ExchangeData } from './exchange.js'
import type { TimedPiece } from './har-event-source.js'
import type { HarTimings } from './har-log.js'

export interface HarClock {
  /** In ms since 1970. */
  readonly started: number
  readonly total: number
  readonly timings: HarTimings
  /** The decoded body of the response. */
  readonly pieces: readonly TimedPiece[]
}

export function harClock(data: ExchangeData, time: number): HarClock {
  return {
    started: time,
    total: 0,
    timings: { send: 0, wait: 0, receive: 0 },
    pieces: [{ bytes: data.response?.body ?? new Uint8Array(), at: time }],
  }
}
