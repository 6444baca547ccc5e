/**
 * The door of a sidecar for each of its modes, with what it needs of the store; for the verbs that
 * start one.
 */
import { AutoDoor } from '../http/proxy/auto.js'
import type { Door } from '../http/proxy/door.js'
import { PlaybackDoor } from '../http/proxy/playback.js'
import { RelayDoor } from '../http/proxy/relay.js'
import { Sightings } from '../http/proxy/sightings.js'
import { trustedHere } from '../http/proxy/trust.js'
import { Upstream } from '../http/proxy/upstream.js'
import { openRecorder } from '../http/recorder.js'
import { openReplayer, type ReplayReport } from '../http/replayer.js'
import { parentLink } from '../store/parent-link.js'
import type { Run } from '../store/run.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'

export interface TrafficDoor {
  readonly door: Door
  readonly sightings: Sightings
  /** None in a replay: there is nothing to connect with. */
  readonly upstream?: Upstream
  /** Of what was replayed; undefined where nothing is. */
  report(): ReplayReport | undefined
  /** Calls that took place and could not be recorded; known once this is closed. */
  unwritten(): number
  /** Once the sidecar is closed: what was recorded is in the log. */
  close(): Promise<void>
}

/** Record into a run. */
export async function recordingDoor(into: Run): Promise<TrafficDoor> {
  const recorder = await openRecorder(into)
  const sightings = new Sightings()
  const upstream = new Upstream({ trusted: trustedHere(process.env) })
  return {
    door: new RelayDoor(upstream, recorder, sightings),
    sightings,
    upstream,
    report: () => undefined,
    unwritten: () => recorder.unwritten,
    close: async () => {
      await recorder.close()
      upstream.close()
    },
  }
}

/** Answer from a run, and record into another what was answered. */
export async function replayingDoor(from: RunView, into: Run): Promise<TrafficDoor> {
  const [recorder, replayer] = await Promise.all([openRecorder(into), openReplayer(from)])
  const sightings = new Sightings()
  return {
    door: new PlaybackDoor({ replayer, sightings, journal: recorder }),
    sightings,
    report: () => replayer.report(),
    unwritten: () => recorder.unwritten,
    close: () => recorder.close(),
  }
}

/** Answer from a run where it can, record from the origin where it cannot; all into another run. */
export async function autoDoor(from: RunView, into: Run): Promise<TrafficDoor> {
  const [recorder, replayer] = await Promise.all([openRecorder(into), openReplayer(from)])
  const sightings = new Sightings()
  const upstream = new Upstream({ trusted: trustedHere(process.env) })
  const playback = new PlaybackDoor({ replayer, sightings, journal: recorder })
  return {
    door: new AutoDoor(playback, new RelayDoor(upstream, recorder, sightings)),
    sightings,
    upstream,
    report: () => replayer.report(),
    unwritten: () => recorder.unwritten,
    close: async () => {
      await recorder.close()
      upstream.close()
    },
  }
}

/** Said where a proxy was set already: nothing goes through it any more. */
export function outerProxyWords(
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const name = OUTER_PROXY.find((variable) => (env[variable] ?? '') !== '')
  return name && `${name} is set; the sidecar goes straight to the hosts, not through that proxy`
}

const OUTER_PROXY = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY']

/**
 * The run that a replay writes: it begins in the one that is replayed, which is never written to.
 */
export async function replayRun(store: Store, from: RunView): Promise<Run> {
  const { name } = await from.summary()
  const parent = await parentLink(from, undefined, 'replay')
  return store.createRun({ parent, name: name ?? 'replay' })
}
