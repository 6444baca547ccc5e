import { existsSync, readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stepKey, valueDigest } from '../../src/core/canonical.js'
import { encodeValue } from '../../src/core/encode.js'
import { sha256 } from '../../src/core/hash.js'
import { anyKey, anyScalar, anyValue, difference, numRuns, objectOf, plainJson } from './values.js'

const vectors = new URL('../../../shared/fixtures/vectors/jcs/', import.meta.url)
const hasVectors = existsSync(vectors)

describe('canonical text', () => {
  it.skipIf(!hasVectors)('is that of RFC 8785 (vectors of cyberphone; in ../shared)', () => {
    const names = readdirSync(new URL('input/', vectors))
    expect(names.length).toBeGreaterThan(5)
    for (const name of names) {
      const input: unknown = JSON.parse(readFileSync(new URL(`input/${name}`, vectors), 'utf8'))
      const output = readFileSync(new URL(`output/${name}`, vectors), 'utf8')
      const hex = readFileSync(new URL(`outhex/${name.replace('.json', '.txt')}`, vectors), 'utf8')
      const { text, tags } = encodeValue(input, '', { order: 'sorted' })
      expect(text).toBe(output)
      expect(Buffer.from(text).toString('hex')).toBe(hex.replaceAll(/\s/g, ''))
      expect(tags).toEqual([])
    }
  })

  it('writes numbers as RFC 8785 appendix B does', () => {
    const float = (hex: string): number => Buffer.from(hex, 'hex').readDoubleBE()
    const samples: [string, string][] = [
      ['0000000000000000', '0'],
      ['0000000000000001', '5e-324'],
      ['8000000000000001', '-5e-324'],
      ['7fefffffffffffff', '1.7976931348623157e+308'],
      ['4340000000000000', '9007199254740992'],
      ['4430000000000000', '295147905179352830000'],
      ['44b52d02c7e14af5', '9.999999999999997e+22'],
      ['44b52d02c7e14af6', '1e+23'],
      ['444b1ae4d6e2ef50', '1e+21'],
      ['3eb0c6f7a0b5ed8d', '0.000001'],
      ['41b3de4355555555', '333333333.3333333'],
      ['becbf647612f3696', '-0.0000033333333333333333'],
    ]
    for (const [hex, text] of samples) {
      expect(encodeValue(float(hex), '', { order: 'sorted' }).text).toBe(text)
    }
  })

  it('keeps -0, which RFC 8785 would write as 0', () => {
    expect(encodeValue(-0, '', { order: 'sorted' }).text).toBe('-0')
  })

  it('orders keys by UTF-16 units, integer-like ones too', () => {
    const value = { b: 1, 10: 2, 9: 3, a: 4, '\u{1f600}': 5, '\ufb33': 6, __proto__x: 7 }
    expect(
      Object.keys(JSON.parse(encodeValue(value, '', { order: 'sorted' }).text)).toSorted(),
    ).toEqual(Object.keys(value).toSorted())
    expect(encodeValue(value, '', { order: 'sorted' }).text).toBe(
      '{"10":2,"9":3,"__proto__x":7,"a":4,"b":1,"\u{1f600}":5,"\ufb33":6}',
    )
  })

  it('is the same JSON as the text in order of insertion', () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        const sorted = JSON.parse(encodeValue(value, '', { order: 'sorted' }).text)
        expect(encodeValue(sorted, '', { order: 'sorted' }).text).toBe(
          encodeValue(value, '', { order: 'sorted' }).text,
        )
      }),
      { numRuns },
    )
  })
})

describe('a digest of a value', () => {
  it('does not depend on the order of keys', () => {
    const members = fc.uniqueArray(fc.tuple(anyKey, anyValue), { selector: ([key]) => key })
    fc.assert(
      fc.property(members, fc.array(fc.nat()), (entries, order) => {
        const shuffled = entries
          .map((entry, at) => [order[at] ?? 0, entry] as const)
          .toSorted(([a], [b]) => a - b)
          .map(([, entry]) => entry)
        expect(valueDigest(objectOf(shuffled))).toBe(valueDigest(objectOf(entries)))
      }),
      { numRuns },
    )
  })

  it('differs where the values do, in kind too', () => {
    fc.assert(
      fc.property(anyScalar, anyScalar, (left, right) => {
        const same = difference(left, right) === undefined
        expect(valueDigest([left]) === valueDigest([right])).toBe(same)
      }),
      { numRuns },
    )
    const date = new Date(0)
    const alike = [1n, '1', 1, date, date.toISOString(), undefined, null, Number.NaN, -0, 0]
    expect(new Set(alike.map(valueDigest)).size).toBe(alike.length)
    const bytes = Buffer.from('AAAA', 'base64')
    expect(valueDigest(bytes)).not.toBe(valueDigest('AAAA'))
    expect(valueDigest({ a: undefined })).not.toBe(valueDigest({}))
  })

  it('is not what a value makes it that looks like a tagged one', () => {
    const { text, tags } = encodeValue({ a: 1n }, '', { order: 'sorted' })
    expect(valueDigest(`${text}\n${JSON.stringify(tags)}`)).not.toBe(valueDigest({ a: 1n }))
  })

  it('is the hash of the canonical text, where that is all', () => {
    expect(valueDigest({ b: 1, a: 'é' })).toBe(sha256(Buffer.from('{"a":"é","b":1}')))
  })

  it('refuses what cannot be kept', () => {
    expect(() => valueDigest({ f: () => 1 })).toThrow(/^VALUE_UNSUPPORTED.*\/f/)
  })
})

describe('the key of a step', () => {
  it('differs with any of parent, name, input and occurrence', () => {
    const base = { parentKey: '', name: 'n', inputDigest: valueDigest(1), occurrence: 0 }
    const keys = [
      base,
      { ...base, parentKey: stepKey(base) },
      { ...base, name: 'm' },
      { ...base, inputDigest: valueDigest(2) },
      { ...base, occurrence: 1 },
      { ...base, parentKey: 'n', name: '' },
      { ...base, name: 'n","x' },
    ]
    expect(new Set(keys.map(stepKey)).size).toBe(keys.length)
    expect(stepKey(base)).toBe(stepKey({ ...base }))
  })

  it('is pinned: a change of it makes every recorded step another', () => {
    expect(
      stepKey({
        parentKey: '',
        name: 'fetch',
        inputDigest: valueDigest({ url: 'u' }),
        occurrence: 2,
      }),
    ).toBe(sha256(Buffer.from(`["step/1","","fetch","${sha256(Buffer.from('{"url":"u"}'))}",2]`)))
  })
})
