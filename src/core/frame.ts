/**
 * The bytes of one event, and whether they are as they were written.
 * Knows framing only: it neither reads files nor understands event types.
 * @see docs/format.md#frame
 */
import { isAscii } from 'node:buffer'
import { hash } from 'node:crypto'
import { GENESIS, HASH_HEX_LENGTH, type Hash, isHash, sha256 } from './hash.js'

/** What a frame's head says besides its hashes. */
export interface FrameHead {
  readonly seq: number
  readonly time: number
  readonly type: string
  /** Earlier frames that were not yet known to be synced when this one was written. */
  readonly lag: number
  /** Frames still to come in this atomic append. */
  readonly left: number
  /** Frame 0 only: `,"format":1,"nonce":"...","parent":{...}` as JSON members, else ''. */
  readonly extra: string
}

export interface EncodedFrame {
  readonly text: string
  readonly hash: Hash
}

/** Encode one frame after `prev`. The result is the line with its newline; all text is well-formed. */
export function encodeFrame(prev: Hash, head: FrameHead, body: string): EncodedFrame {
  const commit = hash('sha256', body, 'hex')
  const lag = head.lag > 0 ? `,"lag":${head.lag}` : ''
  const left = head.left > 0 ? `,"left":${head.left}` : ''
  const signed = `{"seq":${head.seq},"time":${head.time},"type":"${head.type}"${lag}${left}${head.extra},"commit":"${commit}"`
  const own = hash('sha256', prev + signed, 'hex') as Hash
  return { text: `${signed},"hash":"${own}","body":${body}}\n`, hash: own }
}

const COMMIT_KEY = ',"commit":"'
const HASH_KEY = '","hash":"'
const BODY_KEY = '","body":'
const CLOSE = 0x7d
/** From the start of the commit key to the first byte of the body. */
const TRAILER_LENGTH =
  COMMIT_KEY.length + HASH_HEX_LENGTH + HASH_KEY.length + HASH_HEX_LENGTH + BODY_KEY.length
/** Heads are about 130 bytes; a longer one only costs a second look. */
const HEAD_LOOK_BYTES = 512

/** What is wrong with a line. `form`: it is no frame at all; the others name the hash that differs. */
export interface FrameFault {
  readonly fault: 'form' | 'commit' | 'hash'
  readonly expected?: string
  readonly found?: string
}

/**
 * Reads one line at a time and keeps what it said until the next; one instance serves a whole walk,
 * since a walk over millions of frames must not leave garbage for each.
 */
export class FrameReader implements FrameHead {
  seq = 0
  time = 0
  type = ''
  lag = 0
  left = 0
  extra = ''
  hash: Hash = GENESIS
  /** Where the body value lies in the bytes given to `read`. */
  bodyFrom = 0
  bodyTo = 0
  redacted = false
  /** Set when `read` returned false. */
  fault: FrameFault = { fault: 'form' }

  /**
   * Read the line at `from` up to, not including, its newline at `to`; it follows `prev`. Checks every
   * byte. Pass undefined where the predecessor is not known: then the line's hash is taken as it stands.
   */
  read(bytes: Buffer, from: number, to: number, prev: Hash | undefined): boolean {
    this.fault = { fault: 'form' }
    let text = latin1(bytes, from, Math.min(to, from + HEAD_LOOK_BYTES))
    // No string holds these bytes unescaped and no head field may be called commit, so the first hit is the key itself.
    let commitAt = text.indexOf(COMMIT_KEY)
    if (commitAt < 0 || commitAt + TRAILER_LENGTH > text.length) {
      commitAt = bytes.subarray(from, to).indexOf(COMMIT_KEY)
      text = latin1(bytes, from, Math.min(to, from + commitAt + TRAILER_LENGTH))
    }
    const bodyAt = commitAt + TRAILER_LENGTH
    if (commitAt < 0 || from + bodyAt >= to || bytes[to - 1] !== CLOSE) return false
    if (!this.#readHead(text, commitAt)) return false
    const signedLength = commitAt + COMMIT_KEY.length + HASH_HEX_LENGTH + 1
    const hashAt = signedLength - 1 + HASH_KEY.length
    // The hash covers neither these separators nor the closing brace: compare them by hand.
    if (!text.startsWith(HASH_KEY, signedLength - 1)) return false
    if (!text.startsWith(BODY_KEY, hashAt + HASH_HEX_LENGTH)) return false
    this.hash = text.slice(hashAt, hashAt + HASH_HEX_LENGTH) as Hash
    this.bodyFrom = from + bodyAt
    this.bodyTo = to - 1
    return (
      this.#checkCommit(bytes, text.slice(signedLength - 1 - HASH_HEX_LENGTH, signedLength - 1)) &&
      this.#checkChain(bytes, from, text, signedLength, prev)
    )
  }

  #checkCommit(bytes: Buffer, commit: string): boolean {
    const body = bytes.subarray(this.bodyFrom, this.bodyTo)
    const committed = sha256(body)
    this.redacted = false
    if (committed === commit) return true
    this.redacted = isFiller(body)
    if (!this.redacted) this.fault = { fault: 'commit', expected: commit, found: committed }
    return this.redacted
  }

  #checkChain(
    bytes: Buffer,
    from: number,
    text: string,
    length: number,
    prev: Hash | undefined,
  ): boolean {
    if (prev === undefined) return isHash(this.hash)
    // The head we write is ASCII, so hashing the decoded text is hashing the bytes. Others' may not be, and
    // é in one byte decodes to the text that é in two bytes is.
    let own = hash('sha256', prev + text.slice(0, length), 'hex')
    if (own === this.hash && isAscii(bytes.subarray(from, from + length))) return true
    own = sha256(Buffer.concat([Buffer.from(prev), bytes.subarray(from, from + length)]))
    if (own === this.hash) return true
    this.fault = { fault: 'hash', expected: own, found: this.hash }
    return false
  }

  #readHead(text: string, end: number): boolean {
    let at = this.#digits(text, '{"seq":', 0)
    this.seq = this.#number
    at = this.#digits(text, ',"time":', at)
    this.time = this.#number
    if (at < 0 || !text.startsWith(',"type":"', at)) return false
    const typeAt = at + 9
    const typeEnd = text.indexOf('"', typeAt)
    this.type = text.slice(typeAt, typeEnd)
    at = this.#optional(text, ',"lag":', typeEnd + 1)
    this.lag = this.#number
    at = this.#optional(text, ',"left":', at)
    this.left = this.#number
    if (at < 0 || at > end) return false
    this.extra = at === end ? '' : text.slice(at, end)
    return at === end || (text[at] === ',' && text[at + 1] === '"')
  }

  #number = 0

  #optional(text: string, key: string, at: number): number {
    this.#number = 0
    return at >= 0 && text.startsWith(key, at) ? this.#digits(text, key, at) : at
  }

  /** Reads `key` and the integer after it; returns where it ends, or -1. */
  #digits(text: string, key: string, at: number): number {
    if (at < 0 || !text.startsWith(key, at)) return -1
    let end = at + key.length
    let number = 0
    for (;;) {
      const digit = text.charCodeAt(end) - 48
      if (!(digit >= 0 && digit <= 9)) break
      number = number * 10 + digit
      end += 1
    }
    this.#number = number
    const length = end - at - key.length
    // One spelling for each number: no leading zero, nothing past 2^53.
    const spelled = length > 0 && (length === 1 || text[at + key.length] !== '0')
    return spelled && Number.isSafeInteger(number) ? end : -1
  }
}

/** The types of Node's Buffer leave out its fastest decoders. */
type Latin1Buffer = Buffer & { latin1Slice(from: number, to: number): string }

function latin1(bytes: Buffer, from: number, to: number): string {
  return (bytes as Latin1Buffer).latin1Slice(from, to)
}

const FILLER_START = '{"redacted":"'
const FILLER_END = '"}'

/** What stands in place of a redacted body: a pure function of its length. */
export function filler(bytes: number): Buffer {
  return Buffer.from(
    FILLER_START + 'x'.repeat(bytes - FILLER_START.length - FILLER_END.length) + FILLER_END,
  )
}

function isFiller(body: Uint8Array): boolean {
  return body.length > FILLER_START.length + FILLER_END.length && filler(body.length).equals(body)
}

/** Members of frame 0's head that other frames have not. */
export function genesisExtra(options: {
  readonly nonce: string
  readonly parent?: unknown
}): string {
  const parent = options.parent === undefined ? '' : `,"parent":${JSON.stringify(options.parent)}`
  return `,"format":1,"nonce":"${options.nonce}"${parent}`
}

/** The members of `extra`, parsed. Only called on bytes whose hash was checked. */
export function extraFields(extra: string): Readonly<Record<string, unknown>> {
  return extra === '' ? {} : JSON.parse(`{${extra.slice(1)}}`)
}

export interface Scan {
  readonly head: Hash
  readonly count: number
  readonly endBytes: number
}

const LF = 0x0a

/**
 * Walk whole frames from the start of `log`.
 * @returns The last good hash and the offset where its frame ends, in bytes. What lies past
 *   `endBytes` is torn or damaged; telling which is the caller's business.
 */
export function scanFrames(log: Buffer, from: Hash = GENESIS): Scan {
  const reader = new FrameReader()
  let head = from
  let count = 0
  let endBytes = 0
  while (endBytes < log.length) {
    const lfAt = log.indexOf(LF, endBytes)
    if (lfAt < 0) break // The last write never finished.
    if (!reader.read(log, endBytes, lfAt, head)) break
    head = reader.hash
    count += 1
    endBytes = lfAt + 1
  }
  return { head, count, endBytes }
}
