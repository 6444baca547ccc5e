import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { sha256 } from '../../src/core/hash.js'
import { loadTree, treeFrom } from '../../src/value/tree.js'
import { decodeText, encodeText } from '../../src/value/tree-bytes.js'
import { MemoryObjects, runs } from './tree-model.js'

/** The bytes of a value's root object, in hex. */
function hexOf(value: unknown): string {
  const objects = new MemoryObjects()
  const root = treeFrom(value).commit(objects.store())
  return Buffer.from(objects.objects.get(root)!.bytes).toString('hex')
}

/** What a root object of these bytes is read as. */
function read(hex: string): unknown {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
  const store = new MemoryObjects().store({ load: () => bytes })
  return loadTree(sha256(bytes), store).toJSON()
}

function refusal(hex: string): string {
  try {
    read(hex)
  } catch (error) {
    if (error instanceof DaglogError && error.code === 'OBJECT_CORRUPT') return error.message
    throw error
  }
  return 'it was read'
}

/** Written down once, by hand: the format must not change without a new version. */
const GOLDEN: [unknown, string][] = [
  [null, '20'],
  [false, '21'],
  [true, '22'],
  [undefined, '23'],
  [0, '24 00'],
  [300, '24 ac02'],
  [2 ** 53 - 1, '24 ffffffffffffff0f'],
  [-1, '25 00'],
  [-300, '25 ab02'],
  [-0, '26 8000000000000000'],
  [1.5, '26 3ff8000000000000'],
  [2 ** 53, '26 4340000000000000'],
  [Number.NaN, '26 7ff8000000000000'],
  [-1 / 0, '26 fff0000000000000'],
  ['', '27 00'],
  ['é', '27 02 c3a9'],
  ['a\ud800', '27 04 61eda080'],
  ['\ud83d\ude00', '27 04 f09f9880'],
  [new Uint8Array([1, 255]), '28 02 01ff'],
  [0n, '29 01 00'],
  [-256n, '29 03 010100'],
  [new Date(1), '2a 3ff0000000000000'],
  [new Date(Number.NaN), '2a 7ff8000000000000'],
  [{}, '30 00'],
  [{ b: 1, a: null }, '30 02 0161 20 0162 2401'],
  [[], '32 00'],
  [[1, [true]], '32 02 2401 32 01 22'],
]

/** Roots of larger values: names of what the rules of cutting and of paths lead to. */
const GOLDEN_ROOTS: [string, unknown, string][] = [
  [
    'map',
    Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, i])),
    'c797952e3d937501c9a4a89d3db13467996c7baaf2ff1df94ed2c70ede95070b',
  ],
  [
    'list',
    Array.from({ length: 1000 }, (_, i) => i),
    '0a8b2e038d1b78194195bab2a633388fb9966224a51e123e92f936aac4e82b6b',
  ],
  [
    'zeros',
    Array.from({ length: 1000 }, () => 0),
    'a0972535e304be85efffe7f921272c5912effc475830482dcddd6c4aa5223265',
  ],
  [
    'text',
    { text: 'x'.repeat(300), long: 'y'.repeat(60_000) },
    'e6b3043225a066c3627f79ec61858d05f6a5ef9a0a138e9cffaf5ea1397fcf23',
  ],
]

describe('the encoding', () => {
  it('of small values is this', () => {
    for (const [value, hex] of GOLDEN) {
      expect(hexOf(value)).toBe(hex.replaceAll(' ', ''))
      expect(read(hex)).toStrictEqual(value)
    }
  })

  it('of larger values has these names', () => {
    for (const [name, value, root] of GOLDEN_ROOTS) {
      expect([name, treeFrom(value).hash()]).toEqual([name, root])
    }
  })

  it('keeps a value in its parent up to 256 bytes, and gives it an object above', () => {
    for (const [length, objects] of [
      [253, 1],
      [254, 2],
    ] as const) {
      const memory = new MemoryObjects()
      treeFrom({ text: 'x'.repeat(length) }).commit(memory.store())
      expect(memory.objects.size).toBe(objects)
    }
    for (const [length, objects] of [
      [251, 1],
      [252, 2],
    ] as const) {
      const memory = new MemoryObjects()
      treeFrom([['x'.repeat(length)]]).commit(memory.store())
      expect(memory.objects.size).toBe(objects)
    }
  })
})

/** What each of these would be, were it not written in another way. */
const REFUSED: [string, string][] = [
  ['nothing at all', ''],
  ['an unknown kind', '3f'],
  ['another version', '44 00'],
  ['a value and more', '20 20'],
  ['a longer number than needed', '24 80 00'],
  ['a number past 2^53 - 1', '24 ffffffffffffff1f'],
  ['a negative number past that', '25 ffffffffffffff0f'],
  ['an integer as a float', '26 3ff0000000000000'],
  ['zero as a float', '26 0000000000000000'],
  ['another NaN', '26 7ff8000000000001'],
  ['a text cut short', '27 02 61'],
  ['text that is not UTF-8', '27 01 ff'],
  ['text with an overlong character', '27 02 c0af'],
  ['a pair as two surrogates', '27 06 eda0bd edb880'],
  ['half a surrogate', '27 02 eda0'],
  ['an empty integer', '29 00'],
  ['an integer with leading zeros', '29 02 00 00'],
  ['minus zero as an integer', '29 01 01'],
  ['a date between milliseconds', '2a 3ff8000000000000'],
  ['a date past the last', '2a 7ff0000000000000'],
  ['a text that should be an object', `27 fe01 ${'61'.repeat(254)}`],
  ['a long text that should be here', `2b fd01 01 ${'00'.repeat(32)}`],
  ['a long text of another kind', `2b fe01 03 ${'00'.repeat(32)}`],
  ['keys out of order', '30 02 0162 20 0161 20'],
  ['a key twice', '30 02 0161 20 0161 21'],
  ['33 keys in a record', `30 21 ${'0161 20'.repeat(33)}`],
  ['a map of one key', '31 0001 0000 0161 20'],
  ['a place with an entry and a child', '31 0001 0001 0161 20'],
  ['a leaf of 65 elements', `32 41 ${'20'.repeat(65)}`],
  ['an inner node on level 0', '33 00 02 3201 20 3201 20'],
  ['an inner node of one child', '33 01 01 3201 20'],
  ['a short list in two leaves', '33 01 02 3201 20 3201 20'],
  ['an inner node without children', '33 01 00'],
  ['a root that is a reference', `34 ${'00'.repeat(32)}`],
  ['a part as a root', `35 02 ${'00'.repeat(32)}`],
]

test('bytes that no value has are refused', () => {
  for (const [what, hex] of REFUSED) {
    expect(`${what}: ${refusal(hex)}`).toContain('OBJECT_CORRUPT')
  }
})

test('nesting in hostile bytes ends with the room that a parent has', () => {
  expect(refusal('3201'.repeat(100_000))).toContain('OBJECT_CORRUPT')
  expect(refusal(`300100`.repeat(100_000))).toContain('OBJECT_CORRUPT')
})

describe('text', () => {
  const texts = fc.string({
    unit: fc.oneof(
      fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
      fc.integer({ min: 0xd7ff, max: 0xe000 }).map((unit) => String.fromCharCode(unit)),
    ),
    maxLength: 40,
  })

  it('comes back exactly, also where it is not well formed', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(decodeText(encodeText(text))).toBe(text)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('is what Node writes where it is well formed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        expect(encodeText(text).equals(Buffer.from(text))).toBe(true)
      }),
      { numRuns: runs(500) },
    )
  })

  it('has one encoding: any bytes are that of their text, or of none', () => {
    const bytes = fc.array(
      fc.constantFrom(0x41, 0xed, 0xa0, 0xbd, 0xb8, 0x80, 0xbf, 0xf0, 0x9f, 0xc3),
    )
    fc.assert(
      fc.property(bytes, (list) => {
        const text = decodeText(Uint8Array.from(list))
        if (text !== undefined) expect([...encodeText(text)]).toEqual(list)
      }),
      { numRuns: runs(3000) },
    )
  })
})
