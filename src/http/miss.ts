/**
 * A request that nothing recorded answers, explained: what kind of miss it is, which recorded
 * requests are nearest, and the answer that makes a client give up at once.
 */
import type { FoundExchange } from '../store/exchange-index.js'
import type { HeaderList, Miss, MissKind, NearRequest } from './exchange.js'
import type { IdentifiedRequest } from './identify.js'
import { headerOf } from './key.js'
import { nearest } from './near.js'

export interface MissFacts {
  readonly asked: IdentifiedRequest
  /** How many are recorded under its key, and how many times it was asked, this time included. */
  readonly recorded: number
  readonly times: number
  readonly all: readonly FoundExchange[]
}

export async function missOf({ asked, recorded, times, all }: MissFacts): Promise<Miss> {
  const { identity, head } = asked
  const near = recorded > 0 ? [] : await nearest(asked, all)
  const miss = kindOf(recorded, near)
  const message = messageOf(asked, { miss, recorded, times, near })
  return {
    kind: 'miss',
    miss,
    key: identity.key,
    method: head.method.toUpperCase(),
    url: head.url,
    recorded,
    asked: times,
    nearest: near,
    message,
    response: responseOf(head, miss, message),
  }
}

function kindOf(recorded: number, near: readonly NearRequest[]): MissKind {
  if (recorded > 0) return 'exhausted'
  const [first] = near
  const parts = new Set(first?.differences.map(({ part }) => part))
  if (first === undefined || ['method', 'origin', 'path'].some((part) => parts.has(part))) {
    return 'never-seen'
  }
  return parts.size === 1 && parts.has('body') ? 'body-differs' : 'head-differs'
}

function messageOf(
  { head }: IdentifiedRequest,
  facts: {
    readonly miss: MissKind
    readonly recorded: number
    readonly times: number
    readonly near: readonly NearRequest[]
  },
): string {
  const { miss, recorded, times, near } = facts
  const what = `no recorded exchange answers ${head.method.toUpperCase()} ${head.url}`
  if (miss === 'exhausted') {
    return `${what}: exhausted: ${recorded} recorded, asked for the ${ordinal(times)} time. Try: the policy "last" or "loop", or record again`
  }
  const [first] = near
  if (first === undefined) return `${what}: nothing is recorded. Try: record first`
  const [difference] = first.differences
  const place =
    difference?.at === undefined ? difference?.part : `${difference.part} ${difference.at}`
  const others = first.differences.length + first.more - 1
  const more = others > 0 ? ` and ${others} more` : ''
  if (miss === 'never-seen') {
    return `${what}: nothing like it was recorded; the nearest, ${first.method} ${first.url} (exchange ${first.ordinal}), differs at ${place}${more}. Try: record this call too`
  }
  return `${what}: it differs from exchange ${first.ordinal} at ${place}${more}. Try: a normaliser for what may change, or record again`
}

function ordinal(count: number): string {
  const teen = count % 100 >= 11 && count % 100 <= 13
  return `${count}${teen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')}`
}

/** 404 in the form of the provider's errors: any SDK says it and none tries again. */
function responseOf(
  head: IdentifiedRequest['head'],
  miss: MissKind,
  message: string,
): Miss['response'] {
  const text = `daglog replay: ${message}`
  const body = Buffer.from(JSON.stringify(errorBody(head.headers, head.url, miss, text)))
  return {
    status: 404,
    headers: [
      ['content-type', 'application/json'],
      ['content-length', String(body.length)],
      ['x-should-retry', 'false'],
      ['x-daglog-miss', miss],
    ],
    body,
  }
}

function errorBody(headers: HeaderList, url: string, miss: MissKind, message: string): unknown {
  if (headerOf(headers, 'anthropic-version') !== undefined) {
    return { type: 'error', error: { type: 'not_found_error', message }, daglog: { miss } }
  }
  const gemini = /:(?:stream)?generateContent|:countTokens|:embedContent/i.test(url)
  if (gemini || headerOf(headers, 'x-goog-api-key') !== undefined) {
    return { error: { code: 404, message, status: 'NOT_FOUND' }, daglog: { miss } }
  }
  return {
    error: { message, type: 'daglog_miss', param: null, code: miss },
    daglog: { miss },
  }
}
