/**
 * Whatever an origin sends, the wrapper hands out as a bare `fetch` would; and again from the log, with
 * the origin gone. The cases are those of the sidecar's doors.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collected } from '../../src/http/pieces.js'
import { pairsOf } from '../../src/http/proxy/header-list.js'
import { asWire, openRecorder, openReplayer, withReplay } from '../../src/http.js'
import { memory, openStore, type Run, type Store } from '../../src/index.js'
import { ask } from './proxy/ask.js'
import { FIDELITY_CASES } from './proxy/fidelity-cases.js'
import { type Origin, openOrigin } from './proxy/origin.js'

let origin: Origin
let store: Store

beforeAll(async () => {
  origin = await openOrigin((path) => FIDELITY_CASES[Number(path.slice(1))] ?? { pieces: [] })
  store = await openStore(memory())
})

afterAll(async () => {
  await origin.close()
  await store.close()
})

interface Got {
  readonly status: number
  readonly statusText: string
  readonly url: string
  readonly redirected: boolean
  readonly headers: [string, string][]
  readonly nullBody: boolean
  readonly body: string
  readonly failed: string | undefined
}

/** All that an agent can see of a call. */
async function got(calling: Promise<Response>): Promise<Got | { failed: string }> {
  let response: Response
  try {
    response = await calling
  } catch (error) {
    return { failed: (error as Error).message }
  }
  const { status, statusText, url, redirected } = response
  const parts: Uint8Array[] = []
  let failed: string | undefined
  try {
    for await (const part of response.body ?? []) parts.push(part)
  } catch (error) {
    failed = (error as Error).message
  }
  return {
    status,
    statusText,
    url,
    redirected,
    // Of two live calls the dates may differ.
    headers: [...response.headers].filter(([name]) => name !== 'date') as [string, string][],
    nullBody: response.body === null,
    body: Buffer.concat(parts).toString('latin1'),
    failed,
  }
}

const refusing = (): Promise<Response> => Promise.reject(new Error('the network was asked'))

describe.each(FIDELITY_CASES.map(({ name }, number) => [name, number] as const))(
  '%s',
  (_, number) => {
    const { method = 'GET' } = FIDELITY_CASES[number] as (typeof FIDELITY_CASES)[number]
    const init = { method, redirect: 'manual' as const }
    const url = (): string => `${origin.http}/${number}`
    const exchanges = async (run: Run): Promise<number> => {
      let count = 0
      for await (const _event of run.events({ types: ['http/exchange'] })) count += 1
      return count
    }

    it('is the same through the wrapper, and from what it recorded', async () => {
      const direct = await got(fetch(url(), init))
      const run = await store.run(`w${number}`)
      const recorded = await got(withReplay(fetch, { into: run })(url(), init))
      expect(recorded).toEqual(direct)
      expect(await exchanges(run)).toBe(1)
      const replaying = withReplay(refusing, { from: run })
      expect(await got(replaying(url(), init))).toEqual(recorded)
      // Journalled anew, the new run replays alone.
      const again = await store.run(`a${number}`)
      expect(await got(withReplay(refusing, { from: run, into: again })(url(), init))).toEqual(
        recorded,
      )
      expect(await got(withReplay(refusing, { from: again })(url(), init))).toEqual(recorded)
      expect(await exchanges(run)).toBe(1)
    })

    it('recorded off the wire is handed out by the wrapper', async () => {
      const direct = await got(fetch(url(), init))
      const wire = await ask(url(), { way: 'direct', ca: origin.certificate, method })
      const run = await store.run(`x${number}`)
      const recorder = await openRecorder(run)
      const recording = await recorder.start(
        { method, url: url(), headers: [['accept', '*/*']] },
        'wire',
      )
      recording.requestEnd()
      recording.response({
        status: wire.status,
        statusText: wire.statusText,
        headers: pairsOf(wire.headers),
      })
      await recording.responseBody(Buffer.from(wire.body, 'latin1'))
      await recording.end(wire.complete ? 'complete' : 'upstream-reset')
      const again = await got(withReplay(refusing, { from: run })(url(), init))
      expect({ ...again, failed: undefined }).toEqual({ ...direct, failed: undefined })
      const replayer = await openReplayer(run)
      const head = { method, url: url(), headers: [['accept', '*/*']] as const }
      const answer = await replayer.answer({ ...head, body: new Uint8Array(0), form: 'wire' })
      if (answer.kind === 'miss') throw new Error(answer.message)
      const formed = asWire(answer)
      expect(formed.headers).toEqual(pairsOf(wire.headers))
      expect((await collected(formed.chunks())).toString('latin1')).toBe(wire.body)
    })
  },
)
