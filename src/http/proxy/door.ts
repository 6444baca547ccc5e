/**
 * One request as it stands at the sidecar, and who answers it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer, BodyForm, HeaderList, Miss, Recording, RequestHead } from '../exchange.js'
import type { Aim } from './target.js'

/** A request of a client. Its body has not been read. */
export interface Asked {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly aim: Aim
  /** What the origin is to see: end to end, its own `Host`. */
  readonly headers: HeaderList
  /** Who asks, where the client said so: its place in sequences of answers is its own. */
  readonly client: string | undefined
  /** The client waits to be told that it may send the body. */
  readonly expects: boolean
  /** False where the host is not among those asked for: the call is passed on, and no more. */
  readonly wanted: boolean
  /** Its body, where that has been read already. */
  readonly body?: readonly Uint8Array[]
}

/** Answers requests: from the origin, or from a recording. */
export interface Door {
  /**
   * Resolves once the answer is out, or cannot be given any more. A rejection is a bug or a full
   * disk.
   */
  answer(asked: Asked): Promise<void>
  /** Whether hosts that are not asked for may be tunnelled; never in a replay. */
  readonly tunnels: boolean
}

/** What records, as a door sees it. */
export interface Records {
  start(head: RequestHead, form: BodyForm, options?: StartOptions): Promise<Recording>
  miss(miss: Miss): Promise<void>
}

export interface StartOptions {
  /** It is answered by this exchange, and not by the network. */
  readonly replayed?: { readonly run: string; readonly ordinal: number }
}

/** What answers from a recording, as a door sees it. */
export interface Replays {
  answer(
    request: RequestHead & { readonly body: Uint8Array; readonly form: BodyForm },
    options: { readonly client: string; readonly quiet: boolean },
  ): Promise<Answer | Miss>
}
