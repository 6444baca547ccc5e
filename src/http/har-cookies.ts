/**
 * Cookies of headers as HAR lists them beside the headers. A view: the headers themselves are
 * exact.
 */

import type { HeaderList } from './exchange.js'
import type { HarCookie } from './har-log.js'

/** What a client sent. */
export function cookiesSent(headers: HeaderList): HarCookie[] {
  return valuesOf(headers, 'cookie').flatMap((value) =>
    value.split(';').flatMap((pair) => (pair.trim() === '' ? [] : [pairOf(pair)])),
  )
}

/** What a server set, with what it said of each. */
export function cookiesSet(headers: HeaderList): HarCookie[] {
  return valuesOf(headers, 'set-cookie').map((value) => {
    const [first = '', ...attributes] = value.split(';')
    let cookie: HarCookie = pairOf(first)
    for (const attribute of attributes) cookie = { ...cookie, ...told(pairOf(attribute)) }
    return cookie
  })
}

function told({ name, value }: HarCookie): Partial<HarCookie> {
  switch (name.toLowerCase()) {
    case 'path':
      return { path: value }
    case 'domain':
      return { domain: value }
    case 'httponly':
      return { httpOnly: true }
    case 'secure':
      return { secure: true }
    case 'expires': {
      const time = Date.parse(value)
      return Number.isNaN(time) ? {} : { expires: new Date(time).toISOString() }
    }
    default:
      return {}
  }
}

function pairOf(text: string): HarCookie {
  const at = text.indexOf('=')
  if (at < 0) return { name: text.trim(), value: '' }
  return { name: text.slice(0, at).trim(), value: text.slice(at + 1).trim() }
}

function valuesOf(headers: HeaderList, name: string): string[] {
  return headers.flatMap(([one, value]) => (one.toLowerCase() === name ? [value] : []))
}
