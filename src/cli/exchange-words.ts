/**
 * One event of traffic in a few words: what was asked, what came, how long it took, how it ended.
 * Data may have any shape, whatever its type says.
 */
import type { RunEvent } from '../core/event.js'
import { fieldsOf, listOf, nameOf } from '../fold/provider/shape.js'
import { printable } from '../value/preview.js'
import type { Piece } from './output.js'
import { bytesText, countText, durationText } from './quantity.js'

const URL_LENGTH = 100

type Members = Readonly<Record<string, unknown>>
type Words = (event: RunEvent, data: Members) => readonly Piece[] | undefined

export const EXCHANGE_WORDS: Readonly<Record<string, Words>> = {
  'http/start': (_, data) => called(data),
  'http/exchange': exchange,
  'http/miss': (_, data) => {
    const call = called(data)
    return call === undefined ? undefined : [['red', 'missed '], ...call, ...missed(data)]
  },
  'http/import': (_, { format, path, entries, exchanges }) => [
    `${Number(exchanges)} of ${Number(entries)} entries of a ${printable(nameOf(format), 20)}`,
    ['dim', `  ${printable(nameOf(path), URL_LENGTH)}`],
  ],
  'http/gap': (_, { count, reason }) => [
    ['red', `${printable(String(count))} exchanges were not recorded`],
    `: ${printable(nameOf(reason), URL_LENGTH)}`,
  ],
}

function exchange(event: RunEvent, data: Members): readonly Piece[] | undefined {
  const call = called(fieldsOf(data.request))
  if (call === undefined) return undefined
  const { status } = fieldsOf(data.response)
  const { endUs } = fieldsOf(data.timing)
  const [sent, came] = [sizeText(event, 'request'), sizeText(event, 'response')]
  return [
    ...call,
    ' ',
    statusPiece(status),
    ['dim', `  ${sent} → ${came}`],
    ...(typeof endUs === 'number' ? [['dim', `  ${durationText(endUs / 1000)}`] as const] : []),
    ...ending(data),
  ]
}

function called({ method, url }: Members): readonly Piece[] | undefined {
  if (typeof method !== 'string' || typeof url !== 'string') return undefined
  return [['bold', printable(method, 20)], ' ', ['cyan', printable(url, URL_LENGTH)]]
}

function statusPiece(status: unknown): Piece {
  if (typeof status !== 'number') return ['red', 'no response']
  return [status < 300 ? 'green' : status < 400 ? 'yellow' : 'red', String(status)]
}

/** What is not as it should be, or not by the network. */
function ending({ end, failure, replayed, scrubbed }: Members): Piece[] {
  const pieces: Piece[] = []
  if (end !== 'complete') pieces.push(' ', ['yellow', printable(nameOf(end), 40)])
  const { message, code } = fieldsOf(failure)
  const why = nameOf(code) || nameOf(message)
  if (why !== '') pieces.push(['dim', ` (${printable(why, 60)})`])
  if (replayed !== undefined) pieces.push(' ', ['green', 'replayed'])
  const count = listOf(scrubbed).reduce<number>((sum, one) => {
    return sum + (Number(fieldsOf(one).count) || 0)
  }, 0)
  if (count > 0) pieces.push(['dim', `  ${countText(count, 'secret')} scrubbed`])
  return pieces
}

function missed({ kind, recorded, asked }: Members): Piece[] {
  if (kind !== 'exhausted') return [['dim', `  ${printable(nameOf(kind), 40)}`]]
  return [['dim', `  exhausted: ${Number(recorded)} recorded, asked ${Number(asked)} times`]]
}

/** Of a body, wherever it lies. */
function sizeText({ data, refs = [] }: RunEvent, side: 'request' | 'response'): string {
  const ref = refs.find(({ pointer }) => pointer === `/${side}/body`)
  if (ref !== undefined) return bytesText(ref.size)
  const { body } = fieldsOf(fieldsOf(data)[side])
  return body instanceof Uint8Array ? bytesText(body.length) : 'nothing'
}
