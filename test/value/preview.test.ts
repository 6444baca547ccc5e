import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { previewOf, printable } from '../../src/value/preview.js'
import { anyValue, jsonValue } from './values.js'

describe('a preview', () => {
  it('is one line of printable text, no longer than asked for', () => {
    fc.assert(
      fc.property(anyValue, fc.integer({ min: 1, max: 100 }), (value, lengthMax) => {
        const { line } = previewOf(value, lengthMax)
        expect(line.length).toBeLessThanOrEqual(lengthMax)
        expect(line).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is the JSON of a short value, and its size', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const { line, bytes } = previewOf(value, 10_000)
        const json = JSON.stringify(value, (_, member) => (Object.is(member, -0) ? 0 : member))
        if (!/[^ -~]|-0|\\u/.test(line)) expect(line).toBe(json)
        if (typeof value === 'string') expect(bytes).toBe(Buffer.byteLength(value))
      }),
      { numRuns: 500 },
    )
  })

  it('escapes what moves a cursor, ends a line or turns the text', () => {
    expect(printable('a\u001b[31m\r\n\t\u009b\u202e\u2028\u{e0041}\ud800b')).toBe(
      'a\\u001b[31m\\r\\n\\t\\u009b\\u202e\\u2028\\u{e0041}\\ud800b',
    )
    expect(previewOf('"\u001b').line).toBe('"\\"\\u001b"')
  })

  it('shows that it is cut, and never cuts inside an escape or a character', () => {
    expect(printable('abc\u001bdef', 8)).toBe('abc…')
    expect(printable('abc\u{1f600}', 4)).toBe('abc…')
    expect(printable('abcd', 4)).toBe('abcd')
    expect(previewOf('x'.repeat(1e6), 5)).toEqual({ line: '"xxx…', bytes: 1e6 })
    expect(previewOf(new Uint8Array(1e6), 8)).toEqual({ line: '0x00000…', bytes: 1e6 })
  })

  it('writes scalars that JSON cannot carry as JavaScript does', () => {
    const values = [undefined, Number.NaN, -0, 12n, new Date(0), new Date(Number.NaN), null]
    expect(values.map((value) => previewOf(value).line)).toEqual([
      'undefined',
      'NaN',
      '-0',
      '12n',
      '1970-01-01T00:00:00.000Z',
      'Invalid Date',
      'null',
    ])
  })
})
