/**
 * The door that replays: each request is answered from a recording, or told that there is none.
 * Connects to nothing.
 */
import type { Answer, Miss, RequestHead } from '../exchange.js'
import { OWN_RECORDER } from '../own-recorder.js'
import { asWire } from '../replay-form.js'
import { answerPlainly, cut, finish, writeHead, writeInterim } from './client-side.js'
import type { Asked, Door, Records, Replays } from './door.js'
import { drained } from './flow.js'
import { valuesOf, without } from './header-list.js'
import type { Sightings } from './sightings.js'
import { authorityOf, urlOf } from './target.js'

export interface PlaybackOptions {
  readonly replayer: Replays
  readonly sightings: Sightings
  /**
   * Where the answers that were given are recorded again, so that the replay is a run like any
   * other.
   */
  readonly journal?: Records
}

export class PlaybackDoor implements Door {
  readonly tunnels = false

  constructor(private readonly options: PlaybackOptions) {}

  async answer(asked: Asked): Promise<void> {
    const { req, res, expects, wanted, aim } = asked
    const { sightings } = this.options
    if (!wanted) {
      sightings.unseen('replay-refused', authorityOf(aim.target))
      answerPlainly(res, 502, 'a replay connects to nothing, and this host was not recorded')
      return
    }
    if (expects) res.writeContinue()
    const body: Uint8Array[] = []
    for await (const bytes of req) body.push(bytes as Buffer)
    const answer = await this.find(asked, body, false)
    if (answer.kind === 'answer') await this.give(asked, body, answer)
    else await this.tellMiss(asked, answer)
  }

  /** What is recorded for a request, or that there is nothing; `quiet` where that is no miss. */
  find(
    { req, aim, headers, client = '' }: Asked,
    body: readonly Uint8Array[],
    quiet: boolean,
  ): Promise<Answer | Miss> {
    const request = { ...headOf(req, aim, headers), body: Buffer.concat(body) }
    return this.options.replayer.answer({ ...request, form: 'wire' }, { client, quiet })
  }

  /** Serve a recorded answer: the same head, chunks and end; a cut is a cut. */
  async give(asked: Asked, body: readonly Uint8Array[], answer: Answer): Promise<void> {
    const { req, res, aim, headers: sent } = asked
    const { journal, sightings } = this.options
    sightings.replayed += 1
    const { run, ordinal, end, failure, trailers = [], status } = answer
    const accepts = valuesOf(sent, 'accept-encoding')
    const { headers, chunks } = asWire(
      answer,
      accepts.length === 0 ? undefined : accepts.join(', '),
    )
    const replayed = { run, ordinal }
    const record = await journal?.start(headOf(req, aim, sent), 'wire', { replayed })
    for (const bytes of body) await record?.requestBody(bytes)
    record?.requestEnd()
    // Without an answer in the record, there is none now.
    if (status > 0) {
      const { statusText, httpVersion, informational = [] } = answer
      const version = httpVersion === undefined ? {} : { httpVersion }
      record?.response({ status, statusText, headers, informational, ...version })
      for (const interim of informational) writeInterim(res, interim)
      writeHead(res, { status, statusText, headers })
      for await (const bytes of chunks()) {
        await record?.responseBody(bytes)
        if (!res.destroyed && !res.write(bytes)) await drained(res)
      }
      if (trailers.length > 0) record?.trailers(trailers)
    }
    if (end === 'complete') await finish(res, trailers)
    else cut(res)
    await record?.end(end, failure)
  }

  private async tellMiss({ res }: Asked, miss: Miss): Promise<void> {
    this.options.sightings.missed += 1
    const { status, headers, body } = miss.response
    writeHead(res, { status, headers })
    res.write(body)
    await finish(res)
    await this.options.journal?.miss(miss)
  }
}

function headOf(req: Asked['req'], aim: Asked['aim'], headers: Asked['headers']): RequestHead {
  const { method = 'GET', httpVersion } = req
  return { method, url: urlOf(aim), headers: without(headers, OWN_RECORDER), httpVersion }
}
