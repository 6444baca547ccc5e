/** Objects, packs in memory, and ways to spoil them, for the tests of packs. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { type Hash, sha256 } from '../../src/core/hash.js'
import type { ObjectKind, StoredObject } from '../../src/core/object.js'
import type { Codec, ReadBytes } from '../../src/value/pack.js'
import { BlockCache } from '../../src/value/pack-cache.js'
import { PackReader } from '../../src/value/pack-reader.js'
import { type PackWritten, writePack } from '../../src/value/pack-writer.js'

export function objectOf(bytes: Uint8Array | string, kind: ObjectKind = 'blob'): StoredObject {
  const buffer = Buffer.from(bytes)
  return { hash: sha256(buffer), kind, bytes: buffer }
}

/** A node as ropes have them: literal text and the names of other objects. */
export function nodeOf(
  text: string,
  refs: readonly Hash[],
  kind: ObjectKind = 'rope',
): StoredObject {
  const pieces = refs.flatMap((ref) => [Buffer.from(text), Buffer.from(ref, 'hex')])
  return objectOf(Buffer.concat([...pieces, Buffer.from(text)]), kind)
}

/** Bytes that no codec makes smaller, the same ones each time. */
export function noiseOf(byteCount: number, seed = ''): Buffer {
  const pieces: Buffer[] = []
  for (let n = 0; n * 32 < byteCount; n++)
    pieces.push(Buffer.from(sha256(Buffer.from(`${seed} ${n}`)), 'hex'))
  return Buffer.concat(pieces).subarray(0, byteCount)
}

/** What `pread` would give. */
export function readerOf(bytes: Buffer): ReadBytes {
  return (fromByte, byteCount) => bytes.subarray(fromByte, fromByte + byteCount)
}

export interface MemoryPack extends PackWritten {
  readonly bytes: Buffer
}

export async function packOf(
  objects: Iterable<StoredObject> | AsyncIterable<StoredObject>,
  codec: Codec = 'brotli',
): Promise<MemoryPack> {
  const pieces: Uint8Array[] = []
  const written = await writePack(objects, (bytes) => void pieces.push(bytes), { codec })
  return { ...written, bytes: Buffer.concat(pieces) }
}

/** A reader of the pack, or of `bytes` in its place, without a cache unless one is given. */
export function open(
  pack: MemoryPack,
  { bytes = pack.bytes, index = pack.index, cache = new BlockCache(0) } = {},
): PackReader {
  return PackReader.open({ pack: pack.name, read: readerOf(bytes) }, { index, cache })
}

/** What `verify` reports, in all. */
export function damageOf(reader: PackReader): DaglogError[] {
  return [...reader.verify()].flatMap(({ damage }) => damage)
}

/** The code that `run` fails with, undefined where it does not. Anything but ours is thrown on. */
export function codeOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof DaglogError) return error.code
    throw error
  }
}

export function flipBit(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes)
  flipped[bit >> 3]! ^= 1 << (bit & 7)
  return flipped
}

/**
 * Fails unless both are the same objects in the same order. Far quicker than `toEqual` over bytes.
 */
export function expectSame(
  actual: readonly StoredObject[],
  expected: readonly StoredObject[],
): void {
  expect(actual.map(({ hash, kind }) => `${kind} ${hash}`)).toEqual(
    expected.map(({ hash, kind }) => `${kind} ${hash}`),
  )
  const different = actual.findIndex(
    ({ bytes }, n) => Buffer.compare(bytes, expected[n]!.bytes) !== 0,
  )
  expect(different).toBe(-1)
}

type Recipe = { text: string; times: number; refs: number[]; kind: ObjectKind }

/**
 * Object sets as runs make them: text that repeats, nodes that name earlier objects, repeats, empty
 * ones.
 */
export const objectSets: fc.Arbitrary<StoredObject[]> = fc
  .array(
    fc.record<Recipe>({
      text: fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom('', 'ab', 'the same text')),
      times: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1, 3_000, 9_000)),
      refs: fc.array(fc.nat(), { maxLength: 6 }),
      kind: fc.constantFrom<ObjectKind>('blob', 'rope', 'tree'),
    }),
    { maxLength: 40 },
  )
  .map((recipes) => {
    const objects: StoredObject[] = []
    for (const { text, times, refs, kind } of recipes) {
      const names = objects.length === 0 ? [] : refs.map((n) => objects[n % objects.length]!.hash)
      objects.push(nodeOf(text.repeat(times), names, kind))
    }
    return objects
  })

/** The first object of each name. */
export function distinct(objects: readonly StoredObject[]): StoredObject[] {
  const seen = new Map<Hash, StoredObject>()
  for (const object of objects) if (!seen.has(object.hash)) seen.set(object.hash, object)
  return [...seen.values()]
}
