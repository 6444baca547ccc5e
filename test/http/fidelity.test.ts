/**
 * Whatever an origin sends, the wrapper hands out as a bare `fetch` would; and again from the log,
 * with the origin gone. The cases are those of the sidecar's doors.
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

const UNCOMPARED: ReadonlySet<string> = new Set([
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
])

type Seen = Got | { readonly failed: string }

/** All that an agent can see of a call. */
async function got(calling: Promise<Response>): Promise<Seen> {
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
    // Of two live calls the dates may differ; what is said of one hop is not stored off a
    // wire; the values of cookies are scrubbed.
    headers: [...response.headers].flatMap(([name, value]): [string, string][] => {
      if (UNCOMPARED.has(name)) return []
      return [[name, name === 'set-cookie' ? value.replace(/=.*/, '') : value]]
    }) as [string, string][],
    nullBody: response.body === null,
    body: Buffer.concat(parts).toString('latin1'),
    failed,
  }
}

/**
 * Of a body that broke off, undici gives as much as it got to before it saw the end: of two calls
 * the one or the other sees more, and what both see is the same.
 */
function comparable(one: Seen, other: Seen): Seen {
  if (!('body' in one && 'body' in other) || one.failed === undefined) return one
  return { ...one, body: one.body.slice(0, Math.min(one.body.length, other.body.length)) }
}

const refusing = (): Promise<Response> => Promise.reject(new Error('the network was asked'))

/** Node 20's own fetch never settles on them. */
const UNSETTLED = /^gzip-broken, (?:chunked|close)$/

const CASES = FIDELITY_CASES.map(({ name }, number) => [name, number] as const)

describe.each(CASES.filter(([name]) => !UNSETTLED.test(name)))('%s', (_, number) => {
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
    expect(comparable(recorded, direct)).toEqual(comparable(direct, recorded))
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
    await recording.responseBody(Buffer.from(wire.body, 'base64'))
    await recording.end(wire.complete ? 'complete' : 'upstream-reset')
    const again = await got(withReplay(refusing, { from: run })(url(), init))
    // More headers than undici takes are no error to whoever has them from the log.
    if ('status' in direct) expect(comparable(again, direct)).toEqual(comparable(direct, again))
    const replayer = await openReplayer(run)
    const head = { method, url: url(), headers: [['accept', '*/*']] as const }
    const answer = await replayer.answer({ ...head, body: new Uint8Array(0), form: 'wire' })
    if (answer.kind === 'miss') throw new Error(answer.message)
    const formed = asWire(answer)
    expect(formed.headers.length).toBe(wire.headers.length / 2)
    for (const [index, [name, value]] of pairsOf(wire.headers).entries()) {
      expect(formed.headers[index]?.[0]).toBe(name)
      if (name.toLowerCase() !== 'set-cookie') expect(formed.headers[index]?.[1]).toBe(value)
    }
    expect((await collected(formed.chunks())).toString('base64')).toBe(wire.body)
  })
})
