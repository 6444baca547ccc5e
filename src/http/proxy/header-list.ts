/**
 * Header lists between the two sides of a proxy: order, case and duplicates stay; what speaks of
 * one connection only does not cross.
 */
import type { HeaderList } from '../exchange.js'

/** Meant for the next hop alone (RFC 9110, 7.6.1), besides those that `Connection` names. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

/** Node's flat list as pairs. */
export function pairsOf(raw: readonly string[]): HeaderList {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push([raw[at] as string, raw[at + 1] as string])
  return pairs
}

/** Pairs as Node's flat list. */
export function flatOf(headers: HeaderList): string[] {
  return headers.flat() as string[]
}

/** What crosses a proxy. */
export function endToEnd(headers: HeaderList): HeaderList {
  const named = new Set(
    headers
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.split(','))
      .map((name) => name.trim().toLowerCase()),
  )
  // Named as of this hop by clients that ask for trailers, which cross as well.
  named.delete('te')
  return headers.filter(([name]) => {
    const lower = name.toLowerCase()
    return !HOP_BY_HOP.has(lower) && !named.has(lower)
  })
}

/** The values of a header, in order. */
export function valuesOf(headers: HeaderList, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
}

/** Without the headers of one name. */
export function without(headers: HeaderList, unwanted: string): HeaderList {
  return headers.filter(([name]) => name.toLowerCase() !== unwanted)
}

/** With one header's value in the place of what was there; first, where nothing was. */
export function withValue(headers: HeaderList, wanted: string, value: string): HeaderList {
  const at = headers.findIndex(([name]) => name.toLowerCase() === wanted)
  if (at < 0) return [[wanted, value], ...headers]
  const name = (headers[at] as readonly [string, string])[0]
  return [...headers.slice(0, at), [name, value], ...without(headers.slice(at + 1), wanted)]
}
