import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LineItem, readLines } from '../../src/fold/import-lines.js'

function itemsOf(bytes: Uint8Array | string): LineItem[] {
  return [...readLines(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)]
}

/** What was found, in short: the value, or the fault with its place. */
function short(bytes: Uint8Array | string): unknown[] {
  return itemsOf(bytes).map(({ fault, from, to, value }) =>
    fault === undefined ? value : `${fault} ${from}-${to}`,
  )
}

describe('lines of JSON', () => {
  it('are each found, with their place, whatever they hold and however they end', () => {
    const record = fc.dictionary(fc.string(), fc.jsonValue())
    const ending = fc.constantFrom('\n', '\r\n', '\n\n', ' \t\n')
    fc.assert(
      fc.property(fc.array(fc.tuple(record, ending)), (lines) => {
        const texts = lines.map(([value, end]) => [JSON.stringify(value), end] as const)
        const bytes = Buffer.from(texts.map(([text, end]) => text + end).join(''))
        const items = itemsOf(bytes)
        expect(items.map(({ value }) => JSON.stringify(value))).toEqual(texts.map(([text]) => text))
        for (const { from, to, value } of items)
          expect(JSON.stringify(JSON.parse(bytes.toString('utf8', from, to)))).toBe(
            JSON.stringify(value),
          )
      }),
    )
  })

  it('survive any bytes: nothing is thrown, and every byte that is not blank is in an item', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom(
          '{"a":1}',
          '{"type":"x","uuid":"u"}',
          '{',
          '}',
          '"',
          '\\',
          '\n',
          '[',
          ']',
          '\0',
        )
        .map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const bytes = Buffer.concat(pieces)
        const covered = new Uint8Array(bytes.length)
        for (const { from, to } of itemsOf(bytes)) covered.fill(1, from, to)
        for (const [at, byte] of bytes.entries()) {
          const isBlank = byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
          const isMark = byte === 0xef || byte === 0xbb || byte === 0xbf
          expect(covered[at] === 1 || isBlank || isMark).toBe(true)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('behind a value that is printed over lines are read, whatever they are', () => {
    const items = [...itemsOf(Buffer.from('{\n"a":1\n}{"b":2}\n[\n]xyz\n{"c":3}\n'))]
    expect(items.map(({ line, value, fault }) => ({ line, found: value ?? fault }))).toEqual([
      { line: 0, found: { a: 1 } },
      { line: 2, found: { b: 2 } },
      { line: 3, found: [] },
      { line: 4, found: 'not-json' },
      { line: 5, found: { c: 3 } },
    ])
  })

  it('may begin with a byte order mark (T5)', () => {
    expect(short('\ufeff{"a":1}\r\n{"b":2}\r\n')).toEqual([{ a: 1 }, { b: 2 }])
  })

  it('may be one value over several lines, and the lines behind it are counted on', () => {
    const items = itemsOf('{\n  "a": [\n    1\n  ]\n}\n{"b":2}\n')
    expect(items.map(({ line, lines, value }) => [line, lines, value])).toEqual([
      [0, 5, { a: [1] }],
      [5, 1, { b: 2 }],
    ])
    expect(short('[\n{"a":1},\n{"b":2}\n]\n')).toEqual([[{ a: 1 }, { b: 2 }]])
  })

  it('say where a number or a character is not what the bytes say', () => {
    expect(itemsOf('{"n":12345678901234567890}')[0]?.approximate).toBe('numbers')
    expect(itemsOf('{"n":NaN,"s":"NaN","i":-Infinity}')).toMatchObject([
      { value: { n: null, s: 'NaN', i: null }, approximate: 'numbers' },
    ])
    const broken = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])
    expect(itemsOf(broken)).toMatchObject([
      { fault: 'not-utf8' },
      { value: { a: '\ufffd' }, approximate: 'utf8' },
    ])
  })

  it('T37: keep a lone surrogate as it is', () => {
    expect(short('{"a":"\\ud800"}\n')).toEqual([{ a: '\ud800' }])
  })

  it('keep `__proto__` as a member like others', () => {
    const [value] = short('{"__proto__":{"a":1}}\n')
    expect(Object.keys(value as object)).toEqual(['__proto__'])
  })
})

describe('damaged lines', () => {
  it('T1: a torn last line is a fault, and nothing before it is lost', () => {
    const whole = '{"a":1}\n'
    const last = '{"type":"user","message":{"content":"hello"}}'
    for (let cut = 1; cut < last.length; cut += 1) {
      const [first, ...rest] = short(whole + last.slice(0, cut))
      expect(first).toEqual({ a: 1 })
      expect(rest).toEqual([`torn ${whole.length}-${whole.length + cut}`])
    }
  })

  it('T2: a record behind a torn one on the same line is found, wherever that one was torn', () => {
    const torn = JSON.stringify({ type: 'user', uuid: 'a', message: { content: 'one {"two"}' } })
    const whole = { type: 'assistant', uuid: 'b', message: { content: [{ type: 'text' }] } }
    for (let cut = 1; cut < torn.length; cut += 1) {
      const found = short(`${torn.slice(0, cut)}${JSON.stringify(whole)}\n{"c":1}\n`)
      expect(found).toEqual([`torn 0-${cut}`, whole, { c: 1 }])
    }
  })

  it('T2: two whole records on one line are both found', () => {
    expect(short('{"a":1}{"b":2}\n')).toEqual(['fused 0-14', { a: 1 }, { b: 2 }])
  })

  it('T3: a bad line in the middle hides nothing behind it', () => {
    expect(short('{"a":1}\nnot json\n{"b":2}\n')).toEqual([{ a: 1 }, 'not-json 8-16', { b: 2 }])
    expect(short('{"a":{"b":1}\n{"c":2}\n')).toEqual(['torn 0-12', { c: 2 }])
  })

  it('T4: a hole of zeros is named, and what lies around it is read', () => {
    expect(short('{"a":1}\n\0\0\0\0{"b":2}\n{"c":3}\0\0\n')).toEqual([
      { a: 1 },
      'zeros 8-12',
      { b: 2 },
      { c: 3 },
      'zeros 27-29',
    ])
  })

  it('are looked at with bounded work', () => {
    // A torn line that is full of places where a record could begin.
    const text = `{"a":"${'{"b'.repeat(200_000)}`
    expect(short(`${text}\n{"c":1}\n`)).toEqual([`torn 0-${text.length}`, { c: 1 }])
  })
})
