import { parseEDNString } from 'edn-data'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, openStore } from '../../src/index.js'
import { ednEvents, ednOf } from '../../src/store/edn.js'
import { isSameValue } from '../../src/value/value-class.js'
import { anyValue, jsonValue, nested, objectOf } from '../value/values.js'

const numRuns = process.env.DAGLOG_LONG ? 10_000 : 500

/** Read EDN with a reader that is not ours. Its maps come as pairs, so that any key is possible. */
function read(edn: string): unknown {
  return plain(
    parseEDNString(edn, {
      tagHandlers: {
        inst: (text) => new Date(text as string),
        'daglog/bytes': (text) => new Uint8Array(Buffer.from(text as string, 'base64')),
        'daglog/date': (text) => new Date((text ?? Number.NaN) as string | number),
        'daglog/number': (text) => ({ number: Number(text) }),
        'daglog/json-string': (text) => JSON.parse(text as string),
        'daglog/undefined': () => ({ undefined: true }),
      },
    }),
  )
}

function plain(read: unknown): unknown {
  if (Array.isArray(read)) return read.map(plain)
  if (typeof read !== 'object' || read === null) return read
  if (read instanceof Date || read instanceof Uint8Array) return read
  if ('undefined' in read) return undefined
  if ('number' in read) return read.number
  const { map } = read as { map: readonly (readonly [string | { key: string }, unknown])[] }
  return objectOf(
    map.map(([key, value]) => [typeof key === 'string' ? key : key.key, plain(value)] as const),
  )
}

/** The reader takes any zero for an integer, so it loses the sign. */
function unsigned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unsigned)
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value
  if (value instanceof Date || value instanceof Uint8Array) return value
  return objectOf(Object.entries(value).map(([key, member]) => [key, unsigned(member)] as const))
}

describe('EDN', () => {
  it('brings any JSON through another reader unchanged', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(isSameValue(unsigned(read(ednOf(value))), unsigned(value))).toBe(true)
      }),
      { numRuns },
    )
  })

  it('brings what JSON cannot carry through as well', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(isSameValue(unsigned(read(ednOf(value))), unsigned(value))).toBe(true)
      }),
      { numRuns },
    )
  })

  it('is one line of well-formed text without controls', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const edn = ednOf(value)
        expect(edn.isWellFormed()).toBe(true)
        expect(edn).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/)
      }),
      { numRuns },
    )
  })

  it('looks as people of that family write it', () => {
    const value = { seq: 1, 'a b': [null, true, 'x\ny'], at: new Date(0), n: 12n, half: 0.5 }
    expect(ednOf(value)).toBe(
      '{:seq 1, "a b" [nil true "x\\ny"], :at #inst "1970-01-01T00:00:00.000Z", :n 12N, :half 0.5}',
    )
  })

  it('keeps apart what looks alike', () => {
    const alike = [
      [null, undefined, 'nil', 'undefined'],
      [0, -0, 0n, '0'],
      [2 ** 53, 1e21, 2n ** 53n],
      [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
      ['\ud800', '\\ud800', '"\\ud800"', '\ufffd'],
      [{ a: 1 }, { ':a': 1 }, { '"a"': 1 }],
      [new Date(Number.NaN), new Date(8.64e15), new Date(-8.64e15)],
      [new Uint8Array(), new Uint8Array([0]), []],
    ].flat()
    expect(new Set(alike.map(ednOf)).size).toBe(alike.length)
    expect(ednOf(2 ** 53)).toBe('9007199254740992.0')
    expect(ednOf(-0)).toBe('-0.0')
  })

  it('has no limit of depth', () => {
    const depth = 50_000
    let level: unknown = parseEDNString(ednOf(nested(depth, 'x')))
    for (let above = depth; above > 0; above -= 1) {
      if (above % 2 === 1) {
        expect(level).toHaveLength(1)
        level = (level as [unknown])[0]
      } else {
        const { map } = level as { map: [unknown, unknown][] }
        expect(map).toHaveLength(1)
        expect(map[0]?.[0]).toEqual({ key: 'in' })
        level = map[0]?.[1]
      }
    }
    expect(level).toBe('x')
  })
})

describe('the events of a run as EDN', () => {
  it('are read back as they were appended', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    const data = [
      { text: 'x'.repeat(10_000), n: 1n, list: [undefined, new Date(3)] },
      undefined,
      'a',
    ]
    for (const each of data) await run.append('note', each)
    await run.step('work', { big: ['y'.repeat(5_000)] }, () => new Uint8Array([1, 2]))
    const events = []
    for await (const event of run.events()) events.push(event)
    const lines = []
    for await (const line of ednEvents(run)) lines.push(line)
    expect(lines.map(read)).toEqual(events)
    await store.close()
  })

  it('can leave large values out of line', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    await run.append('note', { text: 'x'.repeat(10_000) })
    const lines = []
    for await (const line of ednEvents(run, { from: 1, refs: true })) lines.push(read(line))
    expect(lines).toMatchObject([
      { data: { text: null }, refs: [{ pointer: '/text', size: 10_000 }] },
    ])
    await store.close()
  })
})
