/**
 * `daglog/http`: what an agent says to the world, recorded and given again.
 * @see docs/record-replay.md
 */
export type {
  Answer,
  BodyForm,
  ExchangeEnd,
  ExchangeFailure,
  HeaderList,
  Miss,
  MissKind,
  NearRequest,
  Recording,
  RequestDifference,
  RequestHead,
  ResponseHead,
} from './http/exchange.js'
