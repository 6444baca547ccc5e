import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { CHUNK_FINE_BYTES_MAX } from '../../src/value/chunk.js'
import { RopeWriter, writeRope } from '../../src/value/rope.js'
import { checkedRope, hashOf, RopeStore, randomFrom, sample, textOf } from './rope-samples.js'

const LONG = process.env.DAGLOG_LONG !== undefined
const FIXTURES = join(import.meta.dirname, '../../../shared/fixtures')

/** The result for `bytes` handed over in parts of the given sizes, over and over. */
function streamed(bytes: Uint8Array, sizes: readonly number[], store = new RopeStore()) {
  const writer = new RopeWriter(store.put)
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    // The writer must not keep what it was given.
    const part = Uint8Array.from(bytes.subarray(at, at + size))
    writer.push(part)
    part.fill(0x22)
    at += size
  }
  return writer.end()
}

describe('a rope', () => {
  it('gives back any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000, size: 'max' }), (bytes) => {
        checkedRope(bytes)
      }),
      { numRuns: 200 },
    )
  })

  it('gives back bodies, lines, streams, text and noise, whole or damaged', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        checkedRope(sample(seed))
      }),
      { numRuns: LONG ? 1500 : 80 },
    )
  })

  it('gives back any JSON in any formatting', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.constantFrom('', ' ', '\t', '  '),
        (value, indent) => {
          const text = JSON.stringify([value, value], null, indent)
          checkedRope(Buffer.from(text))
          checkedRope(Buffer.from(text.replaceAll('\n', '\r\n')))
        },
      ),
      { numRuns: 300 },
    )
  })

  it('gives back a body that is cut off anywhere', () => {
    const body = Buffer.from(
      `\ufeff{"a":"${'x\\"\\n'.repeat(200)}","a":[1E400,{"b":"\\ud800é"},[[]],-0],\r\n"c":{"d":"${'y'.repeat(600)}"}}\n`,
    )
    for (let length = 0; length <= body.length; length++) checkedRope(body.subarray(0, length))
  })

  it('gives back an event stream and a JSON Lines file that are cut off anywhere', () => {
    const data = `{"type":"delta","text":"${'z'.repeat(530)}"}`
    for (const text of [`event: a\ndata: ${data}\n\ndata: [DONE]\n\n`, `${data}\n${data}\n`]) {
      const bytes = Buffer.from(text)
      for (let length = 0; length <= bytes.length; length++) checkedRope(bytes.subarray(0, length))
    }
  })

  it('is a blob, named by the bytes, where they are few', () => {
    for (const text of [
      '',
      'x',
      '{}',
      '[1,2]',
      `"${'a'.repeat(500)}"`,
      `{"a":"${'b'.repeat(500)}"}\n`,
    ]) {
      expect(checkedRope(Buffer.from(text))).toMatchObject({
        root: hashOf(text),
        rootKind: 'blob',
        size: Buffer.byteLength(text),
      })
    }
  })

  it.each([5000, 1_000_000])('takes %i levels of nesting', (levels) => {
    const pairs = [
      ['{"a":', '}'],
      ['[', ''],
      ['', ']'],
      ['[\n', ']'],
      ['[{"k":[', ']}]'],
    ] as const
    for (const [open, close] of levels > 5000 ? pairs.slice(0, 3) : pairs) {
      checkedRope(Buffer.from(`[${open.repeat(levels)}1${close.repeat(levels)}]`))
    }
  })

  it('does not store more than a little beyond the bytes, and few objects', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const bytes = sample(seed)
        const store = new RopeStore()
        writeRope(bytes, store.put)
        expect(store.bytes).toBeLessThan(bytes.length * 1.15 + 100)
        expect(store.objects.size).toBeLessThan(bytes.length / 450 + 3)
      }),
      { numRuns: 60 },
    )
  })

  it('keeps bytes apart that decode to the same text', () => {
    const bad = [0x80, 0x81].map((byte) =>
      Buffer.from([...Buffer.from('["'), byte, ...Buffer.from('"]')]),
    )
    expect(checkedRope(bad[0]!).root).not.toBe(checkedRope(bad[1]!).root)
  })

  it('splits literals of megabytes', () => {
    const random = randomFrom(3)
    const numbers = Array.from({ length: 300_000 }, () => Math.floor(random() * 1e6)).join(',')
    for (const bytes of [
      Buffer.from(`[${numbers}]`),
      Buffer.from(`[${'7'.repeat(2e6)}]`),
      Buffer.from(`[1${' '.repeat(2e6)}]`),
      Buffer.from(`{"a"${':'.repeat(1e6)}1}`),
      Buffer.from(`[${'"",'.repeat(5e5)}`),
      Buffer.from(`["${'\\"'.repeat(1e6)}"]`),
    ]) {
      const store = new RopeStore()
      checkedRope(bytes, store)
      for (const object of store.objects.values()) expect(object.length).toBeLessThanOrEqual(65_536)
    }
  })
})

describe('a rope from a stream', () => {
  it('is the rope of the whole, however the bytes arrive', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 99_999 })), {
          minLength: 1,
          maxLength: 5,
        }),
        (seed, sizes) => {
          const bytes = sample(seed)
          const store = new RopeStore()
          expect(streamed(bytes, sizes, store)).toEqual(writeRope(bytes, store.put))
        },
      ),
      { numRuns: LONG ? 1000 : 60 },
    )
  })

  it('is the rope of the whole where every byte arrives alone', () => {
    const data = `{"a":"${'\\\\\\"x'.repeat(150)}","b":[{"c":"${'d'.repeat(600)}"}]}`
    for (const text of [
      `[${data},${data}]`,
      `data: ${data}\r\n\r\ndata:${data}\n\n`,
      `${data}\n"torn\n${data}`,
    ]) {
      const bytes = Buffer.from(text)
      expect(streamed(bytes, [1])).toEqual(writeRope(bytes, () => {}))
    }
  })

  it('is the rope of the whole beyond the window and the fine chunks', () => {
    const random = randomFrom(4)
    const noise = Buffer.from(textOf(random, 300_000))
    const text = Buffer.concat(
      Array.from({ length: 110 }, () => noise.subarray(random() * 200_000)),
    )
    expect(text.length).toBeGreaterThan(CHUNK_FINE_BYTES_MAX * 1.1)
    const short = JSON.stringify(noise.toString().slice(0, 200_000))
    const strings = Buffer.from(`[${JSON.stringify(text.toString())},${short}]`)
    for (const bytes of [text, strings]) {
      const store = new RopeStore()
      const rope = streamed(bytes, [1_000_000, 65_536], store)
      expect(rope).toEqual(writeRope(bytes, store.put))
      expect(store.read(rope).equals(bytes)).toBe(true)
      // Coarse chunks only there, and fine ones again in the next string.
      const lengths = [...store.objects.values()].map(({ length }) => length)
      expect(Math.max(...lengths)).toBeGreaterThan(65_536)
      expect(Math.max(...lengths)).toBeLessThanOrEqual(4 * 65_536)
      expect(store.adds(`{"other":${short}}`).objects).toBeLessThanOrEqual(bytes === text ? 99 : 1)
    }
  })

  it('is the rope of the whole wherever the window moves on', () => {
    // Once in each stream it does; where depends on the size of the parts.
    const random = randomFrom(8)
    const members = Array.from({ length: 1050 }, () => {
      const id = Math.floor(random() * 1e9)
      return `"${id}${'l'.repeat(510)}",{"id":${id},"short":"${'s'.repeat(30)}"}`
    })
    const bytes = Buffer.from(`{"list":[${members.join(',')}]}`)
    expect(bytes.length).toBeGreaterThan(600_000)
    const whole = writeRope(bytes, () => {})
    for (let size = 1000; size < 1200; size++) {
      const writer = new RopeWriter(() => {})
      for (let at = 0; at < bytes.length; at += size) writer.push(bytes.subarray(at, at + size))
      expect(writer.end()).toEqual(whole)
    }
  })

  it('needs a bounded window where every open container has loose members', () => {
    // The writer asserts its bound; this comes as near to it as an input can.
    const member = `"${'m'.repeat(500)}",`
    const level = `[${member.repeat(6)}`
    const bytes = Buffer.from(level.repeat(64) + member.repeat(20_000))
    expect(streamed(bytes, [100_000])).toEqual(writeRope(bytes, () => {}))
  })

  it('is that of no bytes where none came', () => {
    expect(new RopeWriter(() => {}).end()).toEqual(writeRope(new Uint8Array(0), () => {}))
  })
})

describe('objects of a rope', () => {
  const piecesOf = (bytes: string) => {
    const store = new RopeStore()
    writeRope(Buffer.from(bytes), store.put)
    return store.objects
  }

  it('start and end with a long string, whatever stands around it', () => {
    const string = JSON.stringify(textOf(randomFrom(5), 900))
    for (const around of [
      `[${string}]`,
      ` { "a" : ${string} , "b":${string}}`,
      `data: {"delta":${string}}\n\n`,
      `{"x":1}\n{"y":[${string}]}\n`,
      `{${string}:0}`,
      `${'['.repeat(500)}${string}`,
    ]) {
      expect(piecesOf(around).has(hashOf(string))).toBe(true)
    }
  })

  it('start and end with a heavy container, in any position, file or form', () => {
    const object = JSON.stringify(
      Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`k${i}`, 'v'.repeat(i)])),
    )
    const [root] = [...piecesOf(object).keys()].slice(-1)
    for (const around of [
      `[1,${object}]`,
      `{"messages":[{"content":\n${object}},${object}]}`,
      `data: ${object}\n\n`,
      `{}\n${object}\n[]\n`,
    ]) {
      expect(piecesOf(around).has(root!)).toBe(true)
    }
  })

  it('do not multiply where containers only wrap a string', () => {
    const text = JSON.stringify('w'.repeat(5000))
    const body = `{"a":{"b":[{"c":[{"d":${text}}]}]}}`
    expect(piecesOf(body).size).toBe(2)
  })

  it('of later lines are the same where a line is torn', () => {
    const random = randomFrom(6)
    const lines = Array.from(
      { length: 600 },
      () => `${JSON.stringify({ id: random(), list: [textOf(random, 300), { n: 1 }] })}\n`,
    )
    const whole = piecesOf(lines.join(''))
    const starts = [10, 25, 100, 200, 360].map((keptBytes) => lines[20]!.slice(0, keptBytes))
    for (const start of [...starts, '{"a":[1}', '[{"a":', `${'['.repeat(9999)}"x`, '{}}', 'text']) {
      for (const line of [start, `${start}\n`]) {
        const torn = piecesOf(lines.with(20, line).join(''))
        const shared = [...torn.keys()].filter((hash) => whole.has(hash))
        expect(shared.length).toBeGreaterThan(whole.size * 0.8)
      }
    }
  })

  it('hold whole events of a stream', () => {
    const event = (i: number) =>
      `event: delta\r\nid: ${i}\r\ndata: {"index":${i},\r\ndata: "list":[1,2]}\r\n\r\n`
    const stream = Array.from({ length: 500 }, (_, i) => event(i)).join('')
    const groups = [...piecesOf(stream).values()].map((bytes) => Buffer.from(bytes).toString())
    expect(groups.length).toBeGreaterThan(5)
    for (const group of groups.slice(0, -1)) {
      expect(group.startsWith('event: ')).toBe(true)
      expect(group.endsWith('\r\n\r\n')).toBe(true)
    }
  })

  it('are the same from version to version', () => {
    // Cuts are not part of how a rope is read; but other cuts would share nothing with old stores.
    const random = randomFrom(7)
    const body = JSON.stringify(
      Array.from({ length: 300 }, (_, i) => ({ i, t: textOf(random, i * 3) })),
    )
    const text = textOf(random, 200_000)
    expect([body, text].map((bytes) => writeRope(Buffer.from(bytes), () => {}).root)).toEqual(
      GOLDEN_ROOTS,
    )
  })
})

const GOLDEN_ROOTS = [
  '4df25e98800d0f8f4c5d7af9a3af2b9a4df6fa67e2dbfa373458668113d329a6',
  '6bf42ca630e8977887060da3b540132335485c7381761bd9cdbd3f16418bebfe',
]

test('what put throws passes through', () => {
  const failure = new Error('disk full')
  const put = () => {
    throw failure
  }
  expect(() => writeRope(randomBytes(10), put)).toThrow(failure)
  expect(() => new RopeWriter(put).end()).toThrow(failure)
})

describe.skipIf(!existsSync(FIXTURES))('real files (skipped without ../shared/fixtures)', () => {
  const files = existsSync(FIXTURES)
    ? readdirSync(FIXTURES, { recursive: true, encoding: 'utf8' }).filter((file) =>
        statSync(join(FIXTURES, file)).isFile(),
      )
    : []

  it.each(files.filter((file) => !file.startsWith('vectors')))(
    '%s comes back, whole or as a stream',
    (file) => {
      const bytes = readFileSync(join(FIXTURES, file))
      const rope = checkedRope(bytes)
      for (const size of [777, 65_536]) expect(streamed(bytes, [size])).toEqual(rope)
    },
  )

  it('vectors come back', () => {
    for (const file of files.filter((name) => name.startsWith('vectors'))) {
      checkedRope(readFileSync(join(FIXTURES, file)))
    }
  })
})
