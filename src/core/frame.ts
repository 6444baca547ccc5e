/**
 * The bytes of one event, and whether they are as they were written.
 * Knows framing only: it neither reads files nor understands event types.
 * @see docs/format.md#frame
 */
import { hash } from 'node:crypto'
import { DaglogError } from './errors.js'
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

/**
 * Encode one frame after `prev`. The result is the line with its newline; all text is well-formed.
 */
export function encodeFrame(prev: Hash, head: FrameHead, body: string): EncodedFrame {
  const commit = hash('sha256', body, 'hex')
  const lag = head.lag > 0 ? `,"lag":${head.lag}` : ''
  const left = head.left > 0 ? `,"left":${head.left}` : ''
  const signed = `{"seq":${head.seq},"time":${head.time},"type":"${head.type}"${lag}${left}${head.extra},"commit":"${commit}"`
  const own = hash('sha256', prev + signed, 'hex') as Hash
  return { text: `${signed},"hash":"${own}","body":${body}}\n`, hash: own }
}

const SEQ_KEY = Buffer.from('{"seq":')
const TIME_KEY = Buffer.from(',"time":')
const TYPE_KEY = Buffer.from(',"type":"')
const LAG_KEY = Buffer.from(',"lag":')
const LEFT_KEY = Buffer.from(',"left":')
const COMMIT_KEY = Buffer.from(',"commit":"')
const HASH_KEY = Buffer.from('","hash":"')
const BODY_KEY = Buffer.from('","body":')
const COMMA = 0x2c
const QUOTE = 0x22
const DIGIT_0 = 0x30
const CLOSE = 0x7d

/**
 * What is wrong with a line. `form`: it is no frame at all; the others name the hash that differs.
 */
export interface FrameFault {
  readonly fault: 'form' | 'commit' | 'hash'
  readonly expected?: string
  readonly found?: string
}

const NO_FRAME: FrameFault = { fault: 'form' }

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
  fault: FrameFault = NO_FRAME
  #number = 0
  #typeFrom = 0
  #typeTo = 0
  /** Whether all of the head was compared with ASCII, byte by byte. */
  #plain = true

  /**
   * Read the line at `from` up to, not including, its newline at `to`; it follows `prev`. Checks
   * every byte. Pass undefined where the predecessor is not known: then the line's hash is taken as
   * it stands.
   */
  read(bytes: Buffer, from: number, to: number, prev: Hash | undefined): boolean {
    this.fault = NO_FRAME
    const fieldsEnd = this.#readFields(bytes, from, to)
    if (fieldsEnd < 0) return false
    const commitKeyAt = this.#findCommit(bytes, fieldsEnd, to)
    if (commitKeyAt < 0) return false
    const commitAt = commitKeyAt + COMMIT_KEY.length
    const commitEnd = commitAt + HASH_HEX_LENGTH
    const hashAt = commitEnd + HASH_KEY.length
    const bodyKeyAt = hashAt + HASH_HEX_LENGTH
    this.bodyFrom = bodyKeyAt + BODY_KEY.length
    this.bodyTo = to - 1
    if (this.bodyFrom >= to || bytes[this.bodyTo] !== CLOSE) return false
    // The hash covers neither these separators nor the closing brace: compare them by hand.
    if (!isAt(HASH_KEY, bytes, commitEnd) || !isAt(BODY_KEY, bytes, bodyKeyAt)) return false
    const text = latin1(bytes, from, this.bodyFrom)
    this.type = text.slice(this.#typeFrom - from, this.#typeTo - from)
    this.extra = fieldsEnd === commitKeyAt ? '' : bytes.toString('utf8', fieldsEnd, commitKeyAt)
    this.hash = text.slice(hashAt - from, bodyKeyAt - from) as Hash
    return (
      this.#checkCommit(bytes, text.slice(commitAt - from, commitEnd - from)) &&
      this.#checkChain(bytes, from, commitEnd + 1 - from, text, prev)
    )
  }

  /**
   * Where the commit's key is, or -1. Only the heads of frame 0, and of later formats, have fields
   * before it.
   */
  #findCommit(bytes: Buffer, from: number, to: number): number {
    if (isAt(COMMIT_KEY, bytes, from)) return from
    this.#plain = false
    if (bytes[from] !== COMMA || bytes[from + 1] !== QUOTE) return -1
    // No string holds these bytes unescaped and no field may be called commit, so the first hit is
    // the key itself.
    const at = bytes.subarray(from, to).indexOf(COMMIT_KEY)
    return at < 0 ? -1 : from + at
  }

  /** The fields that every head begins with; returns where they end, or -1. */
  #readFields(bytes: Buffer, from: number, to: number): number {
    let at = this.#readNumber(bytes, SEQ_KEY, from)
    this.seq = this.#number
    at = this.#readNumber(bytes, TIME_KEY, at)
    this.time = this.#number
    if (at < 0 || !isAt(TYPE_KEY, bytes, at)) return -1
    this.#typeFrom = at + TYPE_KEY.length
    this.#typeTo = this.#typeFrom
    let bits = 0
    for (; this.#typeTo < to; this.#typeTo += 1) {
      const byte = bytes[this.#typeTo] as number
      if (byte === QUOTE) break
      bits |= byte
    }
    this.#plain = bits < 0x80
    at = this.#readOptional(bytes, LAG_KEY, this.#typeTo + 1)
    this.lag = this.#number
    at = this.#readOptional(bytes, LEFT_KEY, at)
    this.left = this.#number
    return at
  }

  #readOptional(bytes: Buffer, key: Uint8Array, at: number): number {
    this.#number = 0
    return at >= 0 && isAt(key, bytes, at) ? this.#readNumber(bytes, key, at) : at
  }

  /** Reads `key` and the integer after it; returns where it ends, or -1. */
  #readNumber(bytes: Buffer, key: Uint8Array, at: number): number {
    if (at < 0 || !isAt(key, bytes, at)) return -1
    const from = at + key.length
    let end = from
    let number = 0
    for (;;) {
      const digit = (bytes[end] as number) - DIGIT_0
      if (!(digit >= 0 && digit <= 9)) break
      number = number * 10 + digit
      end += 1
    }
    this.#number = number
    // One spelling for each number: no leading zero, nothing past 2^53.
    const spelled = end > from && (end === from + 1 || bytes[from] !== DIGIT_0)
    return spelled && Number.isSafeInteger(number) ? end : -1
  }

  #checkCommit(bytes: Buffer, commit: string): boolean {
    const body = bytes.subarray(this.bodyFrom, this.bodyTo)
    const committed = sha256(body)
    this.redacted = false
    if (committed === commit) return true
    this.#plain = false
    this.redacted = isFiller(body)
    if (!this.redacted) this.fault = { fault: 'commit', expected: commit, found: committed }
    return this.redacted
  }

  #checkChain(
    bytes: Buffer,
    from: number,
    length: number,
    text: string,
    prev: Hash | undefined,
  ): boolean {
    if (prev === undefined) return isHash(this.hash)
    // Hashing text is quicker than joining bytes, and is the same only where the bytes are ASCII: é
    // in one byte decodes to the text that é in two bytes is.
    const own = this.#plain
      ? (hash('sha256', prev + text.slice(0, length), 'hex') as Hash)
      : sha256(Buffer.concat([Buffer.from(prev), bytes.subarray(from, from + length)]))
    if (own === this.hash) return true
    this.fault = { fault: 'hash', expected: own, found: this.hash }
    return false
  }
}

/** Whether `key` stands in `bytes` at an offset. */
function isAt(key: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < key.length; i += 1) if (bytes[at + i] !== key[i]) return false
  return true
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

/** The members of `extra`, parsed. @throws FRAME_INVALID */
export function extraFields(extra: string): Readonly<Record<string, unknown>> {
  if (extra === '') return {}
  try {
    return JSON.parse(`{${extra.slice(1)}}`)
  } catch (cause) {
    throw new DaglogError('FRAME_INVALID', 'the head of a frame is no JSON', {}, { cause })
  }
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
