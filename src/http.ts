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
export type { Fetch } from './http/fetch-request.js'
export { KEY_RECIPE, requestIdentity, VARY_HEADERS } from './http/key.js'
export type {
  HeaderNormaliser,
  Normaliser,
  PointerNormaliser,
  RegexNormaliser,
} from './http/normalise.js'
export { openRecorder, type Recorder, type RecorderOptions } from './http/recorder.js'
export { asDecoded, asWire, type FormedAnswer } from './http/replay-form.js'
export {
  openReplayer,
  type Replayer,
  type ReplayerOptions,
  type ReplayReport,
  type ReplayTiming,
  type SequencePolicy,
} from './http/replayer.js'
export { type ReplayFetch, type WithReplayOptions, withReplay } from './http/with-replay.js'
