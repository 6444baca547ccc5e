/**
 * The door that answers from a recording what is recorded there, and asks the origin for the rest;
 * all of it is recorded anew, so that the new run replays alone.
 */
import type { Asked, Door } from './door.js'
import type { PlaybackDoor } from './playback.js'
import type { RelayDoor } from './relay.js'

export class AutoDoor implements Door {
  readonly tunnels = true

  constructor(
    private readonly playback: PlaybackDoor,
    private readonly relay: RelayDoor,
  ) {}

  async answer(asked: Asked): Promise<void> {
    const { req, res, expects, wanted } = asked
    if (!wanted) return this.relay.answer(asked)
    if (expects) res.writeContinue()
    const body: Uint8Array[] = []
    for await (const bytes of req) body.push(bytes as Buffer)
    const answer = await this.playback.find(asked, body, true)
    if (answer.kind === 'answer') await this.playback.give(asked, body, answer)
    else await this.relay.answer({ ...asked, expects: false, body })
  }
}
