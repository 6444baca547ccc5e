/**
 * The door that replays: each request is answered from a recording, or told that there is none. Connects to
 * nothing.
 */
import type { Answer } from '../exchange.js'
import { answerPlainly, cut, finish, writeHead, writeInterim } from './client-side.js'
import type { Asked, Door, Replays } from './door.js'
import { drained } from './flow.js'
import { without } from './header-list.js'
import { OWN_RECORDER } from './relay.js'
import type { Sightings } from './sightings.js'
import { authorityOf, urlOf } from './target.js'

export class PlaybackDoor implements Door {
  readonly tunnels = false

  constructor(
    private readonly replayer: Replays,
    private readonly sightings: Sightings,
  ) {}

  async answer({ req, res, aim, headers, client, expects, wanted }: Asked): Promise<void> {
    if (!wanted) {
      this.sightings.unseen('replay-refused', authorityOf(aim.target))
      answerPlainly(res, 502, 'a replay connects to nothing, and this host was not recorded')
      return
    }
    if (expects) res.writeContinue()
    const { method = 'GET', httpVersion } = req
    const request = {
      method,
      url: urlOf(aim),
      headers: without(headers, OWN_RECORDER),
      httpVersion,
      body: req,
      form: 'wire' as const,
    }
    const answer = await this.replayer.answer(request, client)
    if (answer.kind === 'miss') {
      this.sightings.missed += 1
      const { status, headers, body } = answer.response
      writeHead(res, { status, headers })
      res.write(body)
      await finish(res)
      return
    }
    this.sightings.replayed += 1
    await play(res, answer)
  }
}

/** Serve a recorded answer: the same head, chunks and end; a cut is a cut. */
async function play(res: Asked['res'], answer: Answer): Promise<void> {
  // Without an answer in the record, there is none now.
  if (answer.status > 0) {
    for (const interim of answer.informational ?? []) writeInterim(res, interim)
    writeHead(res, answer)
    for await (const bytes of answer.chunks()) {
      if (res.destroyed) return
      if (!res.write(bytes)) await drained(res)
    }
  }
  if (answer.end === 'complete') await finish(res, answer.trailers)
  else cut(res)
}
