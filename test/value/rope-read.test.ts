import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import type { Hash } from '../../src/core/hash.js'
import { readRope, readRopeAsync, ropeChildren, writeRope } from '../../src/value/rope.js'
import { encodeRopeNode, parseRopeNode, ROPE_NODE_BYTES_MAX } from '../../src/value/rope-node.js'
import { ROPE_DEPTH_MAX } from '../../src/value/rope-read.js'
import { conversation, hashOf, RopeStore, requestOf, sample } from './rope-samples.js'

/** The error of `act`, which must be OBJECT_CORRUPT and name `hash`. */
function expectCorrupt(act: () => unknown, hash: Hash) {
  let error: unknown
  try {
    act()
  } catch (caught) {
    error = caught
  }
  expect(error).toBeInstanceOf(DaglogError)
  expect(error).toMatchObject({ code: 'OBJECT_CORRUPT', data: { hash } })
  expect((error as Error).message).toContain(hash)
}

const A = hashOf('a')
const B = hashOf('b')
const ROOT = hashOf('root')

describe('a range of a rope', () => {
  it('is that slice of the bytes', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 8 }),
        (seed, ranges) => {
          const bytes = sample(seed)
          const store = new RopeStore()
          const rope = writeRope(bytes, store.put)
          for (const [a, b] of ranges) {
            const from = a % (bytes.length + 2)
            const to = from + (b % (bytes.length + 2))
            expect(store.read(rope, { from, to }).equals(bytes.subarray(from, to))).toBe(true)
            expect(store.read(rope, { from }).equals(bytes.subarray(from))).toBe(true)
            expect(store.read(rope, { to }).equals(bytes.subarray(0, to))).toBe(true)
          }
        },
      ),
      { numRuns: 50 },
    )
  })

  it('loads only what it touches', () => {
    const body = requestOf(conversation(150))
    const store = new RopeStore()
    const rope = writeRope(body, store.put)
    for (let from = 0; from < body.length; from += 9973) {
      store.loads = 0
      expect(store.read(rope, { from, to: from + 10 })).toHaveLength(
        Math.min(10, body.length - from),
      )
      expect(store.loads).toBeLessThan(9)
    }
  })

  it('loads no child that only touches it', () => {
    const loaded: Hash[] = []
    const root = encodeRopeNode([A, B, A].map((hash) => ({ hash, kind: 'blob', size: 5 })))
    const load = (hash: Hash) => {
      loaded.push(hash)
      return hash === ROOT ? root : Buffer.from(hash.slice(0, 5))
    }
    const parts = [...readRope(ROOT, 'rope', load, { from: 5, to: 10 })]
    expect(Buffer.concat(parts).toString()).toBe(B.slice(0, 5))
    expect(loaded).toEqual([ROOT, B])
  })

  it('is empty at the end and beyond', () => {
    const store = new RopeStore()
    const rope = writeRope(requestOf(conversation(9)), store.put)
    for (const from of [rope.size, rope.size + 1, 2 ** 40])
      expect(store.read(rope, { from })).toHaveLength(0)
    expect(store.read(rope, { to: 0 })).toHaveLength(0)
    expect(store.read(rope, { from: 9, to: 5 })).toHaveLength(0)
  })
})

describe('reading from afar', () => {
  it('gives the same bytes', async () => {
    const body = requestOf(conversation(40))
    const store = new RopeStore()
    const rope = writeRope(body, store.put)
    const parts: Uint8Array[] = []
    const load = (hash: Hash) => Promise.resolve(store.load(hash))
    for await (const part of readRopeAsync(rope.root, rope.rootKind, load, { from: 100 }))
      parts.push(part)
    expect(Buffer.concat(parts).equals(body.subarray(100))).toBe(true)
  })

  it('passes on that an object is missing', async () => {
    const walk = readRopeAsync(A, 'rope', () => Promise.reject(new Error('gone')))
    await expect(walk.next()).rejects.toThrow('gone')
  })
})

describe('a node', () => {
  const entry = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }),
    fc.record({
      hash: fc.constantFrom(A, B),
      kind: fc.constantFrom('blob' as const, 'rope' as const),
      size: fc.oneof(
        fc.integer({ min: 1, max: 70_000 }),
        fc.maxSafeNat().map((n) => Math.floor(n / 4) || 1),
      ),
    }),
  )

  it('has the entries it was made of, and its children', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), (entries) => {
        const node = encodeRopeNode(entries)
        const parsed = parseRopeNode(node)
        expect(parsed.map((each) => (each instanceof Uint8Array ? [...each] : each))).toEqual(
          entries.map((each) => (each instanceof Uint8Array ? [...each] : each)),
        )
        expect(ropeChildren(node)).toEqual(entries.filter((each) => !(each instanceof Uint8Array)))
      }),
      { numRuns: 300 },
    )
  })

  it('is written in one way only: other bytes are an error or another node', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 5 }),
        fc.nat(),
        fc.nat({ max: 7 }),
        fc.boolean(),
        (entries, n, bit, cut) => {
          const node = encodeRopeNode(entries)
          const at = n % node.length
          const changed = cut ? node.subarray(0, at) : Uint8Array.from(node)
          if (!cut) changed[at]! ^= 1 << bit
          let parsed: ReturnType<typeof parseRopeNode>
          try {
            parsed = parseRopeNode(changed)
          } catch (error) {
            expect(error).toMatchObject({ code: 'OBJECT_CORRUPT', data: { hash: hashOf(changed) } })
            return
          }
          expect(Buffer.compare(encodeRopeNode(parsed), changed)).toBe(0)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is not any bytes', () => {
    const child = Buffer.alloc(32, 7)
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('{"a":1}'),
      Buffer.from([2]),
      Buffer.from([1, 0]), // an empty literal
      Buffer.from([1, 1, ...child]), // a child of no bytes
      Buffer.from([1, 7, ...child]), // kind 3
      Buffer.from([1, 5, ...child.subarray(1)]), // a hash cut short
      Buffer.from([1, 0x88]), // a count cut short
      Buffer.from([1, 0x88, 0x00, 0x41, 0x41]), // a count with a useless byte
      Buffer.from([1, ...Array(9).fill(0xff), 0x7f]), // a count too large
      Buffer.from([1, 0x82, ...Array(6).fill(0x80), 0x10, ...child]), // a count just too large
      Buffer.concat([Buffer.from([1]), Buffer.alloc(ROPE_NODE_BYTES_MAX, 7)]), // a node too large
    ]) {
      expectCorrupt(() => parseRopeNode(bytes), hashOf(bytes))
      expectCorrupt(() => [...readRope(A, 'rope', () => bytes)], A)
    }
  })

  it('may look like user bytes, and is never read as a node unless its referrer says so', () => {
    const store = new RopeStore()
    const node = encodeRopeNode([{ hash: A, kind: 'blob', size: 9 }])
    const rope = writeRope(node, store.put)
    expect(rope.rootKind).toBe('blob')
    expect(store.read(rope).equals(node)).toBe(true)
  })
})

describe('a rope that is not what its referrer says', () => {
  const load = (objects: Record<Hash, Uint8Array>) => (hash: Hash) => objects[hash]!

  it('is an error that names the child whose length differs', () => {
    for (const size of [1, 4, 6, 70_000]) {
      const root = encodeRopeNode([Buffer.from('x'), { hash: A, kind: 'blob', size }])
      expectCorrupt(
        () => [...readRope(B, 'rope', load({ [B]: root, [A]: Buffer.from('12345') }))],
        A,
      )
    }
    const inner = encodeRopeNode([Buffer.from('12345')])
    const root = encodeRopeNode([{ hash: A, kind: 'rope', size: 4 }])
    expectCorrupt(() => [...readRope(B, 'rope', load({ [B]: root, [A]: inner }))], A)
  })

  it('is an error that names the root whose length differs, before anything is read', () => {
    const objects = load({ [A]: Buffer.from('12345'), [B]: encodeRopeNode([Buffer.from('12345')]) })
    expectCorrupt(() => readRope(A, 'blob', objects, { size: 6 }).next(), A)
    expectCorrupt(() => readRope(B, 'rope', objects, { size: 4 }).next(), B)
    expect([...readRope(B, 'rope', objects, { size: 5 })]).toHaveLength(1)
  })

  it('ends where it leads back to itself', () => {
    let loads = 0
    const node = encodeRopeNode([{ hash: A, kind: 'rope', size: 5 }])
    const walk = () => [
      ...readRope(A, 'rope', () => {
        loads += 1
        return node
      }),
    ]
    expectCorrupt(walk, A)
    expect(loads).toBe(ROPE_DEPTH_MAX + 1)
  })

  it('passes on what the loader throws', () => {
    const failure = new DaglogError('OBJECT_MISSING', 'object is not there')
    const walk = readRope(A, 'blob', () => {
      throw failure
    })
    expect(() => walk.next()).toThrow(failure)
  })
})
