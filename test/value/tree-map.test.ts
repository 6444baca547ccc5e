import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { loadTree, Tree, treeFrom } from '../../src/value/tree.js'
import { keyPath, placeBit } from '../../src/value/tree-key.js'
import { childrenAt, countBits, mapOf } from '../../src/value/tree-map.js'
import { KIND, MapNode } from '../../src/value/tree-node.js'
import { isSame, keys, MemoryObjects, runs, TRICKY_KEYS } from './tree-model.js'

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('set' as const), keys, fc.nat(3)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('delete' as const), keys, fc.constant(0)) },
  ),
  { maxLength: 120 },
)

describe('an object', () => {
  it('does as a Map does', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const model = new Map<string, number>()
        let tree = treeFrom({})
        for (const [what, key, value] of list) {
          if (what === 'set') model.set(key, value)
          else model.delete(key)
          tree = what === 'set' ? tree.set([key], value) : tree.delete([key])
          expect(tree.size).toBe(model.size)
          expect(tree.has([key])).toBe(model.has(key))
        }
        for (const [key, value] of model) expect(tree.get([key])).toBe(value)
        expect(Object.keys(tree.view() as object).sort()).toEqual([...model.keys()].sort())
      }),
      { numRuns: runs(400) },
    )
  })

  it('is a record up to 32 keys and a map above, on the way up and on the way down', () => {
    let tree = treeFrom({})
    const roots: string[] = []
    for (let i = 0; i < 40; i++) {
      roots.push(tree.hash())
      expect((tree.root as MapNode).kind).toBe(i <= 32 ? KIND.record : KIND.map)
      tree = tree.set([`k${i}`], i)
    }
    for (let i = 39; i >= 0; i--) {
      tree = tree.delete([`k${i}`])
      expect(tree.hash()).toBe(roots[i])
    }
  })

  it('is the same whatever order its keys came and went in', () => {
    const some = fc.uniqueArray(fc.nat(400), { minLength: 33, maxLength: 200 })
    const cases = some.chain((ids) =>
      fc.tuple(
        fc.constant(ids),
        fc.shuffledSubarray(ids, { minLength: ids.length }),
        fc.uniqueArray(fc.nat({ max: 800 }), { maxLength: 60 }),
      ),
    )
    fc.assert(
      fc.property(cases, ([ids, order, extra]) => {
        const gone = extra.filter((id) => !ids.includes(id))
        let tree = treeFrom({})
        for (const id of gone) tree = tree.set([`k${id}`], 'gone')
        for (const id of order) tree = tree.set([`k${id}`], id)
        for (const id of gone) tree = tree.delete([`k${id}`])
        const plain = Object.fromEntries(ids.map((id) => [`k${id}`, id]))
        expect(tree.hash()).toBe(treeFrom(plain).hash())
      }),
      { numRuns: runs(200) },
    )
  })

  it('keeps keys that are trouble elsewhere, in a record and in a map', () => {
    for (const count of [0, 40]) {
      const entries: [string, number][] = [
        ...TRICKY_KEYS.map((key, i): [string, number] => [key, i]),
        ...Array.from({ length: count }, (_, i): [string, number] => [`k${i}`, i]),
      ]
      let tree = treeFrom({})
      for (const [key, value] of entries) tree = tree.set([key], value)
      expect(tree.size).toBe(entries.length)
      for (const [key, value] of entries) expect(tree.get([key])).toBe(value)
      const objects = new MemoryObjects()
      const loaded = loadTree(tree.commit(objects.store()), objects.store())
      expect(isSame(loaded.toJSON(), tree.toJSON())).toBe(true)
      expect(Object.hasOwn(loaded.toJSON() as object, '__proto__')).toBe(true)
      expect(Object.getPrototypeOf(loaded.toJSON())).toBe(Object.prototype)
    }
  })
})

describe('a key whose path collides for long', () => {
  // Found by a search over SHA-256: the first five hex digits of these are the same.
  const colliding = keysWithPrefix(5)

  it('is told apart, and folded back when the other goes', () => {
    const wide = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, i]))
    const tree = treeFrom(wide)
    const both = colliding.reduce((next: Tree, key, i) => next.set([key], i), tree)
    for (const [i, key] of colliding.entries()) expect(both.get([key])).toBe(i)
    const backwards = colliding.toReversed()
    expect(backwards.reduce((next: Tree, key) => next.delete([key]), both).hash()).toBe(tree.hash())
  })
})

describe('a map that no edit makes', () => {
  const names = Array.from({ length: 90 }, (_, i) => `k${i}`)
  const isAt7 = (key: string) => placeBit(key, keyPath(key), 0) === 1 << 7
  const entries = names.filter((key) => !isAt7(key)).map((key, i) => ({ key, slot: i }))
  const alone = names.find(isAt7)!
  const map = mapOf(entries)

  /** The map with `child`, which says that it has `size` entries, at place 7. */
  function withChild(child: MapNode, size: number): MapNode {
    const at = childrenAt(map) + countBits((map.places >>> 16) & 0x7f)
    const said = new MapNode(child.places, child.slots, size)
    return new MapNode(map.places | (1 << 23), map.slots.toSpliced(at, 0, said), map.size + size)
  }

  it('is refused when it is read', () => {
    const large = 'x'.repeat(100)
    const one = mapOf([{ key: alone, slot: 1 }], 1)
    const oneLarge = mapOf([{ key: alone, slot: large }], 1)
    const stray = mapOf(
      entries.slice(0, 3).map(({ key }) => ({ key, slot: large })),
      1,
    )
    const malformed: [string, MapNode][] = [
      ['a child of one entry', withChild(one, 1)],
      ['the same as an object', withChild(oneLarge, 1)],
      ['the same that says it has two', withChild(oneLarge, 2)],
      ['keys in the wrong place', withChild(stray, 3)],
      ['too few keys', mapOf(entries.slice(0, 20))],
    ]
    for (const [what, node] of malformed) {
      const objects = new MemoryObjects()
      const root = new Tree(node).commit(objects.store())
      expect(() => loadTree(root, objects.store()).toJSON(), what).toThrow('OBJECT_CORRUPT')
    }
  })
})

test('8,192 keys that collide under a common string hash cost what others do', () => {
  // 'Aa' and 'BB' are equal to Java's hash, and so are all words made of them.
  const words = Array.from({ length: 8192 }, (_, i) =>
    i.toString(2).padStart(13, '0').replaceAll('0', 'Aa').replaceAll('1', 'BB'),
  )
  const tree = treeFrom(Object.fromEntries(words.map((word, i) => [word, i])))
  expect(tree.get([words[4711]!])).toBe(4711)
  expect(depthOf(tree.root as MapNode)).toBeLessThan(9)
  expect(tree.set([words[17]!], 'x').delete([words[18]!]).size).toBe(8191)
})

function depthOf(node: MapNode): number {
  const children = node.slots.filter(
    (slot): slot is MapNode => typeof slot === 'object' && slot !== null && slot.kind === KIND.map,
  )
  return 1 + Math.max(0, ...children.map(depthOf))
}

/** Two keys whose digests start with the same `digits` hex digits. */
function keysWithPrefix(digits: number): string[] {
  const seen = new Map<string, string>()
  for (let i = 0; ; i++) {
    const key = `word ${i}`
    const prefix = createHash('sha256').update(key).digest('hex').slice(0, digits)
    const other = seen.get(prefix)
    if (other !== undefined) return [other, key]
    seen.set(prefix, key)
  }
}

describe('a change of one key among 10,000', () => {
  const plain = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`k${i}`, 'x'.repeat(100)]),
  )
  const objects = new MemoryObjects()
  const store = objects.store()
  const tree = treeFrom(plain)
  tree.commit(store)

  it('writes the nodes on its way only', () => {
    let bytes = 0
    for (let i = 0; i < 200; i++) {
      objects.puts = 0
      const counting = objects.objects.size
      tree.set([`k${i * 49}`], `${i}`.padEnd(100)).commit(store)
      expect(objects.puts).toBeLessThanOrEqual(6)
      for (const object of [...objects.objects.values()].slice(counting))
        bytes += object.bytes.length
    }
    expect(bytes / 200).toBeLessThan(2500)
  })

  it('reads the nodes on its way only', () => {
    const reader = objects.store()
    const loaded = loadTree(tree.commit(store), reader)
    objects.loads = 0
    expect(loaded.get(['k77'])).toBe('x'.repeat(100))
    expect(objects.loads).toBeLessThanOrEqual(5)
    objects.loads = 0
    loaded.set(['k77'], 'other').commit(reader)
    expect(objects.loads).toBeLessThanOrEqual(1)
  })
})
