/**
 * Responses as an agent gets them: the live one, told to a recording as it is read; and one that is
 * made of a recorded answer. Pieces, end and errors are those of the exchange.
 */
import type { Answer, ExchangeEnd, ExchangeFailure, Recording, ResponseHead } from './exchange.js'
import { headerList } from './fetch-request.js'
import { asDecoded } from './replay-form.js'

/** Statuses whose responses have no body, and may have none. */
const NULL_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])

/** The head of a live response. */
export function headOf(response: Response): ResponseHead {
  const { status, statusText, headers, url, redirected } = response
  return {
    status,
    statusText,
    headers: headerList(headers),
    ...(redirected && url !== '' ? { url } : {}),
  }
}

/**
 * The live response, recorded as it is read. Never a clone: one that is cancelled would not
 * settle.
 */
export function recordedResponse(
  response: Response,
  recording: Recording,
  signal: AbortSignal | undefined,
): Response {
  const { body } = response
  if (body === null) return response
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const stream = pulledStream({
    async pull(give) {
      let read: Awaited<ReturnType<typeof reader.read>>
      try {
        read = await reader.read()
      } catch (error) {
        await recording.end(...endOf(error, signal))
        throw error
      }
      if (read.done) {
        await recording.end('complete')
        return false
      }
      const kept = recording.responseBody(read.value)
      give(read.value)
      await kept
      return true
    },
    async cancel(reason) {
      // Upstream first: it may take its time until the log is written.
      const cancelling = reader.cancel(reason)
      await recording.end('client-abort')
      await cancelling
    },
  })
  const { status, statusText, headers, url, redirected, type } = response
  return dressed(new Response(stream, { status, statusText, headers }), { url, redirected, type })
}

/** How an exchange ended that ended in an error. */
export function endOf(
  error: unknown,
  signal: AbortSignal | undefined,
): [end: ExchangeEnd, failure: ExchangeFailure] {
  const { cause } = error as { cause?: unknown }
  const own = (cause ?? error) as { name?: unknown; message?: unknown; code?: unknown }
  const code = typeof own.code === 'string' ? own.code : undefined
  const failure: ExchangeFailure = {
    name: String(own.name ?? 'Error'),
    message: String(own.message ?? error),
    ...(code === undefined ? {} : { code }),
  }
  if (signal?.aborted === true) {
    const timedOut = (signal.reason as { name?: unknown } | null)?.name === 'TimeoutError'
    return [timedOut ? 'timeout' : 'client-abort', failure]
  }
  if (/TIMEOUT|TIMEDOUT/.test(code ?? '') && !/CONNECT/.test(code ?? ''))
    return ['timeout', failure]
  return [UNREACHED.test(code ?? '') ? 'unreachable' : 'upstream-reset', failure]
}

const UNREACHED = new RegExp(
  [
    'ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT',
    'CERT|SSL|TLS|EADDR|INVALID',
  ].join('|'),
)

/** A recorded answer as a response; one that had never come is the error that it was. */
export function replayedResponse(
  answer: Answer,
  request: { readonly url: string; readonly method: string },
  signal: AbortSignal | undefined,
): Response {
  if (signal?.aborted === true) throw signal.reason
  if (answer.status === 0) throw failureOf(answer, signal)
  const { headers, chunks } = asDecoded(answer)
  const { status, statusText } = answer
  const hasBody = !NULL_BODY.has(status) && request.method !== 'HEAD'
  const stream = hasBody ? replayedStream(answer, chunks(), signal) : null
  const known = status >= 200 && status <= 599
  const made = new Response(stream, {
    status: known ? status : 200,
    statusText,
    headers: headers.map(([name, value]) => [name, value] as [string, string]),
  })
  return dressed(made, {
    url: answer.url ?? request.url,
    redirected: answer.url !== undefined,
    type: 'basic',
    ...(known ? {} : { status, ok: false }),
  })
}

function replayedStream(
  answer: Answer,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const reading = chunks[Symbol.asyncIterator]()
  return pulledStream({
    async pull(give) {
      if (signal?.aborted === true) throw signal.reason
      const { done, value } = await reading.next()
      if (done !== true) {
        give(value)
        return true
      }
      // A cut is a cut, and what came before it was read.
      if (answer.end !== 'complete') throw cutOf(answer)
      return false
    },
    async cancel() {
      await reading.return?.()
    },
  })
}

/** As undici says that a body broke off. */
function cutOf({ end, failure }: Answer): Error {
  if (end === 'client-abort') {
    return new DOMException(
      'This operation was aborted (the client did, when it was recorded)',
      'AbortError',
    )
  }
  return new TypeError('terminated', { cause: causeOf(failure, 'other side closed') })
}

/** As undici says that no response came. */
function failureOf({ end, failure }: Answer, signal: AbortSignal | undefined): unknown {
  if (end === 'client-abort') {
    return signal?.reason ?? new DOMException('This operation was aborted', 'AbortError')
  }
  if (end === 'timeout' && failure?.name === 'TimeoutError') {
    return new DOMException(failure.message, 'TimeoutError')
  }
  return new TypeError('fetch failed', { cause: causeOf(failure, 'no connection') })
}

function causeOf(failure: ExchangeFailure | undefined, message: string): Error {
  const cause = new Error(failure?.message ?? message)
  cause.name = failure?.name ?? 'Error'
  return failure?.code === undefined ? cause : Object.assign(cause, { code: failure.code })
}

interface PulledStream {
  /** Give one piece and say true, or say false at the end. */
  pull(give: (bytes: Uint8Array) => void): Promise<boolean>
  cancel(reason: unknown): Promise<void>
}

/** A stream of bytes that asks for nothing before it is read. */
function pulledStream({ pull, cancel }: PulledStream): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      let given = false
      // An empty piece satisfies nobody who waits.
      while (!given) {
        const more = await pull((bytes) => {
          if (bytes.length === 0) return
          given = true
          // What is given is taken away from whoever holds it: a copy, since it may be a part of
          // more.
          controller.enqueue(new Uint8Array(bytes))
        })
        if (more) continue
        controller.close()
        controller.byobRequest?.respond(0)
        return
      }
    },
    cancel,
  })
}

/** What the constructor of a response does not take. */
function dressed(
  response: Response,
  members: Readonly<Partial<Record<'url' | 'redirected' | 'type' | 'status' | 'ok', unknown>>>,
): Response {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(response, name, { value, configurable: true, enumerable: true })
  }
  const { clone } = response
  // A clone is the same response, so it says the same of itself.
  Object.defineProperty(response, 'clone', {
    value: () => dressed(clone.call(response), members),
    configurable: true,
  })
  return response
}
