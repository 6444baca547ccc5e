/**
 * Takes the secrets out of one exchange before anything else sees it: its URL, headers, bodies.
 * The one place through which everything goes that is stored, keyed or reported.
 * @see docs/format.md#secrets
 */
import type { HttpScrubbed } from '../core/http-events.js'
import type { HeaderList } from './exchange.js'
import type { Fingerprint } from './fingerprint.js'
import { KNOWN_CHARACTERS_MIN, SecretPattern } from './scrub-pattern.js'
import { type ScrubSink, ScrubStream } from './scrub-stream.js'
import { COOKIE_HEADERS, SECRET_HEADERS, SECRET_QUERY, URL_HEADERS } from './secret-names.js'

export interface ScrubOptions {
  readonly fingerprint: Fingerprint
  /** Values that are secrets wherever they stand. */
  readonly secrets?: readonly string[]
  /** Further headers whose values are secrets. */
  readonly headers?: readonly string[]
  /** What exchanges before this one gave away; what this one does is added. */
  readonly seen?: Set<string>
}

/** Secrets that are remembered from exchange to exchange; an agent has few. */
const SEEN_MAX = 256

type Side = 'request' | 'response'

/** Media types whose bytes are no text: only known values are looked for in them. */
const BINARY = /^(?:image|audio|video|font)\/|octet-stream|zip|pdf|protobuf|eventstream|wasm/i

/** Scrubs one exchange, and keeps count. */
export class ExchangeScrub {
  private readonly counts = new Map<string, number>()
  private readonly known: string[]
  private pattern: SecretPattern | undefined

  constructor(private readonly options: ScrubOptions) {
    this.known = [...(options.secrets ?? []), ...(options.seen ?? [])]
  }

  /** What was replaced so far. */
  get scrubbed(): readonly HttpScrubbed[] {
    return [...this.counts].map(([at, count]) => ({ at, count }))
  }

  headers(list: HeaderList, side: Side): HeaderList {
    // What is secret in a header is known first, so that no other one can hold it openly.
    const first = list.map(([name, value]) => [name, this.header(name, value, side)] as const)
    return first.map(([name, value]) => [name, this.text(value, `${side} header ${lower(name)}`)])
  }

  private header(name: string, value: string, side: Side): string {
    const key = lower(name)
    const at = `${side} header ${key}`
    if (COOKIE_HEADERS.has(key)) return this.cookies(value, key === 'set-cookie', side)
    if (SECRET_HEADERS.has(key) || this.options.headers?.some((other) => lower(other) === key)) {
      return this.credentials(value, at)
    }
    return URL_HEADERS.has(key) ? this.query(value, side) : value
  }

  /** The scheme stays: it says how, not who. */
  private credentials(value: string, at: string): string {
    const scheme = /^[A-Za-z][A-Za-z0-9-]{0,31} +(?=\S)/.exec(value)?.[0] ?? ''
    return `${scheme}${this.secret(value.slice(scheme.length), at)}`
  }

  private cookies(value: string, attributes: boolean, side: Side): string {
    return value
      .split(';')
      .map((pair, index) => {
        const end = pair.indexOf('=')
        if (attributes && index > 0) return pair
        if (end < 0) return pair.trim() === '' ? pair : this.secret(pair, `${side} cookie`)
        const name = pair.slice(0, end)
        return `${name}=${this.secret(pair.slice(end + 1), `${side} cookie ${name.trim()}`)}`
      })
      .join(';')
  }

  /** A URL: its password, the secret fields of its query, and what looks like a secret. */
  url(url: string): string {
    return this.text(this.query(url, 'request'), 'request url')
  }

  private query(url: string, side: Side): string {
    return url
      .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*:)([^/?#@]+)(?=@)/i, (_, front, password) => {
        return `${front}${this.secret(password, `${side} url password`)}`
      })
      .replaceAll(/([?&;])([^=&#\s>]+)=([^&#\s>]*)/g, (whole, mark, name, value) => {
        if (value === '' || !SECRET_QUERY.has(lower(decoded(name)))) return whole
        const secret = decoded(value)
        this.know(value)
        return `${mark}${name}=${this.secret(secret, `${side} query ${lower(decoded(name))}`)}`
      })
  }

  /** A text as a whole: a header's value, a message of an error. */
  text(text: string, at: string): string {
    const bytes = Buffer.from(text)
    this.pattern ??= SecretPattern.of(this.known)
    const none = this.pattern.search(bytes.toString('latin1'), false).next(0) === undefined
    if (none) return bytes.toString()
    const out: Buffer[] = []
    this.body(bytes, at, { bytes: (piece) => out.push(piece), piece() {} })
    return Buffer.concat(out).toString()
  }

  private body(bytes: Buffer, at: string, sink: Omit<ScrubSink, 'hit'>): void {
    const stream = this.streamTo(at, false, sink)
    stream.push(bytes)
    stream.end()
  }

  /** A body as it comes. `type` is its content-type. */
  stream(type: string, side: Side, sink: Omit<ScrubSink, 'hit'>): ScrubStream {
    return this.streamTo(`${side} body`, BINARY.test(type), sink)
  }

  /** Whether anything would be replaced in a body of this type. */
  finds(bytes: Uint8Array, type: string): boolean {
    this.pattern ??= SecretPattern.of(this.known)
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const search = this.pattern.search(text, BINARY.test(type))
    for (let at = 0; ; ) {
      const hit = search.next(at)
      if (hit === undefined) return false
      if (hit.rule !== 'scrubbed') return true
      at = hit.to
    }
  }

  private streamTo(at: string, binary: boolean, sink: Omit<ScrubSink, 'hit'>): ScrubStream {
    this.pattern ??= SecretPattern.of(this.known)
    return new ScrubStream({
      pattern: this.pattern,
      fingerprint: this.options.fingerprint,
      binary,
      sink: {
        bytes: (out, keyed) => sink.bytes(out, keyed),
        piece: (bytes) => sink.piece(bytes),
        hit: (rule) => this.count(`${at} (${rule})`),
      },
    })
  }

  private secret(value: string, at: string): string {
    if (value.trim() === '' || /^daglog-scrubbed-[0-9a-f]{16}$/.test(value)) return value
    this.know(value)
    this.count(at)
    return this.options.fingerprint(value)
  }

  private know(value: string): void {
    if (this.known.includes(value)) return
    this.known.push(value)
    this.pattern = undefined
    const { seen } = this.options
    if (seen === undefined || value.length < KNOWN_CHARACTERS_MIN) return
    seen.add(value)
    const oldest = seen.values().next().value
    if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest)
  }

  private count(at: string): void {
    this.counts.set(at, (this.counts.get(at) ?? 0) + 1)
  }
}

function lower(text: string): string {
  return text.toLowerCase()
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // Not percent-encoded as it should be: then it stands for itself.
  }
}
