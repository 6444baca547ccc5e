/**
 * What a request's body counts as in its key, found while the body streams by.
 * @see docs/format.md#request-key
 */
import { createHash, type Hash, hash } from 'node:crypto'
import { HTTP_KEYED_BYTES_MAX } from '../core/limits.js'
import { withoutCodings } from '../fold/readers/content-coding.js'
import { framedHash } from './framing.js'
import { canonicalText, jsonOf } from './json-canonical.js'
import { boundaryOf, MultipartReader } from './multipart.js'
import type { Normalising } from './normalise.js'

export type BodyKind = 'empty' | 'json' | 'multipart' | 'form' | 'raw'

export interface BodyIdentity {
  readonly kind: BodyKind
  readonly sha256: string
  /** The body whole, its codings off, where it was kept: for whoever compares. */
  readonly text?: Buffer
}

const JSON_TYPE = /[/+]json\s*(?:;|$)/i
const FORM_TYPE = /^application\/x-www-form-urlencoded/i

export class BodyDigest {
  /** Made once the body is too long to be held. */
  private raw: Hash | undefined
  private size = 0
  private held: Buffer[] | undefined = []
  private readonly multipart: MultipartReader | undefined

  constructor(
    private readonly type: string,
    /** Codings that are still on, in the order in which they were applied. */
    private readonly codings: readonly string[],
    private readonly rules: Normalising,
  ) {
    const boundary = codings.length === 0 ? boundaryOf(type) : undefined
    if (boundary !== undefined) this.multipart = new MultipartReader(boundary)
  }

  /** Bytes that stay as they are until the end. */
  push(bytes: Uint8Array): void {
    this.size += bytes.length
    this.multipart?.push(bytes)
    if (this.held !== undefined && this.size > HTTP_KEYED_BYTES_MAX) {
      this.raw = createHash('sha256')
      for (const before of this.held) this.raw.update(before)
      this.held = undefined
    }
    this.raw?.update(bytes)
    this.held?.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  }

  end(): BodyIdentity {
    if (this.size === 0) return { kind: 'empty', sha256: sha('') }
    if (this.multipart?.end() === true) return multipartIdentity(this.multipart)
    if (this.raw !== undefined) return { kind: 'raw', sha256: this.raw.digest('hex') }
    const held = this.held ?? []
    const text = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held)
    if (this.codings.length === 0) return identityOf(text, this.type, this.rules)
    const decoded = withoutCodings(text, this.codings)
    if (decoded === undefined) return identityOf(text, this.type, this.rules)
    const boundary = boundaryOf(this.type)
    if (boundary !== undefined) {
      const reader = new MultipartReader(boundary)
      reader.push(decoded)
      if (reader.end()) return multipartIdentity(reader)
    }
    return identityOf(decoded, this.type, this.rules)
  }
}

function multipartIdentity({ parts }: MultipartReader): BodyIdentity {
  const fields = parts.flatMap(({ name, filename, type, sha256 }) => [name, filename, type, sha256])
  return {
    kind: 'multipart',
    sha256: framedHash(fields),
    text: Buffer.from(JSON.stringify(parts)),
  }
}

function identityOf(text: Uint8Array, type: string, rules: Normalising): BodyIdentity {
  const kept = { text: Buffer.from(text.buffer, text.byteOffset, text.length) }
  if (JSON_TYPE.test(type)) {
    const json = jsonOf(text)
    if (json !== undefined) {
      rules.value(json.value)
      const canonical = canonicalText(json.value)
      if (canonical !== undefined) {
        return { kind: 'json', sha256: sha(rules.text(canonical, 'body')), ...kept }
      }
    }
  }
  const plain = rules.wantsText ? normalised(text, rules) : text
  if (FORM_TYPE.test(type)) {
    const pairs = [...new URLSearchParams(Buffer.from(plain).toString('latin1'))].flat()
    return { kind: 'form', sha256: framedHash(pairs), ...kept }
  }
  return { kind: 'raw', sha256: sha(plain), ...kept }
}

function normalised(bytes: Uint8Array, rules: Normalising): Uint8Array {
  return Buffer.from(rules.text(Buffer.from(bytes).toString('latin1'), 'body'), 'latin1')
}

function sha(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}
