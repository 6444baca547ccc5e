/**
 * Any `fetch`, recorded and replayed: `into` records, `from` answers, both do both.
 * With `from` alone the fetch below is never called for what lies on the network; `data:` and
 * `blob:` do not, so they are left to it.
 */
import type { Run } from '../store/run.js'
import type { RunView } from '../store/run-view.js'
import type { Miss, Recording } from './exchange.js'
import { type Fetch, type FetchCall, fetchCall } from './fetch-request.js'
import { endOf, headOf, recordedResponse, replayedResponse } from './fetch-response.js'
import { marked } from './own-recorder.js'
import { collected } from './pieces.js'
import { openRecorder, type Recorder, type RecorderOptions } from './recorder.js'
import { openReplayer, type Replayer, type ReplayerOptions, type ReplayReport } from './replayer.js'

export interface WithReplayOptions extends RecorderOptions, ReplayerOptions {
  /** Answer from what these runs recorded. Never written to. */
  readonly from?: RunView | readonly RunView[]
  /** Record into this run. */
  readonly into?: Run
  /**
   * With `from` and `into`: what becomes of a request that is not recorded. `live`: it is sent, and
   * recorded. `miss`: it is a miss, which is recorded. `live` unless told.
   */
  readonly unknown?: 'live' | 'miss'
  /** Who asks, where several share a `from`: each has its place in every sequence. */
  readonly client?: string
}

export interface ReplayFetch extends Fetch {
  /** What was answered, missed, never asked for. Undefined where nothing is replayed. */
  report(): Promise<ReplayReport | undefined>
  /**
   * Everything that was recorded is in the log; what is still open ends here, as cut by the client.
   * `run.close()` does it too.
   */
  close(): Promise<void>
}

/**
 * Wrap a fetch.
 * @throws as that fetch does; what recording throws, where that fails closed; what reading `from`
 * throws
 */
export function withReplay(fetch: Fetch, options: WithReplayOptions = {}): ReplayFetch {
  const { from, into } = options
  const doors = new Doors(options)
  const sending = into === undefined ? fetch : marked(fetch, into.id)
  const replaying = async (input: string | URL | Request, init?: unknown): Promise<Response> => {
    if ((from === undefined && into === undefined) || !isNetwork(input)) return fetch(input, init)
    const [call, recorder, replayer] = await Promise.all([
      fetchCall(input, init),
      doors.recorder(),
      doors.replayer(),
    ])
    call.signal?.throwIfAborted()
    return replayer === undefined
      ? live(sending, call, recorder as Recorder)
      : again(sending, call, { recorder, replayer, options })
  }
  return Object.assign(replaying, {
    report: async () => (await doors.replayer())?.report(),
    close: () => doors.close(),
  })
}

function isNetwork(input: string | URL | Request): boolean {
  const url = input instanceof Request ? input.url : String(input)
  return !/^\s*(?:data|blob):/i.test(url)
}

/** Opened when they are first needed. */
class Doors {
  private recording: Promise<Recorder> | undefined
  private replaying: Promise<Replayer> | undefined

  constructor(private readonly options: WithReplayOptions) {}

  recorder(): Promise<Recorder> | undefined {
    const { into } = this.options
    if (into === undefined) return undefined
    this.recording ??= openRecorder(into, this.options).then((recorder) => {
      into.onClosing(() => recorder.close())
      return recorder
    })
    return this.recording
  }

  replayer(): Promise<Replayer> | undefined {
    const { from } = this.options
    if (from === undefined) return undefined
    this.replaying ??= openReplayer(from, this.options)
    return this.replaying
  }

  async close(): Promise<void> {
    await (await this.recording)?.close()
  }
}

/** From the network, and into the log. */
async function live(
  fetch: Fetch,
  call: FetchCall,
  recorder: Recorder,
  whole?: Uint8Array,
): Promise<Response> {
  const recording = await recorder.start(call.head, 'decoded')
  const body = whole ?? call.body
  let response: Response
  try {
    if (body instanceof Uint8Array) {
      if (body.length > 0) await recording.requestBody(body)
      recording.requestEnd()
      response = await call.send(fetch, whole)
    } else response = await call.send(fetch, teed(body, recording))
  } catch (error) {
    await recording.end(...endOf(error, call.signal))
    throw error
  }
  recording.response(headOf(response))
  if (response.body === null) await recording.end('complete')
  return recordedResponse(response, recording, call.signal)
}

/** The body of a request, told as it is sent. */
function teed(body: ReadableStream<Uint8Array>, recording: Recording): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) {
          recording.requestEnd()
          controller.close()
          return
        }
        const kept = recording.requestBody(value)
        controller.enqueue(value)
        await kept
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

interface Again {
  readonly recorder: Recorder | undefined
  readonly replayer: Replayer
  readonly options: WithReplayOptions
}

/** From what is recorded; where nothing is, a miss, or, if a recorder is there, live. */
async function again(
  fetch: Fetch,
  call: FetchCall,
  { recorder, replayer, options }: Again,
): Promise<Response> {
  // What is asked is known only at its end.
  const body =
    call.body instanceof Uint8Array
      ? call.body
      : new Uint8Array(await collected(chunksOf(call.body)))
  const goesLive = recorder !== undefined && options.unknown !== 'miss'
  const asked = { ...call.head, body, form: 'decoded' as const }
  const found = await replayer.answer(asked, { client: options.client ?? '', quiet: goesLive })
  if (found.kind === 'answer') {
    if (recorder === undefined) return replayedResponse(found, call.head, call.signal)
    const replayed = { run: found.run, ordinal: found.ordinal }
    const recording = await recorder.start(call.head, 'decoded', { replayed })
    await recording.requestBody(body)
    recording.requestEnd()
    return journalled(() => replayedResponse(found, call.head, call.signal), recording, call)
  }
  if (goesLive) return live(fetch, call, recorder, body)
  await recorder?.miss(found)
  return missed(found, call)
}

/** A recorded answer, recorded anew: the new run replays alone. */
async function journalled(
  answer: () => Response,
  recording: Recording,
  { signal }: FetchCall,
): Promise<Response> {
  let response: Response
  try {
    response = answer()
  } catch (error) {
    await recording.end(...endOf(error, signal))
    throw error
  }
  recording.response(headOf(response))
  if (response.body === null) await recording.end('complete')
  return recordedResponse(response, recording, signal)
}

function missed({ response }: Miss, { head }: FetchCall): Response {
  const { status, headers, body } = response
  const made = new Response(head.method === 'HEAD' ? null : new Uint8Array(body), {
    status,
    headers: headers.map(([name, value]) => [name, value] as [string, string]),
  })
  Object.defineProperty(made, 'url', { value: head.url, configurable: true, enumerable: true })
  return made
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    reader.releaseLock()
  }
}
