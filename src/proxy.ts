/**
 * `daglog/proxy`: the sidecar, for programs that start one themselves.
 */
export {
  type Attended,
  type AttendOptions,
  attend,
  type Standing,
  stand,
} from './http/proxy/attend.js'
export { AutoDoor } from './http/proxy/auto.js'
export type { Asked, Door } from './http/proxy/door.js'
export { PlaybackDoor, type PlaybackOptions } from './http/proxy/playback.js'
export { RelayDoor } from './http/proxy/relay.js'
export type { ChildCommand, ChildExit } from './http/proxy/run-child.js'
export {
  type Admission,
  type Admitted,
  Sidecar,
  type SidecarOptions,
} from './http/proxy/sidecar.js'
export { type Coverage, Sightings, type Unseen, type UnseenHost } from './http/proxy/sightings.js'
export { Upstream, type UpstreamOptions } from './http/proxy/upstream.js'
