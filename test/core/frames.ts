/**
 * Frames for tests: whole logs, and single lines that no encoder of ours would write.
 */
import { bodyText } from '../../src/core/body.js'
import { encodeFrame, type FrameHead, filler, genesisExtra } from '../../src/core/frame.js'
import { GENESIS, type Hash, sha256 } from '../../src/core/hash.js'

export const SALT = '00112233445566778899aabbccddeeff'

export function head(seq: number, more: Partial<FrameHead> = {}): FrameHead {
  return {
    seq,
    time: 1_790_000_000_000 + seq,
    type: 'note',
    lag: 0,
    left: 0,
    extra: '',
    ...more,
  }
}

export function bodyOf(data: unknown): string {
  return bodyText({ salt: SALT, inline: JSON.stringify(data), refs: [], tags: [] })
}

export interface TestLog {
  readonly bytes: Buffer
  readonly lines: readonly Buffer[]
  readonly hashes: readonly Hash[]
  /** Where each frame ends, in bytes. */
  readonly ends: readonly number[]
}

/** A log of frames with these heads and bodies; `seq` counts by itself. */
export function logOf(
  frames: readonly { readonly head?: Partial<FrameHead>; readonly body: string }[],
): TestLog {
  let prev = GENESIS
  const lines: Buffer[] = []
  const hashes: Hash[] = []
  for (const [seq, frame] of frames.entries()) {
    const { text, hash } = encodeFrame(prev, head(seq, frame.head), frame.body)
    lines.push(Buffer.from(text))
    hashes.push(hash)
    prev = hash
  }
  return { ...joined(lines), hashes }
}

export function joined(lines: readonly Buffer[]): Omit<TestLog, 'hashes'> {
  const ends: number[] = []
  for (const line of lines) ends.push((ends.at(-1) ?? 0) + line.length)
  return { bytes: Buffer.concat(lines), lines, ends }
}

/**
 * A line whose hashes are right, whatever its head says. `members` is what stands before
 * `,"commit"`.
 */
export function craftLine(members: string | Buffer, body: string, prev: Hash = GENESIS): Buffer {
  const commit = sha256(Buffer.from(body))
  const signed = Buffer.concat([Buffer.from(members), Buffer.from(`,"commit":"${commit}"`)])
  const hash = sha256(Buffer.concat([Buffer.from(prev), signed]))
  return Buffer.concat([signed, Buffer.from(`,"hash":"${hash}","body":${body}}\n`)])
}

/** The same line with its body redacted. */
export function redacted(line: Buffer): Buffer {
  const bodyAt = line.indexOf('"body":') + '"body":'.length
  const bodyBytes = line.length - bodyAt - '}\n'.length
  return Buffer.concat([line.subarray(0, bodyAt), filler(bodyBytes), Buffer.from('}\n')])
}

/**
 * A log of every kind of frame there is: genesis with a parent, refs, tags, lag and left, a
 * redacted one.
 */
export function variedLog(): TestLog {
  const hash = sha256(Buffer.from('x'))
  const parent = { run: hash, seq: 7, hash, kind: 'fork' }
  const refs = [{ pointer: '/text', sha256: hash, root: hash, size: 5000, kind: 'text' as const }]
  const withRefs = bodyText({
    salt: SALT,
    inline: '{"text":null,"n":null}',
    refs,
    tags: [['/n', 'nan']],
    op: 'op-1',
  })
  const log = logOf([
    {
      head: { type: 'run/start', extra: genesisExtra({ nonce: SALT, parent }) },
      body: bodyOf({ id: 'r' }),
    },
    { body: bodyOf({ secret: 'to be redacted' }) },
    { head: { type: 'user/message', lag: 1 }, body: withRefs },
    { head: { left: 1, extra: ',"später":"é","x":{"hash":"h","a":[1]}' }, body: bodyOf('ü\n') },
    { head: { type: 'redaction' }, body: bodyOf({ seq: 1, reason: 'r', actor: 'a' }) },
  ])
  const lines = log.lines.map((line, seq) => (seq === 1 ? redacted(line) : line))
  return { ...joined(lines), hashes: log.hashes }
}
