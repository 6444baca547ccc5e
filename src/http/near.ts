/**
 * Which recorded requests are nearest to one that was asked, and in what they differ.
 */
import type { FoundExchange } from '../store/exchange-index.js'
import { loadExchange } from '../store/exchange-index.js'
import { diffJson } from '../value/json-diff.js'
import type { NearRequest, RequestDifference } from './exchange.js'
import type { IdentifiedRequest } from './identify.js'
import { jsonOf } from './json-canonical.js'
import { type RequestIdentity, requestIdentity } from './key.js'
import { collected } from './pieces.js'

const NEAREST_MAX = 3
/** Recorded requests that are looked at; of those that may be near, the last ones. */
const CANDIDATES_MAX = 48
const DIFFERENCES_MAX = 8
/** Longest part of a value that is told. */
const TOLD_CHARACTERS_MAX = 120

export async function nearest(
  { identity, head }: IdentifiedRequest,
  all: readonly FoundExchange[],
): Promise<readonly NearRequest[]> {
  const near: NearRequest[] = []
  for (const found of candidates(all, head.method, head.url)) {
    const { data, body, seq, run } = await loadExchange(found)
    const request = { ...data.request, body: await collected(body('request').bytes()) }
    const differences = differencesOf(requestIdentity(request), identity)
    near.push({
      ordinal: data.ordinal,
      seq,
      run,
      method: request.method,
      url: request.url,
      differences: differences.slice(0, DIFFERENCES_MAX),
      more: Math.max(0, differences.length - DIFFERENCES_MAX),
    })
  }
  // Of those that are as near, the ones that were recorded last.
  return near
    .reverse()
    .sort((a, b) => distance(a) - distance(b))
    .slice(0, NEAREST_MAX)
}

/** Those with the same method, origin and path; where there are none, all. */
function candidates(
  all: readonly FoundExchange[],
  method: string,
  url: string,
): readonly FoundExchange[] {
  const place = placeOf(method, url)
  const like = all.filter(({ row: [, , , m, u] }) => placeOf(m, u) === place)
  return (like.length > 0 ? like : all).slice(-CANDIDATES_MAX)
}

function placeOf(method: string, url: string): string {
  return `${method.toUpperCase()} ${/^[^?#]*/.exec(url)?.[0].toLowerCase()}`
}

const WEIGHTS: Readonly<Record<string, number>> = {
  origin: 10_000,
  path: 10_000,
  method: 10_000,
  query: 100,
  header: 100,
}

function distance({ differences, more }: NearRequest): number {
  return differences.reduce((sum, { part }) => sum + (WEIGHTS[part] ?? 1), more)
}

export function differencesOf(
  recorded: RequestIdentity,
  asked: RequestIdentity,
): readonly RequestDifference[] {
  const [a, b] = [recorded.shape, asked.shape]
  const origin = (shape: typeof a): string =>
    `${shape.scheme}://${shape.host}${shape.port === '' ? '' : `:${shape.port}`}`
  return [
    ...scalar('method', a.method, b.method),
    ...scalar('origin', origin(a), origin(b)),
    ...scalar('path', a.path, b.path),
    ...pairs('query', a.query, b.query),
    ...pairs('header', a.vary, b.vary),
    ...bodies(recorded.body, asked.body),
  ]
}

function scalar(part: string, recorded: string, asked: string): RequestDifference[] {
  return recorded === asked ? [] : [{ part, recorded: told(recorded), asked: told(asked) }]
}

type Pairs = readonly (readonly [name: string, value: string])[]

function pairs(part: string, recorded: Pairs, asked: Pairs): RequestDifference[] {
  const names = new Set([...recorded, ...asked].map(([name]) => name))
  const valuesUnder = (list: Pairs, name: string): string | undefined => {
    const values = list.filter(([other]) => other === name).map(([, value]) => value)
    return values.length === 0 ? undefined : values.join(', ')
  }
  return [...names].flatMap((at) => {
    const [a, b] = [valuesUnder(recorded, at), valuesUnder(asked, at)]
    if (a === b) return []
    return [
      {
        part,
        at,
        ...(a !== undefined && { recorded: told(a) }),
        ...(b !== undefined && { asked: told(b) }),
      },
    ]
  })
}

function bodies(
  recorded: RequestIdentity['body'],
  asked: RequestIdentity['body'],
): RequestDifference[] {
  if (recorded.kind === asked.kind && recorded.sha256 === asked.sha256) return []
  if (recorded.kind === 'empty' || asked.kind === 'empty') {
    return [{ part: 'body', recorded: recorded.kind, asked: asked.kind }]
  }
  const left = recorded.text && jsonOf(recorded.text)
  const right = asked.text && jsonOf(asked.text)
  if (left === undefined || right === undefined) {
    return [{ part: 'body', recorded: recorded.kind, asked: asked.kind }]
  }
  const { changes } = diffJson(left.value, right.value)
  return changes.map(({ pointer, left: a, right: b, op }) => ({
    part: 'body',
    at: pointer,
    ...(op !== 'add' && { recorded: told(a) }),
    ...(op !== 'remove' && { asked: told(b) }),
  }))
}

function told(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.length <= TOLD_CHARACTERS_MAX
    ? text
    : `${text.slice(0, TOLD_CHARACTERS_MAX).toWellFormed()}… (${text.length} characters)`
}
