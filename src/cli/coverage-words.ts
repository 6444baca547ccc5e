/**
 * What a sidecar saw, in words for people.
 */
import type { Coverage, Unseen } from '../http/proxy/sightings.js'
import type { Piece } from './output.js'
import { countText } from './quantity.js'

const WORDS: Readonly<Record<Unseen, readonly [what: string, advice: string]>> = {
  'not-asked-for': ['went by unseen, not among the hosts asked for', 'without --host all are seen'],
  'not-http': ['went by unseen, neither TLS nor HTTP', ''],
  'tls-refused': [
    'refused our certificate',
    'that client has roots of its own; give it a base URL, or the file of SSL_CERT_FILE',
  ],
  'http2-only': ['speaks nothing but HTTP/2', 'have that client speak HTTP/1.1'],
  'upgrade-refused': ['wanted to upgrade (a WebSocket) and was refused', ''],
  'replay-refused': ['was not in the recording, and nothing was connected to', ''],
  'no-request': ['sent what is no request', ''],
  'not-admitted': ['came without the token of the run', ''],
}

/** A line for each thing that went past the record or went wrong; none where nothing did. */
export function coverageLines({ ownRecorder, unreachable, unseen }: Coverage): Piece[][] {
  const lines: Piece[][] = []
  if (ownRecorder > 0)
    lines.push([`${countText(ownRecorder, 'call')} recorded by the program itself`])
  for (const { host, code, count } of unreachable)
    lines.push([['yellow', 'no answer '], `${host}: ${code}, ${timesText(count)}`])
  for (const { why, host, code, count } of unseen) {
    const [what, advice] = WORDS[why]
    const reason = code === undefined ? '' : ` (${code})`
    lines.push([
      ['yellow', 'unseen '],
      `${host} ${what}${reason}, ${timesText(count)}${advice === '' ? '' : `; ${advice}`}`,
    ])
  }
  return lines
}

function timesText(count: number): string {
  return count === 1 ? 'once' : `${count.toLocaleString('en-US')} times`
}
