import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { type Hash, sha256 } from '../../src/core/hash.js'
import type { ObjectKind } from '../../src/core/object.js'
import { loadTree, type Tree, treeChildren, treeFrom } from '../../src/value/tree.js'
import { childrenOf, isSame, MemoryObjects, runs, values } from './tree-model.js'

const plain = {
  page: 'text '.repeat(30_000),
  files: Object.fromEntries(
    Array.from({ length: 90 }, (_, i) => [`k${i}`, { size: i, of: 'x'.repeat(3 * i) }]),
  ),
  list: Array.from({ length: 250 }, (_, i) => ({ id: i, text: 'word '.repeat(i % 90) })),
  bytes: new Uint8Array(1000),
  large: 7n ** 2000n,
}

describe('a committed tree', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(values, (value) => {
        const objects = new MemoryObjects()
        const tree = treeFrom(value)
        const root = tree.commit(objects.store())
        expect(root).toBe(tree.hash())
        const loaded = loadTree(root, objects.store())
        expect(isSame(loaded.toJSON(), value)).toBe(true)
        expect(isSame(loaded.view(), value)).toBe(true)
        expect(loaded.hash()).toBe(root)
        expect(treeFrom(loaded.toJSON()).hash()).toBe(root)
      }),
      { numRuns: runs(500) },
    )
  })

  it('puts children before parents, each object once, under its own hash', () => {
    fc.assert(
      fc.property(values, (value) => {
        const known = new Set<Hash>()
        const tree = treeFrom([value, plain, value])
        const store = new MemoryObjects().store({
          put: ({ hash, kind, bytes }) => {
            expect(sha256(bytes)).toBe(hash)
            expect(known.has(hash) && kind === 'tree').toBe(false)
            known.add(hash)
            if (kind !== 'tree') return
            for (const child of treeChildren(bytes)) expect(known.has(child.hash)).toBe(true)
          },
        })
        const root = tree.commit(store)
        expect(known.has(root)).toBe(true)
      }),
      { numRuns: runs(40) },
    )
  })

  it('has all its objects found from the root, and no others', () => {
    fc.assert(
      fc.property(values, (value) => {
        const objects = new MemoryObjects()
        const root = treeFrom({ value, plain }).commit(objects.store())
        expect(objects.reachable(root).size).toBe(objects.objects.size)
      }),
      { numRuns: runs(40) },
    )
  })

  it('puts nothing when it is committed again', () => {
    const objects = new MemoryObjects()
    const store = objects.store()
    const tree = treeFrom(plain)
    tree.commit(store)
    objects.puts = 0
    tree.commit(store)
    loadTree(tree.hash(), store).commit(store)
    expect(objects.puts).toBe(0)
  })

  it('is put whole into another store, also where it is not in memory', () => {
    const first = new MemoryObjects()
    const second = new MemoryObjects()
    const root = treeFrom(plain).commit(first.store())
    const loaded = loadTree(root, first.store({ cacheBytesMax: 5000 }))
    const changed = loaded.set(['page'], 'new')
    const store = second.store()
    expect(loaded.commit(store)).toBe(root)
    expect(second.objects.size).toBe(first.objects.size)
    expect(isSame(loadTree(root, second.store()).toJSON(), plain)).toBe(true)
    second.puts = 0
    changed.commit(store)
    expect(second.puts).toBe(1)
    const small = loadTree(treeFrom({ a: 1 }).commit(first.store()), first.store())
    expect(second.objects.has(small.commit(store))).toBe(true)
  })

  it('goes on being read from where it was loaded', () => {
    const first = new MemoryObjects()
    const root = treeFrom(plain).commit(first.store())
    const loaded = loadTree(root, first.store({ cacheBytesMax: 5000 }))
    const store = new MemoryObjects().store({ load: () => undefined })
    loaded.commit(store)
    expect(isSame(loaded.toJSON(), plain)).toBe(true)
    expect(loaded.push(['list'], 'more').commit(store)).toBe(
      treeFrom({ ...plain, list: [...plain.list, 'more'] }).hash(),
    )
  })

  it('is as new to a store whose put failed half way', () => {
    const objects = new MemoryObjects()
    let left = 20
    const failing = objects.store({
      put: (object) => {
        if (left === 0) throw new Error('disk full')
        left -= 1
        objects.put(object)
      },
    })
    const tree = treeFrom(plain)
    expect(() => tree.commit(failing)).toThrow('disk full')
    left = 100_000
    const root = tree.commit(failing)
    expect(isSame(loadTree(root, objects.store()).toJSON(), plain)).toBe(true)
  })
})

test('a store without put only reads', () => {
  const reader = new MemoryObjects().store({ put: undefined })
  expect(errorOf(() => treeFrom(1).commit(reader)).code).toBe('USAGE')
})

describe('the cache', () => {
  it('stays within its bytes, and what it dropped is read again', () => {
    const objects = new MemoryObjects()
    const root = treeFrom(plain).commit(objects.store())
    const store = objects.store({ cacheBytesMax: 20_000 })
    const tree = loadTree(root, store)
    for (let i = 0; i < 2000; i++) {
      const at = (i * 7919) % 250
      expect(tree.get(['list', at, 'id'])).toBe(at)
      expect(tree.get(['files', `k${at % 90}`, 'size'])).toBe(at % 90)
      expect(store.cacheBytes).toBeLessThanOrEqual(20_000)
    }
    expect(tree.get(['page'])).toBe(plain.page)
  })

  it('spares what is used the second reading', () => {
    const objects = new MemoryObjects()
    const root = treeFrom(plain).commit(objects.store())
    const tree = loadTree(root, objects.store())
    tree.toJSON()
    objects.loads = 0
    tree.toJSON()
    loadTree(root, objects.store())
    expect(objects.loads).toBe(1)
  })
})

describe('an object that is missing', () => {
  const objects = new MemoryObjects()
  const root = treeFrom(plain).commit(objects.store())
  const hashes = [...objects.objects.keys()].filter((hash) => hash !== root)

  it('is named with who refers to it, whichever it is, and never read past', () => {
    for (const gone of hashes) {
      const store = objects.store({
        load: (hash) => (hash === gone ? undefined : objects.objects.get(hash)?.bytes),
      })
      const error = errorOf(() => loadTree(root, store).toJSON())
      expect(error).toMatchObject({ code: 'OBJECT_MISSING', data: { hash: gone } })
      const referrer = String(error.data.referrer).replace('object ', '') as Hash
      const { kind, bytes } = objects.objects.get(referrer)!
      const children = childrenOf(kind, bytes)
      expect(children.map((child) => child.hash)).toContain(gone)
    }
  })

  it('is named as the root with what the caller said', () => {
    const store = objects.store({ load: () => undefined })
    const error = errorOf(() => loadTree(root, store, 'run x, seq 3'))
    expect(error.message).toContain('run x, seq 3')
    expect(error.data).toEqual({ hash: root, referrer: 'run x, seq 3' })
  })

  it('is named the same where load throws', () => {
    const store = objects.store({
      load: (hash) => {
        throw new DaglogError('OBJECT_MISSING', 'not in any pack', { hash })
      },
    })
    expect(errorOf(() => loadTree(root, store))).toMatchObject({
      code: 'OBJECT_MISSING',
      data: { hash: root, referrer: 'the caller' },
    })
    const other = objects.store({
      load: () => {
        throw new DaglogError('READ_FAILED', 'EIO')
      },
    })
    expect(errorOf(() => loadTree(root, other)).code).toBe('READ_FAILED')
  })
})

/** The value of a tree, or the code of the error that reading it ended with. */
function outcome(read: () => Tree): { value: unknown } | { code: string } {
  try {
    return { value: read().toJSON() }
  } catch (error) {
    if (error instanceof DaglogError) return { code: error.code }
    throw error
  }
}

describe('bytes that are not what was written', () => {
  const objects = new MemoryObjects()
  const root = treeFrom(plain).commit(objects.store())
  const all = [...objects.objects]

  it('are noticed in any object, at any bit', () => {
    const places = fc.record({ object: fc.nat(all.length - 1), at: fc.nat(), bit: fc.nat(7) })
    fc.assert(
      fc.property(places, ({ object, at, bit }) => {
        const [bad, { bytes }] = all[object]!
        const broken = Uint8Array.from(bytes)
        broken[at % broken.length]! ^= 1 << bit
        const load = (hash: Hash) => (hash === bad ? broken : objects.objects.get(hash)?.bytes)
        const error = errorOf(() => loadTree(root, objects.store({ load })).toJSON())
        expect(error).toMatchObject({ code: 'OBJECT_CORRUPT', data: { hash: bad } })
      }),
      { numRuns: runs(150) },
    )
  })

  it('are refused where a hostile writer named them rightly, or are a value under its own name', () => {
    const small = new MemoryObjects()
    treeFrom({
      ...plain,
      page: 'short',
      extra: [1, -1, 1.5, null, new Date(3), 'é\ud800', 5n],
    }).commit(small.store())
    const samples = [...small.objects.values()].filter(({ kind }) => kind === 'tree')
    const changes = fc.record({
      sample: fc.nat(samples.length - 1),
      at: fc.nat(),
      cut: fc.nat(3),
      put: fc.uint8Array({ maxLength: 3 }),
    })
    fc.assert(
      fc.property(changes, ({ sample, at, cut, put }) => {
        const { bytes } = samples[sample]!
        const from = at % (bytes.length + 1)
        const forged = Buffer.concat([
          bytes.subarray(0, from),
          put,
          bytes.subarray(Math.min(from + cut, bytes.length)),
        ])
        checkForged(forged, small)
      }),
      { numRuns: runs(3000) },
    )
  })

  it('are refused below the root too, where all that refers to them was forged as well', () => {
    const small = new MemoryObjects()
    const list = Array.from({ length: 400 }, (_, i) => (i % 50 === 0 ? 'x'.repeat(100) : i))
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, i]))
    const top = treeFrom({ list, files, deep: { page: 'x'.repeat(300), list: list.slice(9) } })
    const topRoot = top.commit(small.store())
    const names = [...small.objects.keys()].filter((name) => name !== topRoot)
    const changes = fc.record({
      object: fc.nat(names.length - 1),
      at: fc.nat(),
      other: fc.nat(),
      what: fc.nat(3),
      byte: fc.nat(255),
    })
    fc.assert(
      fc.property(changes, ({ object, at, other, what, byte }) => {
        const name = names[object]!
        const bytes = Buffer.from(small.objects.get(name)!.bytes)
        if (what === 0) bytes[at % bytes.length] = byte
        if (what === 1) swapBytes(bytes, at % bytes.length, other % bytes.length, 34)
        // In the place of one node another one, right in itself.
        const stranger = small.objects.get(names[other % names.length]!)!.bytes
        const forged = new MemoryObjects()
        const renamed = forge(small, name, what === 2 ? stranger : bytes, forged).get(topRoot)!
        const result = outcome(() => loadTree(renamed, forged.store()))
        if ('code' in result) expect(['OBJECT_CORRUPT', 'OBJECT_MISSING']).toContain(result.code)
        else expect(treeFrom(result.value).hash()).toBe(renamed)
      }),
      { numRuns: runs(600) },
    )
  })

  it('are refused where they are random', () => {
    fc.assert(
      fc.property(fc.nat(30), fc.uint8Array({ maxLength: 60 }), (tag, rest) => {
        checkForged(Uint8Array.from([32 + tag, ...rest]), new MemoryObjects())
      }),
      { numRuns: runs(3000) },
    )
  })
})

function swapBytes(bytes: Buffer, left: number, right: number, count: number): void {
  const one = Buffer.from(bytes.subarray(left, left + count))
  const two = Buffer.from(bytes.subarray(right, right + one.length))
  one.copy(bytes, right)
  two.copy(bytes, left)
}

/** All objects with one of them replaced and everything above it renamed; returns the new names. */
function forge(
  from: MemoryObjects,
  name: Hash,
  bytes: Uint8Array,
  to: MemoryObjects,
): Map<Hash, Hash> {
  const renamed = new Map<Hash, Hash>()
  // Children were put before their parents.
  for (const [hash, object] of from.objects) {
    const copy = Buffer.from(hash === name ? bytes : object.bytes)
    for (const [before, after] of hash === name ? [] : renamed) {
      for (let at = copy.indexOf(before, 0, 'hex'); at >= 0; at = copy.indexOf(before, at, 'hex')) {
        copy.write(after, at, 'hex')
      }
    }
    const next = sha256(copy)
    if (next !== hash) renamed.set(hash, next)
    to.objects.set(next, { kind: object.kind, bytes: copy })
  }
  if (renamed.size === 0) for (const hash of from.objects.keys()) renamed.set(hash, hash)
  return renamed
}

/** Whatever the bytes: no error but ours, and what can be read has these bytes and no others. */
function checkForged(bytes: Uint8Array, below: MemoryObjects): void {
  const hash = sha256(bytes)
  const load = (name: Hash, _: ObjectKind) =>
    name === hash ? bytes : below.objects.get(name)?.bytes
  const result = outcome(() => loadTree(hash, below.store({ load })))
  if ('code' in result) expect(['OBJECT_CORRUPT', 'OBJECT_MISSING']).toContain(result.code)
  else expect(treeFrom(result.value).hash()).toBe(hash)
  try {
    treeChildren(bytes)
  } catch (error) {
    expect(error).toMatchObject({ code: 'OBJECT_CORRUPT', data: { hash } })
  }
}

function errorOf(run: () => unknown): DaglogError {
  try {
    run()
  } catch (error) {
    if (error instanceof DaglogError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
