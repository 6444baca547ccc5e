import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { diffTrees, loadTree, treeFrom } from '../../src/value/tree.js'
import { sameSlot } from '../../src/value/tree-scalar.js'
import { copyPlain, edited, edits, isSame, MemoryObjects, runs, values } from './tree-model.js'

/** A state with what an agent has: a record, a map, lists below and above one leaf. */
function startOf(size: number): Record<string, unknown> {
  return {
    page: 'text '.repeat(size),
    files: Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, { size: i }])),
    messages: Array.from({ length: size }, (_, i) => ({ role: 'user', text: 'word '.repeat(i) })),
    flags: Array.from({ length: size * 2 }, (_, i) => i % 3 === 0),
  }
}

describe('the root of a tree', () => {
  it('depends on the value alone, whatever edits and commits led to it', () => {
    const orders = fc.tuple(fc.nat(60), fc.array(fc.tuple(edits, fc.nat(9)), { maxLength: 12 }))
    fc.assert(
      fc.property(orders, ([size, steps]) => {
        const plain = startOf(size)
        const objects = new MemoryObjects()
        const store = objects.store({ cacheBytesMax: 4096 })
        let tree = treeFrom(plain)
        for (const [edit, then] of steps) {
          tree = edited(plain, tree, edit)
          if (then === 0) tree.hash()
          if (then === 1) tree.commit(store)
          if (then === 2) tree = loadTree(tree.commit(store), store)
          if (then === 3) tree.view()
        }
        expect(tree.hash()).toBe(treeFrom(plain).hash())
        expect(isSame(tree.toJSON(), plain)).toBe(true)
        // The whole value put over the one at the start, as one that keeps no handle would.
        expect(treeFrom(startOf(size)).set([], plain).hash()).toBe(tree.hash())
      }),
      { numRuns: runs(1500, 70) },
    )
  })

  it('is the same exactly for equal values', () => {
    fc.assert(
      fc.property(values, values, (left, right) => {
        expect(treeFrom(left).hash() === treeFrom(right).hash()).toBe(isSame(left, right))
      }),
      { numRuns: runs(400) },
    )
  })

  it('is another after any one change', () => {
    fc.assert(
      fc.property(values, edits, (start, edit) => {
        const plain = { start: copyPlain(start) }
        const before = copyPlain(plain)
        const tree = treeFrom(plain)
        const after = edited(plain, tree, edit)
        expect(after.hash() === tree.hash()).toBe(isSame(before, plain))
      }),
      { numRuns: runs(400) },
    )
  })

  it('does not depend on the order of keys', () => {
    const names = Array.from({ length: 100 }, (_, i) => `key ${i}`)
    for (const count of [3, 32, 33, 100]) {
      const some = names.slice(0, count)
      const forward = Object.fromEntries(some.map((name, i) => [name, i]))
      const backward = Object.fromEntries(some.map((name, i) => [name, i]).reverse())
      expect(treeFrom(backward).hash()).toBe(treeFrom(forward).hash())
    }
  })
})

describe('a path', () => {
  const tree = treeFrom({ a: { b: [10, { c: 'x' }] }, 7: 'seven', empty: undefined })

  it('leads to keys and elements, by number or digits', () => {
    expect(tree.get(['a', 'b', 1, 'c'])).toBe('x')
    expect(tree.get(['a', 'b', '0'])).toBe(10)
    expect(tree.get([7])).toBe('seven')
    expect(tree.get([])).toBe(tree.view())
    expect(tree.size).toBe(3)
  })

  it('leads nowhere past a scalar, an end, or a key of the prototype', () => {
    for (const path of [
      ['a', 'x'],
      ['a', 'b', 2],
      ['a', 'b', -1],
      ['a', 'b', '01'],
      ['toString'],
    ]) {
      expect(tree.has(path)).toBe(false)
      expect(tree.get(path)).toBeUndefined()
    }
    expect(tree.get(['a', 'b', 0, 'x', 'y'])).toBeUndefined()
  })

  it('tells undefined from nothing', () => {
    expect(tree.has(['empty'])).toBe(true)
    expect(tree.has(['other'])).toBe(false)
  })

  it('must have its container for a change, and is named where it has not', () => {
    const broken = [
      () => tree.set(['x', 'y/z', 0], 1),
      () => tree.set(['a', 'b', 3], 1),
      () => tree.set(['a', 'b', -1], 1),
      () => tree.set(['a', 'b', 'length'], 1),
      () => tree.set([7, 'x'], 1),
      () => tree.push(['a', 'c'], 1),
      () => tree.delete(['x', 'y']),
    ]
    const pointers = ['/x', '/a/b/3', '/a/b/-1', '/a/b/length', '/7', '/a/c', '/x']
    for (const [i, change] of broken.entries()) {
      expect(errorOf(change)).toMatchObject({
        code: 'POINTER_NOT_FOUND',
        data: { pointer: pointers[i] },
      })
    }
    expect(errorOf(() => tree.push(['a'], 1)).code).toBe('USAGE')
    expect(errorOf(() => tree.delete([])).code).toBe('USAGE')
  })
})

describe('a change', () => {
  const tree = treeFrom(startOf(50))

  it('leaves the tree before it as it was', () => {
    const before = tree.hash()
    tree.set(['files', 'k7', 'size'], 'new')
    tree.splice(['messages'], 10, 20, 'new')
    tree.delete(['files', 'k9'])
    expect(treeFrom(tree.toJSON()).hash()).toBe(before)
  })

  it('that changes nothing gives the same tree back', () => {
    const messages = tree.get(['messages'])
    expect(tree.set(['files', 'k7', 'size'], 7)).toBe(tree)
    expect(tree.set(['files', 'k7'], { size: 7 })).toBe(tree)
    expect(tree.set(['messages'], messages)).toBe(tree)
    expect(tree.set([], startOf(50))).toBe(tree)
    expect(tree.set(['page'], 'text '.repeat(50))).toBe(tree)
    expect(tree.delete(['files', 'none'])).toBe(tree)
    expect(tree.delete(['messages', 50])).toBe(tree)
    expect(tree.splice(['messages'], 3, 0)).toBe(tree)
    expect(tree.update(() => {})).toBe(tree)
    expect(tree.set(['flags', 1], true)).not.toBe(tree)
    const numbers = treeFrom({
      zero: 0,
      nan: Number.NaN,
      when: new Date(0),
      bytes: new Uint8Array(3),
    })
    expect(numbers.set(['nan'], Number.NaN)).toBe(numbers)
    expect(numbers.set(['when'], new Date(0))).toBe(numbers)
    expect(numbers.set(['bytes'], new Uint8Array(3))).toBe(numbers)
    expect(numbers.set(['zero'], -0)).not.toBe(numbers)
  })

  it('that sets a whole value again shares what is equal', () => {
    const plain = startOf(200)
    const before = treeFrom(plain)
    const objects = new MemoryObjects()
    const store = objects.store()
    before.commit(store)
    objects.puts = 0
    const files = plain.files as Record<string, unknown>
    files.k7 = 'changed'
    ;(plain.messages as unknown[]).push({ role: 'assistant', text: 'new' })
    const after = before.set([], plain)
    expect(after.commit(store)).toBe(treeFrom(plain).hash())
    expect(objects.puts).toBeLessThan(10)
    expect(after.get(['messages', 3])).toBe(before.get(['messages', 3]))
  })

  it('to another type is one, even where the bytes are the same', () => {
    const tree = treeFrom({ a: 'x'.repeat(300) })
    tree.hash()
    const other = treeFrom({ a: new Uint8Array(300).fill(120) })
    other.hash()
    expect(tree.set(['a'], other.get(['a'])).hash()).toBe(other.hash())
    expect(other.set(['a'], tree.get(['a'])).hash()).toBe(tree.hash())
    expect([...diffTrees(tree, other)]).toHaveLength(1)
    // Named alike, as the name is that of the content.
    const [text, bytes] = [treeFrom('x'.repeat(300)), treeFrom(new Uint8Array(300).fill(120))]
    expect(text.hash()).not.toBe(bytes.hash())
    expect(sameSlot(text.root, bytes.root)).toBe(false)
  })

  it('of a whole value with fewer keys drops those, and keeps the rest shared', () => {
    const wide = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`k${i}`, { id: i }]))
    const tree = treeFrom(wide)
    const { k3, k7, ...fewer } = wide
    const next = tree.set([], { ...fewer, more: 1 })
    expect(next.size).toBe(399)
    expect([next.has(['k3']), next.has(['k7']), k3 !== k7]).toEqual([false, false, true])
    expect(next.hash()).toBe(treeFrom({ ...fewer, more: 1 }).hash())
    expect(next.get(['k8'])).toBe(tree.get(['k8']))
  })

  it('of a root that is no container is possible as a whole only', () => {
    const scalar = treeFrom('text')
    expect(scalar.size).toBe(0)
    expect(scalar.set([], { a: 1 }).toJSON()).toEqual({ a: 1 })
    expect(errorOf(() => scalar.update(() => {})).code).toBe('USAGE')
    expect(errorOf(() => scalar.set(['a'], 1)).code).toBe('POINTER_NOT_FOUND')
  })
})

test('a tree is its value in JSON', () => {
  const plain = { a: [1, { b: null }], c: 'x' }
  expect(JSON.stringify(treeFrom(plain))).toBe(JSON.stringify(plain))
})

function errorOf(run: () => unknown): DaglogError {
  try {
    run()
  } catch (error) {
    if (error instanceof DaglogError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
