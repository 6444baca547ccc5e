import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyTags } from '../../src/core/decode.js'
import { CODEC_TAGS, encodeValue, type Tagging } from '../../src/core/encode.js'
import { DaglogError } from '../../src/core/errors.js'
import { anyKey, anyValue, difference, nested, numRuns, objectOf, plainJson } from './values.js'

/** What comes back of a value. */
function through(value: unknown): unknown {
  const { text, tags } = encodeValue(value)
  return applyTags(JSON.parse(text), tags)
}

function expectKept(value: unknown): void {
  expect(difference(value, through(value))).toBeUndefined()
}

/** The pointer and the words with which a value is refused. */
function refusal(value: unknown): { pointer: unknown; what: unknown } {
  try {
    encodeValue(value)
  } catch (error) {
    expect(error).toBeInstanceOf(DaglogError)
    const { code, data, message } = error as DaglogError
    expect(code).toBe('VALUE_UNSUPPORTED')
    expect(message).toContain(data.pointer === '' ? 'the top' : data.pointer)
    return { pointer: data.pointer, what: data.what }
  }
  return expect.fail('the value was not refused')
}

describe('a value', () => {
  it('comes back exactly: kinds, order of keys, -0, own __proto__', () => {
    fc.assert(fc.property(anyValue, expectKept), { numRuns: numRuns * 3 })
  })

  it('comes back exactly from inside another, with the pointers of its place', () => {
    fc.assert(
      fc.property(anyValue, anyKey, (value, key) => {
        const at = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
        const { text, tags } = encodeValue(value, at)
        for (const [pointer] of tags) expect(pointer.startsWith(at)).toBe(true)
        expect(difference(applyTags(JSON.parse(text), tags, at), value)).toBeUndefined()
        const whole = applyTags(JSON.parse(`{${JSON.stringify(key)}:${text}}`), tags)
        expect(difference(whole, objectOf([[key, value]]))).toBeUndefined()
      }),
      { numRuns },
    )
  })

  it('is the text that JSON.stringify gives, and has no tags, where it is plain JSON', () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        expect(encodeValue(value)).toEqual({ text: JSON.stringify(value), tags: [] })
      }),
      { numRuns },
    )
  })

  it('is well-formed text, lone surrogates or not', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(encodeValue(value).text.isWellFormed()).toBe(true)
      }),
      { numRuns },
    )
    expect(encodeValue('\ud800')).toEqual({ text: '"\\ud800"', tags: [] })
    expectKept({ '\udfff': '\ud83d\ud83d\ude00' })
  })

  it('has its members in the order that JavaScript gives them', () => {
    // JavaScript itself puts integer-like keys first, in order of number, when an object is made
    // and when JSON is parsed. So objects come back as they were; the order in somebody's JSON text
    // may not survive their own JSON.parse.
    expect(encodeValue(JSON.parse('{"b":1,"2":2,"a":3,"1":4}')).text).toBe(
      '{"1":4,"2":2,"b":1,"a":3}',
    )
    expect(encodeValue({ b: 1, 4294967294: 2, 4294967295: 3, 0: 4 }).text).toBe(
      '{"0":4,"4294967294":2,"b":1,"4294967295":3}',
    )
    expectKept(JSON.parse('{"b":1,"2":2,"a":3,"1":4}'))
  })

  it('is written under the tag of each kind that JSON has not', () => {
    const at = (value: unknown): [string, string | undefined] => {
      const { text, tags } = encodeValue(value)
      expect(tags.length).toBeLessThan(2)
      return [text, tags[0]?.[1]]
    }
    expect(at(undefined)).toEqual(['null', 'undefined'])
    expect(at(Number.NaN)).toEqual(['null', 'nan'])
    expect(at(Number.POSITIVE_INFINITY)).toEqual(['null', 'inf'])
    expect(at(Number.NEGATIVE_INFINITY)).toEqual(['null', '-inf'])
    expect(at(-(2n ** 70n))).toEqual(['"-1180591620717411303424"', 'bigint'])
    expect(at(new Date(0))).toEqual(['"1970-01-01T00:00:00.000Z"', 'date'])
    expect(at(new Date(Number.NaN))).toEqual(['null', 'date'])
    expect(at(new Date(8.64e15))).toEqual(['"+275760-09-13T00:00:00.000Z"', 'date'])
    expect(at(Uint8Array.of(0, 255))).toEqual(['"AP8="', 'bytes'])
    expect(at(-0)).toEqual(['-0', undefined])
    expect(Object.keys(CODEC_TAGS).length).toBe(7)
  })

  it('keeps a member that is undefined apart from one that is not there', () => {
    expect(Object.keys(through({ a: undefined }) as object)).toEqual(['a'])
    expect(difference(through([undefined, null]), [undefined, null])).toBeUndefined()
  })

  it('gives bytes back as a Uint8Array with memory of its own, a Buffer or a view too', () => {
    const memory = Uint8Array.of(1, 2, 3, 4)
    const back = through([Buffer.from(memory), memory.subarray(1, 3)]) as Uint8Array[]
    expect(back.map((bytes) => [...bytes])).toEqual([
      [1, 2, 3, 4],
      [2, 3],
    ])
    for (const bytes of back) expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype)
    expect(back[0]?.buffer).not.toBe(memory.buffer)
  })

  it.each(['array', 'object'] as const)('comes back from 5,000 levels of %s', (kind) => {
    expectKept(nested(5000, { deep: Number.NaN }, kind))
  })

  it.each(['array', 'object'] as const)('comes back from 100,000 levels of %s', (kind) => {
    expectKept(nested(100_000, { deep: 1 }, kind))
  })

  it('may hold one object in many places; it is kept in each', () => {
    const shared = { n: 1n }
    let chain: unknown = shared
    for (let level = 0; level < 200; level += 1) chain = { shared, chain }
    expectKept(chain)
  })

  it('is taken from another realm when it is plain', () => {
    const value = vm.runInNewContext('({ a: [1, { b: null }], c: "text", n: 5n })')
    expect(difference(through(value), { a: [1, { b: null }], c: 'text', n: 5n })).toBeUndefined()
    expect(refusal(vm.runInNewContext('({ d: new Date(0) })'))).toMatchObject({ pointer: '/d' })
    expect(refusal(vm.runInNewContext('[new Uint8Array(2)]'))).toMatchObject({ pointer: '/0' })
    expect(refusal(vm.runInNewContext('[new Map()]'))).toMatchObject({ pointer: '/0' })
  })

  it('is read once: each getter is called once, and what it gave is kept', () => {
    let calls = 0
    const value = {
      get count() {
        calls += 1
        return { calls }
      },
    }
    expect(through(value)).toEqual({ count: { calls: 1 } })
    expect(calls).toBe(1)
  })

  it('is not reached by changes after the call', () => {
    const bytes = Uint8Array.of(1)
    const date = new Date(0)
    const value = { list: [1], bytes, date }
    const encoded = encodeValue(value)
    value.list.push(2)
    bytes[0] = 9
    date.setTime(1)
    expect(applyTags(JSON.parse(encoded.text), encoded.tags)).toEqual({
      list: [1],
      bytes: Uint8Array.of(1),
      date: new Date(0),
    })
  })
})

describe('a value that cannot be kept', () => {
  it('is refused with the pointer of what cannot', () => {
    class Point {
      x = 1
    }
    const named = Object.assign([1], { extra: true })
    const cases: [unknown, string, string][] = [
      [{ a: [0, () => 1] }, '/a/1', 'a function'],
      [{ a: { b: Symbol('s') } }, '/a/b', 'a symbol'],
      [{ a: { [Symbol('s')]: 1 } }, '/a', 'an object with symbol keys'],
      [[Object.assign(new Array(3), { 0: 1, 2: 3 })], '/0/1', 'a hole in an array'],
      [{ a: new Array(2) }, '/a/0', 'a hole in an array'],
      [{ 'a/b': named }, '/a~1b', 'an array with named properties'],
      [['x'.match(/x/)], '/0', 'an array with named properties'],
      [{ '~': new Point() }, '/~0', 'an instance of Point'],
      [{ m: new Map() }, '/m', 'an instance of Map'],
      [{ s: new Set() }, '/s', 'an instance of Set'],
      [{ e: new Error('e') }, '/e', 'an instance of Error'],
      [{ r: /x/ }, '/r', 'an instance of RegExp'],
      [{ p: Promise.resolve() }, '/p', 'an instance of Promise'],
      [{ b: new ArrayBuffer(1) }, '/b', 'an instance of ArrayBuffer'],
      [{ f: new Float64Array(1) }, '/f', 'an instance of Float64Array'],
      [[new String('boxed')], '/0', 'an instance of String'],
      [[new Number(1)], '/0', 'an instance of Number'],
      [[Object(1n)], '/0', 'an instance of BigInt'],
      [Object.create({ inherited: 1 }), '', 'an instance of Object'],
      [Object.create(Object.create(null)), '', 'an object with a prototype of its own'],
      [() => 1, '', 'a function'],
    ]
    for (const [value, pointer, what] of cases) expect(refusal(value)).toEqual({ pointer, what })
  })

  it('is refused where it contains itself, with the path of where it does', () => {
    const self: Record<string, unknown> = {}
    self.me = self
    expect(refusal(self)).toEqual({ pointer: '/me', what: expect.stringContaining('cycle') })
    const list: unknown[] = [1]
    list.push({ 'a/b': list })
    expect(refusal({ list }).pointer).toBe('/list/1/a~1b')
  })

  it('is refused however long its cycle is, and wherever it begins', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 200 }), (before, length) => {
        const start: Record<string, unknown> = {}
        let end = start
        for (let level = 1; level < length; level += 1) {
          const next = {}
          end.n = next
          end = next
        }
        end.n = start
        const { pointer } = refusal(nested(before, start, 'object'))
        expect(pointer).toBe(`${'/a'.repeat(before)}${'/n'.repeat(length)}`)
      }),
      { numRuns: 100 },
    )
  })

  // Kept, but as something else than it was: either refuse these or say so in
  // docs/format.md#values.
  it('is refused where its class would be lost: subclasses of Array and Date', () => {
    class List extends Array {}
    class Day extends Date {}
    expect(refusal([List.from([1])]).pointer).toBe('/0')
    expect(refusal([new Day(0)]).pointer).toBe('/0')
  })

  it('is refused where own properties of a Date would be lost', () => {
    expect(refusal([Object.assign(new Date(0), { zone: 'UTC' })]).pointer).toBe('/0')
  })

  it('leaves out what is not enumerable, as JSON does', () => {
    const value = Object.defineProperty({ a: 1 }, 'hidden', { value: 2, enumerable: false })
    expect(encodeValue(value).text).toBe('{"a":1}')
  })

  it('is not hidden by the error of a getter: that one is thrown as it is', () => {
    const error = new Error('mine')
    const value = {
      get bad() {
        throw error
      },
    }
    expect(() => encodeValue(value)).toThrow(error)
  })
})

describe('codec tags', () => {
  it('that do not fit what they stand on are refused with words', () => {
    const cases: [unknown, Tagging][] = [
      ['12x', ['', 'bigint']],
      [12, ['', 'bigint']],
      ['', ['', 'bigint']],
      [{}, ['', 'date']],
      [null, ['', 'bytes']],
      [null, ['', 'unheard-of' as 'nan']],
    ]
    for (const [value, tag] of cases) {
      expect(() => applyTags(value, [tag])).toThrow(/^FRAME_INVALID/)
    }
    expect(() => applyTags({ a: 1 }, [['/b', 'nan']])).toThrow(DaglogError)
  })

  it('that are malformed are refused with our own error', () => {
    for (const tags of [[5], [[5, 'nan']], [[null, 'nan']], [null]]) {
      expect(() => applyTags({ a: 1 }, tags as never)).toThrow(DaglogError)
    }
  })

  it('make no date of what is no RFC 3339 text', () => {
    expect(() => applyTags('next tuesday', [['', 'date']])).toThrow(DaglogError)
  })
})
