/**
 * The key of a request: what makes two of them the same question.
 * The recipe has a name that is stored with each key; another recipe gets another name.
 * @see docs/format.md#request-key
 */
import type { Hash } from '../core/hash.js'
import { BodyDigest, type BodyIdentity } from './body-digest.js'
import type { BodyForm, HeaderList, RequestHead } from './exchange.js'
import { framedHash } from './framing.js'
import { type Normaliser, Normalising } from './normalise.js'
import { PLACEHOLDER } from './scrub-pattern.js'

export const KEY_RECIPE = 'daglog-http/1'

/**
 * Headers that change the answer; all others are kept and do not count. In the order of the
 * recipe.
 */
export const VARY_HEADERS = [
  'accept',
  'anthropic-beta',
  'anthropic-version',
  'api-version',
  'content-language',
  'openai-beta',
  'range',
  'x-goog-api-version',
] as const

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** What a request is asked by, beside its body. */
export interface RequestShape {
  readonly method: string
  readonly scheme: string
  readonly host: string
  readonly port: string
  readonly path: string
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly vary: readonly (readonly [name: string, value: string])[]
}

export interface RequestIdentity {
  readonly key: Hash
  readonly shape: RequestShape
  readonly body: BodyIdentity
  /** Names of the normalisers that changed the key. */
  readonly changed: readonly string[]
}

/** Finds the key of one request, whose body streams by. Give it what was scrubbed. */
export class RequestKey {
  private readonly rules: Normalising
  private readonly shape: RequestShape
  private readonly digest: BodyDigest

  constructor(head: RequestHead, form: BodyForm, normalisers: readonly Normaliser[]) {
    this.rules = new Normalising(normalisers)
    this.shape = shapeOf(head, this.rules)
    const type = headerOf(head.headers, 'content-type') ?? ''
    this.digest = new BodyDigest(type, form === 'wire' ? codingsOf(head.headers) : [], this.rules)
  }

  push(bytes: Uint8Array): void {
    this.digest.push(bytes)
  }

  end(): RequestIdentity {
    const { shape } = this
    const body = this.digest.end()
    const key = framedHash([
      KEY_RECIPE,
      shape.method,
      shape.scheme,
      shape.host,
      shape.port,
      shape.path,
      ...shape.query.flat(),
      '',
      ...shape.vary.flat(),
      '',
      body.kind,
      body.sha256,
    ])
    return { key, shape, body, changed: [...this.rules.changed] }
  }
}

/** The key of a request whose body is there whole. */
export function requestIdentity(
  head: RequestHead & { readonly body: Uint8Array; readonly form: BodyForm },
  normalisers: readonly Normaliser[] = [],
): RequestIdentity {
  const key = new RequestKey(head, head.form, normalisers)
  // In what is stored, fingerprints stand where nothing counts.
  key.push(head.body.length === 0 ? head.body : unfingerprinted(head.body))
  return key.end()
}

const FINGERPRINT = new RegExp(`${PLACEHOLDER}[0-9a-f]{16}`, 'g')
const ANY_SECRET = `${PLACEHOLDER}${'0'.repeat(16)}`

function unfingerprinted(bytes: Uint8Array): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!buffer.includes(PLACEHOLDER)) return buffer
  return Buffer.from(buffer.toString('latin1').replaceAll(FINGERPRINT, ANY_SECRET), 'latin1')
}

/** The value of a header, several joined as HTTP has it; undefined where there is none. */
export function headerOf(headers: HeaderList, name: string): string | undefined {
  let joined: string | undefined
  for (const [other, value] of headers) {
    if (other.length !== name.length || other.toLowerCase() !== name) continue
    joined = joined === undefined ? value.trim() : `${joined}, ${value.trim()}`
  }
  return joined
}

/** Content codings in the order in which they were applied. */
export function codingsOf(headers: HeaderList): readonly string[] {
  return (headerOf(headers, 'content-encoding') ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
}

function shapeOf({ method, url, headers }: RequestHead, rules: Normalising): RequestShape {
  const plain = url.replaceAll(FINGERPRINT, ANY_SECRET)
  const { protocol, hostname, port, pathname, search } = new URL(rules.text(plain, 'url'))
  const vary = VARY_HEADERS.flatMap((name): [string, string][] => {
    const value = headerOf(headers, name)?.replaceAll(FINGERPRINT, ANY_SECRET)
    if (value === undefined || (name === 'accept' && value === '*/*')) return []
    return rules.counts(name) ? [[name, value]] : []
  })
  return {
    method: method.toUpperCase(),
    scheme: protocol.slice(0, -1),
    host: hostname.toLowerCase(),
    port: port === DEFAULT_PORTS[protocol] ? '' : port,
    path: normalPath(pathname),
    query: [...new URLSearchParams(search)]
      .map(([name, value], index) => ({ name, value, index }))
      .sort((a, b) => order(a.name, b.name) || a.index - b.index)
      .map(({ name, value }) => [name, value] as const),
    vary,
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Escapes in upper case, and none of what needs none (RFC 3986, 6.2.2). */
function normalPath(path: string): string {
  return path.replaceAll(/%[0-9a-fA-F]{2}/g, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase()
  })
}
