import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  encodeFrame,
  extraFields,
  type FrameHead,
  FrameReader,
  filler,
  scanFrames,
} from '../../src/core/frame.js'
import { GENESIS, type Hash, sha256 } from '../../src/core/hash.js'
import { bodyOf, craftLine, head, joined, logOf, redacted, variedLog } from './frames.js'
import { anyText, numRuns, plainJson } from './values.js'

const HEAD_KEYS = new Set(['seq', 'time', 'type', 'lag', 'left', 'commit', 'hash', 'body'])

const anyType = fc
  .array(fc.stringMatching(/^[a-z0-9-]{1,12}$/), { minLength: 1, maxLength: 4 })
  .map((words) => words.join('/'))

/** Members as a later version might add them: any names but ours, any JSON, no `commit` inside. */
const unknownMembers = fc
  .dictionary(
    anyText.filter((key) => !HEAD_KEYS.has(key)),
    plainJson.filter((value) => !JSON.stringify(value).includes('"commit"')),
    { maxKeys: 3 },
  )
  .map((members) => JSON.stringify(members).slice(1, -1))
  .map((text) => (text === '' ? '' : `,${text}`))

const anyHead: fc.Arbitrary<FrameHead> = fc.record({
  seq: fc.oneof(fc.nat(), fc.maxSafeNat()),
  time: fc.maxSafeNat(),
  type: anyType,
  lag: fc.oneof(fc.constant(0), fc.nat(), fc.maxSafeNat()),
  left: fc.oneof(fc.constant(0), fc.nat(65_535)),
  extra: unknownMembers,
})

const anyBody = plainJson.map(bodyOf)
const anyHash = fc.uint8Array({ minLength: 1, maxLength: 4 }).map(sha256)
const anyFrames = fc.array(
  fc.record({ head: anyHead.map(({ seq: _, ...rest }) => rest), body: anyBody }),
  { maxLength: 6 },
)

function readLine(line: Buffer, prev: Hash | undefined = GENESIS): FrameReader | undefined {
  const reader = new FrameReader()
  return reader.read(line, 0, line.length - 1, prev) ? reader : undefined
}

/** How many frames end at or before `bytes`. */
function wholeFrames(ends: readonly number[], bytes: number): number {
  return ends.filter((end) => end <= bytes).length
}

describe('a frame', () => {
  it('reads back as it was encoded, whatever its head, body and predecessor', () => {
    fc.assert(
      fc.property(anyHead, anyBody, anyHash, (given, body, prev) => {
        const { text, hash } = encodeFrame(prev, given, body)
        const line = Buffer.from(text)
        const frame = readLine(line, prev)
        expect(frame).toMatchObject({
          seq: given.seq,
          time: given.time,
          type: given.type,
          lag: given.lag,
          left: given.left,
          hash,
          redacted: false,
        })
        expect(frame?.extra).toBe(given.extra)
        expect(line.toString('utf8', frame?.bodyFrom, frame?.bodyTo)).toBe(body)
      }),
      { numRuns },
    )
  })

  it('is read in the middle of other bytes', () => {
    const { text, hash } = encodeFrame(GENESIS, head(0), bodyOf('x'))
    const bytes = Buffer.from(`noise ${text}noise`)
    const frame = new FrameReader()
    expect(frame.read(bytes, 6, bytes.length - 6, GENESIS)).toBe(true)
    expect(frame.hash).toBe(hash)
    expect(bytes.toString('utf8', frame.bodyFrom, frame.bodyTo)).toBe(bodyOf('x'))
  })

  it('is read however long its head is, also where a look ends inside its hashes', () => {
    for (let length = 0; length < 700; length += 1) {
      const extra = `,"pad":"${'p'.repeat(length)}"`
      const line = Buffer.from(encodeFrame(GENESIS, head(0, { extra }), bodyOf(length)).text)
      expect(readLine(line)?.extra).toBe(extra)
    }
  })

  it('is one line, and its text is well-formed, whatever the body says', () => {
    fc.assert(
      fc.property(anyHead, anyBody, (given, body) => {
        const { text } = encodeFrame(GENESIS, given, body)
        expect(text.indexOf('\n')).toBe(text.length - 1)
        expect(text.isWellFormed()).toBe(true)
      }),
      { numRuns },
    )
  })

  it('does not follow another predecessor, and is taken as it stands where none is known', () => {
    const first = encodeFrame(GENESIS, head(0), bodyOf(0))
    const line = Buffer.from(encodeFrame(first.hash, head(1), bodyOf(1)).text)
    expect(readLine(line, first.hash)).toBeDefined()
    expect(readLine(line, GENESIS)).toBeUndefined()
    const frame = new FrameReader()
    expect(frame.read(line, 0, line.length - 1, undefined)).toBe(true)
    expect(frame.seq).toBe(1)
  })

  it('takes a predecessor it does not know only with a hash that has the form of one', () => {
    const line = Buffer.from(encodeFrame(GENESIS, head(0), bodyOf(0)).text)
    const hashAt = line.indexOf('"hash":"') + '"hash":"'.length
    line.write('G', hashAt)
    expect(new FrameReader().read(line, 0, line.length - 1, undefined)).toBe(false)
  })

  it('says which hash differs', () => {
    const { text, hash } = encodeFrame(GENESIS, head(0), bodyOf('as written'))
    const edited = Buffer.from(text.replace('as written', 'as changed'))
    const reader = new FrameReader()
    expect(reader.read(edited, 0, edited.length - 1, GENESIS)).toBe(false)
    expect(reader.fault).toEqual({
      fault: 'commit',
      expected: sha256(Buffer.from(bodyOf('as written'))),
      found: sha256(Buffer.from(bodyOf('as changed'))),
    })
    const other = sha256(Buffer.from('other'))
    expect(reader.read(Buffer.from(text), 0, text.length - 1, other)).toBe(false)
    expect(reader.fault).toMatchObject({ fault: 'hash', found: hash })
    expect(reader.read(Buffer.from('{}\n'), 0, 2, GENESIS)).toBe(false)
    expect(reader.fault).toEqual({ fault: 'form' })
  })

  it('keeps nothing of one line when it reads the next', () => {
    const reader = new FrameReader()
    const full = encodeFrame(GENESIS, head(0, { lag: 3, left: 2, extra: ',"format":1' }), bodyOf(0))
    const plain = encodeFrame(full.hash, head(1), bodyOf(1))
    const first = redacted(Buffer.from(full.text))
    expect(reader.read(first, 0, first.length - 1, GENESIS)).toBe(true)
    expect(reader).toMatchObject({ lag: 3, left: 2, redacted: true })
    const second = Buffer.from(plain.text)
    expect(reader.read(second, 0, second.length - 1, full.hash)).toBe(true)
    expect(reader).toMatchObject({ lag: 0, left: 0, extra: '', redacted: false })
  })

  it('answers and does not throw, whatever bytes it is given', () => {
    const line = Buffer.from(encodeFrame(GENESIS, head(0), bodyOf('x')).text)
    const anyLine = fc.oneof(
      fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
      fc.array(fc.tuple(fc.nat(line.length - 1), fc.nat(255)), { maxLength: 5 }).map((edits) => {
        const bytes = Buffer.from(line)
        for (const [at, byte] of edits) bytes[at] = byte
        return bytes
      }),
      fc.nat(line.length).map((cut) => line.subarray(cut)),
    )
    fc.assert(
      fc.property(anyLine, fc.constantFrom(GENESIS, undefined), (bytes, prev) => {
        expect(typeof new FrameReader().read(bytes, 0, bytes.length, prev)).toBe('boolean')
      }),
      { numRuns: numRuns * 5 },
    )
  })
})

describe('the head of a frame', () => {
  it('is refused with a number spelled in any way but one', () => {
    const accepted = (members: string): boolean =>
      readLine(craftLine(members, bodyOf(0))) !== undefined
    expect(accepted('{"seq":0,"time":0,"type":"note"')).toBe(true)
    expect(accepted('{"seq":9007199254740991,"time":9007199254740991,"type":"note"')).toBe(true)
    const bad = ['00', '01', '9007199254740992', '90071992547409910', '-1', '1.0', '1e3', ' 1', '']
    for (const spelled of bad) {
      expect(accepted(`{"seq":${spelled},"time":0,"type":"note"`)).toBe(false)
      expect(accepted(`{"seq":0,"time":${spelled},"type":"note"`)).toBe(false)
      expect(accepted(`{"seq":0,"time":0,"type":"note","lag":${spelled}`)).toBe(false)
      expect(accepted(`{"seq":0,"time":0,"type":"note","left":${spelled}`)).toBe(false)
    }
  })

  it('is refused with its members in another order, or with anything between them', () => {
    const bad = [
      '{"time":0,"seq":0,"type":"note"',
      '{"seq":0,"type":"note","time":0',
      '{"seq":0, "time":0,"type":"note"',
      ' {"seq":0,"time":0,"type":"note"',
      '{"seq":0,"time":0,"type":"note" ',
      '{"seq":0,"time":0,"type":"note",',
      '{"seq":0,"time":0,"type":"note",x',
      '{"seq":0,"time":0,"type":5',
      '{"seq":0,"time":0',
    ]
    for (const members of bad) expect(readLine(craftLine(members, bodyOf(0)))).toBeUndefined()
  })

  it('may hold members that we do not know, and they are hashed', () => {
    const line = Buffer.from(encodeFrame(GENESIS, head(0, { extra: ',"x":{"é":[1]}' }), '0').text)
    expect(readLine(line)).toBeDefined()
    const edited = Buffer.from(line.toString().replace('"é":[1]', '"é":[2]'))
    expect(readLine(edited)).toBeUndefined()
  })

  // Fixed here: text that was decoded from Latin-1 hashes like the UTF-8 it came from.
  it('is noticed where UTF-8 in it was replaced by the same text in Latin-1', () => {
    const line = Buffer.from(encodeFrame(GENESIS, head(0, { extra: ',"name":"é"' }), '0').text)
    const at = line.indexOf('é')
    const shorter = Buffer.concat([line.subarray(0, at), Buffer.of(0xe9), line.subarray(at + 2)])
    expect(shorter.toString('latin1')).toBe(line.toString())
    expect(readLine(shorter)).toBeUndefined()
  })

  it('may have a member `hash` or `body` inside a member', () => {
    const extra = ',"parent":{"hash":"h","body":{"hash":"h"},"run":"r"}'
    const line = Buffer.from(encodeFrame(GENESIS, head(0, { extra }), bodyOf(0)).text)
    expect(extraFields(readLine(line)?.extra as string)).toEqual({
      parent: { hash: 'h', body: { hash: 'h' }, run: 'r' },
    })
  })

  // The first `,"commit":"` is taken for the frame's own; docs/format.md forbids another.
  it('has no member `commit` inside a member: what has one is no frame', () => {
    const extra = ',"parent":{"run":"r","commit":"c"}'
    expect(
      readLine(Buffer.from(encodeFrame(GENESIS, head(0, { extra }), bodyOf(0)).text)),
    ).toBeUndefined()
  })

  it('gives members that we do not know as the text they are, not as Latin-1', () => {
    const line = Buffer.from(encodeFrame(GENESIS, head(0, { extra: ',"name":"é"' }), '0').text)
    expect(extraFields(readLine(line)?.extra as string)).toEqual({ name: 'é' })
  })
})

describe('a log', () => {
  it('is whole when nothing was done to it', () => {
    fc.assert(
      fc.property(anyFrames, (frames) => {
        const log = logOf(frames)
        expect(scanFrames(log.bytes)).toEqual({
          head: log.hashes.at(-1) ?? GENESIS,
          count: frames.length,
          endBytes: log.bytes.length,
        })
      }),
      { numRuns },
    )
  })

  it('keeps exactly the whole frames, wherever it is cut', () => {
    const log = variedLog()
    for (let cutBytes = 0; cutBytes <= log.bytes.length; cutBytes += 1) {
      const count = wholeFrames(log.ends, cutBytes)
      expect(scanFrames(log.bytes.subarray(0, cutBytes))).toEqual({
        head: log.hashes[count - 1] ?? GENESIS,
        count,
        endBytes: log.ends[count - 1] ?? 0,
      })
    }
  })

  it('keeps exactly the frames before any single flipped bit', () => {
    const log = variedLog()
    for (let bit = 0; bit < log.bytes.length * 8; bit += 1) {
      const bytes = Buffer.from(log.bytes)
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
      const { count } = scanFrames(bytes)
      if (count !== wholeFrames(log.ends, bit >> 3)) expect.fail(`bit ${bit}: ${count} frames`)
    }
  })

  it('keeps exactly the frames before any byte that is missing', () => {
    const log = variedLog()
    for (let at = 0; at < log.bytes.length; at += 1) {
      if (inFiller(log.bytes, at)) continue
      const bytes = Buffer.concat([log.bytes.subarray(0, at), log.bytes.subarray(at + 1)])
      const { count } = scanFrames(bytes)
      if (count !== wholeFrames(log.ends, at)) expect.fail(`byte ${at}: ${count} frames`)
    }
  })

  it('keeps exactly the frames before any span of zeros', () => {
    const log = variedLog()
    fc.assert(
      fc.property(fc.nat(log.bytes.length - 1), fc.nat(2000), (from, length) => {
        const bytes = Buffer.from(log.bytes)
        bytes.fill(0, from, Math.min(bytes.length, from + length + 1))
        expect(scanFrames(bytes).count).toBe(wholeFrames(log.ends, from))
      }),
      { numRuns },
    )
  })

  it('shows frames that were swapped, doubled or removed', () => {
    const log = variedLog()
    for (let first = 0; first < log.lines.length; first += 1) {
      const doubled = log.lines.toSpliced(first, 0, log.lines[first] as Buffer)
      expect(scanFrames(joined(doubled).bytes).count).toBe(first + 1)
      if (first < log.lines.length - 1) {
        expect(scanFrames(joined(log.lines.toSpliced(first, 1)).bytes).count).toBe(first)
      }
      for (let second = first + 1; second < log.lines.length; second += 1) {
        const swapped = log.lines
          .with(first, log.lines[second] as Buffer)
          .with(second, log.lines[first] as Buffer)
        expect(scanFrames(joined(swapped).bytes).count).toBe(first)
      }
    }
  })

  it('does not go on in another log', () => {
    const left = logOf([{ body: bodyOf('left') }, { body: bodyOf('same') }])
    const right = logOf([{ body: bodyOf('right') }, { body: bodyOf('same') }])
    const mixed = joined([left.lines[0] as Buffer, right.lines[1] as Buffer])
    expect(scanFrames(mixed.bytes).count).toBe(1)
  })

  it('is walked from any frame on, with the hash before it', () => {
    const log = variedLog()
    for (const [index, end] of log.ends.entries()) {
      expect(scanFrames(log.bytes.subarray(end), log.hashes[index]).count).toBe(
        log.ends.length - index - 1,
      )
    }
  })
})

describe('a redacted body', () => {
  it('leaves the chain whole, and the frame says that it is redacted', () => {
    fc.assert(
      fc.property(anyFrames, (frames) => {
        const log = logOf(frames)
        const { bytes } = joined(log.lines.map(redacted))
        expect(bytes.length).toBe(log.bytes.length)
        expect(scanFrames(bytes)).toEqual(scanFrames(log.bytes))
      }),
      { numRuns },
    )
    const line = redacted(Buffer.from(encodeFrame(GENESIS, head(0), bodyOf('secret')).text))
    expect(readLine(line)?.redacted).toBe(true)
    expect(line.includes('secret')).toBe(false)
  })

  it('is a pure function of its length, and JSON', () => {
    for (let bytes = 15; bytes < 200; bytes += 1) {
      expect(filler(bytes).length).toBe(bytes)
      expect(filler(bytes)).toEqual(filler(bytes))
      expect(JSON.parse(filler(bytes).toString())).toHaveProperty('redacted')
    }
  })

  it('is not what a user wrote that looks like one: its commitment holds', () => {
    const body = filler(80).toString()
    const line = Buffer.from(encodeFrame(GENESIS, head(0), body).text)
    expect(readLine(line)?.redacted).toBe(false)
  })

  // No hash covers a body's length, so a filler can be stretched unseen. Harmless to the chain, but
  // "every byte is covered" does not hold for the number of x: verify has to know (segment lengths,
  // noted places).
  it('is accepted with another length, since nothing commits to it', () => {
    const line = Buffer.from(encodeFrame(GENESIS, head(0), bodyOf('secret')).text)
    const bodyAt = line.indexOf('"body":') + '"body":'.length
    const stretched = Buffer.concat([line.subarray(0, bodyAt), filler(500), Buffer.from('}\n')])
    expect(readLine(stretched)?.redacted).toBe(true)
  })
})

/**
 * Whether a byte is one of the x of a filler: the one place where a missing byte changes nothing.
 */
function inFiller(bytes: Buffer, at: number): boolean {
  const from = bytes.indexOf('{"redacted":"') + '{"redacted":"'.length
  return from <= at && at < bytes.indexOf('"', from)
}
