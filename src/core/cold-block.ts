/**
 * Lines of a log, packed: what can be computed is left out and computed again.
 * The lines come back byte for byte; the chain still covers the original bytes. Knows lines only;
 * files and compression are the backend's.
 *
 * A block holds, in this order: the salts of its frames, 16 bytes each; the types that occur, each
 * with its length; then for each line its flags, and what they announce.
 * @see docs/format.md#cold-segments
 */
import { hash } from 'node:crypto'
import { DaglogError } from './errors.js'
import { FrameReader, filler } from './frame.js'
import { type Hash, sha256 } from './hash.js'

/** Where a block stands in its log; needed to compute what it leaves out. */
export interface ColdPlace {
  /** Seq of its first frame. */
  readonly seq: number
  /** Hash before its first frame. */
  readonly prev: Hash
}

export interface ColdBlock {
  /** Salts: they do not compress, so they stand apart. */
  readonly salts: Buffer
  /** Everything else, to be compressed. */
  readonly rest: Buffer
  /** Where the block after this one stands. */
  readonly next: ColdPlace
}

const LF = 0x0a
const SALT_BYTES = 16
const HASH_BYTES = 32
/** From the end of a line's commitment to the first byte of its body. */
const AFTER_COMMIT_LENGTH = `","hash":"${'0'.repeat(64)}","body":`.length
const BODY_START = '{"salt":"'
const BODY_MIDDLE = '",'
const SALT_HEX = /^[0-9a-f]{32}$/

/**
 * The line is kept as it is: it is no frame of the form that we write, or not the one that belongs
 * here.
 */
const LITERAL = 1
const HAS_LAG = 2
const HAS_LEFT = 4
/** The body is filler; its commitment is kept, since nothing gives it back. */
const REDACTED = 8
const FLAGS_MAX = HAS_LAG | HAS_LEFT | REDACTED

/** Pack whole lines, each with its newline. */
export function packLines(lines: Buffer, place: ColdPlace): ColdBlock {
  const types = new Map<string, number>()
  const salts: Buffer[] = []
  const rows: Buffer[] = []
  const frame = new FrameReader()
  let { seq, prev } = place
  let time = 0
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf(LF, from)
    const to = end < 0 ? lines.length : end + 1
    const follows = end >= 0 && frame.read(lines, from, end, prev) && frame.seq === seq
    const row =
      follows && frame.extra === '' ? packFrame(lines, frame, { types, time, salts }) : undefined
    if (row === undefined) {
      rows.push(Buffer.from([LITERAL]), varint(to - from), lines.subarray(from, to))
    } else {
      rows.push(...row)
      time = frame.time
    }
    if (follows) {
      prev = frame.hash
      seq += 1
    }
    from = to
  }
  const names = [varint(types.size)]
  for (const type of types.keys()) names.push(varint(type.length), Buffer.from(type, 'latin1'))
  return {
    salts: Buffer.concat(salts),
    rest: Buffer.concat([...names, ...rows]),
    next: { seq, prev },
  }
}

/** The row of a frame that comes back by computing, or undefined where it would not. */
function packFrame(
  lines: Buffer,
  frame: FrameReader,
  block: { readonly types: Map<string, number>; readonly time: number; readonly salts: Buffer[] },
): Buffer[] | undefined {
  const body = lines.subarray(frame.bodyFrom, frame.bodyTo)
  if (Math.abs(frame.time - block.time) > TIME_DELTA_MAX) return undefined
  const flags =
    (frame.lag > 0 ? HAS_LAG : 0) |
    (frame.left > 0 ? HAS_LEFT : 0) |
    (frame.redacted ? REDACTED : 0)
  if (!block.types.has(frame.type)) block.types.set(frame.type, block.types.size)
  const row = [
    Buffer.from([flags]),
    varint(block.types.get(frame.type) as number),
    varint(zigzag(frame.time - block.time)),
  ]
  if (frame.lag > 0) row.push(varint(frame.lag))
  if (frame.left > 0) row.push(varint(frame.left))
  if (frame.redacted) {
    const commitEnd = frame.bodyFrom - AFTER_COMMIT_LENGTH
    const commit = Buffer.from(lines.toString('latin1', commitEnd - 64, commitEnd), 'hex')
    row.push(commit, varint(body.length))
    return row
  }
  const salt = body.toString('latin1', BODY_START.length, BODY_START.length + SALT_BYTES * 2)
  const restAt = BODY_START.length + SALT_BYTES * 2 + BODY_MIDDLE.length
  const isOurs = body.toString('latin1', 0, restAt) === `${BODY_START}${salt}${BODY_MIDDLE}`
  if (!isOurs || !SALT_HEX.test(salt)) return undefined
  block.salts.push(Buffer.from(salt, 'hex'))
  row.push(varint(body.length - restAt), body.subarray(restAt))
  return row
}

/**
 * The lines of a block, and where the next one stands.
 * @throws FRAME_INVALID where the block is none.
 */
export function unpackLines(
  block: Omit<ColdBlock, 'next'>,
  place: ColdPlace,
): { lines: Buffer; next: ColdPlace } {
  const input = new Input(block.rest)
  const types = Array.from({ length: input.count() }, () =>
    input.bytes(input.varint()).toString('latin1'),
  )
  const lines: Buffer[] = []
  const frame = new FrameReader()
  let { seq, prev } = place
  let time = 0
  let saltAt = 0
  while (!input.ended) {
    const flags = input.byte()
    if (flags > FLAGS_MAX || ((flags & LITERAL) !== 0 && flags !== LITERAL)) throw invalid()
    if (flags === LITERAL) {
      const line = input.bytes(input.varint())
      lines.push(line)
      if (line.at(-1) === LF && frame.read(line, 0, line.length - 1, prev) && frame.seq === seq) {
        prev = frame.hash
        seq += 1
      }
      continue
    }
    const type = types[input.varint()]
    time += unzigzag(input.varint())
    const lag = (flags & HAS_LAG) !== 0 ? `,"lag":${input.varint()}` : ''
    const left = (flags & HAS_LEFT) !== 0 ? `,"left":${input.varint()}` : ''
    let commit: string
    let body: Buffer
    if ((flags & REDACTED) !== 0) {
      commit = input.bytes(HASH_BYTES).toString('hex')
      body = filler(input.count())
    } else {
      const salt = block.salts.toString('hex', saltAt, saltAt + SALT_BYTES)
      saltAt += SALT_BYTES
      body = Buffer.concat([
        Buffer.from(`${BODY_START}${salt}${BODY_MIDDLE}`),
        input.bytes(input.varint()),
      ])
      commit = sha256(body)
    }
    if (type === undefined) throw invalid()
    const signed = `{"seq":${seq},"time":${time},"type":"${type}"${lag}${left},"commit":"${commit}"`
    prev = hash('sha256', prev + signed, 'hex') as Hash
    seq += 1
    lines.push(Buffer.from(`${signed},"hash":"${prev}","body":`), body, LINE_END)
  }
  if (saltAt !== block.salts.length) throw invalid()
  return { lines: Buffer.concat(lines), next: { seq, prev } }
}

const LINE_END = Buffer.from('}\n')

/**
 * A larger step does not fit when its sign is folded in; clocks that jump 70,000 years cost a
 * literal line.
 */
const TIME_DELTA_MAX = 2 ** 51

class Input {
  private at = 0

  constructor(private readonly from: Buffer) {}

  get ended(): boolean {
    return this.at >= this.from.length
  }

  byte(): number {
    const byte = this.from[this.at]
    if (byte === undefined) throw invalid()
    this.at += 1
    return byte
  }

  varint(): number {
    let value = 0
    for (let scale = 1; scale < 2 ** 53; scale *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw invalid()
  }

  /** A count of things that a whole block could hold. */
  count(): number {
    const count = this.varint()
    if (count > COUNT_MAX) throw invalid()
    return count
  }

  bytes(length: number): Buffer {
    const end = this.at + length
    if (end > this.from.length) throw invalid()
    const bytes = this.from.subarray(this.at, end)
    this.at = end
    return bytes
  }
}

/** No block has more types, and no redacted body more bytes: frames are smaller. */
const COUNT_MAX = 16 * 1024 * 1024

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return Buffer.from(bytes)
}

/** Times go back as well as forth. */
function zigzag(delta: number): number {
  return delta >= 0 ? delta * 2 : -delta * 2 - 1
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}

function invalid(): DaglogError {
  return new DaglogError('FRAME_INVALID', 'a block of a cold segment is not as it was written')
}
