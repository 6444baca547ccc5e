/**
 * Where a request is meant to go, read from the three forms in which clients tell a proxy, and the
 * words for it. The URL that comes out is the real origin's in all of them, so that a call has one
 * key whatever way it took. Pure: parses and prints, connects nowhere.
 */
import { isIPv6 } from 'node:net'
import { originOfProvider } from './providers.js'

export type Scheme = 'http' | 'https'

export interface Target {
  readonly scheme: Scheme
  /** A name or an address, without brackets, as the client wrote it. */
  readonly host: string
  readonly port: number
}

/** A target, and what is asked of it: path and query exactly as sent. */
export interface Aim {
  readonly target: Target
  readonly path: string
}

const DEFAULT_PORTS: Readonly<Record<Scheme, number>> = { http: 80, https: 443 }

/** `host`, or `host:port` where the port says something. */
export function authorityOf({ scheme, host, port }: Target): string {
  const name = isIPv6(host) ? `[${host}]` : host
  return port === DEFAULT_PORTS[scheme] ? name : `${name}:${port}`
}

/** The whole URL. Nothing is normalised: what is the same for a key is the key's business. */
export function urlOf({ target, path }: Aim): string {
  return `${target.scheme}://${authorityOf(target)}${path}`
}

/** `host:port` of a CONNECT, `host` with a default; undefined where it is none. */
export function targetOf(scheme: Scheme, authority: string): Target | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:/?#@\s[\]]+))(?::(\d{1,5}))?$/.exec(authority)
  const host = match?.[1] ?? match?.[2]
  if (host === undefined) return undefined
  const port = match?.[3] === undefined ? DEFAULT_PORTS[scheme] : Number(match[3])
  return port > 0 && port <= 65_535 ? { scheme, host, port } : undefined
}

/** `http://host/path`, as a client sends it to a forward proxy. */
export function absoluteAim(url: string): Aim | undefined {
  const match = /^(https?):\/\/(?:[^/?#@]*@)?([^/?#]+)(.*)$/is.exec(url)
  if (match === null) return undefined
  const target = targetOf((match[1] as string).toLowerCase() as Scheme, match[2] as string)
  return target && { target, path: rooted(match[3] as string) }
}

/** What a base-URL route asks for, and the token it was given for. */
export interface Routed extends Aim {
  readonly token: string
}

/**
 * `/TOKEN/https/host:port/path` or, for a known provider, `/TOKEN/openai/path`.
 * @see routeTo, its inverse
 */
export function routedAim(path: string): Routed | undefined {
  const match = /^\/([^/?#]+)\/([^/?#]+)(.*)$/s.exec(path)
  if (match === null) return undefined
  const [, token = '', name = '', rest = ''] = match
  const aim =
    name === 'http' || name === 'https'
      ? absoluteAim(`${name}:/${rest}`)
      : absoluteAim(`${originOfProvider(name) ?? ''}${rooted(rest)}`)
  return aim && { ...aim, token }
}

/**
 * The path under which `base`, an origin with or without a path, is reached. Undefined where it is
 * no URL.
 */
export function routeTo(token: string, base: string): string | undefined {
  const aim = absoluteAim(base)
  if (aim === undefined) return undefined
  const { target, path } = aim
  return `/${token}/${target.scheme}/${authorityOf(target)}${path === '/' ? '' : path}`
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}

/** Whether a host is one of those named: a name alone, or `*.name` for all below it. */
export function isNamed(host: string, names: readonly string[]): boolean {
  const asked = host.toLowerCase()
  return names.some((name) => {
    const wanted = name.toLowerCase()
    return wanted.startsWith('*.') ? asked.endsWith(wanted.slice(1)) : asked === wanted
  })
}
