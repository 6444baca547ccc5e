import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type OperationPlace, OperationTable } from '../../src/fold/operation-table.js'

/** Frames in the order of a log: a segment is never left for an earlier one. */
const anyRows = fc
  .array(
    fc.record({
      op: fc.string({ unit: 'binary', maxLength: 4 }),
      later: fc.nat({ max: 2 }),
      bytes: fc.integer({ min: 1, max: 2 ** 40 }),
    }),
    { maxLength: 200 },
  )
  .map((rows) => {
    let [segment, from] = [0, 0]
    return rows.map(({ op, later, bytes }) => {
      from = later === 0 ? from + bytes : bytes
      segment += later
      return { op, place: { segment, from } }
    })
  })

const throughSnapshot = (table: OperationTable): OperationTable =>
  OperationTable.fromJSON(JSON.parse(JSON.stringify(table)))

describe('an operation table', () => {
  it('finds every place of an operation in order, whenever it went through a snapshot', () => {
    fc.assert(
      fc.property(anyRows, fc.array(fc.nat()), (rows, cuts) => {
        const ends = cuts.map((cut) => cut % (rows.length + 1)).toSorted((a, b) => a - b)
        let table = new OperationTable()
        let from = 0
        for (const to of [...ends, rows.length]) {
          for (const { op, place } of rows.slice(from, to)) table.add(op, place)
          from = to
          table = throughSnapshot(table)
        }
        const placesOf = (asked: string): OperationPlace[] =>
          rows.filter(({ op }) => op === asked).map(({ place }) => place)
        // Few are looked for in the packed rows, many in rows that were taken apart.
        for (const { op } of rows) {
          expect(throughSnapshot(table).find(op)).toEqual(placesOf(op))
          expect(table.find(op)).toEqual(placesOf(op))
        }
        expect(table.find('not there: longer than any')).toEqual([])
      }),
    )
  })

  it('keeps few parts however often it is written', () => {
    let table = new OperationTable()
    for (let number = 0; number < 1000; number += 1) {
      table.add(`operation ${number}`, { segment: 0, from: number * 500 })
      table = throughSnapshot(table)
      expect(table.toJSON().length).toBeLessThanOrEqual(Math.log2(number + 1) + 1)
    }
    expect(table.find('operation 77')).toEqual([{ segment: 0, from: 77 * 500 }])
  })

  it('takes at most 16 bytes of a snapshot for each of 100,000', () => {
    const table = new OperationTable()
    for (let number = 0; number < 100_000; number += 1)
      table.add(`operation ${number}`, { segment: 0, from: number * 500 })
    expect(JSON.stringify(table).length).toBeLessThan(1_600_000)
    expect(throughSnapshot(table).find('operation 77777')).toEqual([
      { segment: 0, from: 77_777 * 500 },
    ])
  })
})
