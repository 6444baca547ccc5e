import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bodyText,
  type EncodedData,
  encodeData,
  joinData,
  type LargeValue,
  operationOf,
  parseBody,
  type Ref,
  refsOf,
  refValue,
  restoreData,
} from '../../src/core/body.js'
import { DaglogError } from '../../src/core/errors.js'
import { type Hash, sha256 } from '../../src/core/hash.js'
import { BODY_DATA_BYTES_MAX, VALUE_INLINE_BYTES_MAX } from '../../src/core/limits.js'
import { SALT } from './frames.js'
import { anyKey, anyText, anyValue, difference, nested, numRuns, objectOf } from './values.js'

function refsFor(encoded: EncodedData): Ref[] {
  return largeOf(encoded).map(({ pointer, kind, bytes }) => {
    const hash = sha256(bytes)
    return { pointer, sha256: hash, root: hash, size: bytes.length, kind }
  })
}

/** Nothing here is a state, so all of it has bytes. */
function largeOf(encoded: EncodedData): readonly LargeValue[] {
  return encoded.large as readonly LargeValue[]
}

/** What comes back of data that was encoded, written, parsed and put together. */
function back(encoded: EncodedData): unknown {
  const refs = refsFor(encoded)
  const text = bodyText({ salt: SALT, inline: encoded.inline, tags: encoded.tags, refs })
  expect(text).not.toContain('\n')
  const bytes = Buffer.from(text)
  expect(refsOf(bytes)).toEqual(refs)
  const body = parseBody(bytes)
  const values = new Map(
    refs.map((ref, at) => [ref.pointer, refValue(ref, largeOf(encoded)[at]?.bytes as Uint8Array)]),
  )
  return restoreData(body, values)
}

/** Encoded data in a form that is quick to compare. */
function shown(encoded: EncodedData): unknown {
  const { inline, tags } = encoded
  const large = largeOf(encoded)
  return {
    inline,
    tags,
    large: large.map(({ pointer, kind, bytes }) => [pointer, kind, sha256(bytes)]),
  }
}

function pointersOf(encoded: EncodedData): string[] {
  return largeOf(encoded).map(({ pointer, kind }) => `${pointer} ${kind}`)
}

/** A value whose JSON text, or own bytes, are about as long as the limit. */
const largeValue = fc.oneof(
  fc
    .tuple(
      anyText,
      fc.integer({ min: VALUE_INLINE_BYTES_MAX - 10, max: VALUE_INLINE_BYTES_MAX + 10 }),
    )
    .map(([text, length]) => text.padEnd(length, 'p')),
  fc
    .integer({ min: VALUE_INLINE_BYTES_MAX - 2, max: VALUE_INLINE_BYTES_MAX + 2 })
    .map((length) => new Uint8Array(length).fill(7)),
  fc.tuple(anyValue, anyText).map(([value, text]) => [value, text.padEnd(5000, 'ü'), value]),
  anyValue.map((value) => nested(300, [value, 'x'.repeat(5000)], 'array')),
)

const anyData = fc.oneof(
  anyValue,
  largeValue,
  fc
    .uniqueArray(fc.tuple(anyKey, fc.oneof(anyValue, largeValue)), { selector: ([key]) => key })
    .map(objectOf),
)

describe('data', () => {
  it('comes back exactly, whatever of it went out of line', () => {
    fc.assert(
      fc.property(anyData, (data) => {
        expect(difference(back(encodeData(data)), data)).toBeUndefined()
      }),
      { numRuns },
    )
  })

  it('that looks like what daglog writes is data all the same', () => {
    const hash = sha256(Buffer.from('x'))
    const data = {
      salt: SALT,
      refs: [['/data', hash, hash, 5, 'json']],
      enc: [['/op', 'nan']],
      op: null,
      data: null,
    }
    expect(difference(back(encodeData(data)), data)).toBeUndefined()
  })

  it('is not reached by changes after the call, out of line either', () => {
    const bytes = new Uint8Array(5000).fill(1)
    const list = ['x'.repeat(5000)]
    const data = { bytes, list, small: Uint8Array.of(1) }
    const encoded = encodeData(data)
    bytes.fill(9)
    data.small.fill(9)
    list[0] = 'changed'
    expect(back(encoded)).toEqual({
      bytes: new Uint8Array(5000).fill(1),
      list: ['x'.repeat(5000)],
      small: Uint8Array.of(1),
    })
  })

  it('that cannot be kept is refused with its pointer, also inside a large member', () => {
    const data = { list: ['x'.repeat(5000), { f: () => 1 }] }
    expect(() => encodeData(data)).toThrow(/^VALUE_UNSUPPORTED.*\/list\/1\/f/)
    expect(() => encodeData({ [Symbol('s')]: 1 })).toThrow(/^VALUE_UNSUPPORTED.*at the top/)
    const cycle: Record<string, unknown> = { big: 'x'.repeat(5000) }
    cycle.self = cycle
    expect(() => encodeData(cycle)).toThrow(/^VALUE_UNSUPPORTED.*cycle/)
  })
})

describe('a member', () => {
  const cut = VALUE_INLINE_BYTES_MAX

  it('stays inline up to the limit of its text, and goes out of line past it', () => {
    const list = (bytes: number): string[] => ['x'.repeat(bytes - 4)]
    expect(pointersOf(encodeData({ a: list(cut) }))).toEqual([])
    expect(pointersOf(encodeData({ a: list(cut + 1) }))).toEqual(['/a json'])
  })

  it('that is a long string goes as text, counted in bytes of UTF-8', () => {
    expect(pointersOf(encodeData({ a: 'x'.repeat(cut + 1) }))).toEqual(['/a text'])
    expect(pointersOf(encodeData({ a: 'é'.repeat(cut / 2 - 1) }))).toEqual([])
    expect(pointersOf(encodeData({ a: 'é'.repeat(cut / 2 + 1) }))).toEqual(['/a text'])
    const [large] = largeOf(encodeData({ a: `\ufeff${'é'.repeat(cut)}` }))
    expect(large?.bytes).toEqual(Buffer.from(`\ufeff${'é'.repeat(cut)}`))
  })

  it('that is long and not well-formed goes as JSON, where its surrogates are escapes', () => {
    const encoded = encodeData({ a: `\ud800${'x'.repeat(cut)}` })
    expect(pointersOf(encoded)).toEqual(['/a json'])
    expect(back(encoded)).toEqual({ a: `\ud800${'x'.repeat(cut)}` })
  })

  it('that is many bytes goes as they are', () => {
    expect(pointersOf(encodeData({ a: new Uint8Array(cut + 1) }))).toEqual(['/a bytes'])
    expect(encodeData({ a: new Uint8Array(cut + 1) }).tags).toEqual([])
  })

  // Between about 3,070 and 4,096 bytes a byte array goes out of line as base64 in JSON, and a
  // string just under the limit as JSON text: exact, but bytes and text that could be shared with
  // others' are not.
  it('goes out of line as its own bytes whenever it goes out of line', () => {
    expect(pointersOf(encodeData({ a: new Uint8Array(cut) }))).not.toContain('/a json')
    expect(pointersOf(encodeData({ a: 'x'.repeat(cut) }))).not.toContain('/a json')
  })

  it('keeps its place and its pointer, whatever its key', () => {
    const data = objectOf([
      ['a/b', 'x'.repeat(5000)],
      ['__proto__', 'y'.repeat(5000)],
      ['', 'z'.repeat(5000)],
    ])
    const encoded = encodeData(data)
    expect(encoded.inline).toBe('{"a/b":null,"__proto__":null,"":null}')
    expect(pointersOf(encoded)).toEqual(['/a~1b text', '/__proto__ text', '/ text'])
  })

  it('that is tagged inside keeps its tags, out of line too', () => {
    const encoded = encodeData({ a: [1n, 'x'.repeat(5000), undefined] })
    expect(pointersOf(encoded)).toEqual(['/a tagged'])
    expect(encoded.tags).toEqual([])
    const large = largeOf(encoded)[0] as LargeValue
    expect(Buffer.from(large.bytes).toString().split('\n')[1]).toBe(
      '[["/0","bigint"],["/2","undefined"]]',
    )
  })

  // 100,000 NaN in a vector make 1.9 MB of tags in every frame, though the vector itself is out of
  // line; about 850,000 of them are refused with LIMIT_EXCEEDED. Tags of a value should go where
  // the value goes.
  it('that is out of line takes its tags with it', () => {
    const { inline, tags } = encodeData({ vector: new Array(10_000).fill(Number.NaN) })
    expect(inline.length + JSON.stringify(tags).length).toBeLessThan(BODY_DATA_BYTES_MAX)
  })
})

describe('the whole of data', () => {
  it('goes out of line when it is a large scalar or list', () => {
    expect(pointersOf(encodeData('x'.repeat(5000)))).toEqual([' text'])
    expect(pointersOf(encodeData(new Uint8Array(5000)))).toEqual([' bytes'])
    expect(pointersOf(encodeData(new Array(5000).fill(1)))).toEqual([' json'])
    expect(encodeData('x'.repeat(5000)).inline).toBe('null')
  })

  it('goes out of line when too much of it is small', () => {
    const members = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'x'.repeat(1000)]))
    expect(pointersOf(encodeData(members(60)))).toEqual([])
    const encoded = encodeData(members(70))
    expect(pointersOf(encoded)).toEqual([' json'])
    expect(encoded.inline).toBe('null')
    expect(back(encoded)).toEqual(members(70))
  })

  it('never leaves more in a body than the limits say, tags aside', () => {
    fc.assert(
      fc.property(anyData, (data) => {
        const { inline } = encodeData(data)
        expect(Buffer.byteLength(inline)).toBeLessThanOrEqual(BODY_DATA_BYTES_MAX)
      }),
      { numRuns },
    )
  })
})

describe('two encoded objects', () => {
  it('are one as if they had been encoded as one', () => {
    const members = fc
      .uniqueArray(fc.tuple(anyKey, fc.oneof(anyValue, fc.constant('x'.repeat(5000)))), {
        selector: ([key]) => key,
        maxLength: 8,
      })
      .map((entries) => entries.filter(([key]) => !/^\d+$/.test(key)))
    fc.assert(
      fc.property(members, fc.nat(8), (entries, cut) => {
        const left = encodeData(objectOf(entries.slice(0, cut)))
        const right = encodeData(objectOf(entries.slice(cut)))
        expect(shown(joinData(left, right))).toEqual(shown(encodeData(objectOf(entries))))
      }),
      { numRuns },
    )
  })
})

describe('a body', () => {
  it('says what it was given, and nothing else', () => {
    const hash = sha256(Buffer.from('x'))
    const refs: Ref[] = [{ pointer: '/a', sha256: hash, root: hash, size: 5, kind: 'text' }]
    const text = bodyText({
      salt: SALT,
      inline: '{"a":null}',
      refs,
      tags: [['/b', 'nan']],
      op: 'é"',
    })
    expect(text).toBe(
      `{"salt":"${SALT}","refs":[["/a","${hash}","${hash}",5,"text"]],"enc":[["/b","nan"]],"op":"é\\"","data":{"a":null}}`,
    )
    expect(parseBody(Buffer.from(text))).toEqual({
      refs,
      tags: [['/b', 'nan']],
      op: 'é"',
      data: { a: null },
    })
    expect(bodyText({ salt: SALT, inline: '1', refs: [], tags: [] })).toBe(
      `{"salt":"${SALT}","data":1}`,
    )
  })

  it('is read from the middle of other bytes', () => {
    const text = bodyText({ salt: SALT, inline: '"é"', refs: [], tags: [] })
    const bytes = Buffer.from(`noise${text}noise`).subarray(5, -5)
    expect(parseBody(bytes).data).toBe('é')
  })

  it('that is no JSON, or whose refs are no refs, is refused with words', () => {
    for (const text of ['', '{', '{"salt":', '{"refs":5}', '{"refs":[5]}', '{"refs":[["/a"]]}']) {
      expect(() => parseBody(Buffer.from(text))).toThrow(/^FRAME_INVALID/)
    }
  })

  // A chain can be whole and its bodies still be nonsense: another program may have written them.
  it('that is JSON of another shape is refused with words', () => {
    for (const text of ['null', '5', '"x"', '[]', '{}', '{"data":1,"refs":[[5,5,5,5,5]]}']) {
      try {
        const body = parseBody(Buffer.from(text))
        restoreData(body, new Map())
        expect.fail(`${text} was taken for a body`)
      } catch (error) {
        expect(error).toBeInstanceOf(DaglogError)
      }
    }
  })

  // verify looks for refs at one fixed offset, reading looks anywhere: a body that has them
  // elsewhere would verify while its objects are gone. parseBody should refuse what refsOf does not
  // see.
  it('has its refs where verify looks for them, or is refused', () => {
    const hash = sha256(Buffer.from('x'))
    const row = JSON.stringify([['/a', hash, hash, 5, 'text']])
    const bodies = [
      `{"refs":${row},"salt":"${SALT}","data":{"a":null}}`,
      `{"salt":"${SALT}", "refs":${row},"data":{"a":null}}`,
      `{"salt":"short","refs":${row},"data":{"a":null}}`,
    ]
    for (const text of bodies) {
      const bytes = Buffer.from(text)
      let parsed: readonly Ref[] = []
      try {
        parsed = parseBody(bytes).refs
      } catch (error) {
        expect(error).toBeInstanceOf(DaglogError)
      }
      expect(refsOf(bytes)).toEqual(parsed)
    }
  })

  it('has a ref whose bytes are no JSON: refused, and the pointer named', () => {
    const hash = sha256(Buffer.from('x')) as Hash
    const ref: Ref = { pointer: '/a', sha256: hash, root: hash, size: 1, kind: 'json' }
    expect(() => refValue(ref, Buffer.from('{'))).toThrow(/^OBJECT_CORRUPT.*\/a/)
    expect(refValue({ ...ref, kind: 'text' }, Buffer.from('{'))).toBe('{')
    const bytes = Buffer.from('{')
    const value = refValue({ ...ref, kind: 'bytes' }, bytes) as Uint8Array
    bytes[0] = 0
    expect([...value]).toEqual([0x7b])
  })
})

describe('the operation of a body', () => {
  const anyBody = fc.record({ data: anyData, op: fc.option(fc.string({ unit: 'binary' })) })

  it('is found behind whatever refs and tags stand before it', () => {
    fc.assert(
      fc.property(anyBody, ({ data, op }) => {
        const encoded = encodeData(data)
        const refs = refsFor(encoded)
        const { inline, tags } = encoded
        const bytes = Buffer.from(bodyText({ salt: SALT, inline, tags, refs, op: op ?? undefined }))
        expect(operationOf(bytes)).toBe(op ?? undefined)
        expect(parseBody(bytes).op).toBe(op ?? undefined)
      }),
      { numRuns },
    )
  })

  it('is none where a user says so in the data', () => {
    const bytes = Buffer.from(bodyText({ salt: SALT, inline: '{"op":"x"}', tags: [], refs: [] }))
    expect(operationOf(bytes)).toBeUndefined()
    expect(parseBody(bytes).op).toBeUndefined()
  })

  it.each([
    ['after the data', `{"salt":"${SALT}","data":1,"op":"x"}`],
    ['no string', `{"salt":"${SALT}","op":7,"data":1}`],
    ['twice', `{"salt":"${SALT}","op":"x","data":1,"op":"y"}`],
  ])('is refused where it is %s', (_where, text) => {
    expect(() => parseBody(Buffer.from(text))).toThrow('FRAME_INVALID')
  })

  it('is looked for without an end in bytes that make no sense', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.constantFrom('"refs":', '"enc":', '"op":'), (noise, key) => {
        const bytes = Buffer.concat([Buffer.from(`{"salt":"${SALT}",${key}`), noise])
        expect(() => operationOf(bytes)).not.toThrow()
      }),
    )
  })
})
