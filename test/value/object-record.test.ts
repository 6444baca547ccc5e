import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../src/core/object.js'
import {
  encodeObjectRecord,
  encodeObjectRecords,
  findObjectRecord,
  type ObjectRecord,
  objectRecordBytes,
  RECORD_HEADER_BYTES,
  readObjectRecord,
  scanObjectRecords,
} from '../../src/value/object-record.js'
import { OBJECT_BYTES_MAX } from '../../src/value/pack.js'
import { codeOf, expectSame, flipBit, objectOf, objectSets, readerOf } from './pack-objects.js'

/** The records of a file, and where the first bad one begins. */
function scan(file: Buffer, fromByte = 0, toByte = file.length) {
  const records: ObjectRecord[] = []
  const scanning = scanObjectRecords(readerOf(file), fromByte, toByte)
  for (;;) {
    const step = scanning.next()
    if (step.done) return { records, endByte: step.value }
    records.push(step.value)
  }
}

/** Where each record ends, the start of the file first. */
function endsOf(objects: readonly StoredObject[]): number[] {
  const ends = [0]
  for (const object of objects) ends.push(ends.at(-1)! + objectRecordBytes(object))
  return ends
}

const few = [objectOf('one'), objectOf('', 'tree'), objectOf('three '.repeat(20), 'rope')]

describe('open object records', () => {
  it('give back every object, in order, whatever its bytes', () => {
    fc.assert(
      fc.property(objectSets, (objects) => {
        const file = encodeObjectRecords(objects)
        const { records, endByte } = scan(file)
        expect(endByte).toBe(file.length)
        expectSame(
          records.map((record) => readObjectRecord(readerOf(file), record)),
          objects,
        )
      }),
      { numRuns: 200 },
    )
  })

  it('are the same bytes alone and in one buffer', () => {
    expect(encodeObjectRecords(few)).toEqual(Buffer.concat(few.map(encodeObjectRecord)))
  })

  it('keep exactly the whole records, wherever the file is cut', () => {
    const file = encodeObjectRecords(few)
    const ends = endsOf(few)
    for (let cutBytes = 0; cutBytes <= file.length; cutBytes++) {
      const whole = ends.filter((end) => end <= cutBytes)
      const { records, endByte } = scan(file.subarray(0, cutBytes))
      expect(endByte).toBe(whole.at(-1))
      expect(records.length).toBe(whole.length - 1)
      // Also where the caller believes the file to be longer than it is.
      expect(scan(file.subarray(0, cutBytes), 0, file.length).endByte).toBe(whole.at(-1))
    }
  })

  it('stop at the record with a flipped bit, whichever bit it is', () => {
    const file = encodeObjectRecords(few)
    const ends = endsOf(few)
    for (let bit = 0; bit < file.length * 8; bit++) {
      const { endByte } = scan(flipBit(file, bit))
      expect(endByte).toBe(Math.max(...ends.filter((end) => end <= bit >> 3)))
    }
  })

  it('end where a run of NUL bytes or other garbage begins', () => {
    const file = encodeObjectRecords(few)
    fc.assert(
      fc.property(
        fc.oneof(
          fc.nat(10_000).map((byteCount) => Buffer.alloc(byteCount)),
          fc.uint8Array({ maxLength: 300 }).map(Buffer.from),
        ),
        (tail) => {
          expect(scan(Buffer.concat([file, tail])).endByte).toBe(file.length)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('are scanned from any record on', () => {
    const file = encodeObjectRecords(few)
    const second = endsOf(few)[1]!
    expect(scan(file, second).records.map(({ hash }) => hash)).toEqual([few[1]!.hash, few[2]!.hash])
  })

  it('may be larger than what a scan reads at once', () => {
    const large = objectOf(Buffer.alloc(1_000_000, 'abc'))
    const objects = [few[0]!, large, few[2]!]
    const file = encodeObjectRecords(objects)
    const reads: number[] = []
    const read = (fromByte: number, byteCount: number) => {
      reads.push(byteCount)
      return file.subarray(fromByte, fromByte + byteCount)
    }
    expect([...scanObjectRecords(read, 0, file.length)].map(({ bytes }) => bytes)).toEqual(
      objects.map(({ bytes }) => bytes.length),
    )
    expect(Math.max(...reads)).toBeLessThanOrEqual(256 * 1024)
    expect(scan(flipBit(file, 8 * 900_000)).endByte).toBe(endsOf(objects)[1])
  })

  it('ask for no memory that a torn length claims', () => {
    const file = encodeObjectRecord(few[0]!)
    file.writeUInt32LE(0xffff_ffff, 0)
    const read = (fromByte: number, byteCount: number) => {
      expect(byteCount).toBeLessThanOrEqual(file.length)
      return file.subarray(fromByte, fromByte + byteCount)
    }
    expect([...scanObjectRecords(read, 0, file.length)]).toEqual([])
  })

  it('are found again behind damage, at any offset', () => {
    const file = encodeObjectRecords(few)
    const ends = endsOf(few)
    for (let bit = 0; bit < ends[1]! * 8; bit += 3) {
      expect(findObjectRecord(readerOf(flipBit(file, bit)), 0, file.length)).toBe(ends[1])
    }
    const far = Buffer.concat([Buffer.alloc(700_001, 'x'), file])
    expect(findObjectRecord(readerOf(far), 0, far.length)).toBe(700_001)
    expect(findObjectRecord(readerOf(far), 0, 700_000)).toBeUndefined()
  })

  it('refuse an object whose bytes are not what its name says, when it is read', () => {
    const forged = { ...few[0]!, bytes: Buffer.from('0ne') }
    const file = encodeObjectRecord(forged)
    const [record] = scan(file).records
    expect(record).toMatchObject({ hash: few[0]!.hash, atByte: RECORD_HEADER_BYTES, bytes: 3 })
    expect(codeOf(() => readObjectRecord(readerOf(file), record!))).toBe('OBJECT_CORRUPT')
  })

  it('refuse an object over the limit', () => {
    const bytes = Buffer.alloc(0)
    Object.defineProperty(bytes, 'length', { value: OBJECT_BYTES_MAX + 1 })
    const tooLarge: StoredObject = { ...few[0]!, bytes }
    expect(codeOf(() => encodeObjectRecord(tooLarge))).toBe('LIMIT_EXCEEDED')
  })
})
