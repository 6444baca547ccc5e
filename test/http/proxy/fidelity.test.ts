/**
 * Whatever an origin sends, a client sees it through each way of the sidecar as it would without;
 * and sees it again from the recording, by whichever way it was recorded, with the origin gone.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PlaybackDoor } from '../../../src/http/proxy/playback.js'
import { RelayDoor } from '../../../src/http/proxy/relay.js'
import { type Admitted, Sidecar } from '../../../src/http/proxy/sidecar.js'
import { Sightings } from '../../../src/http/proxy/sightings.js'
import { Upstream } from '../../../src/http/proxy/upstream.js'
import { ask, type Seen, type Way } from './ask.js'
import { FIDELITY_CASES } from './fidelity-cases.js'
import { MemoryTraffic } from './memory-traffic.js'
import { type Origin, openOrigin } from './origin.js'

const WAYS: readonly Way[] = ['reverse', 'connect', 'absolute']

let origin: Origin
let sidecar: Sidecar
let upstream: Upstream

beforeAll(async () => {
  origin = await openOrigin((path) => FIDELITY_CASES[Number(path.slice(1))] ?? { pieces: [] })
  sidecar = await Sidecar.start()
  upstream = new Upstream({ trusted: [origin.certificate] })
})

afterAll(async () => {
  upstream.close()
  await sidecar.close()
  await origin.close()
})

const secure = { direct: true, reverse: true, connect: true, absolute: false }

async function seenBy(way: Way, number: number, admitted?: Admitted): Promise<Seen> {
  const { method = 'GET' } = FIDELITY_CASES[number] as (typeof FIDELITY_CASES)[number]
  const base = secure[way] ? origin.https : origin.http
  const ca = way === 'direct' ? origin.certificate : sidecar.certificate
  return ask(`${base}/${number}`, { way, ca, method, ...(admitted && { admitted }) })
}

it('has at least 60 cases', () => {
  expect(FIDELITY_CASES.length).toBeGreaterThanOrEqual(60)
})

describe.each(FIDELITY_CASES.map(({ name }, number) => [name, number] as const))(
  '%s',
  (_, number) => {
    it('is the same through the sidecar, and from the recording', async () => {
      const direct = await seenBy('direct', number)
      expect(direct.complete).toBe(FIDELITY_CASES[number]?.after !== 'reset')
      for (const recordedBy of WAYS) {
        const traffic = new MemoryTraffic()
        const sightings = new Sightings()
        const recording = sidecar.admit({
          door: new RelayDoor(upstream, traffic, sightings),
          sightings,
          upstream,
        })
        expect([recordedBy, await seenBy(recordedBy, number, recording)]).toEqual([
          recordedBy,
          direct,
        ])
        await recording.settled()
        const before = origin.connections
        for (const replayedBy of WAYS) {
          // The plain way goes to another origin: it has its own recording.
          if (secure[replayedBy] !== secure[recordedBy]) continue
          const seen = new Sightings()
          const replay = sidecar.admit({
            door: new PlaybackDoor({ replayer: fresh(traffic), sightings: seen }),
            sightings: seen,
          })
          expect([recordedBy, replayedBy, await seenBy(replayedBy, number, replay)]).toEqual([
            recordedBy,
            replayedBy,
            direct,
          ])
          expect(seen.coverage()).toMatchObject({ replayed: 1, missed: 0, unseen: [] })
        }
        expect(origin.connections).toBe(before)
      }
    })
  },
)

/** The same recording with nothing of it given yet. */
function fresh(traffic: MemoryTraffic): MemoryTraffic {
  const again = new MemoryTraffic()
  again.kept.push(...traffic.kept)
  return again
}
