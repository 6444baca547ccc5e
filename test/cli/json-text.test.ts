import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonFault, parseJsonText } from '../../src/cli/json-text.js'
import { encodeValue } from '../../src/core/encode.js'

function faultOf(text: string): JsonFault | undefined {
  try {
    parseJsonText(text)
    return undefined
  } catch (error) {
    if (error instanceof JsonFault) return error
    throw error
  }
}

describe('JSON that somebody typed', () => {
  it('is taken as JSON.parse takes it, whatever it is and however it is spaced', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(0, 1, 3), (text, indent) => {
        const value: unknown = JSON.parse(text)
        const spaced = JSON.stringify(value, null, indent)
        expect(parseJsonText(spaced)).toEqual(value)
        expect(JSON.stringify(parseJsonText(spaced))).toBe(JSON.stringify(value))
      }),
      { numRuns: 500 },
    )
  })

  it('is refused exactly where JSON.parse refuses it, when it is cut or a character is changed', () => {
    const character = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '0',
      '-',
      'e',
      ' ',
      'n',
    )
    fc.assert(
      fc.property(fc.json(), fc.nat(), character, fc.boolean(), (text, at, put, cut) => {
        const place = at % text.length
        const changed = text.slice(0, place) + (cut ? '' : put + text.slice(place + 1))
        let refused = false
        try {
          JSON.parse(changed)
        } catch {
          refused = true
        }
        const fault = faultOf(changed)
        if (refused) expect(fault, changed).toBeDefined()
        // A key that is there twice and a number that would be rounded are refused by us alone.
        else if (fault !== undefined) expect(fault.message).toMatch(/twice|exactly/)
        if (fault !== undefined) expect(fault.at).toBeLessThanOrEqual(changed.length)
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps every number that a double can carry, and refuses the others', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(parseJsonText(JSON.stringify(number))).toBe(JSON.parse(JSON.stringify(number)))
        const written = number.toExponential()
        expect(parseJsonText(written)).toBe(Number(written))
      }),
      { numRuns: 300 },
    )
  })

  const refused: readonly (readonly [string, string])[] = [
    ['{"a":}', 'expected value at character 5'],
    ['[1,]', 'expected value at character 3'],
    ['', 'the text ends where value should be at character 0'],
    ['{"a":1,"a":2}', 'the key "a" is there twice at character 7'],
    ['{"a":{"b":1},"b":[{"b":2}]} x', 'expected the end at character 28'],
    ['[9007199254740993]', '9007199254740993 cannot be kept exactly'],
    ['1e400', '1e400 cannot be kept exactly'],
    ['1e-400', '1e-400 cannot be kept exactly'],
    ['"abc', 'a string does not end; it begins at character 0'],
    ['{a:1}', 'expected key or } at character 1'],
  ]
  it.each(refused)('says of %s what is wrong and where', (text, told) => {
    expect(faultOf(text)?.message).toContain(told)
  })

  it('may be long and deep', () => {
    const deep = '['.repeat(5000) + ']'.repeat(5000)
    expect(encodeValue(parseJsonText(deep)).text).toBe(deep)
    const long = JSON.stringify({ text: 'x"\\'.repeat(1_000_000) })
    expect(parseJsonText(long)).toEqual(JSON.parse(long))
  })
})
