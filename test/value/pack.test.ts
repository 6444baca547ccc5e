import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Hash, sha256 } from '../../src/core/hash.js'
import { PACK_BLOCK_BYTES } from '../../src/core/limits.js'
import { OBJECT_KINDS, type StoredObject } from '../../src/core/object.js'
import {
  BLOCK_HEADER_BYTES,
  CODECS,
  type Codec,
  FOOTER_BYTES,
  OBJECT_BYTES_MAX,
  PACK_BLOCK_OBJECTS_MAX,
  PACK_MAGIC,
} from '../../src/value/pack.js'
import { BlockCache } from '../../src/value/pack-cache.js'
import { PackReader } from '../../src/value/pack-reader.js'
import { buildIndex } from '../../src/value/pack-rebuild.js'
import { writePack } from '../../src/value/pack-writer.js'
import {
  damageOf,
  distinct,
  expectSame,
  nodeOf,
  noiseOf,
  objectOf,
  objectSets,
  open,
  packOf,
  readerOf,
} from './pack-objects.js'

const numRuns = process.env.DAGLOG_LONG ? 5_000 : 100
const codecs = Object.keys(CODECS) as Codec[]
const anyCodec = fc.constantFrom(...codecs)

async function* later(objects: readonly StoredObject[]): AsyncGenerator<StoredObject> {
  for (const object of objects) {
    await Promise.resolve()
    yield object
  }
}

describe('a pack', () => {
  it('gives back every object it was given, once, in order, by name and by walk', async () => {
    await fc.assert(
      fc.asyncProperty(
        objectSets,
        anyCodec,
        fc.nat(1_000_000),
        async (given, codec, cacheBytes) => {
          const objects = distinct(given)
          const pack = await packOf(given, codec)
          const reader = open(pack, { cache: new BlockCache(cacheBytes) })
          expectSame([...reader.objects()], objects)
          expectSame(
            objects.map(({ hash }) => reader.read(hash)!),
            objects,
          )
          expect([...reader.hashes()]).toEqual(objects.map(({ hash }) => hash))
          expect(pack).toMatchObject({
            objects: objects.length,
            bytesRaw: objects.reduce((sum, { bytes }) => sum + bytes.length, 0),
            bytesStored: pack.bytes.length,
          })
          for (const { hash, kind, bytes } of objects) {
            expect(reader.has(hash)).toBe(true)
            expect(reader.find(hash)).toMatchObject({ kind, bytes: bytes.length })
          }
          expect(damageOf(reader)).toEqual([])
        },
      ),
      { numRuns },
    )
  })

  it('is named by its bytes, which are a function of the objects, their order and the codec', async () => {
    await fc.assert(
      fc.asyncProperty(objectSets, anyCodec, async (objects, codec) => {
        const pack = await packOf(objects, codec)
        expect(pack.name).toBe(sha256(pack.bytes))
        const again = await packOf(later([...objects, ...objects]), codec)
        expect(again.name).toBe(pack.name)
        expect(again.index.equals(pack.index)).toBe(true)
      }),
      { numRuns: numRuns / 2 },
    )
  })

  it('has an index that is rebuilt from the pack alone, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(objectSets, anyCodec, async (objects, codec) => {
        const pack = await packOf(objects, codec)
        const rebuilt = buildIndex({ pack: pack.name, read: readerOf(pack.bytes) })
        expect(rebuilt.index.equals(pack.index)).toBe(true)
        expect(rebuilt.damage).toEqual([])
      }),
      { numRuns: numRuns / 2 },
    )
  })

  it('does not have what it was not given', async () => {
    const reader = open(await packOf([objectOf('a'), objectOf('b')]))
    const absent = objectOf('c').hash
    expect([reader.mayHave(absent), reader.has(absent)]).toEqual([false, false])
    expect([reader.find(absent), reader.read(absent)]).toEqual([undefined, undefined])
  })

  it('may be empty', async () => {
    const pack = await packOf([])
    expect(pack.bytes.length).toBe(PACK_MAGIC.length + FOOTER_BYTES)
    expect([...open(pack).objects()]).toEqual([])
    expect(damageOf(open(pack))).toEqual([])
  })

  it('has the bytes that its format says', async () => {
    const leaf = objectOf('leaf')
    const pack = await packOf([leaf, nodeOf('-', [leaf.hash, leaf.hash])], 'stored')
    expect(pack.bytes.toString('hex')).toBe(
      [
        Buffer.from('dagpack\x01', 'latin1').toString('hex'),
        '42 00 0000 00000000 02000000 02000000 03000000 0b000000 0b000000 XXXXXXXX', // Block header.
        '11 8e02', // Lengths * 4 + kind: a blob of 4, a rope of 67.
        `${Buffer.from('leaf---').toString('hex')} 05 00 01 01`, // Two lifted hashes, both of object 0.
        '45000000 01000000 02000000 4700000000000000 YYYYYYYY',
      ]
        .join('')
        .replaceAll(' ', '')
        .replace('XXXXXXXX', pack.bytes.toString('hex', 36, 40))
        .replace('YYYYYYYY', pack.bytes.toString('hex', pack.bytes.length - 4)),
    )
    // Pinned: whatever changes it changes the format.
    expect(pack.name.slice(0, 16)).toBe('b32ceb219689f1a3')
    expect(sha256(pack.index).slice(0, 16)).toBe('102236c92cd60dcf')
  })

  it('numbers kinds so that they fit beside a length', () => {
    for (const code of Object.values(OBJECT_KINDS)) expect(code).toBeLessThan(4)
  })
})

describe('blocks', () => {
  const sizesOf = (reader: PackReader) => reader.index.blocks.map(({ objects }) => objects)
  const filled = (n: number, byteCount: number) => objectOf(Buffer.alloc(byteCount, `${n} filler `))

  it('hold whole objects up to their size, and a larger object alone', async () => {
    const half = PACK_BLOCK_BYTES / 2
    const lengths = [half, half, 1, PACK_BLOCK_BYTES * 3 + 1, 1, PACK_BLOCK_BYTES, half, half + 1]
    const objects = lengths.map((byteCount, n) => filled(n, byteCount))
    const reader = open(await packOf(objects))
    expect(sizesOf(reader)).toEqual([2, 1, 1, 1, 1, 1, 1])
    expectSame(
      objects.map(({ hash }) => reader.read(hash)!),
      objects,
    )
  })

  it('hold a bounded count of objects', async () => {
    const objects = Array.from({ length: PACK_BLOCK_OBJECTS_MAX + 1 }, (_, n) => objectOf(`${n}`))
    expect(sizesOf(open(await packOf(objects, 'stored')))).toEqual([PACK_BLOCK_OBJECTS_MAX, 1])
  })

  it('are stored as they are where compression does not help', async () => {
    const noise = objectOf(noiseOf(1000))
    for (const codec of codecs) {
      const pack = await packOf([noise], codec)
      expect(pack.bytes[PACK_MAGIC.length + 1]).toBe(CODECS.stored)
      const overheadBytes = PACK_MAGIC.length + BLOCK_HEADER_BYTES + 2 + FOOTER_BYTES
      expect(pack.bytesStored).toBe(1000 + overheadBytes)
    }
  })

  it('cost few bytes for a name that an earlier object of the block has', async () => {
    const leaves = Array.from({ length: 100 }, (_, n) => objectOf(noiseOf(50 + (n % 7), `${n}`)))
    const names = leaves.map(({ hash }) => hash)
    const alone = await packOf(leaves)
    const referred = await packOf([...leaves, nodeOf('', names), nodeOf('again', names, 'tree')])
    expect(referred.bytesStored - alone.bytesStored).toBeLessThan(600)
    // What users wrote is left alone.
    const blob = await packOf([...leaves, nodeOf('', names, 'blob')])
    expect(blob.bytesStored - alone.bytesStored).toBeGreaterThan(3200)
  })

  it('give back nodes that name themselves nearly, overlap, or end in half a name', async () => {
    const leaf = objectOf('leaf')
    const name = Buffer.from(leaf.hash, 'hex')
    const other = nodeOf('x', [leaf.hash])
    const tricky = [
      Buffer.concat([name.subarray(0, 31), name, name.subarray(0, 5)]),
      Buffer.concat([name, name, name]),
      Buffer.concat([name.subarray(0, 4), name.subarray(0, 4), name]),
      name.subarray(0, 31),
      Buffer.concat([Buffer.from(other.hash, 'hex'), name]),
    ].map((bytes) => objectOf(bytes, 'rope'))
    const objects = [leaf, other, ...tricky]
    for (const codec of codecs)
      expectSame([...open(await packOf(objects, codec)).objects()], objects)
    // The name comes before its object: it stays where it is.
    const early = [tricky[1]!, leaf]
    expectSame([...open(await packOf(early)).objects()], early)
  })
})

describe('writing a pack', () => {
  const many = Array.from({ length: 40 }, (_, n) => objectOf(Buffer.alloc(100_000, `${n} `)))

  it('waits for the sink, one piece at a time', async () => {
    let taking = 0
    const sizes: number[] = []
    const written = await writePack(many, async (bytes) => {
      taking += 1
      expect(taking).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      sizes.push(bytes.length)
      taking -= 1
    })
    expect(sizes.reduce((sum, size) => sum + size)).toBe(written.bytesStored)
    expect(written.name).toBe((await packOf(many)).name)
  })

  it('takes objects no faster than it writes blocks', async () => {
    let taken = 0
    let written = 0
    function* counted() {
      for (const object of many) {
        taken += 1
        // Two in each block; at most two blocks in compression and one being filled.
        expect(taken - written).toBeLessThanOrEqual(8)
        yield object
      }
    }
    await writePack(counted(), (bytes) => {
      if (bytes.length > PACK_MAGIC.length && bytes[0] === 0x42) written += 2
    })
    expect(taken).toBe(many.length)
  })

  it('fails as the sink fails, or the objects', async () => {
    const full = new Error('disk full')
    let pieces = 0
    const sink = () => {
      pieces += 1
      if (pieces === 3) throw full
    }
    await expect(writePack(many, sink)).rejects.toBe(full)
    const broken = new Error('no such object')
    async function* objects() {
      yield* many.slice(0, 9)
      throw broken
    }
    await expect(writePack(objects(), () => {})).rejects.toBe(broken)
  })

  it('refuses an object under a wrong name', async () => {
    const forged = { ...objectOf('a'), hash: objectOf('b').hash }
    await expect(packOf([forged])).rejects.toMatchObject({ code: 'OBJECT_CORRUPT' })
  })

  it('refuses an object over the limit, before it is hashed', async () => {
    const bytes = Buffer.alloc(0)
    Object.defineProperty(bytes, 'length', { value: OBJECT_BYTES_MAX + 1 })
    const tooLarge: StoredObject = { hash: 'f'.repeat(64) as Hash, kind: 'blob', bytes }
    await expect(packOf([tooLarge])).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })

  it('merges packs', async () => {
    const left = await packOf(many.slice(0, 25))
    const right = await packOf(many.slice(20))
    function* both() {
      yield* open(left).objects()
      yield* open(right).objects()
    }
    const merged = await packOf(both())
    expect(merged.name).toBe((await packOf(many)).name)
  })
})

describe('reading a pack', () => {
  const objects = Array.from({ length: 12 }, (_, n) => objectOf(Buffer.alloc(100_000, `${n} `)))

  it('reads nothing to open or to miss, and one block once for the objects in it', async () => {
    const pack = await packOf(objects)
    const reads: number[] = []
    const read = (fromByte: number, byteCount: number) => {
      reads.push(fromByte)
      return readerOf(pack.bytes)(fromByte, byteCount)
    }
    const cache = new BlockCache(10_000_000)
    const reader = PackReader.open({ pack: pack.name, read }, { index: pack.index, cache })
    expect(reader.has(objectOf('absent').hash)).toBe(false)
    expect(reads).toEqual([])
    for (const { hash } of objects) reader.read(hash)
    for (const { hash } of objects) reader.read(hash)
    expect(reads).toEqual(reader.index.blocks.map(({ atByte }) => atByte))
  })

  it('gives bytes of its own: changing them changes no later read', async () => {
    const pack = await packOf(objects)
    const reader = open(pack, { cache: new BlockCache(10_000_000) })
    reader.read(objects[0]!.hash)!.bytes.fill(0)
    expectSame([reader.read(objects[0]!.hash)!], [objects[0]!])
  })
})
