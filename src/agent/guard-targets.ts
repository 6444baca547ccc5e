/**
 * Whom a call is for, in a word: origin, or host and port. Never a path or a query: secrets are in
 * those.
 */

/** Of the first argument of `fetch`. */
export function urlTarget(input: unknown): string {
  const text = input instanceof Request ? input.url : String(input)
  if (!URL.canParse(text)) return 'a URL that is none'
  const { origin, protocol } = new URL(text)
  return origin === 'null' ? protocol : origin
}

/** Of options of `http.request`, or of a dispatcher of undici. */
export function hostTarget(options: unknown, protocol = 'http:'): string {
  const { host, hostname, port, socketPath, origin } = (options ?? {}) as Record<string, unknown>
  if (typeof origin === 'string' || origin instanceof URL) return urlTarget(origin)
  if (typeof socketPath === 'string') return 'a local socket'
  return `${protocol}//${host ?? hostname ?? 'localhost'}${port === undefined ? '' : `:${port}`}`
}

/** Of the arguments of `connect`, which Node may have put in a list before. */
export function socketTarget(args: readonly unknown[]): string {
  const [first, second] = Array.isArray(args[0]) ? (args[0] as unknown[]) : args
  if (typeof first === 'object' && first !== null) {
    const { path, host, port } = first as Record<string, unknown>
    return typeof path === 'string' ? 'a local socket' : `${host ?? 'localhost'}:${port}`
  }
  if (typeof first === 'string' && Number.isNaN(Number(first))) return 'a local socket'
  return `${typeof second === 'string' ? second : 'localhost'}:${first}`
}

export function dnsTarget(host: unknown): string {
  return typeof host === 'string' ? host : 'a name that is none'
}

/** Of the arguments of `send` or `connect` of a datagram socket. */
export function datagramTarget(args: readonly unknown[]): string {
  const address = args.findLast((arg) => typeof arg === 'string') ?? 'localhost'
  const port = args.findLast((arg) => typeof arg === 'number')
  return `${address}:${port ?? '?'}`
}
