import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadTree, type Tree, treeFrom } from '../../src/value/tree.js'
import { isSame, MemoryObjects, runs } from './tree-model.js'

/** Element kinds from all different to all alike. */
const KINDS: Record<string, (i: number) => unknown> = {
  objects: (i) => ({ id: i, text: 'word '.repeat(i % 90) }),
  numbers: (i) => i * 7,
  bits: (i) => ((i * i) >> 3) % 2 === 0,
  zeros: () => 0,
}

interface Step {
  readonly what: number
  readonly at: number
  readonly count: number
  readonly kind: string
}

const step = fc.record({
  what: fc.nat(9),
  at: fc.nat(2000),
  count: fc.oneof(fc.nat(3), fc.nat(120), fc.nat(1500)),
  kind: fc.constantFrom(...Object.keys(KINDS)),
})

/** The same step on an array, in place, and on a tree whose root is a list. */
function stepped(list: unknown[], tree: Tree, { what, at, count, kind }: Step): Tree {
  const start = at % (list.length + 1)
  const few = Array.from({ length: count }, (_, i) => KINDS[kind]!(at + i))
  if (what === 0) {
    list.push(...few)
    return tree.push([], ...few)
  }
  if (what === 1) {
    list.splice(0, count)
    return tree.splice([], 0, count)
  }
  if (what === 2) {
    list.splice(start)
    return tree.splice([], start, Number.POSITIVE_INFINITY)
  }
  if (what === 3 && start < list.length) {
    list[start] = few
    return tree.set([start], few)
  }
  if (what === 4) {
    list.splice(start, 1)
    return tree.delete([start])
  }
  const gone = what % 3 === 0 ? 0 : count % 40
  list.splice(start, gone, ...few)
  return tree.splice([], start, gone, ...few)
}

describe('a list', () => {
  it('does as an array does, and has the root of that array', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat(6)), { maxLength: 14 }), (steps) => {
        const objects = new MemoryObjects()
        const store = objects.store({ cacheBytesMax: 20_000 })
        const list: unknown[] = []
        let tree = treeFrom(list)
        for (const [one, then] of steps) {
          tree = stepped(list, tree, one)
          expect(tree.size).toBe(list.length)
          if (then === 0) tree.hash()
          if (then === 1) tree = loadTree(tree.commit(store), store)
        }
        for (const at of [0, 1, list.length >> 1, list.length - 1, list.length]) {
          expect(isSame(tree.get([at]), list[at])).toBe(true)
        }
        expect(tree.commit(store)).toBe(treeFrom(list).hash())
        expect(isSame(loadTree(tree.hash(), store).toJSON(), list)).toBe(true)
      }),
      { numRuns: runs(150) },
    )
  })

  it('grows and shrinks through every size to the same roots', () => {
    for (const make of Object.values(KINDS)) {
      let tree = treeFrom([])
      const roots: string[] = []
      for (let i = 0; i < 150; i++) {
        roots.push(tree.hash())
        tree = tree.push([], make(i))
      }
      for (let i = 149; i >= 0; i--) {
        tree = tree.delete([i])
        expect(tree.hash()).toBe(roots[i])
      }
    }
  })

  it('pushed one by one between two commits is the list pushed at once', () => {
    const list = Array.from({ length: 3000 }, (_, i) => KINDS.objects!(i))
    const slowly = list.reduce((tree: Tree, item) => tree.push([], item), treeFrom([]))
    expect(slowly.hash()).toBe(treeFrom(list).hash())
  })
})

describe('an edit of a list of 100,000', () => {
  const objects = new MemoryObjects()
  const store = objects.store()

  for (const kind of ['objects', 'numbers', 'bits']) {
    it(`of ${kind} writes few nodes, wherever it is`, () => {
      const make = KINDS[kind]!
      const list = Array.from({ length: 100_000 }, (_, i) => make(i * 3))
      const tree = treeFrom({ list })
      tree.commit(store)
      const edits: ((at: number) => Tree)[] = [
        (at) => tree.push(['list'], -at),
        (at) => tree.splice(['list'], at, 0, -at),
        (at) => tree.splice(['list'], at, 3),
        (at) => tree.splice(['list'], 0, at),
        (at) => tree.splice(['list'], at, 50_000),
        (at) => tree.set(['list', at], `${at}`),
      ]
      for (const edit of edits) {
        let puts = 0
        for (let i = 1; i <= 20; i++) {
          objects.puts = 0
          edit(i * 2400 + i).commit(store)
          puts += objects.puts
        }
        // Five levels and the root object; the rest is where a cut moved.
        expect(puts / 20).toBeLessThan(kind === 'bits' ? 60 : 12)
      }
    })
  }

  it('stores few new objects even where all elements are alike', () => {
    const tree = treeFrom(Array.from({ length: 100_000 }, () => 0))
    const before = objects.objects.size
    tree.commit(store)
    expect(objects.objects.size - before).toBeLessThan(20)
    tree.splice([], 50_001, 0, 1).commit(store)
    expect(objects.objects.size - before).toBeLessThan(40)
  })

  it('reads few nodes where the list is not in memory', () => {
    const list = Array.from({ length: 100_000 }, (_, i) => KINDS.objects!(i))
    const root = treeFrom({ list }).commit(store)
    const edits: ((tree: Tree) => Tree)[] = [
      (tree) => (tree.get(['list', 77_777, 'id']) === 77_777 ? tree : tree.push([], 'wrong')),
      (tree) => tree.push(['list'], 'x'),
      (tree) => tree.splice(['list'], 50_000, 0, 'x'),
      (tree) => tree.splice(['list'], 0, 40_000),
    ]
    for (const edit of edits) {
      const reader = objects.store()
      objects.loads = 0
      edit(loadTree(root, reader)).commit(reader)
      expect(objects.loads).toBeLessThan(20)
    }
  })
})
