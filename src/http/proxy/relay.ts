/**
 * The door that records: a request goes to its origin and the answer back, both as they come, while
 * the recorder is given the same bytes.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { DaglogError, systemCode } from '../../core/errors.js'
import type {
  ExchangeEnd,
  ExchangeFailure,
  HeaderList,
  Recording,
  ResponseHead,
} from '../exchange.js'
import { OWN_RECORDER } from '../own-recorder.js'
import { cut, finish, writeHead, writeInterim } from './client-side.js'
import type { Asked, Door, Records } from './door.js'
import { flow } from './flow.js'
import { pairsOf, valuesOf, without } from './header-list.js'
import type { Sightings } from './sightings.js'
import { authorityOf, urlOf } from './target.js'
import type { Upstream } from './upstream.js'

export class RelayDoor implements Door {
  readonly tunnels = true

  constructor(
    private readonly upstream: Upstream,
    private readonly recorder: Records,
    private readonly sightings: Sightings,
  ) {}

  async answer(asked: Asked): Promise<void> {
    const recording = await this.recordingOf(asked)
    const relay = new Relay(asked, this.upstream, recording, this.sightings)
    const end = await relay.run()
    await recording?.end(end, relay.failure)
  }

  private async recordingOf(asked: Asked): Promise<Recording | undefined> {
    const { req, aim, headers, wanted } = asked
    if (!wanted) {
      this.sightings.unseen('not-asked-for', authorityOf(aim.target))
      return undefined
    }
    if (valuesOf(headers, OWN_RECORDER).length > 0) {
      this.sightings.ownRecorder += 1
      return undefined
    }
    this.sightings.recorded += 1
    const { method = 'GET', httpVersion } = req
    return this.recorder.start({ method, url: urlOf(aim), headers, httpVersion }, 'wire')
  }
}

/** One exchange on its way. */
class Relay {
  /** What went wrong with the origin, in its own words. */
  failure: ExchangeFailure | undefined
  private gone = false
  private connected = false
  /** The client was told to send its body. */
  private told = false
  private readonly interim: { readonly status: number; readonly headers: HeaderList }[] = []
  private readonly out: ClientRequest

  constructor(
    private readonly asked: Asked,
    upstream: Upstream,
    private readonly recording: Recording | undefined,
    private readonly sightings: Sightings,
  ) {
    const { req, aim, headers } = asked
    this.out = upstream.request(
      req.method ?? 'GET',
      aim,
      framed(req, without(headers, OWN_RECORDER)),
    )
  }

  async run(): Promise<ExchangeEnd> {
    const { req, res } = this.asked
    // Of a request whose answer is out already, Node does not say that its connection is gone.
    const { socket } = req
    const onGone = (): void => {
      if (!req.complete) req.destroy()
    }
    socket.on('close', onGone)
    res.on('close', () => {
      if (res.writableFinished) return
      this.gone = true
      this.out.destroy()
    })
    const answered = this.response()
    const sent = this.sendBody()
    // Only the recorder makes it fail; the exchange fails with it.
    sent.catch(() => this.out.destroy())
    try {
      return await this.passOn(await answered, sent)
    } catch (error) {
      this.out.destroy()
      cut(res)
      if (error instanceof DaglogError) throw error
      if (this.gone) return 'client-abort'
      return this.unanswered(error as Error)
    } finally {
      await sent
      socket.off('close', onGone)
    }
  }

  private async sendBody(): Promise<void> {
    const { req, body } = this.asked
    if (body !== undefined) {
      for (const bytes of body) {
        this.out.write(bytes)
        await this.recording?.requestBody(bytes)
      }
      this.recording?.requestEnd()
      this.out.end()
      return
    }
    const end = await flow(req, this.out, (bytes) => this.recording?.requestBody(bytes))
    this.recording?.requestEnd()
    if (end === 'complete') this.out.end()
    else this.out.destroy()
  }

  private response(): Promise<IncomingMessage> {
    const { out } = this
    const { res, expects } = this.asked
    out.on('continue', () => {
      this.told = true
      if (expects && !res.headersSent) res.writeContinue()
    })
    out.on('information', ({ statusCode, statusMessage, rawHeaders }) => {
      if (statusCode === 100) return
      const headers = pairsOf(rawHeaders)
      this.interim.push({ status: statusCode, headers })
      writeInterim(res, { status: statusCode, statusText: statusMessage, headers })
    })
    out.on('socket', (socket) => {
      // Of a TLS connection `connect` says little: the handshake is still to come.
      const event = 'encrypted' in socket ? 'secureConnect' : 'connect'
      if (socket.connecting) socket.once(event, () => this.reached())
      else this.reached()
    })
    return new Promise((resolve, reject) => {
      out.on('response', resolve)
      out.on('error', reject)
      out.on('close', () => reject(new Error('closed without an answer')))
    })
  }

  private reached(): void {
    this.connected = true
  }

  private async passOn(answer: IncomingMessage, sent: Promise<void>): Promise<ExchangeEnd> {
    const { res, expects } = this.asked
    const head = headOf(answer, this.interim)
    this.recording?.response(head)
    writeHead(res, head)
    const end = await flow(answer, res, (bytes) => this.recording?.responseBody(bytes))
    if (end === 'cut') {
      cut(res)
      return this.gone ? 'client-abort' : 'upstream-reset'
    }
    // All of it is here, and recorded: a client that goes now leaves nothing unfinished.
    const trailers = pairsOf(answer.rawTrailers)
    if (trailers.length > 0) this.recording?.trailers(trailers)
    // An origin may answer early. A connection that closes behind the answer would cut off what still
    // comes of the request; unless the client was never told to send it.
    if (!res.shouldKeepAlive && (!expects || this.told)) await sent
    await finish(res, trailers)
    return 'complete'
  }

  /** No connection, one that broke before an answer, or an answer that is none. */
  private unanswered(error: Error): ExchangeEnd {
    const code = systemCode(error)
    const { name, message } = error
    this.failure = { name, message, ...(code === undefined ? {} : { code }) }
    this.sightings.unreachable(authorityOf(this.asked.aim.target), code ?? message)
    return this.connected ? 'upstream-reset' : 'unreachable'
  }
}

function headOf(
  answer: IncomingMessage,
  interim: ResponseHead['informational'] = [],
): ResponseHead {
  const { statusCode = 0, statusMessage = '', rawHeaders, httpVersion } = answer
  const informational = interim.length === 0 ? {} : { informational: [...interim] }
  const head = { status: statusCode, statusText: statusMessage, httpVersion }
  return { ...head, headers: pairsOf(rawHeaders), ...informational }
}

/** A body is framed towards the origin as it was framed towards us. */
function framed(req: IncomingMessage, headers: HeaderList): HeaderList {
  const codings = valuesOf(pairsOf(req.rawHeaders), 'transfer-encoding')
  if (codings.length > 0) return [...headers, ['Transfer-Encoding', codings.join(', ')]]
  const bodiless = valuesOf(headers, 'content-length').length === 0
  // Node would announce a body in chunks for these methods; there is none.
  return bodiless && !/^(GET|HEAD|DELETE|OPTIONS|TRACE)$/.test(req.method ?? '')
    ? withLength(headers)
    : headers
}

function withLength(headers: HeaderList): HeaderList {
  return [...headers, ['Content-Length', '0']]
}
