/**
 * A recorder and a replayer that keep everything in memory, by method, URL and body: what the doors
 * are held to apart from what is written and how keys are made.
 */
import type {
  Answer,
  ExchangeEnd,
  HeaderList,
  Miss,
  Recording,
  RequestHead,
  ResponseHead,
} from '../../../src/http/exchange.js'
import type { Records, Replays } from '../../../src/http/proxy/door.js'

export interface Kept {
  readonly head: RequestHead
  readonly requestBody: Buffer[]
  requestEnded: boolean
  response?: ResponseHead
  readonly chunks: Buffer[]
  trailers?: HeaderList
  end?: ExchangeEnd
  failure?: string
}

export class MemoryTraffic implements Records, Replays {
  readonly kept: Kept[] = []
  readonly asked: string[] = []
  readonly missed: Miss[] = []
  private readonly given = new Map<string, number>()

  async start(head: RequestHead): Promise<Recording> {
    const kept: Kept = { head, requestBody: [], requestEnded: false, chunks: [] }
    this.kept.push(kept)
    return {
      ordinal: this.kept.length,
      requestBody: (bytes) => void kept.requestBody.push(Buffer.from(bytes)),
      requestEnd: () => {
        kept.requestEnded = true
      },
      response: (response) => {
        kept.response = response
      },
      responseBody: (bytes) => void kept.chunks.push(Buffer.from(bytes)),
      trailers: (trailers) => {
        kept.trailers = trailers
      },
      end: async (end, failure) => {
        kept.end ??= end
        if (failure !== undefined) kept.failure = failure.code ?? failure.message
      },
    }
  }

  async miss(miss: Miss): Promise<void> {
    this.missed.push(miss)
  }

  async answer(
    request: RequestHead & { readonly body: Uint8Array },
    { client }: { readonly client: string },
  ): Promise<Answer | Miss> {
    this.asked.push(client)
    const key = keyOf(request, Buffer.from(request.body))
    const found = this.kept.filter(
      (kept) => key === keyOf(kept.head, Buffer.concat(kept.requestBody)),
    )
    const cursor = `${client} ${key}`
    const at = this.given.get(cursor) ?? 0
    this.given.set(cursor, at + 1)
    const kept = found[at]
    return kept === undefined ? missOf(request, key) : answerOf(kept, key)
  }
}

function keyOf({ method, url }: RequestHead, body: Buffer): string {
  return `${method} ${url} ${body.toString('base64')}`
}

function answerOf(kept: Kept, key: string): Answer {
  const { response, trailers, end = 'upstream-reset', chunks } = kept
  return {
    kind: 'answer',
    key,
    ordinal: 1,
    seq: 0,
    run: 'memory',
    status: 0,
    statusText: '',
    headers: [],
    ...response,
    ...(trailers === undefined ? {} : { trailers }),
    form: 'wire',
    end,
    size: Buffer.concat(chunks).length,
    async *chunks() {
      yield* chunks
    },
  } as Answer
}

function missOf({ method, url }: RequestHead, key: string): Miss {
  const body = new TextEncoder().encode('{"error":"miss"}')
  return {
    kind: 'miss',
    miss: 'never-seen',
    key,
    method,
    url,
    recorded: 0,
    asked: 1,
    nearest: [],
    message: 'miss',
    response: { status: 404, headers: [['x-should-retry', 'false']], body },
  }
}
