import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GENESIS } from '../../src/core/hash.js'
import { COLD_BLOCK_BYTES } from '../../src/core/limits.js'
import { ColdReader, readFooter, writeCold } from '../../src/value/cold-segment.js'
import { bodyOf, joined, logOf, redacted, type TestLog, variedLog } from '../core/frames.js'

const long = process.env.DAGLOG_LONG !== undefined
const START = { seq: 0, prev: GENESIS }

async function* piecesOf(bytes: Buffer, cuts: readonly number[] = []): AsyncGenerator<Buffer> {
  const sorted = [...cuts].sort((a, b) => a - b)
  let from = 0
  for (const to of [...sorted, bytes.length]) {
    yield bytes.subarray(from, to)
    from = to
  }
}

async function coldOf(lines: Buffer, cuts: readonly number[] = []): Promise<Buffer> {
  const parts: Buffer[] = []
  await writeCold(piecesOf(lines, cuts), START, (bytes) => void parts.push(Buffer.from(bytes)))
  return Buffer.concat(parts)
}

interface Opened {
  readonly reader: ColdReader
  readonly all: Buffer
  /** What was told of damage. */
  readonly told: readonly string[]
}

function open(file: Buffer): Opened {
  const told: string[] = []
  const read = (at: number, count: number): Buffer => file.subarray(at, at + count)
  const reader = ColdReader.open(read, file.length, (reason) => told.push(reason))
  return { reader, all: reader.read(0, reader.original), told }
}

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
  return copy
}

/** About three blocks; compresses badly, so that no block is much smaller than another. */
function longLog(): TestLog {
  const noise = randomBytes(800_000).toString('base64url')
  const frames = Array.from({ length: 1000 }, (_, i) => ({
    head: { type: i % 3 === 0 ? 'note' : 'tool/result', lag: i % 2 },
    body: bodyOf(noise.slice(i * 600, i * 600 + 200 + ((i * 7919) % 400))),
  }))
  return logOf(frames)
}

describe('a cold segment', () => {
  const log = longLog()

  it('gives back the exact bytes at any place, in any length', async () => {
    const file = await coldOf(log.bytes)
    const { reader, all, told } = open(file)
    expect(all.equals(log.bytes)).toBe(true)
    expect(reader.end).toEqual({ seq: log.lines.length, prev: log.hashes.at(-1) })
    const anyPlace = fc.oneof(fc.nat(log.bytes.length + 10), fc.constantFrom(...log.ends))
    fc.assert(
      fc.property(anyPlace, fc.oneof(fc.nat(2000), fc.nat(700_000)), (from, length) => {
        const expected = log.bytes.subarray(from, from + length)
        expect(reader.read(from, length).equals(expected)).toBe(true)
      }),
      { numRuns: long ? 5000 : 300 },
    )
    expect(told).toEqual([])
  })

  it('is the same file, however its lines come', async () => {
    const file = await coldOf(log.bytes)
    const anyCuts = fc.array(fc.nat(log.bytes.length), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(anyCuts, async (cuts) => {
        expect((await coldOf(log.bytes, cuts)).equals(file)).toBe(true)
      }),
      { numRuns: long ? 200 : 12 },
    )
  })

  it('gives back whatever bytes it was given, and frames among them', async () => {
    const anyBytes = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom(...variedLog().lines),
        fc.constant(Buffer.from('\n')),
      ),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(anyBytes, async (pieces) => {
        const lines = Buffer.concat(pieces)
        const { all, told } = open(await coldOf(lines))
        expect(all.equals(lines)).toBe(true)
        expect(told).toEqual([])
      }),
      { numRuns: long ? 5000 : 300 },
    )
  })

  it('holds nothing, a line longer than a block, and a line without an end', async () => {
    const huge = logOf([
      { body: bodyOf(1) },
      { body: bodyOf(randomBytes(COLD_BLOCK_BYTES).toString('hex')) },
      { body: bodyOf(2) },
    ])
    for (const lines of [Buffer.alloc(0), huge.bytes, huge.bytes.subarray(0, -1)]) {
      const { all, told } = open(await coldOf(lines))
      expect(all.equals(lines)).toBe(true)
      expect(told).toEqual([])
    }
  })

  it('costs at most 40 bytes a frame beyond a payload of 32 bytes', async () => {
    const count = 4000
    // 32 bytes that hold 24 random ones: only those count as payload, so that packing it wins
    // nothing.
    const payload = (): string => randomBytes(24).toString('base64url')
    const frames = Array.from({ length: count }, (_, i) => ({
      head: { time: 1_790_000_000_000 + i * 37, type: 'tool/result' },
      body: bodyOf(payload()).replace(
        /"salt":"\w+"/,
        `"salt":"${randomBytes(16).toString('hex')}"`,
      ),
    }))
    const file = await coldOf(logOf(frames).bytes)
    expect(file.length / count).toBeGreaterThan(24 + 16)
    expect(file.length / count - 24).toBeLessThanOrEqual(40)
  })

  it('keeps the commitment of a redacted frame, and all that was no frame of ours', async () => {
    const varied = variedLog()
    const { all } = open(await coldOf(varied.bytes))
    expect(all.equals(varied.bytes)).toBe(true)
    const lines = logOf([{ body: bodyOf('a') }, { body: bodyOf('b') }, { body: bodyOf('c') }]).lines
    const mixed = joined([
      lines[0] as Buffer,
      redacted(lines[1] as Buffer),
      Buffer.from('no frame\n'),
      lines[1] as Buffer,
      lines[2] as Buffer,
      lines[2] as Buffer,
    ])
    expect(open(await coldOf(mixed.bytes)).all.equals(mixed.bytes)).toBe(true)
  })
})

describe('a damaged cold segment', () => {
  it('tells of any single flipped bit, and gives back no wrong byte', async () => {
    const { bytes } = variedLog()
    const file = await coldOf(bytes)
    for (let bit = 0; bit < file.length * 8; bit += 1) {
      const { all, told } = open(flipped(file, bit))
      expect([bit, told.length > 0]).toEqual([bit, true])
      const whole = all.equals(bytes)
      const gap =
        all.every((byte) => byte === 0) && (all.length === bytes.length || all.length === 0)
      expect([bit, whole || gap]).toEqual([bit, true])
    }
  })

  it('reads as zeros in the one block, and as it was around it', async () => {
    const log = longLog()
    const file = await coldOf(log.bytes)
    const { blocks } = readFooter((at, count) => file.subarray(at, at + count), file.length)
    expect(blocks.length).toBeGreaterThanOrEqual(3)
    const inBlocks = fc.nat((blocks.at(-1)?.atByte as number) * 8 - 1)
    fc.assert(
      fc.property(inBlocks, (bit) => {
        const index = blocks.findLastIndex(({ atByte }) => atByte <= bit >> 3)
        if (index < 0) return // In the first bytes of the file.
        const { all, told } = open(flipped(file, bit))
        const { from, original } = blocks[index]!
        const expected = Buffer.from(log.bytes)
        expected.fill(0, from, from + original)
        // A place that was not as the block before leads to is that one's damage, too.
        if (index > 0 && !all.equals(expected)) {
          const before = blocks[index - 1]!
          expected.fill(0, before.from, before.from + before.original)
        }
        expect(all.equals(expected)).toBe(true)
        expect(told.join()).toContain(`block ${index}`)
      }),
      { numRuns: long ? 3000 : 150 },
    )
  })

  it('whose footer is damaged is read by its blocks, all of it', async () => {
    const log = longLog()
    const file = await coldOf(log.bytes)
    const { blocks } = readFooter((at, count) => file.subarray(at, at + count), file.length)
    const last = blocks.at(-1)!
    const footerAt = last.atByte + last.bytes
    for (let bit = footerAt * 8; bit < file.length * 8; bit += 13) {
      const { all, told, reader } = open(flipped(file, bit))
      expect(told.length).toBeGreaterThan(0)
      expect(all.equals(log.bytes)).toBe(true)
      expect(reader.end.seq).toBe(log.lines.length)
    }
  })

  it('that was cut gives the blocks that are whole, wherever the cut is', async () => {
    const short = variedLog().bytes
    const small = await coldOf(short)
    for (let bytes = 0; bytes < small.length; bytes += 1) {
      const { all, told } = open(small.subarray(0, bytes))
      expect(told.length).toBeGreaterThan(0)
      expect([bytes, all.length === 0 || all.equals(short)]).toEqual([bytes, true])
    }
    const log = longLog()
    const file = await coldOf(log.bytes)
    const { blocks } = readFooter((at, count) => file.subarray(at, at + count), file.length)
    const ends = blocks.map(({ atByte, bytes }) => atByte + bytes)
    const near = ends.flatMap((end) => [end - 1, end, end + 1, end + 63, end + 64])
    fc.assert(
      fc.property(fc.oneof(fc.nat(file.length - 1), fc.constantFrom(...near)), (cut) => {
        const bytes = Math.min(cut, file.length - 1)
        const { all } = open(file.subarray(0, bytes))
        const whole = blocks.filter(({ atByte, bytes: length }) => atByte + length <= bytes)
        const { from = 0, original = 0 } = whole.at(-1) ?? {}
        expect(all.equals(log.bytes.subarray(0, from + original))).toBe(true)
      }),
      { numRuns: long ? 1000 : 60 },
    )
  })

  it('is told from a disk that cannot be read, which passes through and leaves no gap', async () => {
    const log = longLog()
    const file = await coldOf(log.bytes)
    const busy = Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
    for (let failing = 0; failing < 12; failing += 1) {
      let calls = 0
      const told: string[] = []
      const read = (at: number, count: number): Buffer => {
        calls += 1
        if (calls === failing + 1) throw busy
        return file.subarray(at, at + count)
      }
      const attempt = (): ColdReader | Error => {
        try {
          return ColdReader.open(read, file.length, (reason) => told.push(reason))
        } catch (error) {
          return error as Error
        }
      }
      const first = attempt()
      expect(first instanceof ColdReader || first === busy).toBe(true)
      const reader = (first instanceof ColdReader ? first : attempt()) as ColdReader
      try {
        expect(reader.read(0, reader.original).equals(log.bytes)).toBe(true)
      } catch (error) {
        expect(error).toBe(busy)
      }
      expect(reader.read(0, reader.original).equals(log.bytes)).toBe(true)
      expect(told).toEqual([])
    }
  })

  it('is never a crash, whatever its bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (junk, dressed) => {
        const body = Buffer.from(junk)
        const file = dressed
          ? Buffer.concat([Buffer.from('dagcold\u0001', 'latin1'), body, Buffer.from('dagcoldE')])
          : body
        const { all, told } = open(file)
        expect(all.length).toBe(0)
        expect(told.length).toBeGreaterThan(0)
      }),
      { numRuns: long ? 10_000 : 500 },
    )
  })
})
