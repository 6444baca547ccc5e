import { brotliCompressSync, crc32, deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Hash, sha256 } from '../../src/core/hash.js'
import type { StoredObject } from '../../src/core/object.js'
import {
  BLOCK_HEADER_BYTES,
  type BlockHeader,
  blockCrc,
  CODECS,
  encodeFooter,
  FOOTER_BYTES,
  frameBlock,
  PACK_MAGIC,
} from '../../src/value/pack.js'
import { decodeBlock, encodeBlock } from '../../src/value/pack-block.js'
import { BlockCache } from '../../src/value/pack-cache.js'
import { HashList } from '../../src/value/pack-hashes.js'
import { encodeIndex } from '../../src/value/pack-index.js'
import { PackReader } from '../../src/value/pack-reader.js'
import { buildIndex } from '../../src/value/pack-rebuild.js'
import {
  codeOf,
  damageOf,
  expectSame,
  flipBit,
  type MemoryPack,
  nodeOf,
  noiseOf,
  objectOf,
  open,
  packOf,
  readerOf,
} from './pack-objects.js'

const numRuns = process.env.DAGLOG_LONG ? 100_000 : 2_000
const place = { pack: 'f'.repeat(64) as Hash, block: 0, atByte: 8 }

/** Three blocks in some hundred bytes: text that compresses well, names that are lifted, noise. */
async function smallPack(codec: keyof typeof CODECS): Promise<{
  pack: MemoryPack
  objects: StoredObject[]
}> {
  const leaf = objectOf('leaf')
  const long = objectOf(Buffer.alloc(codec === 'stored' ? 9 : 262_144, 'ab'))
  const node = nodeOf('-', [leaf.hash, leaf.hash])
  const objects = [leaf, objectOf(''), node, long, nodeOf('end', [long.hash, leaf.hash], 'tree')]
  return { pack: await packOf(objects, codec), objects }
}

/** What of `objects` the reader gives; fails on wrong bytes, and on errors other than of damage. */
function readable(reader: ReturnType<typeof open>, objects: readonly StoredObject[]): number {
  let count = 0
  for (const object of objects) {
    let read: StoredObject | undefined
    const code = codeOf(() => {
      read = reader.read(object.hash)
    })
    expect([undefined, 'PACK_INVALID', 'OBJECT_CORRUPT', 'FORMAT_TOO_NEW']).toContain(code)
    if (read === undefined) continue
    expectSame([read], [object])
    count += 1
  }
  return count
}

/** Checks all that must hold for a pack with damaged bytes; counts the objects that can be read. */
function expectDamaged(pack: MemoryPack, bytes: Buffer, objects: readonly StoredObject[]): number {
  const reader = open(pack, { bytes, cache: new BlockCache(1_000_000) })
  expect(damageOf(reader).length).toBeGreaterThan(0)
  const count = readable(reader, objects)
  const rebuilt = buildIndex({ pack: pack.name, read: readerOf(bytes) })
  expect(rebuilt.damage.length).toBeGreaterThan(0)
  const cache = new BlockCache(1_000_000)
  const again = open(pack, { bytes, index: rebuilt.index, cache })
  expect(damageOf(again).length).toBeGreaterThan(0)
  expect(readable(again, objects)).toBe(count)
  expectSame(
    [...again.objects()],
    objects.filter(({ hash }) => again.has(hash)),
  )
  return count
}

describe.each(['stored', 'deflate', 'brotli'] as const)('a damaged pack (%s)', (codec) => {
  it('is noticed after any single flipped bit, loses one block at most, and reads nothing wrong', async () => {
    const { pack, objects } = await smallPack(codec)
    const { blocks } = open(pack).index
    const worst = Math.max(...blocks.map((block) => block.objects))
    // One codec less in full saves a third of the time.
    const stepBits = codec === 'deflate' && !process.env.DAGLOG_LONG ? 7 : 1
    for (let bit = 0; bit < pack.bytes.length * 8; bit += stepBits) {
      const count = expectDamaged(pack, flipBit(pack.bytes, bit), objects)
      expect(count).toBeGreaterThanOrEqual(objects.length - worst)
    }
  })

  it('is noticed wherever it is cut, and its whole blocks are read', async () => {
    const { pack, objects } = await smallPack(codec)
    const { blocks } = open(pack).index
    for (let cutBytes = 0; cutBytes < pack.bytes.length; cutBytes++) {
      const bytes = pack.bytes.subarray(0, cutBytes)
      const count = expectDamaged(pack, bytes, objects)
      const whole = blocks.filter((block) => block.atByte + block.bytes <= cutBytes)
      expect(count).toBe(whole.reduce((sum, block) => sum + block.objects, 0))
    }
  })

  it('is noticed when bytes are added, at its end or within', async () => {
    const { pack, objects } = await smallPack(codec)
    for (let at = 0; at <= pack.bytes.length; at++) {
      const bytes = Buffer.concat([
        pack.bytes.subarray(0, at),
        Buffer.of(0),
        pack.bytes.subarray(at),
      ])
      const reader = open(pack, { bytes })
      expect(damageOf(reader).length).toBeGreaterThan(0)
      readable(reader, objects)
      expect(buildIndex({ pack: pack.name, read: readerOf(bytes) }).damage.length).toBeGreaterThan(
        0,
      )
    }
  })

  it('has an index that is refused after any single flipped bit, and at any other length', async () => {
    const { pack } = await smallPack(codec)
    for (let bit = 0; bit < pack.index.length * 8; bit++) {
      const index = flipBit(pack.index, bit)
      expect(codeOf(() => open(pack, { index }))).toBe('PACK_INVALID')
    }
    for (let cutBytes = 0; cutBytes < pack.index.length; cutBytes++) {
      const index = pack.index.subarray(0, cutBytes)
      expect(codeOf(() => open(pack, { index }))).toBe('PACK_INVALID')
    }
    const longer = Buffer.concat([pack.index, Buffer.of(0)])
    expect(codeOf(() => open(pack, { index: longer }))).toBe('PACK_INVALID')
  })
})

describe('errors of a damaged pack', () => {
  it('name the pack, the block, the byte and the object', async () => {
    const { pack, objects } = await smallPack('brotli')
    const block = open(pack).index.blocks[1]!
    const reader = open(pack, { bytes: flipBit(pack.bytes, (block.atByte + 40) * 8) })
    const { hash } = objects[3]!
    expect(() => reader.read(hash)).toThrow(
      expect.objectContaining({
        code: 'PACK_INVALID',
        data: { pack: pack.name, block: 1, atByte: block.atByte, hash },
        message: expect.stringContaining(hash),
      }),
    )
  })

  it('say what is there instead of the object, where the index and the block disagree', async () => {
    const [there, sought] = [objectOf('there'), objectOf('sought')]
    const pack = await packOf([there])
    const hashes = new HashList()
    hashes.push(sought.hash)
    const index = encodeIndex(pack.name, open(pack).index.blocks, hashes)
    const reader = open(pack, { index })
    expect(() => reader.read(sought.hash)).toThrow(
      expect.objectContaining({
        code: 'OBJECT_CORRUPT',
        data: expect.objectContaining({ pack: pack.name, block: 0, hash: sought.hash }),
      }),
    )
    expect(damageOf(reader)).toMatchObject([{ data: { part: 'index', hash: there.hash } }])
  })

  it('are of the index, where it is another pack’s', async () => {
    const [left, right] = [await packOf([objectOf('a')]), await packOf([objectOf('b')])]
    expect(() => open(left, { index: right.index })).toThrow(
      expect.objectContaining({ code: 'PACK_INVALID', data: { pack: left.name, part: 'index' } }),
    )
    // Bytes of another pack under this name: nothing wrong is read.
    expect(damageOf(open(left, { bytes: right.bytes })).length).toBeGreaterThan(0)
    expect(codeOf(() => open(left, { bytes: right.bytes }).read(objectOf('a').hash))).toBe(
      'OBJECT_CORRUPT',
    )
  })

  it('come from the disk unchanged', async () => {
    const { pack, objects } = await smallPack('stored')
    const broken = new Error('EIO')
    const read = () => {
      throw broken
    }
    const cache = new BlockCache(0)
    const reader = PackReader.open({ pack: pack.name, read }, { index: pack.index, cache })
    expect(() => reader.read(objects[0]!.hash)).toThrow(broken)
    expect(() => damageOf(reader)).toThrow(broken)
  })
})

describe('a rebuilt index', () => {
  it('finds what follows a damaged block, however long that is', async () => {
    const before = objectOf('before')
    const large = objectOf(noiseOf(2_500_000))
    const after = [objectOf('after '.repeat(40_000)), objectOf('last')]
    const pack = await packOf([before, large, ...after])
    const large_ = open(pack).index.blocks[1]!
    for (const atByte of [large_.atByte, large_.atByte + 20, large_.atByte + 2_000_000]) {
      const bytes = flipBit(pack.bytes, atByte * 8)
      const { index, damage } = buildIndex({ pack: pack.name, read: readerOf(bytes) })
      expect(damage.map(({ code }) => code)).toEqual(['PACK_INVALID', 'PACK_INVALID'])
      expectSame([...open(pack, { bytes, index }).objects()], [before, ...after])
    }
  })

  it('is refused for a pack that a newer daglog wrote, and only for a whole one', () => {
    const newer = Buffer.concat([PACK_MAGIC, Buffer.from('something quite different')])
    newer[PACK_MAGIC.length - 1] = 2
    const pack = sha256(newer)
    expect(codeOf(() => buildIndex({ pack, read: readerOf(newer) }))).toBe('FORMAT_TOO_NEW')
    expect(buildIndex({ pack: place.pack, read: readerOf(newer) }).damage.length).toBeGreaterThan(0)
  })
})

/** A block whose checksum holds, whatever its header says. */
function hostileBlock(fields: Partial<BlockHeader>, table: Buffer, stored: Buffer): Buffer {
  const header = {
    codec: CODECS.stored,
    keyId: 0,
    objects: 1,
    refs: 0,
    tableBytes: table.length,
    payloadBytes: stored.length,
    storedBytes: stored.length,
  }
  return frameBlock({ ...header, ...fields }, table, stored)
}

describe('a hostile block', () => {
  const codeFor = (fields: Partial<BlockHeader>, table: number[], stored: Buffer) =>
    codeOf(() => decodeBlock(hostileBlock(fields, Buffer.from(table), stored), place))
  const blob5 = [5 * 4 + 1]
  const five = Buffer.from('hello')

  it('is a plain one without the hostility', () => {
    expect(codeFor({}, blob5, five)).toBeUndefined()
  })

  it('unfolds to no more than it declares', () => {
    const bomb = Buffer.alloc(16 * 1024 * 1024)
    const brotli = brotliCompressSync(bomb)
    const deflate = deflateRawSync(bomb)
    const declared = { payloadBytes: 100_000 }
    const table = [0x81, 0xb5, 0x18] // One blob of 100,000 bytes.
    expect(codeFor({ ...declared, codec: CODECS.brotli }, table, brotli)).toBe('PACK_INVALID')
    expect(codeFor({ ...declared, codec: CODECS.deflate }, table, deflate)).toBe('PACK_INVALID')
    const tooLittle = brotliCompressSync(Buffer.alloc(99_999))
    expect(codeFor({ ...declared, codec: CODECS.brotli }, table, tooLittle)).toBe('PACK_INVALID')
    const enough = brotliCompressSync(Buffer.alloc(100_000))
    expect(codeFor({ ...declared, codec: CODECS.brotli }, table, enough)).toBeUndefined()
  })

  it('declares no more than the limits', () => {
    const huge = 0xffff_ffff
    expect(codeFor({ payloadBytes: huge }, blob5, five)).toBe('PACK_INVALID')
    expect(codeFor({ storedBytes: huge, payloadBytes: huge }, blob5, five)).toBe('PACK_INVALID')
    expect(codeFor({ objects: huge }, blob5, five)).toBe('PACK_INVALID')
    expect(codeFor({ objects: 0 }, blob5, five)).toBe('PACK_INVALID')
    expect(codeFor({ refs: huge }, blob5, five)).toBe('PACK_INVALID')
    expect(codeFor({ tableBytes: huge }, blob5, five)).toBe('PACK_INVALID')
    // 512 MiB as one object; 200 KiB twice in one block; a length of 2^48.
    expect(codeFor({}, [0x81, 0x80, 0x80, 0x80, 0x08], five)).toBe('PACK_INVALID')
    const twice = [0x81, 0x80, 0x32, 0x81, 0x80, 0x32]
    expect(codeFor({ objects: 2 }, twice, five)).toBe('PACK_INVALID')
    expect(codeFor({}, [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], five)).toBe('PACK_INVALID')
  })

  it('has a table and a payload of exactly the declared objects', () => {
    expect(codeFor({}, [5 * 4], five)).toBe('PACK_INVALID') // Kind 0.
    expect(codeFor({}, [4 * 4 + 1], five)).toBe('PACK_INVALID')
    expect(codeFor({}, [6 * 4 + 1], five)).toBe('PACK_INVALID')
    expect(codeFor({}, [...blob5, 1], five)).toBe('PACK_INVALID')
    expect(codeFor({}, [0x80 | 21], five)).toBe('PACK_INVALID')
    expect(codeFor({ objects: 2 }, blob5, five)).toBe('PACK_INVALID')
  })

  it('lifts only names of earlier objects, each within one object', () => {
    const table = [3 * 4 + 1, 0x8a, 0x01] // A blob of 3, a rope of 34.
    const codeForRefs = (refs: number, ...lifted: number[]) =>
      codeFor({ objects: 2, refs }, table, Buffer.from([...Buffer.from('abcde'), ...lifted]))
    expect(codeForRefs(1, 4, 0)).toBeUndefined()
    expect(codeForRefs(1, 4, 2)).toBe('PACK_INVALID') // Itself.
    expect(codeForRefs(1, 4, 1)).toBe('PACK_INVALID') // One before the first.
    expect(codeForRefs(1, 2, 0)).toBe('PACK_INVALID') // From the end of the one before.
    expect(codeForRefs(1, 6, 0)).toBe('PACK_INVALID') // Over the end.
    expect(codeForRefs(1, 200, 0)).toBe('PACK_INVALID')
    expect(codeForRefs(1, 4)).toBe('PACK_INVALID')
    expect(codeForRefs(1)).toBe('PACK_INVALID')
    expect(codeForRefs(1, 4, 0, 0)).toBe('PACK_INVALID')
    expect(codeForRefs(2, 4, 0, 0, 0)).toBe('PACK_INVALID')
    expect(codeForRefs(0, 4, 0)).toBe('PACK_INVALID')
  })

  it('of a newer daglog is told apart from damage', () => {
    expect(codeFor({ codec: 3 }, blob5, five)).toBe('FORMAT_TOO_NEW')
    expect(codeFor({ keyId: 1 }, blob5, five)).toBe('FORMAT_TOO_NEW')
  })

  it('gives objects that are what their names say, or an error, whatever its bytes', async () => {
    const { objects } = await smallPack('stored')
    const block = await encodeBlock(objects, 'stored')
    const edit = fc.record({ at: fc.nat(block.length - 1), value: fc.nat(255) })
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 4 }), fc.nat(4), (edits, cutBytes) => {
        const bytes = Buffer.from(block.subarray(0, block.length - cutBytes))
        for (const { at, value } of edits) if (at < bytes.length) bytes[at] = value
        bytes.writeUInt32LE(blockCrc(bytes), 28)
        const code = codeOf(() => {
          const decoded = decodeBlock(bytes, place)
          for (let number = 0; number < decoded.hashes.length; number++) {
            const object = decoded.at(number)
            expect(sha256(object.bytes)).toBe(object.hash)
          }
        })
        expect([undefined, 'PACK_INVALID', 'FORMAT_TOO_NEW']).toContain(code)
      }),
      { numRuns },
    )
  })
})

describe('a hostile pack', () => {
  it('with other objects than its index says is read as damaged, never wrongly', async () => {
    const objects = Array.from({ length: 30 }, (_, n) => objectOf(`object ${n}`))
    const pack = await packOf(objects)
    const edit = fc.record({ at: fc.nat(pack.index.length - 5), value: fc.nat(255) })
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        const index = Buffer.from(pack.index)
        for (const { at, value } of edits) index[at] = value
        // A checksum that holds.
        index.writeUInt32LE(crc32(index.subarray(0, -4)), index.length - 4)
        const code = codeOf(() => {
          const reader = open(pack, { index })
          readable(reader, objects)
          damageOf(reader)
        })
        expect([undefined, 'PACK_INVALID', 'FORMAT_TOO_NEW']).toContain(code)
      }),
      { numRuns },
    )
  })

  it('cannot make a search for whole blocks run for ever', () => {
    // Headers that each claim most of the file, one after the other.
    const header = frameBlock(
      {
        codec: 0,
        keyId: 0,
        objects: 1,
        refs: 0,
        tableBytes: 1,
        payloadBytes: 3e6,
        storedBytes: 3e6,
      },
      Buffer.of(5),
      Buffer.alloc(0),
    ).subarray(0, BLOCK_HEADER_BYTES)
    const bytes = Buffer.concat([PACK_MAGIC, ...Array.from({ length: 200_000 }, () => header)])
    let readBytes = 0
    const read = (fromByte: number, byteCount: number) => {
      readBytes += byteCount
      return readerOf(bytes)(fromByte, byteCount)
    }
    expect(buildIndex({ pack: place.pack, read }).damage.length).toBeGreaterThan(0)
    expect(readBytes).toBeLessThan(1.2 * 1024 * 1024 * 1024)
  })

  it('may hold an object twice: both are accounted for', () => {
    const twin = hostileBlock({}, Buffer.of(5 * 4 + 1), Buffer.from('hello'))
    const footer = encodeFooter({ blocks: 2, objects: 2, bytesRaw: 10 })
    const bytes = Buffer.concat([PACK_MAGIC, twin, twin, footer])
    const pack = sha256(bytes)
    const { index, damage } = buildIndex({ pack, read: readerOf(bytes) })
    expect(damage).toEqual([])
    const written = {
      name: pack,
      index,
      bytes,
      objects: 2,
      bytesRaw: 10,
      bytesStored: bytes.length,
    }
    expect(damageOf(open(written))).toEqual([])
    expect(open(written).index.footerAt).toBe(bytes.length - FOOTER_BYTES)
  })
})
