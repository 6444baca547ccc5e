import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bodyText, encodeData } from '../../src/core/body.js'
import { packLines, unpackLines } from '../../src/core/cold-block.js'
import { DaglogError } from '../../src/core/errors.js'
import { encodeFrame, filler, genesisExtra } from '../../src/core/frame.js'
import { GENESIS, type Hash } from '../../src/core/hash.js'

const numRuns = process.env.DAGLOG_LONG ? 5000 : 300
const START = { seq: 0, prev: GENESIS }

interface Line {
  readonly type: string
  readonly data: unknown
  readonly time: number
  readonly lag: number
  readonly left: number
  readonly redacted: boolean
}

const anyLine: fc.Arbitrary<Line> = fc.record({
  type: fc.constantFrom('note', 'step/start', 'step/end', 'assistant/chunk'),
  data: fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.bigInt()),
  time: fc.oneof(fc.constant(1_790_000_000_000), fc.maxSafeNat()),
  lag: fc.oneof(fc.constant(0), fc.nat(100_000)),
  left: fc.oneof(fc.constant(0), fc.nat(3)),
  redacted: fc.boolean(),
})

function logOf(lines: readonly Line[]): { bytes: Buffer; head: Hash } {
  let head = GENESIS
  const pieces = lines.map(({ type, data, time, lag, left, redacted }, seq) => {
    const { inline, tags } = encodeData(data)
    const salt = seq.toString(16).padStart(32, '0')
    const body = bodyText({ salt, inline, tags, refs: [] })
    const extra = seq === 0 ? genesisExtra({ nonce: 'n' }) : ''
    const { text, hash } = encodeFrame(head, { seq, time, type, lag, left, extra }, body)
    head = hash
    if (!redacted) return Buffer.from(text)
    return Buffer.concat([
      Buffer.from(text.slice(0, text.length - body.length - 2)),
      filler(Buffer.byteLength(body)),
      Buffer.from('}\n'),
    ])
  })
  return { bytes: Buffer.concat(pieces), head }
}

describe('a cold block', () => {
  it('gives back every byte of its lines, and where the next block stands', () => {
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 12 }), (lines) => {
        // Redacted text with more bytes than characters is cut elsewhere; keep those lines whole.
        const log = logOf(
          lines.map((line) => ({ ...line, redacted: line.redacted && line.type === 'note' })),
        )
        const block = packLines(log.bytes, START)
        const back = unpackLines(block, START)
        expect(back.lines.equals(log.bytes)).toBe(true)
        expect(back.next).toEqual(block.next)
      }),
      { numRuns },
    )
  })

  it('gives back lines that are no frames, too', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(8), (junk, at) => {
        const { bytes } = logOf(
          Array.from({ length: 3 }, () => ({
            type: 'note',
            data: 1,
            time: 5,
            lag: 0,
            left: 0,
            redacted: false,
          })),
        )
        const cut = Math.floor((bytes.length * at) / 8)
        const mixed = Buffer.concat([bytes.subarray(0, cut), junk, bytes.subarray(cut)])
        const block = packLines(mixed, START)
        expect(unpackLines(block, START).lines.equals(mixed)).toBe(true)
      }),
      { numRuns },
    )
  })

  it('can stand anywhere in a log', () => {
    const lines = Array.from({ length: 20 }, (_, n) => ({
      type: 'note',
      data: { n },
      time: 9 - n + 20,
      lag: 0,
      left: 0,
      redacted: n === 11,
    }))
    const log = logOf(lines)
    const half = log.bytes.indexOf('\n{"seq":9,') + 1
    const first = packLines(log.bytes.subarray(0, half), START)
    const second = packLines(log.bytes.subarray(half), first.next)
    expect(first.next.seq).toBe(9)
    expect(second.next).toEqual({ seq: 20, prev: log.head })
    expect(unpackLines(second, first.next).lines.equals(log.bytes.subarray(half))).toBe(true)
  })

  it('costs at most 40 bytes a frame beyond a payload of 32 bytes, its salt included', () => {
    const payload = (n: number): string => `${n}`.padStart(32, 'abcdefghijklmnopqrstuvwxyz')
    const lines = Array.from({ length: 1000 }, (_, n) => ({
      type: 'note',
      data: payload(n),
      time: 1_790_000_000_000 + n * 7,
      lag: 0,
      left: 0,
      redacted: false,
    }))
    const block = packLines(logOf(lines).bytes, START)
    expect((block.salts.length + block.rest.length) / lines.length).toBeLessThanOrEqual(32 + 40)
  })

  it('that was changed gives other lines or an error, never a crash', () => {
    const block = packLines(
      logOf([{ type: 'note', data: 'x', time: 1, lag: 2, left: 1, redacted: false }]).bytes,
      START,
    )
    for (let bit = 0; bit < block.rest.length * 8; bit += 1) {
      const rest = Buffer.from(block.rest)
      rest[bit >> 3] = (rest[bit >> 3] as number) ^ (1 << (bit & 7))
      try {
        const { lines, next } = unpackLines({ salts: block.salts, rest }, START)
        expect(lines.length > 0 && next.prev !== block.next.prev).toBe(true)
      } catch (error) {
        expect(error).toBeInstanceOf(DaglogError)
      }
    }
  })
})
